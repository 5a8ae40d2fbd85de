"""ADD_N."""

from __future__ import annotations

from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.ir.types import ElementType
from glowmcu.ops.add_n import AddN
from glowmcu.ops.elementwise import Add

_ELEMENTS = (ElementType.I8, ElementType.F32, ElementType.I32)


@importer("ADD_N")
def import_add_n(state: Import, op: OperatorRecord) -> None:
    """Operands of one shape; int8 of one scale and zero point, float32 or int32."""
    if len(op.inputs) < 2 or len(op.outputs) != 1:
        raise Unsupported(
            "GM106",
            f"add_n: {len(op.inputs)} operands and {len(op.outputs)} results; "
            "expected two operands or more, and one result",
        )
    operands = [state.value(op, position) for position in range(len(op.inputs))]
    first, *others = operands
    declared = state.output_type(op)
    for value in (first, *others):
        if value.type.shape != first.type.shape or value.type.element is not first.type.element:
            raise Unsupported(
                "GM106",
                f"add_n: operands must be of one shape and type: {first.type}; {value.type}",
            )
    if first.type.element not in _ELEMENTS or declared.element is not first.type.element:
        raise Unsupported(
            "GM106",
            f"add_n: expected int8, float32 or int32 throughout, got {first.type}; {declared}",
        )
    if first.type.element is ElementType.I8:
        state.emit(op, AddN(), operands)
        return
    total = first
    for value in others[:-1]:
        total = state.emit_inner(op, Add(), [total, value], declared)
    state.emit(op, Add(), [total, others[-1]])
