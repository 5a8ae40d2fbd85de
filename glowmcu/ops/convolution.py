"""Convolutions on NHWC: `conv_2d` (grouped too) and `depthwise_conv_2d`.

out = clamp(requantize(bias + sum((x - x_zp) * w)) + out_zp); what lies outside the image counts 0.
Source: TensorFlow Lite `reference/integer_ops/{conv,depthwise_conv}.h`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, RowWindow, Signature
from glowmcu.ir.quantization_rule import QuantizationRule
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.ir.value_range import Int64Array, ValueRange
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.accumulator_range import conv_2d_range, depthwise_conv_2d_range
from glowmcu.ops.fixed_point import exact_float
from glowmcu.ops.real import clamp_float
from glowmcu.ops.registry import operation
from glowmcu.ops.weighted import WeightedOperation

Pair = tuple[int, int]
Padding = tuple[int, int, int, int]

#: Elements of an image of which floats are made together.
_IMAGE_AT_ONCE = 1 << 15
#: Window sums that become results together.
_AT_ONCE = 1 << 14
#: Weights that are widened together.
_WEIGHTS_AT_ONCE = 1 << 15
#: Elements of windows that are copied to columns together: of integers, whose sums are exact in any
#: parts, and of real numbers, whose last bits the parts may change.
_COLUMNS_AT_ONCE, _REAL_COLUMNS_AT_ONCE = 1 << 16, 1 << 19


def window_extent(kernel: int, dilation: int) -> int:
    """Input positions that a dilated kernel spans."""
    return (kernel - 1) * dilation + 1


def same_padding(size: int, kernel: int, stride: int, dilation: int) -> Pair:
    """TensorFlow's SAME padding of one axis: `(before, after)`, the odd one after."""
    out = -(-size // stride)
    total = max((out - 1) * stride + window_extent(kernel, dilation) - size, 0)
    return total // 2, total - total // 2


def window_output_size(size: int, pad: int, kernel: int, stride: int, dilation: int) -> int:
    """Windows that fit into `size + pad` positions; OperationError when none does."""
    if kernel < 1:
        raise OperationError(f"a window of {kernel} positions")
    out = (size + pad - window_extent(kernel, dilation)) // stride + 1
    if out < 1:
        raise OperationError(f"a window of {kernel} (dilation {dilation}) exceeds {size} + {pad}")
    return out


def transposed_padding(padding: Padding) -> Padding:
    """Top is left, and bottom right."""
    top, left, bottom, right = padding
    return left, top, right, bottom


def window_rows(
    first: int, end: int, stride: int, pad_before: int, extent: int, height: int
) -> RowWindow:
    """Input rows under output rows `[first, end)`, clipped to the image."""
    top = first * stride - pad_before
    bottom = (end - 1) * stride - pad_before + extent
    return RowWindow(min(max(top, 0), height), max(min(bottom, height), 0))


def padded_image(shape: Shape, padding: Padding) -> Shape:
    """NHWC with rows and columns around it."""
    n, height, width, channels = shape
    top, left, bottom, right = padding
    return n, top + height + bottom, left + width + right, channels


@dataclass(frozen=True)
class _Convolution(WeightedOperation):
    """Attributes of both convolutions. `padding` is top, left, bottom, right.

    `clamp` is the fused activation in stored output units; None leaves the type's full range.
    """

    #: Axis of the weights that has one quantization scale a slice.
    channel_axis: ClassVar[int] = 0
    strides: Pair = (1, 1)
    dilations: Pair = (1, 1)
    padding: Padding = (0, 0, 0, 0)
    clamp: tuple[float, float] | None = None

    def _output_hw(self, height: int, width: int, kernel: Pair) -> Pair:
        top, left, bottom, right = self.padding
        return (
            window_output_size(height, top + bottom, kernel[0], self.strides[0], self.dilations[0]),
            window_output_size(width, left + right, kernel[1], self.strides[1], self.dilations[1]),
        )

    def inner_shapes(self, signature: Signature) -> tuple[Shape, ...]:
        return (padded_image(signature.inputs[0].shape, self.padding),)

    def hw_transposed(self) -> Operation:
        return replace(
            self,
            strides=self.strides[::-1],
            dilations=self.dilations[::-1],
            padding=transposed_padding(self.padding),
        )

    def quantization_rule(self, signature: Signature) -> QuantizationRule | None:
        return QuantizationRule((0,), {1: self.channel_axis}, {2: (0, 1)})

    def is_padded(self, signature: Signature) -> bool:
        """Whether some window reaches outside the image."""
        x, weights, _ = signature.inputs
        for axis in (0, 1):
            last = (signature.output.shape[1 + axis] - 1) * self.strides[axis] - self.padding[axis]
            end = last + window_extent(weights.shape[1 + axis], self.dilations[axis])
            if self.padding[axis] or end > x.shape[1 + axis]:
                return True
        return False

    def input_rows(
        self, signature: Signature, first: int, end: int
    ) -> tuple[RowWindow | None, ...]:
        x, weights, _ = signature.inputs
        extent = window_extent(weights.shape[1], self.dilations[0])
        rows = window_rows(first, end, self.strides[0], self.padding[0], extent, x.shape[1])
        return rows, None, None

    def _windows(self, x: Array, kernel: Pair) -> Array:
        """`(n, out_h, out_w, kernel_h, kernel_w, c)` view of `x`, zeros outside."""
        top, left, bottom, right = self.padding
        padded = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)))
        extents = tuple(map(window_extent, kernel, self.dilations))
        windows = np.lib.stride_tricks.sliding_window_view(padded, extents, axis=(1, 2))
        (sy, sx), (dy, dx) = self.strides, self.dilations
        view: Array = windows[:, ::sy, ::sx, :, ::dy, ::dx].transpose(0, 1, 2, 4, 5, 3)
        return view

    def _sums(self, x: Array, weights: Array) -> Array:
        """Window sums in the float type of `x`, `(n, out_h, out_w, channels)`."""
        raise AssertionError(f"{type(self).__name__} has no sums")

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        x, weights, bias = inputs
        if signature.output.element.is_float:
            return (clamp_float(self._sums(x, weights) + bias, self.clamp),)
        exact = exact_float(np.moveaxis(weights, self.channel_axis, 0), x.dtype)
        results = np.empty(signature.output.shape, signature.output.element.numpy)
        for first, end in _bands(signature):
            band, rows = self._band(signature, first, end)
            centred = np.subtract(x[:, rows], signature.inputs[0].zero_point, dtype=exact)
            sums = band._sums(centred, weights)
            results[:, first:end] = self._finish(sums, bias, signature, rounding)
        return (results,)

    def _band(self, signature: Signature, first: int, end: int) -> tuple[_Convolution, slice]:
        """The convolution whose results are rows `[first, end)`, and the input's rows for it."""
        rows = self.input_rows(signature, first, end)[0]
        assert rows is not None
        extent = window_extent(signature.inputs[1].shape[1], self.dilations[0])
        top = first * self.strides[0] - self.padding[0]
        bottom = (end - 1) * self.strides[0] - self.padding[0] + extent
        before = min(max(-top, 0), bottom - top)
        after = bottom - top - before - (rows.end - rows.first)
        padding = (before, self.padding[1], after, self.padding[3])
        return replace(self, padding=padding), slice(rows.first, rows.end)

    def _finish(self, sums: Array, bias: Array, signature: Signature, rounding: Rounding) -> Array:
        """Results of window sums, some pixels at a time: sums are widened to eight bytes."""
        if sums.size <= _AT_ONCE:
            return self.results(sums, bias, signature, rounding)
        pixels = sums.reshape(-1, sums.shape[-1])
        results = np.empty(pixels.shape, signature.output.element.numpy)
        step = max(1, _AT_ONCE // sums.shape[-1])
        for start in range(0, len(pixels), step):
            part = slice(start, start + step)
            results[part] = self.results(pixels[part], bias, signature, rounding)
        return results.reshape(sums.shape)


def _bands(signature: Signature) -> Iterator[tuple[int, int]]:
    """Rows of the result that are computed together, `[first, end)`: all of a small image."""
    height = signature.output.shape[1]
    largest = max(signature.inputs[0].element_count, signature.output.element_count)
    step = max(1, height * _IMAGE_AT_ONCE // max(largest, 1))
    for first in range(0, height, step):
        yield first, min(first + step, height)


@operation("conv_2d")
class Conv2D(_Convolution):
    """Operands: input NHWC, weights OHWI (I = input channels of one group), bias (O,)."""

    channel_axis: ClassVar[int] = 0

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        x, weights, bias = inputs
        if x.rank != 4 or weights.rank != 4:
            raise OperationError(f"expected two tensors of rank 4, got {x} and {weights}")
        n, height, width, channels = x.shape
        depth_out, kernel_h, kernel_w, depth_in = weights.shape
        if min(depth_in, channels) < 1 or channels % depth_in or depth_out % (channels // depth_in):
            raise OperationError(
                f"{channels} input channels do not split into groups of {depth_in} "
                f"that share {depth_out} output channels"
            )
        if bias.shape != (depth_out,):
            raise OperationError(f"bias must be ({depth_out},), got {bias.shape}")
        return ((n, *self._output_hw(height, width, (kernel_h, kernel_w)), depth_out),)

    def _sums(self, x: Array, weights: Array) -> Array:
        depth_out, kernel_h, kernel_w, depth_in = weights.shape
        groups = x.shape[3] // depth_in
        windows = self._windows(x, (kernel_h, kernel_w))
        per_group = depth_out // groups
        sums = np.empty((*windows.shape[:3], depth_out), x.dtype)
        # Integers are widened some channels at a time, and sums of them are exact in any parts.
        is_widened = weights.dtype != x.dtype
        taps = kernel_h * kernel_w * depth_in
        step = max(1, _WEIGHTS_AT_ONCE // max(taps, 1)) if is_widened else max(per_group, 1)
        columns_at_once = _COLUMNS_AT_ONCE if is_widened else _REAL_COLUMNS_AT_ONCE
        for group in range(groups):
            part = windows[..., group * depth_in : (group + 1) * depth_in]
            end = (group + 1) * per_group
            for block in _blocks(windows.shape[:3], taps, columns_at_once):
                columns = part[block].reshape(-1, taps)
                for start in range(end - per_group, end, step):
                    outs = slice(start, min(start + step, end))
                    rows = weights[outs].reshape(outs.stop - start, -1).astype(x.dtype, copy=False)
                    place = sums[block]
                    place[..., outs] = (columns @ rows.T).reshape(*place.shape[:3], -1)
        return sums

    def accumulator_range(
        self, weights: Array, x: ValueRange, signature: Signature
    ) -> tuple[Int64Array, Int64Array]:
        zero_point = signature.inputs[0].zero_point
        return conv_2d_range(weights, x, zero_point, self.is_padded(signature))

    def macs(self, signature: Signature) -> int:
        weights = signature.inputs[1]
        pixels = signature.output.element_count // signature.output.shape[3]
        return pixels * weights.element_count


def _blocks(pixels: tuple[int, ...], taps: int, most: int) -> Iterator[tuple[slice, ...]]:
    """Parts of an image of windows, each of which is copied to columns: all at once where these
    have few elements, else some rows or some pixels of one.
    """
    n, height, width = pixels
    if n * height * width * taps <= most:
        yield (slice(None),) * 3
        return
    rows = max(1, min(height, most // max(n * width * taps, 1)))
    wide = max(1, min(width, most // max(n * rows * taps, 1)))
    for y in range(0, height, rows):
        for x in range(0, width, wide):
            yield slice(None), slice(y, y + rows), slice(x, x + wide)


@operation("depthwise_conv_2d")
class DepthwiseConv2D(_Convolution):
    """Operands: input NHWC, weights (1, kernel_h, kernel_w, C * multiplier), bias (C *
    multiplier,).

    Output channel `c * multiplier + m` reads input channel `c`.
    """

    channel_axis: ClassVar[int] = 3
    wide_biases: ClassVar[tuple[ElementType, ...]] = (ElementType.I64,)

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        x, weights, bias = inputs
        if x.rank != 4 or weights.rank != 4 or weights.shape[0] != 1:
            raise OperationError(f"expected NHWC and 1HWC, got {x} and {weights}")
        n, height, width, channels = x.shape
        _, kernel_h, kernel_w, depth_out = weights.shape
        if channels == 0 or depth_out % channels:
            raise OperationError(f"{depth_out} output channels are no multiple of {channels}")
        if bias.shape != (depth_out,):
            raise OperationError(f"bias must be ({depth_out},), got {bias.shape}")
        return ((n, *self._output_hw(height, width, (kernel_h, kernel_w)), depth_out),)

    def _sums(self, x: Array, weights: Array) -> Array:
        _, kernel_h, kernel_w, depth_out = weights.shape
        multiplier = depth_out // x.shape[3]
        windows = self._windows(x, (kernel_h, kernel_w))
        taps = weights[0].astype(x.dtype, copy=False)
        taps = taps.reshape(kernel_h, kernel_w, x.shape[3], multiplier)
        sums: Array = np.einsum("nyxhwc,hwcm->nyxcm", windows, taps)
        return sums.reshape(*windows.shape[:3], depth_out)

    def accumulator_range(
        self, weights: Array, x: ValueRange, signature: Signature
    ) -> tuple[Int64Array, Int64Array]:
        zero_point = signature.inputs[0].zero_point
        return depthwise_conv_2d_range(weights, x, zero_point, self.is_padded(signature))

    def macs(self, signature: Signature) -> int:
        weights = signature.inputs[1]
        return signature.output.element_count * weights.shape[1] * weights.shape[2]
