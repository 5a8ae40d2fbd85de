"""Columns of a table, which skl2onnx takes one by one."""

from __future__ import annotations

from glowmcu.ir.graph import Node
from glowmcu.ir.rewriting import Context
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.gather import Gather
from glowmcu.ops.slicing import Slice


def is_column(type_: TensorType) -> bool:
    """Whether it has real numbers, one a row."""
    return type_.element is ElementType.F32 and type_.rank == 2 and type_.shape[1] == 1


def taken_columns(context: Context, node: Node) -> tuple[int, ...] | None:
    """Which columns of its operand a slice or gather takes of all rows; None for anything else."""
    if not isinstance(node.op, Slice | Gather) or node.inputs[0].type.rank != 2:
        return None
    if isinstance(node.op, Slice):
        (first, begin), (rows, count), (down, step) = node.op.begin, node.op.size, node.op.step
        is_all_rows = (first, rows, down) == (0, node.inputs[0].type.shape[0], 1)
        return tuple(begin + i * step for i in range(count)) if is_all_rows else None
    if node.op.axis != 1 or node.op.batch_dims:
        return None
    known = context.constant(node.inputs[1])
    return None if known is None else tuple(map(int, known.reshape(-1)))
