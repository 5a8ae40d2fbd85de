"""Runs as a cascade: what it keeps while it runs, and what all cascades alike have in common.

Stretches whose runs read each other at the same distances, with rows of the same sizes, need the
same: their facts are found once, for all layers of a network that repeat and for all plans.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import field
from functools import cached_property

import numpy as np

from glowmcu.ir.instructions import Buffer, aligned
from glowmcu.ir.kernel_code import Overlap, RowCall
from glowmcu.lazy_dataclass import dataclass
from glowmcu.memplan.overlap import Relation, forbidden_differences
from glowmcu.memplan.row_flow import Flow, FlowStage, support_of


@dataclass(frozen=True, eq=False)
class PlannedCascade:
    """Runs `first` to `last` of a program as a cascade. `overlap`: of the result with inputs.

    `streamed_input`: what the application pushes, if that comes here; `row_pitch`: from row to row
    of a result that is columns of a larger image, else 0.
    """

    first: int
    last: int
    flow: Flow
    inputs: tuple[Buffer, ...]
    result: Buffer
    inner: Mapping[Buffer, int]
    streamed_input: Buffer | None = None
    row_pitch: int = 0

    @cached_property
    def ring_rows(self) -> dict[Buffer, int]:
        """How many rows are kept of the results that other stages read."""
        stages = self.flow.stages
        return {stage.result: self.flow.ring_rows(index) for index, stage in enumerate(stages[:-1])}

    @cached_property
    def overlaps(self) -> dict[Buffer, Overlap]:
        """By input that dies here, how near to it the result may begin."""
        if self.row_pitch:
            return {}
        row_bytes = self.result.size_bytes // max(1, self.flow.stages[-1].turns)
        gaps = {buffer: self.flow.gap_bytes(buffer, row_bytes) for buffer in self.inputs}
        return {buffer: Overlap(gap) for buffer, gap in gaps.items() if gap is not None}

    @cached_property
    def local_bytes(self) -> int:
        """Bytes of rings, accumulators, single rows and scratch, approximately."""
        total = 0
        for buffer, rows in self.ring_rows.items():
            total += aligned(rows * row_bytes_of(buffer))
        return (
            total
            + sum(map(_kept_bytes, self.flow.stages))
            + max(map(passing_bytes, self.flow.stages))
        )

    @cached_property
    def own_bytes(self) -> int:
        """The most bytes that are there in a turn, of stages and of the result so far."""
        final, count = self.flow.stages[-1], len(self.flow.stages)
        kept = np.array([self.stage_bytes(index) for index in range(count)])
        passing = np.array(list(map(passing_bytes, self.flow.stages)))
        made_bytes = 0 if final.accumulates else aligned(self.result.size_bytes) // final.turns
        return self.flow.times.most_bytes(kept, passing, made_bytes)

    def stage_bytes(self, index: int) -> int:
        """Bytes of a stage from its first turn on: its ring, or sums and their result."""
        stage = self.flow.stages[index]
        rows = self.ring_rows.get(stage.result, 0)
        return aligned(rows * row_bytes_of(stage.result)) + _kept_bytes(stage)

    @property
    def streamed_work(self) -> int:
        """Multiply-accumulates plus one per run: of equal peaks the choice with the least wins."""
        return sum(run.node.macs + 1 for stage in self.flow.stages for run in stage.runs)


def row_bytes_of(buffer: Buffer) -> int:
    """Bytes of a row of an image."""
    return buffer.size_bytes // max(1, buffer.type.shape[1])


def _kept_bytes(stage: FlowStage) -> int:
    """Accumulators, which outlive a turn; their result is there at the end, too."""
    if not stage.accumulates:
        return 0
    support = support_of(stage.runs[-1])
    return aligned(support.scratch_bytes) + aligned(stage.result.size_bytes)


def passing_bytes(stage: FlowStage) -> int:
    """Single rows and scratch of a turn, at the fullest of its runs."""
    most = 0
    for index, run in enumerate(stage.runs):
        support = support_of(run)
        before = aligned(row_bytes_of(stage.runs[index - 1].outputs[0])) if index else 0
        after = aligned(row_bytes_of(run.outputs[0])) if run is not stage.runs[-1] else 0
        if index and after == 0 and 0 in support.overlaps:
            gap = support.overlaps[0].least_gap_bytes
            before = before if gap is None else min(before, max(0, aligned(gap)))
        scratch = 0 if support.call is RowCall.ACCUMULATE else aligned(support.scratch_bytes)
        most = max(most, before + after + scratch)
    return most


@dataclass(frozen=True)
class CascadeFacts:
    """Bytes that a planned cascade needs, wherever it is in a program.

    `beside_bytes`, by input: what the result takes beside an input that dies and begins its root;
    `free_bytes`: how much of a single input like that what comes late can take.
    """

    local_bytes: int
    own_bytes: int
    result_bytes: int
    beside_bytes: tuple[int, ...]
    free_bytes: int
    streamed_work: int


def facts_of(planned: PlannedCascade) -> CascadeFacts:
    """They follow from the rows, their sizes and who reads whom."""
    size = aligned(planned.result.size_bytes)
    if planned.flow.stages[-1].accumulates or planned.row_pitch:
        size = 0  # counted with the accumulators, or with the whole image
    return CascadeFacts(
        planned.local_bytes,
        planned.own_bytes,
        size,
        tuple(_beside_bytes(planned, buffer, size) for buffer in planned.inputs),
        _free_bytes(planned),
        planned.streamed_work,
    )


def _beside_bytes(planned: PlannedCascade, operand: Buffer, size: int) -> int:
    rule = planned.overlaps.get(operand) if size else None
    if rule is None:
        return size
    intervals = forbidden_differences(rule, size, operand.size_bytes)
    return size - Relation(operand, planned.result, intervals).most_shared_bytes


def _free_bytes(planned: PlannedCascade) -> int:
    """Bytes of the input that what comes late can take: at most at the turn that is worst."""
    flow, final = planned.flow, planned.flow.stages[-1]
    if len(planned.inputs) != 1 or not final.accumulates:
        return 0
    (operand,) = planned.inputs
    rows, pitch = operand.type.shape[1], row_bytes_of(operand)
    needs = sorted(
        (flow.first_write(index), planned.stage_bytes(index)) for index in range(len(flow.stages))
    )
    worst, total = 0, 0
    for write, size in needs:
        total += size
        worst = max(worst, total + (rows - flow.first_live_row(operand, write)) * pitch)
    return max(0, total + operand.size_bytes - worst)


@dataclass(frozen=True, eq=False)
class CascadeMemory:
    """Facts found so far, by the kinds of a candidate's runs; None for what is no cascade."""

    kinds: dict[Hashable, int] = field(default_factory=dict)
    facts: dict[tuple[int, ...], CascadeFacts | None] = field(default_factory=dict)

    def kind(self, description: Hashable) -> int:
        """A number for each description."""
        return self.kinds.setdefault(description, len(self.kinds))

    def facts_of(
        self, kinds: Sequence[int], planned: Callable[[], PlannedCascade | None]
    ) -> CascadeFacts | None:
        """Those of a candidate, which is looked at if none of these kinds was before."""
        key = tuple(kinds)
        if key not in self.facts:
            found = planned()
            self.facts[key] = facts_of(found) if found is not None else None
        return self.facts[key]
