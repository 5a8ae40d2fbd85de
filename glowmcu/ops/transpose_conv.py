"""Transposed convolution on NHWC: `transpose_conv_2d`, the gradient of a convolution.

Input pixel (y, x) adds w[ky, kx] * (in - in_zp) to result (y * stride + ky * dilation - pad, …).
Source: TensorFlow Lite `reference/integer_ops/transpose_conv.h`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, RowWindow, Signature
from glowmcu.ir.quantization_rule import QuantizationRule
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.ir.value_range import Int64Array, ValueRange
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.accumulator_range import conv_2d_range
from glowmcu.ops.convolution import Pair, window_extent
from glowmcu.ops.real import clamp_float
from glowmcu.ops.registry import operation
from glowmcu.ops.weighted import WeightedOperation


@operation("transpose_conv_2d")
@dataclass(frozen=True)
class TransposeConv2D(WeightedOperation):
    """Operands: input NHWC, weights OHWI (I = input channels of one group), bias (O,).

    `size` is the result's height and width; `padding` (top, left) is cut off in front. `clamp` is
    the fused activation in stored output units; None leaves the full range.
    """

    wide_biases: ClassVar[tuple[ElementType, ...]] = (ElementType.I64,)
    size: Pair = (1, 1)
    strides: Pair = (1, 1)
    padding: Pair = (0, 0)
    clamp: tuple[float, float] | None = None
    dilations: Pair = (1, 1)

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        x, weights, bias = inputs
        if x.rank != 4 or weights.rank != 4:
            raise OperationError(f"expected NHWC and OHWI, got {x} and {weights}")
        depth_out, depth_in, channels = weights.shape[0], weights.shape[3], x.shape[3]
        if not depth_in or channels % depth_in or depth_out % max(channels // depth_in, 1):
            raise OperationError(
                f"{channels} input channels do not split into groups of {depth_in} "
                f"that share {depth_out} output channels"
            )
        if bias.shape != (weights.shape[0],):
            raise OperationError(f"bias must be ({weights.shape[0]},), got {bias.shape}")
        if min(self.size) < 1 or min(x.shape) < 1 or min(weights.shape) < 1:
            raise OperationError(f"sizes must be at least 1, got {x} and a result of {self.size}")
        return ((x.shape[0], *self.size, weights.shape[0]),)

    def verify(self, signature: Signature) -> None:
        if not signature.output.element.is_float and not self.is_plain(signature):
            raise OperationError("groups and dilation are supported on f32 only")
        super().verify(signature)

    def hw_transposed(self) -> Operation:
        return replace(
            self,
            size=self.size[::-1],
            strides=self.strides[::-1],
            padding=self.padding[::-1],
            dilations=self.dilations[::-1],
        )

    def is_plain(self, signature: Signature) -> bool:
        """Neither grouped nor dilated."""
        x, weights, _ = signature.inputs
        return x.shape[3] == weights.shape[3] and self.dilations == (1, 1)

    def quantization_rule(self, signature: Signature) -> QuantizationRule | None:
        if not self.is_plain(signature):
            return None
        return QuantizationRule((0,), {1: 0}, {2: (0, 1)})

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        x, weights, bias = inputs
        if signature.output.element.is_float:
            return (clamp_float(self._scatter(x, weights) + bias, self.clamp),)
        shifted = x.astype(np.float64) - signature.inputs[0].zero_point
        sums = self._scatter(shifted, weights.astype(np.float64))
        # float64 holds every partial sum exactly: |sum| < 2^53.
        return (self.results(sums, bias, signature, rounding),)

    def accumulator_range(
        self, weights: Array, x: ValueRange, signature: Signature
    ) -> tuple[Int64Array, Int64Array]:
        # Every result sees some of the taps, each at most once.
        return conv_2d_range(weights, x, signature.inputs[0].zero_point, padded=True)

    def _canvas(self, x: Shape, weights: Shape) -> Shape:
        """All that kernels around pixels reach, before it is cut."""
        extents = tuple(map(window_extent, weights[1:3], self.dilations))
        height, width = (
            max((x[1 + axis] - 1) * self.strides[axis] + extents[axis], start + self.size[axis])
            for axis, start in enumerate(self.padding)
        )
        return x[0], height, width, weights[0]

    def inner_shapes(self, signature: Signature) -> tuple[Shape, ...]:
        return (self._canvas(*(type_.shape for type_ in signature.inputs[:2])),)

    def _scatter(self, x: Array, weights: Array) -> Array:
        """Sums without bias: every input pixel adds its kernel to a canvas, which is then cut."""
        _, height, width, _ = x.shape
        _, kernel_h, kernel_w, _ = weights.shape
        (stride_y, stride_x), (top, left) = self.strides, self.padding
        canvas = np.zeros(self._canvas(x.shape, weights.shape), x.dtype)
        for ky in range(kernel_h):
            for kx in range(kernel_w):
                y, column = ky * self.dilations[0], kx * self.dilations[1]
                rows = slice(y, y + (height - 1) * stride_y + 1, stride_y)
                columns = slice(column, column + (width - 1) * stride_x + 1, stride_x)
                canvas[:, rows, columns] += _grouped_product(x, weights[:, ky, kx])
        cut: Array = canvas[:, top : top + self.size[0], left : left + self.size[1]]
        return cut

    def macs(self, signature: Signature) -> int:
        x, weights, _ = signature.inputs
        return x.shape[0] * x.shape[1] * x.shape[2] * weights.element_count

    def input_rows(
        self, signature: Signature, first: int, end: int
    ) -> tuple[RowWindow | None, ...]:
        x, weights, _ = signature.inputs
        stride, top = self.strides[0], self.padding[0]
        extent = window_extent(weights.shape[1], self.dilations[0])
        lowest = max(-((extent - 1 - first - top) // stride), 0) if first else 0
        highest = min((end - 1 + top) // stride + 1, x.shape[1])
        return RowWindow(min(lowest, x.shape[1]), max(highest, 0)), None, None


def _grouped_product(x: Array, weights: Array) -> Array:
    """x (…, C) by the weights (O, I) of one tap; output channels go with their group's inputs."""
    depth_out, depth_in = weights.shape
    groups = x.shape[-1] // depth_in
    if groups == 1:
        product: Array = x @ weights.T
        return product
    parts = x.reshape(*x.shape[:-1], groups, depth_in)
    grouped = weights.reshape(groups, depth_out // groups, depth_in)
    joined: Array = np.einsum("nyxgi,goi->nyxgo", parts, grouped)
    return joined.reshape(*x.shape[:-1], depth_out)
