"""Stretches of runs that hand on one tensor and know of nothing else: what may be a cascade."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import field
from functools import cached_property

from glowmcu.ir.instructions import Buffer, ViewRole
from glowmcu.ir.program import Program, Run
from glowmcu.lazy_dataclass import dataclass
from glowmcu.memplan.planned_cascades import PlannedCascade
from glowmcu.memplan.row_flow import flow_of, support_of
from glowmcu.memplan.streamed_input import streamed_image


@dataclass
class CandidateRange:
    """Runs `first` to `last`. `inputs`: what they read of others, but for what is pushed; `roots`:
    the roots of what they make and take as it is pushed, but for columns of a larger image.
    """

    first: int
    last: int
    #: The last run that reads what runs before the last make.
    last_reader: int = -1
    inputs: dict[Buffer, None] = field(default_factory=dict)
    roots: dict[Buffer, None] = field(default_factory=dict)
    takes_streamed_input: bool = False


class CandidateRanges:
    """Who makes and reads what in a program. Raises GM409 for a streamed input that is no image."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.runs = program.runs
        self.streamed_input = None if program.streamed_input is None else streamed_image(program)
        self.readers: dict[Buffer, list[int]] = {}
        for index, run in enumerate(self.runs):
            for buffer in run.inputs:
                self.readers.setdefault(buffer, []).append(index)
        self.makers = {run.outputs[0]: index for index, run in enumerate(self.runs)}
        self.columns = {
            view.buffer: view for view in program.views.values() if view.role is ViewRole.COLUMNS
        }
        for view in self.columns.values():
            made = self.makers[view.buffer]
            self.makers[view.base] = max(made, self.makers.get(view.base, made))
        viewed = {
            view.base for view in program.views.values() if view.role is not ViewRole.OVERWRITE
        }
        kept = viewed.union(program.lasting)
        #: Whether only runs read the result of each run.
        self._is_inner = [
            run.outputs[0] in self.readers
            and run.outputs[0] not in kept
            and not self._is_part(run.outputs[0])
            for run in self.runs
        ]

    def from_run(self, first: int, most_runs: int) -> Iterator[tuple[CandidateRange, bool]]:
        """Stretches of up to `most_runs` runs from `first`, and whether no other run reads theirs.

        The one object grows.
        """
        candidate = CandidateRange(first, first)
        for last in range(first, min(len(self.runs), first + most_runs)):
            if self.runs[last].rows is None or (last > first and not self._is_inner[last - 1]):
                return
            if self.runs[last].node.stage != self.runs[first].node.stage:
                return
            if not self._extend(candidate, last):
                return
            yield candidate, self._is_closed(candidate)

    def _extend(self, candidate: CandidateRange, last: int) -> bool:
        """One run more; False if no candidate with it is possible."""
        run, first = self.runs[last], candidate.first
        candidate.last = last
        if last > first:
            made = self.runs[last - 1].outputs[0]
            candidate.last_reader = max(candidate.last_reader, self.readers[made][-1])
        for buffer in run.inputs:
            maker = self.makers.get(buffer, -1)
            if buffer is self.streamed_input:
                candidate.takes_streamed_input = True
                candidate.roots[self.program.root(buffer)[0]] = None
            elif maker < first:
                if self.program.root(buffer)[0].data is not None:
                    return False
                candidate.inputs[buffer] = None
            elif self.runs[maker].outputs[0] is not buffer:
                return False  # columns of several runs, made here
        if run.outputs[0] not in self.columns:
            candidate.roots[self.program.root(run.outputs[0])[0]] = None
        return True

    def _is_closed(self, candidate: CandidateRange) -> bool:
        result = self.runs[candidate.last].outputs[0]
        if (
            candidate.last_reader > candidate.last
            or self._is_part(result)
            or len(result.type.shape) != 4
        ):
            return False
        return not candidate.takes_streamed_input or self._reads_streamed_input(
            candidate.first, candidate.last
        )

    def _reads_streamed_input(self, first: int, last: int) -> bool:
        """All or none of a candidate's runs read what is pushed."""
        assert self.streamed_input is not None
        return all(first <= reader <= last for reader in self.readers[self.streamed_input])

    def _is_part(self, buffer: Buffer) -> bool:
        """Whether the buffer is a piece of another one, which is more than computed in place."""
        view = self.program.views.get(buffer)
        return view is not None and view.role in (ViewRole.SLICE, ViewRole.PART)

    def planned(self, first: int, last: int) -> PlannedCascade | None:
        """The runs as a cascade, if they can be one."""
        found: CandidateRange | None = None
        for candidate, is_closed in self.from_run(first, last - first + 1):
            found = candidate if candidate.last == last and is_closed else None
        return None if found is None else self.planned_of(found)

    def planned_of(self, candidate: CandidateRange) -> PlannedCascade | None:
        """A candidate of which nobody else reads as a planned cascade, if it can be one."""
        first, last = candidate.first, candidate.last
        runs = self.runs[first : last + 1]
        result = runs[-1].outputs[0]
        streamed_input = self.streamed_input if candidate.takes_streamed_input else None
        inner = {run.outputs[0]: len(self.readers[run.outputs[0]]) for run in runs[:-1]}
        flow = flow_of(runs, inner, streamed_input)
        if any(stage.result not in (*inner, streamed_input) for stage in flow.stages[:-1]):
            return None
        if any(stage.accumulates for stage in flow.stages[:-1]):
            return None
        view = self.columns.get(result)
        pitch = view.row_pitch if view is not None else 0
        return PlannedCascade(
            first, last, flow, tuple(candidate.inputs), result, inner, streamed_input, pitch
        )

    @cached_property
    def descriptions(self) -> list[Hashable]:
        """For each run what matters of it for a cascade; others are named by how far back they are.

        Stretches of runs with equal descriptions need the same.
        """
        return [
            None if run.rows is None else self._description(index, run)
            for index, run in enumerate(self.runs)
        ]

    def _description(self, index: int, run: Run) -> Hashable:
        support, result = support_of(run), run.outputs[0]
        view = self.columns.get(result)
        operands = tuple(
            (self._distance(index, buffer), buffer.size_bytes, buffer.type.shape)
            for buffer in run.inputs
        )
        return (
            operands,
            (result.size_bytes, result.type.shape, len(self.readers.get(result, ()))),
            view.row_pitch if view is not None else 0,
            (support.call, support.turns, support.rules, support.scratch_bytes),
            tuple(sorted(support.overlaps.items(), key=lambda item: item[0])),
            run.node.macs,
        )

    def _distance(self, index: int, buffer: Buffer) -> Hashable:
        """Who made an operand; of what none of the runs made, who reads it first, and where."""
        if buffer is self.streamed_input:
            return "streamed input"
        maker = self.makers.get(buffer)
        if maker is not None:
            return index - maker
        reader = self.readers[buffer][0]
        return index - reader, self.runs[reader].inputs.index(buffer)
