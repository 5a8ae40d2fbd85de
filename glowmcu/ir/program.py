"""Instruction IR: a list of instructions on buffers, and where each buffer lies.

A buffer is a tensor's place in memory. `View` makes a buffer that is part of another one (a
reshape, a slice of a concatenation); `Run` calls a kernel; `Alloc` and `Dealloc` bound a buffer's
life. After planning every arena buffer has an offset. An input that is pushed row by row has none:
of it only a ring of rows exists, in the cascade that they go to.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property

from glowmcu.ir.cascade import Cascade
from glowmcu.ir.graph import Rate
from glowmcu.ir.instructions import (
    ARENA_ALIGN,
    BUFFER_ALIGN,
    Alloc,
    Buffer,
    Dealloc,
    Run,
    View,
    ViewRole,
    aligned,
)
from glowmcu.ir.operation import Array
from glowmcu.lazy_dataclass import dataclass

__all__ = [
    "ARENA_ALIGN",
    "BUFFER_ALIGN",
    "Alloc",
    "Buffer",
    "Cascade",
    "Dealloc",
    "Instruction",
    "Life",
    "Program",
    "Run",
    "StateBuffer",
    "Step",
    "StreamedInput",
    "View",
    "ViewRole",
    "aligned",
]

#: An instruction that computes.
Step = Run | Cascade
Instruction = Alloc | Dealloc | View | Run | Cascade


@dataclass(frozen=True)
class Life:
    """Steps from the one that first writes a buffer to the last that touches it, both included.

    Step -1 is before the first (the application writes inputs), `len(steps)` after the last.
    """

    first: int
    last: int

    def overlaps(self, other: Life) -> bool:
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True, eq=False)
class StreamedInput:
    """An input whose rows the application hands over as they come; once planned it is never whole.

    `counter` says how many have come: it is alive all the time, also between and after runs.
    """

    buffer: Buffer
    counter: Buffer


@dataclass(frozen=True, eq=False)
class StateBuffer:
    """Memory that outlives a run: `buffer` holds what the run before left, and a run leaves
    `updated` in the same bytes. A stream begins with `initial`.
    """

    buffer: Buffer
    updated: Buffer
    initial: Array


@dataclass(frozen=True, eq=False)
class Program:
    """Instructions in order. `offsets` maps root buffers (no views) to bytes once planned.

    `kept` inputs hold after the run what the application wrote before it; some inputs may be
    outside of the arena. `states` are no inputs and outputs here; `mark` tells an arena in which a
    stream was begun. With `rates` a run is skipped if its node's stage is not due; `mark` then
    has room for a counter a stage, and one for what was pushed. `meetings` counts, for two cores
    that share runs, how often each has waited for the other; of caches that one of them has for
    itself, the lines have `line_bytes`.
    """

    name: str
    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    instructions: tuple[Instruction, ...]
    offsets: Mapping[Buffer, int] = field(default_factory=dict)
    kept: tuple[Buffer, ...] = ()
    streamed_input: StreamedInput | None = None
    states: tuple[StateBuffer, ...] = ()
    mark: Buffer | None = None
    rates: tuple[Rate, ...] = ()
    meetings: Buffer | None = None
    line_bytes: int = 1

    @property
    def lasting(self) -> tuple[Buffer, ...]:
        """Buffers that must be there after the run, for the application or the next run."""
        return (*self.outputs, *self.kept, *(state.updated for state in self.states))

    @property
    def constantly_there(self) -> tuple[Buffer, ...]:
        """Buffers that no step touches and that exist before, in and after a run."""
        counter = () if self.streamed_input is None else (self.streamed_input.counter,)
        marks = (buffer for buffer in (self.mark, self.meetings) if buffer is not None)
        return (*counter, *marks)

    @cached_property
    def written_before(self) -> tuple[Buffer, ...]:
        """Buffers written before the first step: states, and inputs except a streamed one."""
        streamed_input = None if self.streamed_input is None else self.streamed_input.buffer
        whole = (buffer for buffer in self.inputs if buffer is not streamed_input)
        return (*whole, *(state.buffer for state in self.states), *self.constantly_there)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The instructions that compute, in order; lives count in indices of these."""
        return tuple(item for item in self.instructions if isinstance(item, Run | Cascade))

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """The kernels, those of a cascade one after the other: what users call layers."""
        return tuple(
            run
            for step in self.steps
            for run in (step.runs if isinstance(step, Cascade) else (step,))
        )

    def layers_of(self, life: Life) -> tuple[int, int]:
        """The first and the last of `runs` in the steps of a life; -1 and `len(runs)` outside."""
        ends = self._run_ends
        first = -1 if life.first < 0 else ends[min(life.first, len(self.steps))]
        last = -1 if life.last < 0 else ends[min(life.last, len(self.steps) - 1) + 1] - 1
        return first, len(self.runs) if life.last >= len(self.steps) else last

    @cached_property
    def _run_ends(self) -> list[int]:
        """How many of `runs` come before each step, and in all."""
        ends = [0]
        for step in self.steps:
            ends.append(ends[-1] + (len(step.runs) if isinstance(step, Cascade) else 1))
        return ends

    @cached_property
    def views(self) -> dict[Buffer, View]:
        """View buffers to what they view."""
        return {item.buffer: item for item in self.instructions if isinstance(item, View)}

    @cached_property
    def joined(self) -> frozenset[Buffer]:
        """Buffers that others are parts of."""
        views = self.views.values()
        return frozenset(view.base for view in views if view.role is ViewRole.PART)

    def root(self, buffer: Buffer) -> tuple[Buffer, int]:
        """The buffer that owns the memory, and the byte offset within it."""
        return self._roots.get(buffer, (buffer, 0))

    @cached_property
    def _roots(self) -> dict[Buffer, tuple[Buffer, int]]:
        found: dict[Buffer, tuple[Buffer, int]] = {}
        for first in self.views:
            chain, buffer = list[View](), first
            while buffer in self.views and buffer not in found:
                chain.append(self.views[buffer])
                assert len(chain) <= len(self.views), f"view {first.name!r} is part of itself"
                buffer = self.views[buffer].base
            root, offset = found.get(buffer, (buffer, 0))
            for view in reversed(chain):
                offset += view.offset_bytes
                found[view.buffer] = root, offset
        return found

    def offset(self, buffer: Buffer) -> int:
        """Arena offset of any buffer, views included."""
        root, inner = self.root(buffer)
        return self.offsets[root] + inner

    def span(self, buffer: Buffer) -> tuple[Buffer, int, int]:
        """Root buffer, first byte in it and the byte after the last."""
        root, start = self.root(buffer)
        return root, start, start + buffer.size_bytes

    def required_align(self, root: Buffer) -> int:
        """Alignment of pointers into `root` in bytes: its elements' size, or what kernels need.

        A view may lie at any byte of its base; a kernel reads only some.
        """
        return max(root.type.element.size_bytes, self._aligns.get(root, 1))

    @cached_property
    def _aligns(self) -> dict[Buffer, int]:
        """What the views of a root and the runs that touch it need."""
        found: dict[Buffer, int] = {}
        needs = [(buffer, buffer.type.element.size_bytes) for buffer in self.views]
        needs += [(buffer, run.operand_align) for run in self.runs for buffer in run.operands]
        for buffer, align in needs:
            root = self.root(buffer)[0]
            found[root] = max(found.get(root, 1), align)
        return found

    @cached_property
    def prefetched(self) -> dict[int, Buffer]:
        """By step: the scratch of the next one, into which weights come while this one runs.

        No copy begins before a run or in a cascade, which is many calls.
        """
        pairs = enumerate(itertools.pairwise(self.steps))
        return {
            index: later.scratch
            for index, (step, later) in pairs
            if isinstance(step, Run)
            and isinstance(later, Run)
            and later.prefetches
            and later.scratch is not None
            and self._run_together(step, later)
        }

    def _run_together(self, step: Run, later: Run) -> bool:
        """Whether no run leaves one of them out alone."""
        return not self.rates or step.node.stage == later.node.stage

    @cached_property
    def lives(self) -> dict[Buffer, Life]:
        """Life of every root buffer in the arena, in order of first use."""
        touched: dict[Buffer, list[int]] = {}
        for buffer in self.written_before:
            touched.setdefault(self.root(buffer)[0], []).append(-1)
        for step, item in enumerate(self.steps):
            for buffer in item.operands:
                touched.setdefault(self.root(buffer)[0], []).append(step)
            if step in self.prefetched:
                touched.setdefault(self.prefetched[step], []).append(step)
        for buffer in self.lasting:
            touched.setdefault(self.root(buffer)[0], []).append(len(self.steps))
        for buffer in self.constantly_there:
            touched[buffer].append(len(self.steps))
        return {
            buffer: Life(min(steps), max(steps))
            for buffer, steps in touched.items()
            if buffer.in_arena
        }

    def with_instructions(self, instructions: Sequence[Instruction]) -> Program:
        """The same program with other instructions and no offsets."""
        return replace(self, instructions=tuple(instructions), offsets={})

    def with_offsets(self, offsets: Mapping[Buffer, int]) -> Program:
        """The same program with a place for each root buffer."""
        return replace(self, offsets=dict(offsets))
