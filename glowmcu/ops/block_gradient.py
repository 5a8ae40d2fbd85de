"""Gradients in fixed point: int16 numbers that share one exponent, and what bounds them.

real gradient = number * 2^exponent * a scale that is known when the graph is made. Beside the
numbers, int32[2], stand the exponent and the peak: the largest magnitude. A gradient is that of the
loss by what is *stored*, so that of a quantized layer the sums of products need no rescaling.
Source: Lin et al., On-Device Training Under 256KB Memory, NeurIPS 2022 (the quantized graph).
"""

from __future__ import annotations

import numpy as np

from glowmcu.ir.operation import Array, OperationError
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.fixed_point import Int64Array

#: Magnitudes are at most 2^BITS.
BITS = 14
#: What sums of products may reach, so that they are multiplied in halves without overflow.
SUM_END = 2**30
#: Type of exponent and peak.
SHARED = TensorType((2,), ElementType.I32)


def gradient_type(shape: tuple[int, ...]) -> TensorType:
    """Of the numbers."""
    return TensorType(shape, ElementType.I16)


def bits_for(products: int, factor: int) -> int:
    """So that `products` of a gradient and a `factor` sum to less than `SUM_END`; below 1 if there
    is no such gradient.
    """
    return min(BITS, SUM_END.bit_length() - 2 - (max(products, 1) * factor).bit_length())


def excess(peak: int, bits: int) -> int:
    """The least right shift after which no magnitude up to `peak` exceeds 2^bits."""
    return max(0, max(peak - 1, 0).bit_length() - bits)


def rounded_shift(values: Array, shift: int) -> Int64Array:
    """values / 2^shift, halves up."""
    wide = np.asarray(values, np.int64)
    return wide if shift == 0 else (wide + (1 << (shift - 1))) >> shift


def shared(exponent: int, numbers: Array) -> Array:
    """Exponent and peak of these numbers."""
    peak = int(np.abs(numbers.astype(np.int64)).max(initial=0))
    return np.array([exponent, peak], np.int32)


def expect_gradient(numbers: TensorType, common: TensorType) -> None:
    """Raise OperationError unless these are numbers with their exponent and peak."""
    if numbers.element is not ElementType.I16 or numbers.quantization is not None:
        raise OperationError(f"expected a gradient of plain i16, got {numbers}")
    if common != SHARED:
        raise OperationError(f"expected exponent and peak of {SHARED}, got {common}")


def expect_stored(type_: TensorType) -> None:
    """Raise OperationError unless this is int8 of one scale."""
    quantization = type_.quantization
    if type_.element is not ElementType.I8 or quantization is None or quantization.per_channel:
        raise OperationError(f"expected i8 with one scale, got {type_}")
