"""A cascade as attributes: its buffers are the instruction's operands, named here by position.

The operands are the inputs, the outputs, then what lives inside (`Cascade.operands`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from glowmcu.ir.cascade import Cascade, RowRun, Stage
from glowmcu.ir.instructions import Buffer, Run
from glowmcu.ir.kernel_code import Overlap, RowCall, RowRule, RowSupport
from glowmcu.ir.text.fields import FieldError
from glowmcu.ir.text.node_records import LabelledValues, NodeRecord, ValueLabels
from glowmcu.lazy_dataclass import dataclass


@dataclass(frozen=True)
class RowRunRecord:
    """A kernel in a stage: the fields of `RowRun` and of its `Run`."""

    call: RowCall
    rules: tuple[RowRule, ...]
    kernel: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    scratch: int | None
    positions: tuple[int, ...]
    operand_align: int
    overlaps: Mapping[int, Overlap]
    rows: RowSupport | None
    node: NodeRecord


@dataclass(frozen=True)
class StageRecord:
    """Kernels that take their turns together; `input_ring`: the ring of a stage without any."""

    rows: int
    input_ring: int | None
    runs: tuple[RowRunRecord, ...]


@dataclass(frozen=True)
class ForbiddenOffsets:
    """Offset differences that two local buffers must avoid."""

    first: int
    second: int
    forbidden: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class CascadeRecord:
    """A cascade. `rings` and `overlaps` are by the buffer's position."""

    stages: tuple[StageRecord, ...]
    order: tuple[int, ...]
    rings: Mapping[int, int]
    forbidden_offsets: tuple[ForbiddenOffsets, ...]
    overlaps: Mapping[int, Overlap]
    row_pitch: int


def cascade_record(cascade: Cascade, labels: ValueLabels) -> CascadeRecord:
    """The cascade with its buffers by position."""
    place = {buffer: index for index, buffer in enumerate(cascade.operands)}

    def places(buffers: Sequence[Buffer]) -> tuple[int, ...]:
        return tuple(place[buffer] for buffer in buffers)

    def row_run(item: RowRun) -> RowRunRecord:
        run = item.run
        return RowRunRecord(
            item.call,
            item.rules,
            run.kernel,
            places(run.inputs),
            places(run.outputs),
            None if run.scratch is None else place[run.scratch],
            run.positions,
            run.operand_align,
            run.overlaps,
            run.rows,
            labels.record(run.node),
        )

    return CascadeRecord(
        tuple(
            StageRecord(
                stage.rows,
                None if stage.input_ring is None else place[stage.input_ring],
                tuple(map(row_run, stage.runs)),
            )
            for stage in cascade.stages
        ),
        cascade.order,
        {place[ring]: stage for ring, stage in cascade.rings.items()},
        tuple(
            ForbiddenOffsets(place[a], place[b], gaps)
            for (a, b), gaps in cascade.forbidden_offsets.items()
        ),
        {place[buffer]: rule for buffer, rule in cascade.overlaps.items()},
        cascade.row_pitch,
    )


def cascade_of_record(
    record: CascadeRecord,
    buffers: Sequence[Buffer],
    inputs: int,
    outputs: int,
    values: LabelledValues,
) -> Cascade:
    """The cascade on `buffers`, of which the first are inputs, then outputs.

    Raises FieldError GM218 for positions that no buffer has, or no stage.
    """

    def find(position: int) -> Buffer:
        if not 0 <= position < len(buffers):
            message = f"a cascade of {len(buffers)} buffers has none at position {position}"
            raise FieldError("GM218", message)
        return buffers[position]

    def row_run(item: RowRunRecord) -> RowRun:
        if len(item.rules) != len(item.inputs):
            raise FieldError("GM218", "a row's kernel needs one rule for each input")
        run = Run(
            values.node(item.node),
            item.kernel,
            tuple(map(find, item.inputs)),
            tuple(map(find, item.outputs)),
            None if item.scratch is None else find(item.scratch),
            item.positions,
            item.operand_align,
            item.overlaps,
            item.rows,
        )
        return RowRun(run, item.call, item.rules)

    stages = tuple(
        Stage(
            tuple(map(row_run, item.runs)),
            item.rows,
            None if item.input_ring is None else find(item.input_ring),
        )
        for item in record.stages
    )
    if not stages or any(bool(stage.runs) == (stage.input_ring is not None) for stage in stages):
        raise FieldError("GM218", "a cascade has stages, each of them kernels or an input ring")
    for stage in (*record.order, *record.rings.values()):
        if not 0 <= stage < len(stages):
            raise FieldError("GM218", f"a cascade of {len(stages)} stages has no stage {stage}")
    return Cascade(
        stages,
        record.order,
        tuple(buffers[:inputs]),
        tuple(buffers[inputs : inputs + outputs]),
        {find(ring): stage for ring, stage in record.rings.items()},
        {
            (find(item.first), find(item.second)): item.forbidden
            for item in record.forbidden_offsets
        },
        {find(position): rule for position, rule in record.overlaps.items()},
        record.row_pitch,
    )
