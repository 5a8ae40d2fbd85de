"""Pooling on NHWC: `average_pool_2d`, `max_pool_2d`, `l2_pool_2d`, `lp_pool_2d`. What lies outside
the image does not count.

Input and result share one scale and zero point, so stored values are averaged as they are.
Source: TensorFlow Lite `reference/integer_ops/pooling.h`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, RowWindow, Signature
from glowmcu.ir.quantization_rule import QuantizationRule, ResultRange
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.ir.value_range import ValueRange
from glowmcu.lazy_dataclass import dataclass
from glowmcu.limits import tensor_bytes
from glowmcu.ops.broadcasting import expect_quantized
from glowmcu.ops.convolution import (
    Padding,
    Pair,
    padded_image,
    transposed_padding,
    window_extent,
    window_output_size,
    window_rows,
)
from glowmcu.ops.fixed_point import saturate
from glowmcu.ops.ranges import clamped, unrestricted
from glowmcu.ops.real import FLOAT_MAX, clamp_float, stored_clamp, verify_float
from glowmcu.ops.registry import operation

#: TensorFlow Lite Micro takes scales for equal that differ by no more than this.
_SCALE_TOLERANCE = 1e-6
_LARGEST_WINDOW = 1 << 23
#: Most elements whose sum, with half as many ones for rounding, stays inside int32.
_LARGEST_SUM = {ElementType.I8: 1 << 23, ElementType.I16: (1 << 16) - 1}
_LARGEST_ORDER = 16


def require_same_quantization(x: TensorType, out: TensorType) -> None:
    """OperationError unless both are int8, or int16, with one scale and zero point."""
    expect_quantized((x, out), *_LARGEST_SUM)
    if abs(x.scale - out.scale) > _SCALE_TOLERANCE or x.zero_point != out.zero_point:
        raise OperationError(f"input and result must share scale and zero point: {x}; {out}")


def _has_empty_window(size: int, out: int, kernel: int, step: Pair, before: int) -> bool:
    """Whether a window of one axis looks at no position of the image; `step` is stride, dilation.

    Within an axis that is longer than the dilation only windows at the ends can.
    """
    stride, dilation = step
    last = (out - 1) * stride - before
    if window_extent(kernel, dilation) <= before or last >= size:
        return True
    if dilation <= size:
        return False
    if out > tensor_bytes():
        return False  # and no such result is allowed
    first = np.arange(out, dtype=np.int64) * stride - before
    taps = np.maximum(-(first // dilation), 0)  # up to the first position that is not before it
    return not bool(((taps < kernel) & (first + taps * dilation < size)).all())


def _seeing(
    kernel: int, dilation: int, stride: int, span: int, before: int, size: int
) -> list[int]:
    """Of one axis the places of taps in a window that see the image in some window; the first
    places of windows are 0, `stride`, … below `span`.
    """
    places = np.arange(0, kernel * dilation, dilation, dtype=np.int64)
    starts = before - places
    first = np.maximum(-(-starts // stride), 0) * stride  # the first window that is not before it
    found: list[int] = places[(first < span) & (first < starts + size)].tolist()
    return found


@dataclass(frozen=True)
class _Windows(Operation):
    """Attributes of all poolings. `kernel` is height, width; `padding` top, left, bottom, right.

    `clamp` is the fused activation in stored output units; None leaves the type's full range.
    """

    kernel: Pair = (1, 1)
    strides: Pair = (1, 1)
    padding: Padding = (0, 0, 0, 0)
    clamp: tuple[float, float] | None = None
    dilations: Pair = (1, 1)

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        (x,) = inputs
        if x.rank != 4:
            raise OperationError(f"expected a tensor of rank 4, got {x}")
        n, *sizes, channels = x.shape
        outs = []
        for axis, (size, kernel) in enumerate(zip(sizes, self.kernel, strict=True)):
            step = self.strides[axis], self.dilations[axis]
            before, after = self.padding[axis], self.padding[axis + 2]
            out = window_output_size(size, before + after, kernel, *step)
            if _has_empty_window(size, out, kernel, step, before):
                raise OperationError(
                    f"padding {self.padding} hides a whole window of {self.kernel}"
                )
            outs.append(out)
        return ((n, *outs, channels),)

    def inner_shapes(self, signature: Signature) -> tuple[Shape, ...]:
        return (padded_image(signature.inputs[0].shape, self.padding),)

    def _taps(self, x: Array, outside: float) -> Iterator[Array]:
        """For each tap what it sees in every window, `(n, out_h, out_w, c)`; but for taps that see
        nothing but what is outside, of which large windows may have millions.
        """
        (top, left, bottom, right), (sy, sx), (dy, dx) = self.padding, self.strides, self.dilations
        padded = np.pad(
            x, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=outside
        )  # fmt: skip
        height = padded.shape[1] - window_extent(self.kernel[0], dy) + 1
        width = padded.shape[2] - window_extent(self.kernel[1], dx) + 1
        columns = _seeing(self.kernel[1], dx, sx, width, left, x.shape[2])
        for ky in _seeing(self.kernel[0], dy, sy, height, top, x.shape[1]):
            for kx in columns:
                yield padded[:, ky : ky + height : sy, kx : kx + width : sx]

    def _reduced(self, x: Array, outside: float, reduce: Callable[[Array, Array], Array]) -> Array:
        """Every window's taps brought together, in the type of `x`."""
        taps = self._taps(x, outside)
        total: Array = next(taps).copy()
        for tap in taps:
            total = reduce(total, tap)
        return total


class _Pool(_Windows):
    """Base of poolings whose results are like their elements."""

    def verify(self, signature: Signature) -> None:
        if signature.output.element.is_float:
            verify_float(signature)
            return
        self._verify_integers(signature)
        _, height, width, _ = signature.inputs[0].shape
        taps = min(self.kernel[0], height) * min(self.kernel[1], width)
        largest = _LARGEST_SUM.get(signature.output.element, _LARGEST_WINDOW)
        if taps > largest:
            raise OperationError(f"a window of {taps} elements exceeds {largest}")

    def _verify_integers(self, signature: Signature) -> None:
        require_same_quantization(signature.inputs[0], signature.output)

    def hw_transposed(self) -> Operation:
        return replace(
            self,
            kernel=self.kernel[::-1],
            strides=self.strides[::-1],
            padding=transposed_padding(self.padding),
            dilations=self.dilations[::-1],
        )

    def quantization_rule(self, signature: Signature) -> QuantizationRule | None:
        return QuantizationRule(result=ResultRange.SAME)

    def clamp_range(self, signature: Signature) -> tuple[int, int]:
        """Least and greatest stored result."""
        return stored_clamp(self.clamp, signature.output)

    def input_rows(
        self, signature: Signature, first: int, end: int
    ) -> tuple[RowWindow | None, ...]:
        height = signature.inputs[0].shape[1]
        extent = window_extent(self.kernel[0], self.dilations[0])
        return (window_rows(first, end, self.strides[0], self.padding[0], extent, height),)

    def output_ranges(
        self,
        inputs: Sequence[ValueRange | None],
        constants: Sequence[Array | None],
        signature: Signature,
        rounding: Rounding,
    ) -> tuple[ValueRange | None, ...]:
        """Means and maxima of a channel lie between its extremes; so do means rounded."""
        (unrestricted_range,) = unrestricted(signature)
        if unrestricted_range is None:
            return (None,)
        return (clamped(inputs[0] or unrestricted_range, *self.clamp_range(signature)),)

    def window_counts(self, x: TensorType) -> Array:
        """Taps of every window that are inside the image, `(1, out_h, out_w, 1)`."""
        return self._reduced(np.ones((1, *x.shape[1:3], 1), np.int64), 0, np.add)


@operation("average_pool_2d")
class AveragePool2D(_Pool):
    """clamp(round(sum / count)), halves away from zero; `count` is the taps inside the image."""

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        (x,) = inputs
        counts = self.window_counts(signature.inputs[0])
        if signature.output.element.is_float:
            means = self._reduced(x, 0.0, np.add) / counts.astype(np.float32)
            return (clamp_float(means, self.clamp),)
        sums = self._reduced(x.astype(np.int64), 0, np.add)
        nearest = (np.abs(sums) + counts // 2) // counts * np.sign(sums)
        return (saturate(nearest, *self.clamp_range(signature), dtype=x.dtype),)


@operation("max_pool_2d")
class MaxPool2D(_Pool):
    """clamp(max) over the taps inside the image; int8 and uint8 with and without a scale."""

    def _verify_integers(self, signature: Signature) -> None:
        x, out = signature.inputs[0], signature.output
        if x.element is ElementType.UI8 or x.quantization is None:
            is_byte = x.element in (ElementType.I8, ElementType.UI8)
            if not is_byte or out.with_shape(x.shape) != x:
                raise OperationError(f"expected bytes and a result like {x}, got {out}")
        else:
            super()._verify_integers(signature)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        (x,), element = inputs, signature.output.element
        if element.is_float:
            return (clamp_float(self._reduced(x, -FLOAT_MAX, np.maximum), self.clamp),)
        largest = self._reduced(x, element.limits[0], np.maximum)
        return (saturate(largest, *self.clamp_range(signature), dtype=x.dtype),)


@operation("l2_pool_2d")
class L2Pool2D(_Pool):
    """clamp(sqrt(sum x^2 / count)) over the taps inside the image; real numbers only.

    Summed in float32, tap after tap, as TensorFlow Lite's `reference/pooling.h` does.
    """

    def verify(self, signature: Signature) -> None:
        verify_float(signature)

    def quantization_rule(self, signature: Signature) -> QuantizationRule | None:
        return None

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        with np.errstate(all="ignore"):
            sums = self._reduced(inputs[0] * inputs[0], 0.0, np.add)
            means = sums / self.window_counts(signature.inputs[0]).astype(np.float32)
        return (clamp_float(np.sqrt(means), self.clamp),)


@operation("lp_pool_2d")
@dataclass(frozen=True)
class LpPool2D(_Pool):
    """(sum |x|^order)^(1 / order) over the taps inside the image; real numbers only."""

    order: int = 2

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        if not 1 <= self.order <= _LARGEST_ORDER or self.clamp is not None:
            raise OperationError(f"the order must be 1 to {_LARGEST_ORDER}, got {self.order}")
        return super().infer(inputs)

    def verify(self, signature: Signature) -> None:
        verify_float(signature)

    def quantization_rule(self, signature: Signature) -> QuantizationRule | None:
        return None

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        powers = np.abs(inputs[0].astype(np.float64)) ** self.order
        roots = self._reduced(powers, 0.0, np.add) ** (1.0 / self.order)
        return (roots.astype(np.float32),)


@operation("max_pool_indices_2d")
@dataclass(frozen=True)
class MaxPoolIndices2D(_Windows):
    """Where the first largest element of every window stands in the tensor as NCHW; i64.

    `by_column` counts each image's elements column by column (NCWH).
    """

    by_column: bool = False

    def verify(self, signature: Signature) -> None:
        x, out = signature.inputs[0], signature.output
        if x.element is not ElementType.F32 or out.element is not ElementType.I64:
            raise OperationError(f"expected f32 and a result of i64, got {x} and {out}")

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        n, height, width, channels = inputs[0].shape
        image = (width, height) if self.by_column else (height, width)
        places = np.arange(inputs[0].size).reshape(n, channels, *image)
        nhwc = places.transpose((0, 3, 2, 1) if self.by_column else (0, 2, 3, 1))
        taps = zip(self._taps(inputs[0], -np.inf), self._taps(nhwc, -1), strict=True)
        best, found = (tap.copy() for tap in next(taps))
        for value, place in taps:
            larger = (value > best) | ((found < 0) & (place >= 0))
            best[larger], found[larger] = value[larger], place[larger]
        return (found.astype(np.int64),)
