"""SPACE_TO_DEPTH, DEPTH_TO_SPACE, SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND."""

from __future__ import annotations

from glowmcu.frontend.tflite.axes import integer_list
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Operation
from glowmcu.ops.shape import Reshape
from glowmcu.ops.space import BatchToSpace, DepthToSpace, SpaceToBatch, SpaceToDepth


@importer("SPACE_TO_DEPTH")
def import_space_to_depth(state: Import, op: OperatorRecord) -> None:
    """Square blocks."""
    block = op.options(tflite.SpaceToDepthOptions).BlockSize()
    state.emit(op, SpaceToDepth(block), [state.value(op, 0)])


@importer("DEPTH_TO_SPACE")
def import_depth_to_space(state: Import, op: OperatorRecord) -> None:
    """Square blocks."""
    block = op.options(tflite.DepthToSpaceOptions).BlockSize()
    state.emit(op, DepthToSpace(block), [state.value(op, 0)])


@importer("SPACE_TO_BATCH_ND")
def import_space_to_batch(state: Import, op: OperatorRecord) -> None:
    """Pads with the real value 0."""
    block, edges = _block_and_edges(state, op, "its paddings")
    out = state.output_type(op)
    value = out.zero_point if out.quantization is not None else 0
    _emit_nhwc(state, op, SpaceToBatch(block, edges, value))


@importer("BATCH_TO_SPACE_ND")
def import_batch_to_space(state: Import, op: OperatorRecord) -> None:
    """The inverse, with crops."""
    block, edges = _block_and_edges(state, op, "its crops")
    _emit_nhwc(state, op, BatchToSpace(block, edges))


def _block_and_edges(
    state: Import, op: OperatorRecord, what: str
) -> tuple[tuple[int, int], tuple[int, int, int, int]]:
    """Block (height, width) and top, left, bottom, right; one spatial axis is the height."""
    block = integer_list(state, op, 1, "its block shape")
    edges = integer_list(state, op, 2, what)
    if len(block) == 1 and len(edges) == 2:
        return (block[0], 1), (edges[0], 0, edges[1], 0)
    if len(block) == 2 and len(edges) == 4:
        return (block[0], block[1]), (edges[0], edges[2], edges[1], edges[3])
    raise Unsupported(
        "GM106", f"{op.name.lower()}: expected one or two spatial axes, got {block} and {edges}"
    )


def _emit_nhwc(state: Import, op: OperatorRecord, operation: Operation) -> None:
    """(N, H, C) is computed as (N, H, 1, C)."""
    x: Value = state.value(op, 0)
    if x.type.rank == 4:
        state.emit(op, operation, [x])
        return
    if x.type.rank != 3:
        raise Unsupported("GM106", f"{op.name.lower()}: expected rank 3 or 4, got {x.type}")
    n, height, depth = x.type.shape
    image = state.emit_inner(op, Reshape((n, height, 1, depth)), [x], x.type)
    moved = state.emit_inner(op, operation, [image], x.type)
    n, height, _, depth = moved.type.shape
    state.emit(op, Reshape((n, height, depth)), [moved])
