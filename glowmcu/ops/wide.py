"""Activations of 16 bits with weights of 8: what the operators that take them share.

All zero points are 0. The bias says how wide accumulators are: int32 ones are rescaled as those of
int8 are, int64 ones by 15 bits of the multiplier, rounded once, halves up.
Source: TensorFlow Lite `internal/common.cc` (`MultiplyByQuantizedMultiplier` of int64) and the
16-bit versions in `reference/integer_ops`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from glowmcu.ir.operation import Array, OperationError, Rounding, Signature
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.ops.fixed_point import Int64Array, Requantization, requantization, wrap_int32

#: |accumulator| of int64 must stay below: then its product with 15 bits stays inside int64.
ACCUMULATOR_END = 2**47
INT16_MAX = 2**15 - 1
_LARGEST_SHIFT = 7


class WideRequantization(Requantization):
    """int64 accumulators to the output's scale. `multipliers` are Q15, `shifts` left positive."""

    def apply(self, accumulators: Array, rounding: Rounding) -> Int64Array:
        """Rescale; the rounding is the same for everybody."""
        total = 15 - self.shifts.astype(np.int64)
        product = np.asarray(accumulators, np.int64) * self.multipliers.astype(np.int64)
        return wrap_int32((product + (np.int64(1) << (total - 1))) >> total)

    def _rises(self, most: Int64Array, rounding: Rounding) -> npt.NDArray[np.bool_]:
        reach = most.astype(np.float64)
        results = reach * self.multipliers * 2.0 ** (self.shifts.astype(np.float64) - 15)
        return np.asarray((reach < ACCUMULATOR_END) & (results < 2.0**31 - 2))


def wide_requantization(scales: npt.ArrayLike) -> WideRequantization:
    """Constants for real scales; OperationError for one that the 15 bits cannot express."""
    full = requantization(scales)
    if (full.shifts > _LARGEST_SHIFT).any():
        raise OperationError(
            f"input times weights scale must be below {2**_LARGEST_SHIFT} times the output's "
            "for accumulators of 64 bits"
        )
    reduced = (full.multipliers.astype(np.int64) + 2**15) >> 16
    return WideRequantization(np.minimum(reduced, INT16_MAX).astype(np.int32), full.shifts)


def requantization_for(bias: TensorType, scales: npt.ArrayLike) -> Requantization:
    """By the bias: int64 means wide accumulators."""
    wide = bias.element is ElementType.I64
    return wide_requantization(scales) if wide else requantization(scales)


def fixed_wide_parameters(fixed: tuple[float, int]) -> Quantization:
    """int16 parameters for the range that `fixed` ones of int8 span: [0, 1] or [-1, 1] in Q0.15."""
    scale, zero_point = fixed
    largest = max(zero_point + 128, 128 - zero_point) * scale
    return Quantization((largest / (INT16_MAX + 1),), (0,))


def is_wide(signature: Signature) -> bool:
    """Whether the result has 16 bits."""
    return signature.output.element is ElementType.I16


def expect_symmetric(*types: TensorType) -> None:
    """OperationError unless all are int16 with one scale and zero point 0."""
    for type_ in types:
        if type_.element is not ElementType.I16 or type_.quantization is None:
            raise OperationError(f"expected quantized i16 throughout, got {type_}")
        if type_.quantization.per_channel or type_.zero_point:
            raise OperationError(f"i16 needs one scale and zero point 0, got {type_}")


def verify_weighted(signature: Signature, *biases: ElementType) -> None:
    """OperationError unless input, weights, bias and result fit; `biases` are the bias's types."""
    x, weights, bias = signature.inputs
    expect_symmetric(x, signature.output)
    if weights.element is not ElementType.I8 or weights.quantization is None:
        raise OperationError(f"i16 needs quantized i8 weights, got {weights}")
    if any(weights.quantization.zero_points):
        raise OperationError("weights must have zero point 0")
    if bias.element not in biases:
        expected = " or ".join(element.value for element in biases)
        reason = "; interpreters read int64 whatever it is: convert with biases of 64 bits"
        is_short = bias.element is ElementType.I32
        raise OperationError(f"expected {expected} bias, got {bias}{reason if is_short else ''}")
    if bias.element is ElementType.I64:
        scales = np.array(weights.quantization.scales)
        wide_requantization(x.scale * scales / signature.output.scale)
