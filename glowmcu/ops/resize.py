"""Resizing of NHWC images: `resize_bilinear` and `resize_nearest_neighbor`.

Source: TensorFlow Lite `reference/{resize_bilinear,resize_nearest_neighbor}.h`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, RowWindow, Signature
from glowmcu.ir.quantization_rule import QuantizationRule, ResultRange
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.ir.value_range import ValueRange
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.convolution import Pair
from glowmcu.ops.fixed_point import Int64Array
from glowmcu.ops.registry import operation

#: Beyond this float32 no longer tells positions apart, and tables of int16 end.
_LARGEST_SIZE = 2**15 - 1


@dataclass(frozen=True)
class _Resize(Operation):
    """`size` is the result's height and width.

    `align_corners` maps first to first and last to last; `half_pixel_centers` samples at centers.
    """

    size: Pair = (1, 1)
    align_corners: bool = False
    half_pixel_centers: bool = False

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        (x,) = inputs
        if x.rank != 4 or min(x.shape) < 1:
            raise OperationError(f"expected an NHWC tensor that is not empty, got {x}")
        if not all(1 <= size <= _LARGEST_SIZE for size in (*self.size, *x.shape[1:3])):
            raise OperationError(
                f"heights and widths must be 1 to {_LARGEST_SIZE}, "
                f"got {x.shape[1:3]} to {self.size}"
            )
        return ((x.shape[0], *self.size, x.shape[3]),)

    def hw_transposed(self) -> Operation:
        return replace(self, size=self.size[::-1])

    def quantization_rule(self, signature: Signature) -> QuantizationRule | None:
        return QuantizationRule(result=ResultRange.SAME)

    def output_ranges(
        self,
        inputs: Sequence[ValueRange | None],
        constants: Sequence[Array | None],
        signature: Signature,
        rounding: Rounding,
    ) -> tuple[ValueRange | None, ...]:
        """Channels keep apart, and means of neighbours lie between them."""
        return (inputs[0],)

    def _verify_element(self, signature: Signature, allowed: tuple[ElementType, ...]) -> None:
        x, out = signature.inputs[0], signature.output
        if x.element not in allowed or x.element is not out.element:
            names = ", ".join(element.value for element in allowed)
            raise OperationError(f"expected one type of {names}, got {x} and {out}")


@dataclass(frozen=True)
class BilinearAxis:
    """Where the results of one axis lie between two inputs, in 1/1024 of a pixel."""

    lower: Int64Array
    upper: Int64Array
    #: Distance from `lower`; negative only where `lower` is `upper`.
    fraction: Int64Array


def bilinear_step(in_size: int, out_size: int, align_corners: bool) -> int:
    """Input pixels a result, times 1024, rounded."""
    if align_corners and out_size > 1:
        return (1024 * (in_size - 1) + (out_size - 1) // 2) // (out_size - 1)
    return (1024 * in_size + out_size // 2) // out_size


def bilinear_axis(
    in_size: int, out_size: int, align_corners: bool, half_pixel_centers: bool
) -> BilinearAxis:
    """`ComputeInterpolationValuesInteger` for every result of an axis."""
    step = bilinear_step(in_size, out_size, align_corners)
    start = step // 2 - 512 if half_pixel_centers else 0
    place = np.arange(out_size, dtype=np.int64) * step + start
    lower = np.maximum(place >> 10, 0)
    return BilinearAxis(lower, np.minimum((place + 1023) >> 10, in_size - 1), place - 1024 * lower)


@dataclass(frozen=True)
class RealAxis:
    """As `BilinearAxis`, in float32 pixels."""

    lower: Int64Array
    upper: Int64Array
    fraction: Array


def pixel_scale(in_size: int, out_size: int, align_corners: bool) -> float:
    """Input pixels a result, in float32."""
    if align_corners and out_size > 1:
        return float(np.float32(in_size - 1) / np.float32(out_size - 1))
    return float(np.float32(in_size) / np.float32(out_size))


def real_axis(
    in_size: int, out_size: int, align_corners: bool, half_pixel_centers: bool
) -> RealAxis:
    """`ComputeInterpolationValues` for every result of an axis."""
    scale = np.float32(pixel_scale(in_size, out_size, align_corners))
    centre = np.float32(0.5 if half_pixel_centers else 0.0)
    place = (np.arange(out_size, dtype=np.float32) + centre) * scale - centre
    lower = np.maximum(np.floor(place), 0).astype(np.int64)
    upper = np.minimum(np.ceil(place).astype(np.int64), in_size - 1)
    return RealAxis(lower, np.maximum(upper, 0), place - lower.astype(np.float32))


@operation("resize_bilinear")
class ResizeBilinear(_Resize):
    """Weighted mean of four neighbours; int8 and int16 in 10 + 10 fraction bits, or float32."""

    def real_axes(self, x: TensorType) -> tuple[RealAxis, RealAxis]:
        """Rows and columns of real numbers."""
        flags = (self.align_corners, self.half_pixel_centers)
        height, width = x.shape[1:3]
        return real_axis(height, self.size[0], *flags), real_axis(width, self.size[1], *flags)

    def axes(self, x: TensorType) -> tuple[BilinearAxis, BilinearAxis]:
        """Rows and columns."""
        flags = (self.align_corners, self.half_pixel_centers)
        height, width = x.shape[1:3]
        return (
            bilinear_axis(height, self.size[0], *flags),
            bilinear_axis(width, self.size[1], *flags),
        )

    def verify(self, signature: Signature) -> None:
        self._verify_element(signature, (ElementType.I8, ElementType.I16, ElementType.F32))
        if self.align_corners and self.half_pixel_centers:
            raise OperationError("half_pixel_centers and align_corners exclude each other")
        x = signature.inputs[0]
        if x.element.is_float:
            return
        for axis, size in zip(self.axes(x), x.shape[1:3], strict=True):
            if axis.lower[-1] >= size:
                raise OperationError(
                    f"rounded steps of 1/1024 pixel lead outside the image, {x} to {self.size}"
                )

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        if signature.output.element.is_float:
            return (self._real_mean(inputs[0], *self.real_axes(signature.inputs[0])),)
        x = inputs[0].astype(np.int64)
        ys, xs = self.axes(signature.inputs[0])
        above, below = x[:, ys.lower], x[:, ys.upper]
        fy = ys.fraction[:, np.newaxis, np.newaxis]
        fx = xs.fraction[:, np.newaxis]
        columns = above * (1024 - fy) + below * fy
        left, right = columns[:, :, xs.lower], columns[:, :, xs.upper]
        total = np.asarray(left * (1024 - fx) + right * fx, np.int64)
        stored = signature.output.element.numpy
        if rounding is Rounding.SINGLE:
            return (((total + (1 << 19)) >> 20).astype(stored),)
        magnitude = (np.abs(total) + (1 << 19)) >> 20
        return ((np.sign(total) * magnitude).astype(stored),)

    def input_rows(
        self, signature: Signature, first: int, end: int
    ) -> tuple[RowWindow | None, ...]:
        (x,) = signature.inputs
        rows = (self.real_axes(x) if x.element.is_float else self.axes(x))[0]
        upper = max(int(rows.upper[end - 1]), int(rows.lower[end - 1]))
        return (RowWindow(int(rows.lower[first]) if first else 0, upper + 1),)

    def _real_mean(self, x: Array, ys: RealAxis, xs: RealAxis) -> Array:
        fy, fx = ys.fraction[:, np.newaxis, np.newaxis], xs.fraction[:, np.newaxis]
        columns = x[:, ys.lower] * (1 - fy) + x[:, ys.upper] * fy
        mean: Array = columns[:, :, xs.lower] * (1 - fx) + columns[:, :, xs.upper] * fx
        return mean.astype(np.float32, copy=False)


def nearest_sources(
    in_size: int, out_size: int, align_corners: bool, half_pixel_centers: bool
) -> Int64Array:
    """Input position of every result of an axis, in float32: `GetNearestNeighbor`."""
    single = np.float32
    scale = single(in_size) / single(out_size)
    if align_corners and out_size > 1:
        scale = single(in_size - 1) / single(out_size - 1)
    offset = single(0.5 if half_pixel_centers else 0.0)
    place = (np.arange(out_size, dtype=np.float32) + offset) * scale
    # Adding 0.5 in double is exact, so this is C's roundf of a number >= 0.
    whole = np.floor(place.astype(np.float64) + (0.5 if align_corners else 0.0))
    sources: Int64Array = np.minimum(whole.astype(np.int64), in_size - 1)
    return sources


@operation("resize_nearest_neighbor")
class ResizeNearestNeighbor(_Resize):
    """Every result is the input pixel nearest to it; any element type."""

    def sources(self, x: TensorType) -> tuple[Int64Array, Int64Array]:
        """Input row of every result row, input column of every result column."""
        flags = (self.align_corners, self.half_pixel_centers)
        height, width = x.shape[1:3]
        return (
            nearest_sources(height, self.size[0], *flags),
            nearest_sources(width, self.size[1], *flags),
        )

    def verify(self, signature: Signature) -> None:
        self._verify_element(signature, tuple(ElementType))

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        rows, columns = self.sources(signature.inputs[0])
        return (np.ascontiguousarray(inputs[0][:, rows][:, :, columns]),)

    def input_rows(
        self, signature: Signature, first: int, end: int
    ) -> tuple[RowWindow | None, ...]:
        rows, _ = self.sources(signature.inputs[0])
        return (RowWindow(int(rows[first]) if first else 0, int(rows[end - 1]) + 1),)
