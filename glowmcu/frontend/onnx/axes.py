"""Axes and lists of integers as ONNX has them: attributes in old opsets, operands in newer ones."""

from __future__ import annotations

from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import
from glowmcu.frontend.unsupported import Unsupported


def positive_axis(op: NodeRecord, axis: int, rank: int) -> int:
    """`axis` in `[0, rank)`; negative ones count from the end."""
    if not -rank <= axis < rank:
        raise Unsupported("GM106", f"{op.kind}: axis {axis} is outside rank {rank}")
    return axis % rank


def integers(
    state: Import, op: NodeRecord, position: int, attribute: str, what: str
) -> tuple[int, ...] | None:
    """The constant operand at `position`, else the attribute; None if neither is given."""
    if not state.has(op, position):
        return op.integers(attribute)
    data = state.constant(op, position, what)
    if data.dtype.kind not in "iu":
        raise Unsupported("GM106", f"{op.kind}: {what} must be integers, got {data.dtype}")
    return tuple(int(item) for item in data.reshape(-1))


def required_integers(
    state: Import, op: NodeRecord, position: int, attribute: str, what: str
) -> tuple[int, ...]:
    """The same where one of the two must be given."""
    found = integers(state, op, position, attribute, what)
    if found is None:
        raise Unsupported("GM105", f"{op.kind} lacks {what}")
    return found
