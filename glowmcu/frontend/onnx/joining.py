"""Concat."""

from __future__ import annotations

from glowmcu.frontend.onnx.axes import positive_axis
from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.onnx.quantization import BYTES
from glowmcu.ir.graph import Value
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.shape import Reshape


@importer("Concat")
def import_concat(state: Import, op: NodeRecord) -> None:
    """Operands one behind the other along an axis."""
    values = [state.value(op, i) for i in range(len(op.inputs))]
    axis = positive_axis(op, op.integer("axis", 1), state.value(op, 0).type.rank)
    state.emit(op, Concatenation(axis), _alike(state, op, values))


def _alike(state: Import, op: NodeRecord, values: list[Value]) -> list[Value]:
    """Stored numbers have no scale in ONNX, so those of several come together as they are: all get
    the first one's, until a DequantizeLinear says otherwise.
    """
    first = next((v.type.quantization for v in values if v.type.quantization is not None), None)
    elements = {value.type.element for value in values}
    if first is None or len(elements) > 1 or not elements <= set(BYTES):
        return values
    return [
        value
        if value.type.quantization == first
        else state.add(op, Reshape(value.type.shape), [value], quantization=first)
        for value in values
    ]
