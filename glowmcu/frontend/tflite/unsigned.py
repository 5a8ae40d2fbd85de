"""uint8 of old quantized files: the same real numbers as int8 with a zero point 128 lower.

TensorFlow Lite's kernels of both types compute the same sums and round alike, so an operator on
uint8 is the one on int8 between two subtractions of 128, which meet their like and go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.operation import Operation
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.custom_c import CustomC
from glowmcu.ops.defined import Defined
from glowmcu.ops.movement import Movement
from glowmcu.ops.quantization import Dequantize, Quantize, Requantize
from glowmcu.ops.resize import ResizeBilinear
from glowmcu.ops.shape import Reshape

_Operation = TypeVar("_Operation", bound=Operation)
_SHIFT = 128
#: These have a meaning on bytes of their own; TensorFlow Lite interpolates uint8 in another way.
_OWN = (Movement, Reshape, Quantize, Dequantize, Requantize, ResizeBilinear, CustomC, Defined)


def _is_quantized_byte(type_: TensorType) -> bool:
    return type_.element is ElementType.UI8 and type_.quantization is not None


def knows_int8_alone(operation: Operation, types: Sequence[TensorType]) -> bool:
    """Whether the operator meets quantized uint8, and has none of its own.

    Raises Unsupported GM105 for one that meets int8 too: no interpreter has such an operator, and
    its attributes in stored units would be those of one of both.
    """
    if isinstance(operation, _OWN) or not any(map(_is_quantized_byte, types)):
        return False
    for type_ in types:
        if type_.element is ElementType.I8:
            raise Unsupported(
                "GM105", f"{operation.name}: {type_} beside uint8; expected uint8 throughout",
                "re-export the model: the converter gives an operator one type",
            )  # fmt: skip
    return True


def as_int8(type_: TensorType) -> TensorType:
    """A quantized uint8 type as int8; others stay."""
    if not _is_quantized_byte(type_):
        return type_
    assert type_.quantization is not None
    points = tuple(point - _SHIFT for point in type_.quantization.zero_points)
    quantization = replace(type_.quantization, zero_points=points)
    return TensorType(type_.shape, ElementType.I8, quantization)


def as_int8_operation(operation: _Operation) -> _Operation:
    """The operator with its attributes in stored units (`clamp`) moved like the numbers."""
    changed: Any = operation
    if "clamp" in {field.name for field in fields(changed)} and changed.clamp is not None:
        low, high = changed.clamp
        changed = replace(changed, clamp=(low - _SHIFT, high - _SHIFT))
    moved: _Operation = changed
    return moved
