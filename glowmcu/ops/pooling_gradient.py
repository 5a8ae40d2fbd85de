"""The gradient of a maximum in fixed point: `max_pool_gradient`.

Of each window's gradient all goes to its first greatest element in raster order, as PyTorch and
TensorFlow have it; what lies outside of the image is none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, Signature
from glowmcu.ir.types import Shape, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.block_gradient import (
    BITS,
    SHARED,
    excess,
    expect_gradient,
    expect_stored,
    rounded_shift,
    shared,
)
from glowmcu.ops.pooling import MaxPool2D
from glowmcu.ops.registry import operation

Pair = tuple[int, int]
#: Gradients that meet in an element are added in int16, each rounded up by a half at most.
_MOST_MEETING = 2**12


@operation("max_pool_gradient")
@dataclass(frozen=True)
class MaxPoolGradient(Operation):
    """Operands: the gradient by the maxima, i16 (1, h, w, C), exponent and peak; the image, i8
    (1, H, W, C). Results: the gradient by the image, i16, magnitudes up to 2^bits; exponent and
    peak. `padding` is top, left, bottom, right.
    """

    kernel: Pair = (1, 1)
    strides: Pair = (1, 1)
    dilations: Pair = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    bits: int = BITS

    @property
    def meeting(self) -> int:
        """Windows that an element can be in."""
        counts = [
            -(-kernel * math.gcd(stride, dilation) // stride)
            for kernel, stride, dilation in zip(
                self.kernel, self.strides, self.dilations, strict=True
            )
        ]
        return counts[0] * counts[1]

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        gradient, _, image = inputs
        pool = MaxPool2D(self.kernel, self.strides, self.padding, None, self.dilations)
        if image.rank != 4 or image.shape[0] != 1 or pool.infer([image]) != (gradient.shape,):
            raise OperationError(f"{gradient} is no gradient of maxima of {image}")
        return (image.shape, SHARED.shape)

    def verify(self, signature: Signature) -> None:
        gradient, common, image = signature.inputs
        expect_gradient(gradient, common)
        expect_gradient(*signature.outputs)
        expect_stored(image)
        if not 1 <= self.bits <= BITS or self.meeting > _MOST_MEETING:
            raise OperationError(f"{self.meeting} windows of {self.kernel} meet in an element")

    def inner_shapes(self, signature: Signature) -> tuple[Shape, ...]:
        _, height, width, channels = signature.inputs[2].shape
        top, left, bottom, right = self.padding
        return ((height + top + bottom, width + left + right, channels),)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        gradient, common, image = inputs
        exponent, peak = (int(number) for number in common)
        shift = excess(peak * self.meeting, self.bits)
        given = rounded_shift(gradient[0], shift)
        top, left, bottom, right = self.padding
        around = ((top, bottom), (left, right), (0, 0))
        padded = np.pad(image[0].astype(np.int16), around, constant_values=-129)
        total, greatest = np.zeros(padded.shape, np.int64), np.full(given.shape, -129, np.int16)
        # From the last tap to the first, so that the first of several is what stays.
        chosen = np.zeros(given.shape, np.int64)
        taps = self._taps(given.shape)
        for number, seen in reversed(list(enumerate(taps))):
            is_it = padded[seen] >= greatest
            greatest = np.where(is_it, padded[seen], greatest)
            chosen = np.where(is_it, number, chosen)
        for number, seen in enumerate(taps):
            total[seen] += np.where(chosen == number, given, 0)
        _, height, width, _ = image.shape
        inside = total[top : top + height, left : left + width]
        most = 1 << self.bits
        numbers = np.clip(inside, -most, most).astype(np.int16)[np.newaxis]
        return numbers, shared(exponent + shift, numbers)

    def _taps(self, out: Shape) -> list[tuple[slice, slice]]:
        """What each sees of the padded image in all windows, in raster order."""
        (sy, sx), (dy, dx) = self.strides, self.dilations
        return [
            (
                slice(ky * dy, ky * dy + (out[0] - 1) * sy + 1, sy),
                slice(kx * dx, kx * dx + (out[1] - 1) * sx + 1, sx),
            )
            for ky in range(self.kernel[0])
            for kx in range(self.kernel[1])
        ]
