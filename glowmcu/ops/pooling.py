"""Pooling on NHWC: `average_pool_2d` and `max_pool_2d`. What lies outside the image does not count.

Input and result share one scale and zero point, so stored values are averaged as they are.
Source: TensorFlow Lite `reference/integer_ops/pooling.h`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, RowWindow, Signature
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.ops.convolution import Padding, Pair, window_output_size, window_rows
from glowmcu.ops.fixed_point import saturate
from glowmcu.ops.real import stored_clamp
from glowmcu.ops.registry import operation

#: TensorFlow Lite Micro takes scales for equal that differ by no more than this.
_SCALE_TOLERANCE = 1e-6
_LARGEST_WINDOW = 1 << 23


def require_same_quantization(x: TensorType, out: TensorType) -> None:
    """OperationError unless both are int8 with one scale and zero point."""
    for type_ in (x, out):
        if type_.element is not ElementType.I8 or type_.quantization is None:
            raise OperationError(f"expected quantized i8, got {type_}")
    if abs(x.scale - out.scale) > _SCALE_TOLERANCE or x.zero_point != out.zero_point:
        raise OperationError(f"input and result must share scale and zero point: {x}; {out}")


@dataclass(frozen=True)
class _Pool(Operation):
    """Attributes of both poolings. `kernel` is height, width; `padding` top, left, bottom, right.

    `clamp` is the fused activation in stored output units; None leaves the type's full range.
    """

    kernel: Pair = (1, 1)
    strides: Pair = (1, 1)
    padding: Padding = (0, 0, 0, 0)
    clamp: tuple[float, float] | None = None

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        (x,) = inputs
        if x.rank != 4:
            raise OperationError(f"expected a tensor of rank 4, got {x}")
        if max(self.padding[0::2]) >= self.kernel[0] or max(self.padding[1::2]) >= self.kernel[1]:
            raise OperationError(f"padding {self.padding} hides a whole window of {self.kernel}")
        n, height, width, channels = x.shape
        top, left, bottom, right = self.padding
        return (
            (
                n,
                window_output_size(height, top + bottom, self.kernel[0], self.strides[0], 1),
                window_output_size(width, left + right, self.kernel[1], self.strides[1], 1),
                channels,
            ),
        )

    def verify(self, signature: Signature) -> None:
        require_same_quantization(signature.inputs[0], signature.output)
        _, height, width, _ = signature.inputs[0].shape
        taps = min(self.kernel[0], height) * min(self.kernel[1], width)
        if taps > _LARGEST_WINDOW:
            raise OperationError(f"a window of {taps} elements exceeds {_LARGEST_WINDOW}")

    def clamp_range(self, signature: Signature) -> tuple[int, int]:
        """Least and greatest stored result."""
        return stored_clamp(self.clamp, signature.output)

    def input_rows(
        self, signature: Signature, first: int, end: int
    ) -> tuple[RowWindow | None, ...]:
        height = signature.inputs[0].shape[1]
        return (window_rows(first, end, self.strides[0], self.padding[0], self.kernel[0], height),)

    def _windows(self, x: Array, outside: int) -> Array:
        """`(n, out_h, out_w, c, kernel_h, kernel_w)` view of `x` in int64."""
        top, left, bottom, right = self.padding
        padded = np.pad(
            x.astype(np.int64),
            ((0, 0), (top, bottom), (left, right), (0, 0)),
            constant_values=outside,
        )
        windows = np.lib.stride_tricks.sliding_window_view(padded, self.kernel, axis=(1, 2))
        stepped: Array = windows[:, :: self.strides[0], :: self.strides[1]]
        return stepped


@operation("average_pool_2d")
@dataclass(frozen=True)
class AveragePool2D(_Pool):
    """clamp(round(sum / count)), halves away from zero; `count` is the taps inside the image."""

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        (x,) = inputs
        sums = self._windows(x, 0).sum(axis=(4, 5))
        counts = self._windows(np.ones((1, *x.shape[1:3], 1), np.int8), 0).sum(axis=(4, 5))
        nearest = (np.abs(sums) + counts // 2) // counts * np.sign(sums)
        return (saturate(nearest, *self.clamp_range(signature), dtype=x.dtype),)


@operation("max_pool_2d")
@dataclass(frozen=True)
class MaxPool2D(_Pool):
    """clamp(max) over the taps inside the image."""

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        (x,) = inputs
        lowest = signature.inputs[0].element.limits[0]
        largest = self._windows(x, lowest).max(axis=(4, 5))
        return (saturate(largest, *self.clamp_range(signature), dtype=x.dtype),)
