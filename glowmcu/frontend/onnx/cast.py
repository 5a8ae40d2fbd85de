"""Cast and CastLike."""

from __future__ import annotations

from glowmcu.frontend.onnx.container import NodeRecord, element_of
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.types import ElementType
from glowmcu.ops.cast import Cast


@importer("Cast")
def import_cast(state: Import, op: NodeRecord) -> None:
    """To a type of the IR; to float32 where another float is asked for."""
    element, type_name = element_of(op.integer("to", 0))
    if element is None:
        known = ", ".join(item.value for item in ElementType)
        raise Unsupported("GM105", f"Cast to {type_name} is not supported; supported: {known}")
    state.emit(op, Cast(), [state.value(op, 0)], element)


@importer("CastLike")
def import_cast_like(state: Import, op: NodeRecord) -> None:
    """To the type of the second operand."""
    state.emit(op, Cast(), [state.value(op, 0)], state.value(op, 1).type.element)
