"""Ranges of the accumulators of weighted operators, exactly, from the actual weights.

Range of a channel = [sum(min(w * x0, w * x1)), sum(max(w * x0, w * x1))] over its taps, with
[x0, x1] what the tap's input channel can hold less the zero point. Taps that padding may leave out
can count 0 as well.
"""

from __future__ import annotations

import numpy as np

from glowmcu.ir.operation import Array
from glowmcu.ir.value_range import Int64Array, ValueRange

#: Weights that are looked at together: what is made of them takes eight bytes for each.
_AT_ONCE = 1 << 15


def accumulator_range(
    weights: Array, low: Int64Array, high: Int64Array, padded: bool
) -> tuple[Int64Array, Int64Array]:
    """Least and greatest sum(w * x) of every output channel, without the bias.

    `weights` is (outputs, taps, depth) of any integers, with depth the input channels of one tap;
    x lies in
    `[low, high]`, zero point subtracted, of shape (outputs, depth) or (1, depth). `padded`: some
    taps may be outside the image and count 0.
    """
    if padded:
        low, high = np.minimum(low, 0), np.maximum(high, 0)
    outputs, taps, depth = weights.shape
    step = max(1, _AT_ONCE // max(taps * depth, 1))
    least, most = np.zeros(outputs, np.int64), np.zeros(outputs, np.int64)
    for start in range(0, outputs, step):
        part = slice(start, start + step)
        ends = (each if len(each) == 1 else each[part] for each in (low, high))
        least[part], most[part] = _range_of(weights[part], *ends)
    return least, most


def _range_of(weights: Array, low: Int64Array, high: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Of some outputs, with temporary arrays of as many numbers as weights."""
    rising = np.maximum(weights, 0).sum(axis=1, dtype=np.int64)
    falling = np.minimum(weights, 0).sum(axis=1, dtype=np.int64)
    least = (rising * low).sum(axis=1) + (falling * high).sum(axis=1)
    most = (rising * high).sum(axis=1) + (falling * low).sum(axis=1)
    return least, most


def conv_2d_range(
    weights: Array, inputs: ValueRange, zero_point: int, padded: bool
) -> tuple[Int64Array, Int64Array]:
    """Range of a (grouped) convolution; `weights` is (outputs, height, width, group inputs)."""
    outputs, height, width, depth = weights.shape
    groups = inputs.low.size // depth
    low, high = ((each - zero_point).reshape(groups, depth) for each in (inputs.low, inputs.high))
    if groups > 1:
        low, high = (np.repeat(each, outputs // groups, axis=0) for each in (low, high))
    return accumulator_range(weights.reshape(outputs, height * width, depth), low, high, padded)


def depthwise_conv_2d_range(
    weights: Array, inputs: ValueRange, zero_point: int, padded: bool
) -> tuple[Int64Array, Int64Array]:
    """Range of a depthwise convolution; `weights` is (1, height, width, outputs)."""
    outputs = weights.shape[-1]
    repeats = outputs // inputs.low.size
    low = np.repeat(inputs.low - zero_point, repeats)[:, np.newaxis]
    high = np.repeat(inputs.high - zero_point, repeats)[:, np.newaxis]
    taps = weights.reshape(-1, outputs).T[:, :, np.newaxis]
    return accumulator_range(taps, low, high, padded)


def fully_connected_range(
    weights: Array, inputs: ValueRange, zero_point: int
) -> tuple[Int64Array, Int64Array]:
    """Range of a fully connected layer; `weights` is (outputs, inputs), zero point subtracted."""
    low, high = (inputs.low - zero_point)[np.newaxis], (inputs.high - zero_point)[np.newaxis]
    return accumulator_range(weights[:, np.newaxis, :], low, high, padded=False)
