"""Which runs to stream row by row: the partition into layers and cascades with the least peak.

Every range of runs that hands on one tensor is a candidate for a cascade; what each would need is
known from its flow of rows (`row_flow.py`). The best partition follows by dynamic programming, and
of those within the bytes that are needed anyway (or the budget) the one that streams the least
work.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial
from itertools import accumulate

from glowmcu.ir.instructions import Buffer, aligned
from glowmcu.ir.program import Program
from glowmcu.lazy_dataclass import dataclass
from glowmcu.memplan.candidate_ranges import CandidateRange, CandidateRanges
from glowmcu.memplan.liveness import live_bytes
from glowmcu.memplan.overlap import Relation, relations
from glowmcu.memplan.planned_cascades import CascadeFacts, CascadeMemory, PlannedCascade
from glowmcu.memplan.streamed_input import rows_do_not_last

#: Longer cascades are not tried: planning takes the square of this.
MOST_RUNS = 40
#: Cost in bytes of an infeasible choice.
NEVER = 1 << 62


@dataclass(frozen=True)
class _Way:
    """How a run can come to be done: whole (no work), or in a cascade that begins at `first`."""

    first: int
    bytes_alive: int
    streamed_work: int = 0

    @property
    def is_cascade(self) -> bool:
        return self.streamed_work > 0


class _Alive:
    """Bytes of whole buffers by when they are alive, but for scratch: a cascade has its own."""

    def __init__(self, program: Program) -> None:
        count = len(program.steps)
        scratch = {run.scratch for run in program.runs}
        self.sizes = {
            buffer: aligned(buffer.size_bytes) for buffer in program.lives if buffer not in scratch
        }
        begun, ended = [0] * (count + 2), [0] * (count + 2)
        for buffer, size in self.sizes.items():
            life = program.lives[buffer]
            begun[life.first + 1] += size
            ended[life.last + 1] += size
        self._begun, self._ended = list(accumulate(begun)), list(accumulate(ended))

    def within(self, first: int, last: int) -> int:
        """Alive at any of the steps."""
        return self._begun[last + 1] - self._ended[first]


class Partition:
    """Plans the cascades of a program: ranges of runs whose results need not exist whole.

    `memory`: what is known of cascades from other programs. Raises GM409 for a streamed input whose
    rows no run can take as they come.
    """

    def __init__(self, program: Program, memory: CascadeMemory | None = None) -> None:
        self.program = program
        self.runs = program.runs
        self._memory = memory or CascadeMemory()
        self._candidates = CandidateRanges(program)
        self._alive = _Alive(program)
        self._live = live_bytes(program)[1:-1]
        self._relations: dict[int, list[Relation]] = {}
        for item in relations(program):
            step = program.lives[item.result].first
            self._relations.setdefault(step, []).append(item)

    def planned(self, first: int, last: int) -> PlannedCascade | None:
        """The runs as a cascade, if they make one tensor for others and know of nothing else."""
        return self._candidates.planned(first, last)

    def _layer_bytes(self, step: int) -> int:
        """Bytes alive while one run computes its whole result; NEVER for a run that reads the
        streamed input or makes columns, which only a cascade can.
        """
        run = self.runs[step]
        if (
            self._candidates.streamed_input in run.inputs
            or run.outputs[0] in self._candidates.columns
        ):
            return NEVER
        saved = sum(item.most_shared_bytes for item in self._relations.get(step, ()))
        return self._live[step] - min(saved, aligned(run.outputs[0].size_bytes))

    @cached_property
    def least_peak_bytes(self) -> int:
        """The bytes that are alive at once in the best partition; NEVER without any."""
        peaks = [0]
        for ways in self._ways:
            peaks.append(min(max(peaks[way.first], way.bytes_alive) for way in ways))
        return peaks[-1]

    def rest_peak_bytes(self, first: int) -> int:
        """The same from run `first` on, whatever comes before."""
        return self._rest_peaks[first]

    @cached_property
    def _rest_peaks(self) -> list[int]:
        count = len(self.runs)
        peaks = [NEVER] * count + [0]
        for end in range(count, 0, -1):
            for way in self._ways[end - 1]:
                peaks[way.first] = min(peaks[way.first], max(peaks[end], way.bytes_alive))
        return peaks

    def best(self, budget: int | None = None) -> list[PlannedCascade]:
        """The cascades of the partition with the least peak, or with the least streamed work
        within the budget if that is more. Raises GM409 as the constructor does.
        """
        if self.least_peak_bytes >= NEVER:
            streamed_input = self._candidates.streamed_input
            assert streamed_input is not None
            raise rows_do_not_last(self.program, self._candidates.readers[streamed_input])
        limit = max(self.least_peak_bytes, budget or 0)
        found: list[tuple[int, int, _Way | None]] = [(0, 0, None)]
        for ways in self._ways:
            options = [
                (
                    found[way.first][0] + way.streamed_work,
                    max(found[way.first][1], way.bytes_alive),
                    way,
                )
                for way in ways
                if way.bytes_alive <= limit and found[way.first][0] < NEVER
            ]
            found.append(min(options, key=lambda item: item[:2], default=(NEVER, 0, None)))
        return self._chosen([way for _, _, way in found])

    def _chosen(self, ways: list[_Way | None]) -> list[PlannedCascade]:
        """The cascades on the way to the last run."""
        chosen: list[PlannedCascade] = []
        end = len(self.runs)
        while end > 0:
            way = ways[end]
            assert way is not None
            planned = self.planned(way.first, end - 1) if way.is_cascade else None
            if planned is not None:
                chosen.append(planned)
            end = way.first
        return chosen[::-1]

    @cached_property
    def _ways(self) -> list[list[_Way]]:
        """By last run: whole, or in a cascade that needs less than its fullest layer does, or takes
        the rows of a streamed input.
        """
        layers = [self._layer_bytes(step) for step in range(len(self.runs))]
        ways = [[_Way(step, size)] for step, size in enumerate(layers)]
        for first in range(len(self.runs)):
            for candidate, facts in self._cascades_from(first):
                size = self._cascade_bytes(candidate, facts)
                if size < max(layers[first : candidate.last + 1]):
                    ways[candidate.last].append(_Way(first, size, facts.streamed_work))
        return ways

    def _cascades_from(self, first: int) -> Iterator[tuple[CandidateRange, CascadeFacts]]:
        for candidate, is_closed in self._candidates.from_run(first, MOST_RUNS):
            if not is_closed or (candidate.last == first and not candidate.takes_streamed_input):
                continue
            kinds = self._kinds[first : candidate.last + 1]
            facts = self._memory.facts_of(kinds, partial(self._candidates.planned_of, candidate))
            if facts is not None:
                yield candidate, facts

    @cached_property
    def _kinds(self) -> list[int]:
        return list(map(self._memory.kind, self._candidates.descriptions))

    def _cascade_bytes(self, candidate: CandidateRange, facts: CascadeFacts) -> int:
        """Bytes alive while the cascade runs."""
        sizes, root = self._alive.sizes, self.program.root
        read = {root(buffer)[0] for buffer in candidate.inputs}
        own = sum(sizes.get(buffer, 0) for buffer in candidate.roots if buffer not in read)
        whole = self._alive.within(candidate.first, candidate.last) - own
        dying = [self._dies(buffer, candidate.last) for buffer in candidate.inputs]
        local = facts.local_bytes - (facts.free_bytes if all(dying) else 0)
        if self.runs[candidate.last].outputs[0] in self._candidates.columns:
            return whole + local  # the result is counted as a part of what it is columns of
        beside = [size for size, dies in zip(facts.beside_bytes, dying, strict=True) if dies]
        return whole + min(min(beside, default=facts.result_bytes) + local, facts.own_bytes)

    def _dies(self, buffer: Buffer, step: int) -> bool:
        """Whether all of a root buffer may be overwritten as a cascade that ends there reads it."""
        root = self.program.root(buffer)[0]
        if not root.in_arena or root.size_bytes != buffer.size_bytes:
            return False
        return self.program.lives[root].last <= step
