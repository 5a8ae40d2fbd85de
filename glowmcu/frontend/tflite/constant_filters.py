"""Filters that give one number whatever the image is: their weights may as well be 0.

TensorFlow 1 folds a batch normalization of nearly no variance into such a filter, and its weights
are the greatest of the layer: those that int8 does not hold.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from glowmcu.ir.operation import Array, Rounding, Signature
from glowmcu.ir.value_range import Int64Array, ValueRange
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.accumulator_range import conv_2d_range, depthwise_conv_2d_range
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.ranges import requantized

_INT32 = np.iinfo(np.int32)


@dataclass(frozen=True)
class Layer:
    """A convolution in int8 whose weights have nine bits: `offsets` (int16), around 0.

    `signature` is that of the layer with weights of int8; `bias` is int32.
    """

    operation: Conv2D | DepthwiseConv2D
    signature: Signature
    offsets: Array
    bias: Array

    def _sums(self, x: ValueRange) -> tuple[Int64Array, Int64Array]:
        """Least and greatest sum of each filter, without the bias."""
        is_depthwise = isinstance(self.operation, DepthwiseConv2D)
        ranged = depthwise_conv_2d_range if is_depthwise else conv_2d_range
        return ranged(self.offsets, x, self.signature.inputs[0].zero_point, True)

    def result_range(self, x: ValueRange) -> ValueRange:
        """What the result can hold, however sums are rounded. Raises OperationError for scales
        that no layer can have.
        """
        scale = self.operation.requantization(self.signature)
        limits = self.operation.clamp_range(self.signature)
        ends = [
            requantized(self._sums(x), self.bias, scale, limits, self.signature, rounding)
            for rounding in (Rounding.SINGLE, Rounding.DOUBLE)
        ]
        low, high = ([getattr(end, which) for end in ends] for which in ("low", "high"))
        return ValueRange(np.minimum(*low), np.maximum(*high))

    def without_constant_filters(self, x: ValueRange, result: ValueRange) -> Layer:
        """The layer of the same results in which filters beyond int8 that give one result have
        weights of 0, and the bias that leads to it.
        """
        axis = self.operation.channel_axis
        others = tuple(each for each in range(self.offsets.ndim) if each != axis)
        goes = result.is_constant & (
            (self.offsets.min(others, initial=0) < -128)
            | (self.offsets.max(others, initial=0) > 127)
        )
        sums = [end + self.bias for end in self._sums(x)]
        goes &= (sums[0] >= _INT32.min) & (sums[1] <= _INT32.max)
        offsets = np.where(np.expand_dims(goes, others), np.int16(0), self.offsets)
        return replace(
            self, offsets=offsets, bias=np.where(goes, sums[0], self.bias).astype(np.int32)
        )
