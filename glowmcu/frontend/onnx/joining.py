"""Concat."""

from __future__ import annotations

from glowmcu.frontend.onnx.axes import positive_axis
from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.ops.joining import Concatenation


@importer("Concat")
def import_concat(state: Import, op: NodeRecord) -> None:
    """Operands one behind the other along an axis."""
    values = [state.value(op, i) for i in range(len(op.inputs))]
    axis = positive_axis(op, op.integer("axis", 1), state.value(op, 0).type.rank)
    state.emit(op, Concatenation(axis), values)
