"""Gradients in fixed point: numbers that share one exponent, and what bounds them.

real gradient = number * 2^exponent * a scale that is known when the graph is made. Beside the
numbers, int32[2], stand the exponent and the peak: the largest magnitude. A gradient is that of the
loss by what is *stored*, so that of a quantized layer the sums of products need no rescaling.
Numbers are int16, or those of an image *packed*: int8, with a shift for each pixel, by which that
pixel's numbers are to the left, in a byte behind its channels.
Sources: Lin et al., On-Device Training Under 256KB Memory, NeurIPS 2022 (the quantized graph);
Rouhani et al., Microscaling Data Formats for Deep Learning, 2023 (blocks with their own exponent).
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
#: What packed numbers may be at most.
_PACKED_END = 127
#: Type of exponent and peak.
SHARED = TensorType((2,), ElementType.I32)


def gradient_type(shape: tuple[int, ...], is_packed: bool = False) -> TensorType:
    """Of numbers that lie in `shape`, which has a byte more a pixel where they are packed."""
    return TensorType(shape, ElementType.I8 if is_packed else ElementType.I16)


def packed_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Where numbers of `shape` lie that are packed."""
    return (*shape[:-1], shape[-1] + 1)


def is_packed(type_: TensorType) -> bool:
    """Whether these numbers are."""
    return type_.element is ElementType.I8


def numbers_shape(type_: TensorType) -> tuple[int, ...]:
    """That of the numbers of a gradient."""
    return (*type_.shape[:-1], type_.shape[-1] - 1) if is_packed(type_) else type_.shape


def numbers_of(gradient: Array) -> Int64Array:
    """The numbers, wherever they lie."""
    wide = gradient.astype(np.int64)
    return wide if gradient.dtype != np.int8 else wide[..., :-1] << (wide[..., -1:] & 15)


def packed(numbers: Array) -> Array:
    """int8: each pixel's numbers, of magnitudes up to 2^BITS, by the least shift with which they
    fit, halves up; the shift behind them.
    """
    wide = numbers.astype(np.int64)
    peaks = np.abs(wide).max(axis=-1, keepdims=True, initial=0)
    shifts = np.zeros_like(peaks)
    while (is_beyond := (peaks + ((1 << shifts) >> 1)) >> shifts > _PACKED_END).any():
        shifts += is_beyond
    rounded = (wide + ((1 << shifts) >> 1)) >> shifts
    return np.concatenate([rounded, shifts], axis=-1).astype(np.int8)


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
    is_image = numbers.rank == 4 and numbers.shape[0] == 1 and numbers.shape[3] > 1
    if numbers.quantization is not None or not (
        numbers.element is ElementType.I16 or (is_packed(numbers) and is_image)
    ):
        raise OperationError(f"expected a gradient of plain i16 or packed, got {numbers}")
    if common != SHARED:
        raise OperationError(f"expected exponent and peak of {SHARED}, got {common}")


def made_gradient(exponent: int, numbers: Array, is_packed: bool) -> tuple[Array, Array]:
    """Numbers as they are stored, and exponent and peak of what is stored."""
    stored = packed(numbers) if is_packed else numbers.astype(np.int16)
    return stored, shared(exponent, numbers_of(stored))


def expect_stored(type_: TensorType) -> None:
    """Raise OperationError unless this is int8 of one scale."""
    quantization = type_.quantization
    if type_.element is not ElementType.I8 or quantization is None or quantization.per_channel:
        raise OperationError(f"expected i8 with one scale, got {type_}")
