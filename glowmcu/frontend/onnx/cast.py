"""Cast, CastLike and BitCast."""

from __future__ import annotations

from glowmcu.frontend.onnx.container import NodeRecord, element_of
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.types import ElementType
from glowmcu.ops.cast import BitCast, Cast


@importer("Cast")
def import_cast(state: Import, op: NodeRecord) -> None:
    """To a type of the IR; to float32 where another float is asked for."""
    state.emit(op, Cast(), [state.value(op, 0)], _target(op))


@importer("BitCast")
def import_bitcast(state: Import, op: NodeRecord) -> None:
    """The same bits as elements of another type of the same size."""
    x, target, type_name = state.value(op, 0), _target(op), element_of(op.integer("to", 0))[1]
    sizes_differ = target.size_bytes != x.type.element.size_bytes
    if sizes_differ or (target is ElementType.F32 and type_name != "FLOAT"):
        raise Unsupported(
            "GM105",
            f"BitCast of {x.type.element.numpy} to {type_name}: expected elements of one size; "
            "FLOAT16, BFLOAT16 and DOUBLE are float32 here, and have other bits",
        )
    state.emit(op, BitCast(), [x], target)


@importer("CastLike")
def import_cast_like(state: Import, op: NodeRecord) -> None:
    """To the type of the second operand."""
    state.emit(op, Cast(), [state.value(op, 0)], state.value(op, 1).type.element)


def _target(op: NodeRecord) -> ElementType:
    element, type_name = element_of(op.integer("to", 0))
    if element is None:
        known = ", ".join(item.value for item in ElementType)
        raise Unsupported("GM105", f"{op.kind} to {type_name} is not supported; supported: {known}")
    return element
