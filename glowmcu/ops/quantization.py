"""From one number format to another: `requantize`, `quantize` (from float32), `dequantize`.

Source: TensorFlow Lite `reference/{requantize,quantize,dequantize}.h`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from glowmcu.ir.operation import Array, OperationError, Rounding, Signature
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.broadcasting import ElementwiseOperation, expect_representable, largest_offset
from glowmcu.ops.elementwise import Scale
from glowmcu.ops.fixed_point import (
    INT32_MAX,
    INT32_MIN,
    quantize_multiplier,
    saturate,
    wrap_int32,
)
from glowmcu.ops.registry import operation

_REQUANTIZED = {
    ElementType.I8: (ElementType.I8, ElementType.UI8, ElementType.I16, ElementType.I32),
    ElementType.UI8: (ElementType.I8,),
    ElementType.I16: (ElementType.I8, ElementType.I16, ElementType.I32),
    ElementType.I32: (ElementType.I8, ElementType.I16),
}
_FROM_FLOAT = (ElementType.I8, ElementType.I16, ElementType.UI8)
_TO_FLOAT = (ElementType.I8, ElementType.UI8, ElementType.I16, ElementType.I32)


def _expect_per_tensor(type_: TensorType) -> None:
    if type_.quantization is None or type_.quantization.per_channel:
        raise OperationError(f"expected quantization per tensor, got {type_}")


@operation("requantize")
class Requantize(ElementwiseOperation):
    """Integers of one scale to integers of another; scales are divided in double."""

    def verify(self, signature: Signature) -> None:
        (x,), out = signature.inputs, signature.output
        if out.element not in _REQUANTIZED.get(x.element, ()):
            raise OperationError(f"{x.element.value} to {out.element.value} is not supported")
        _expect_per_tensor(x)
        _expect_per_tensor(out)
        expect_representable("requantize", largest_offset(x), x.scale / out.scale)

    def scale(self, signature: Signature) -> Scale:
        """Input to output."""
        return Scale(*quantize_multiplier(signature.inputs[0].scale / signature.output.scale))

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        (x,), out = signature.inputs, signature.output
        offsets = wrap_int32(inputs[0].astype(np.int64) - x.zero_point)
        scaled = self.scale(signature).apply(offsets, rounding) + out.zero_point
        return (saturate(scaled, *out.element.limits, dtype=out.element.numpy),)


@operation("quantize")
@dataclass(frozen=True)
class Quantize(ElementwiseOperation):
    """round(x / scale) + zp, saturated; NaN becomes the zero point.

    Halves go away from zero as in TensorFlow Lite, or (`half_even`) to the even neighbour as in
    ONNX. The quotient is float32. Beyond int32 C leaves the conversion open; saturation is Arm's
    choice.
    """

    half_even: bool = False

    def verify(self, signature: Signature) -> None:
        (x,), out = signature.inputs, signature.output
        if x.element is not ElementType.F32 or out.element not in _FROM_FLOAT:
            raise OperationError(f"{x.element.value} to {out.element.value} is not supported")
        _expect_per_tensor(out)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        out = signature.output
        with np.errstate(over="ignore", invalid="ignore"):
            quotients = inputs[0].astype(np.float32) / np.float32(out.scale)
        whole = np.where(np.isnan(quotients), 0, quotients).astype(np.float64)
        limited = np.clip(whole, INT32_MIN, INT32_MAX)
        away = np.trunc(limited + np.copysign(0.5, limited))
        steps = np.round(limited) if self.half_even else away
        values = steps.astype(np.int64) + out.zero_point
        return (saturate(values, *out.element.limits, dtype=out.element.numpy),)


@operation("dequantize")
class Dequantize(ElementwiseOperation):
    """scale * (x - zp) in float32: exact product, rounded once. Constants may have several scales.

    i32 (a stored bias) has zero point 0.
    """

    channel_operands: ClassVar[tuple[int, ...]] = (0,)

    def verify(self, signature: Signature) -> None:
        (x,), out = signature.inputs, signature.output
        if x.element not in _TO_FLOAT or out.element is not ElementType.F32:
            raise OperationError(f"{x.element.value} to {out.element.value} is not supported")
        if x.quantization is None:
            raise OperationError(f"expected a quantized operand, got {x}")
        if x.element is ElementType.I32 and any(x.quantization.zero_points):
            raise OperationError(f"dequantize of i32 needs zero point 0, got {x}")

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        (x,) = signature.inputs
        assert x.quantization is not None
        axis = x.quantization.axis
        along = [-1 if position == axis else 1 for position in range(x.rank)]
        shape = () if axis is None else tuple(along)
        points = np.array(x.quantization.zero_points, np.int64).reshape(shape)
        scales = np.array(x.quantization.scales, np.float32).reshape(shape)
        offsets = (inputs[0].astype(np.int64) - points).astype(np.float32)
        with np.errstate(over="ignore"):
            return (np.asarray(offsets * scales, np.float32),)
