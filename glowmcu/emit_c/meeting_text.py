"""Where two cores meet, in C: with what their caches have to show each other, where they have some.

Before a core says that it has come it cleans the lines that it has written since the last meeting;
once the other has come it invalidates those that the other wrote in results. Of the other's scratch
nobody reads a byte. At the first meeting of a run that is the whole arena: the application wrote to
it, and nobody knows where.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from glowmcu.ir.division import Bytes, Phase, accesses, lines_of
from glowmcu.ir.instructions import Buffer, Run
from glowmcu.ir.program import Cascade, Program

_WORDS = "words"


class Meetings:
    """Of one program, in order: `whole` for what the first core computes alone, `met` for each
    meeting.
    """

    def __init__(self, program: Program, arena_macro: str) -> None:
        self.program, self.arena_macro = program, arena_macro
        #: What the first core has written since the last meeting, None if it may be anything.
        self.written: list[Bytes] | None = None
        #: Whether both have met right before the next step.
        self.has_met = False

    def whole(self, step: Run | Cascade) -> None:
        """A step that the first core computes alone."""
        self.has_met = False
        if isinstance(step, Cascade):
            self.written = None
        elif self.written is not None:
            self.written += self._spans((*step.outputs, *step.own_memory))

    def before(self) -> tuple[str, str]:
        """What either core does before a step that they share."""
        return ("", "") if self.has_met else self._met(((), ()), ((), ()))

    def after(self, run: Run, phase: Phase) -> tuple[str, str]:
        """What either core does at the end of a phase."""
        found: list[tuple[list[Bytes], list[Bytes]]] = []
        assert run.division is not None
        for core, turns in enumerate(phase):
            all_ = [accesses(run, run.division, turn, core, self._start) for turn in turns]
            results = [item.writes[0] for item in all_]
            found.append((results, [span for item in all_ for span in item.writes]))
        self.has_met = True
        (first, first_all), (second, second_all) = found
        return self._met((first, second), (first_all, second_all))

    def _met(
        self, results: Sequence[Sequence[Bytes]], written: Sequence[Sequence[Bytes]]
    ) -> tuple[str, str]:
        """`results` by core are what the other reads of what it has `written`."""
        before, self.written = self.written, []
        if self.program.line_bytes == 1:
            return _meet(0), _meet(1)
        if before is None:
            clean = [f"    GLOWMCU_CORES_CLEAN(a, {self.arena_macro});"]
            seen = [f"    GLOWMCU_CORES_INVALIDATE(a, {self.arena_macro});"]
        else:
            clean = list(self._calls("CLEAN", (*before, *written[0])))
            seen = list(self._calls("INVALIDATE", (*before, *results[0])))
        first = [*clean, _meet(0), *self._calls("INVALIDATE", results[1])]
        second = [*self._calls("CLEAN", written[1]), _meet(1), *seen]
        return "\n".join(first), "\n".join(second)

    def _calls(self, what: str, spans: Iterable[Bytes]) -> Iterator[str]:
        """Lines that are next to each other at once."""
        lines = sorted(lines_of(span, self.program.line_bytes) for span in spans)
        joined: list[list[int]] = []
        for low, high in lines:
            if joined and low <= joined[-1][1]:
                joined[-1][1] = max(joined[-1][1], high)
            else:
                joined.append([low, high])
        for low, high in joined:
            place = f"a + {low}" if low else "a"
            yield f"    GLOWMCU_CORES_{what}({place}, {high - low}u);"

    def _spans(self, buffers: Iterable[Buffer]) -> Iterator[Bytes]:
        for buffer in buffers:
            start = self._start(buffer)
            if start is not None:
                yield start, start + buffer.size_bytes

    def _start(self, buffer: Buffer) -> int | None:
        root, _ = self.program.root(buffer)
        return self.program.offset(buffer) if root.in_arena else None


def _meet(core: int) -> str:
    return f"    GLOWMCU_CORES_MEET({_WORDS}, {core}u);"
