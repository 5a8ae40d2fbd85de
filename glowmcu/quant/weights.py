"""Constants of a layer: int8 weights, symmetric per channel, and an int32 bias at scale in * w.

Each channel has its own scale max|w| / 127, or max|w| / 7 where weights have four bits. Where a
bias would not fit int32 at that scale, or the product of scales would be no usable number, the
channel's scale grows until it does.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType, Quantization
from glowmcu.quant.schemas import INT8_MAX, SMALLEST_SCALE, Schema, power_of_two_above

#: |bias| at most, by its type: as much again is left for the sums, which of int64 have 48 bits.
LARGEST_BIAS: dict[ElementType, int] = {ElementType.I32: 2**30, ElementType.I64: 2**46}

Floats = npt.NDArray[np.float32]


def weight_scales(
    weights: Array,
    axis: int | None,
    bias: Array | None,
    input_scale: float,
    schema: Schema,
    bias_element: ElementType = ElementType.I32,
    most: int = INT8_MAX,
) -> Floats:
    """A scale a slice along `axis`, or one in all for None. `bias` has as many slices, or None.

    Stored weights will be at most `most`.
    """
    largest = np.abs(weights).max(axis=_other_axes(weights, axis), initial=0.0)
    scales = np.atleast_1d(largest.astype(np.float64)) / most
    # A channel of zeros is stored by any scale; the tensor's own is as good as another.
    usual = scales.max() if scales.max() > SMALLEST_SCALE else 1.0
    scales = np.where(scales > SMALLEST_SCALE, scales, usual)
    scales = np.maximum(scales, scales_for_bias(bias, len(scales), input_scale, bias_element))
    if schema is Schema.SYMMETRIC_WITH_POWER2_SCALE:
        scales = np.array([power_of_two_above(scale) for scale in scales])
    return scales.astype(np.float32)


def scales_for_bias(
    bias: Array | None, count: int, input_scale: float, element: ElementType
) -> npt.NDArray[np.float64]:
    """The least scales of `count` slices of weights at which each slice of `bias` fits."""
    if bias is None or not bias.size:
        return np.zeros(count)
    largest = np.abs(bias.astype(np.float64)).reshape(count, -1).max(axis=1)
    needed: npt.NDArray[np.float64] = largest / (input_scale * LARGEST_BIAS[element])
    return needed


def _other_axes(weights: Array, axis: int | None) -> tuple[int, ...] | None:
    return None if axis is None else tuple(a for a in range(weights.ndim) if a != axis)


def along(scales: Floats, axis: int | None, rank: int) -> Floats:
    """`scales` shaped so that they broadcast against weights of `rank`."""
    shape = [1] * rank
    if axis is not None:
        shape[axis] = -1
    return scales.reshape(shape)


def quantize_weights(
    weights: Array, scales: Floats, axis: int | None, most: int = INT8_MAX
) -> Array:
    """Nearest int8 within -`most`..`most`."""
    steps = weights / along(scales, axis, weights.ndim)
    return np.clip(np.rint(steps), -most, most).astype(np.int8)


def weight_quantization(scales: Floats, axis: int | None) -> Quantization:
    """The type's quantization for `scales`."""
    one = len(scales) == 1
    return Quantization(tuple(map(float, scales)), (0,) * len(scales), None if one else axis)


def quantize_bias(
    bias: Array, input_scale: float, scales: Floats, element: ElementType = ElementType.I32
) -> tuple[Array, Quantization]:
    """`element` at the product of the scales, and the quantization that says so."""
    products = (input_scale * scales.astype(np.float64)).astype(np.float32)
    exact = input_scale * along(scales.astype(np.float64), 0, bias.ndim)
    stored = np.rint(bias.astype(np.float64) / exact)
    largest = 2 * LARGEST_BIAS[element] - 1
    assert np.abs(stored).max(initial=0.0) <= largest, "weight_scales leaves room for the bias"
    return stored.astype(element.numpy), weight_quantization(products, 0)
