"""Transposed convolution on NHWC: `transpose_conv_2d`, the gradient of a convolution.

Input pixel (y, x) adds w[ky, kx] * (in - in_zp) to result (y * stride + ky - pad, …).
Source: TensorFlow Lite `reference/integer_ops/transpose_conv.h`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, RowWindow, Signature
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.ops.convolution import Pair
from glowmcu.ops.fixed_point import Requantization, requantization, saturate
from glowmcu.ops.real import stored_clamp
from glowmcu.ops.registry import operation


@operation("transpose_conv_2d")
@dataclass(frozen=True)
class TransposeConv2D(Operation):
    """Operands: input NHWC, weights OHWI, bias (O,).

    `size` is the result's height and width; `padding` (top, left) is cut off in front. `clamp` is
    the fused activation in stored output units; None leaves the full range.
    """

    channel_operands: ClassVar[tuple[int, ...]] = (1, 2)
    size: Pair = (1, 1)
    strides: Pair = (1, 1)
    padding: Pair = (0, 0)
    clamp: tuple[float, float] | None = None

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        x, weights, bias = inputs
        if x.rank != 4 or weights.rank != 4 or x.shape[3] != weights.shape[3]:
            raise OperationError(f"expected NHWC and OHWI of one depth, got {x} and {weights}")
        if bias.shape != (weights.shape[0],):
            raise OperationError(f"bias must be ({weights.shape[0]},), got {bias.shape}")
        if min(self.size) < 1 or min(x.shape) < 1 or min(weights.shape) < 1:
            raise OperationError(f"sizes must be at least 1, got {x} and a result of {self.size}")
        return ((x.shape[0], *self.size, weights.shape[0]),)

    def verify(self, signature: Signature) -> None:
        x, weights, bias = signature.inputs
        for type_ in (x, weights, signature.output):
            if type_.element is not ElementType.I8 or type_.quantization is None:
                raise OperationError(f"expected quantized i8, got {type_}")
        if bias.element is not ElementType.I32:
            raise OperationError(f"expected i32 bias, got {bias}")
        assert weights.quantization is not None
        if any(weights.quantization.zero_points):
            raise OperationError("weights must have zero point 0")

    def clamp_range(self, signature: Signature) -> tuple[int, int]:
        """Least and greatest stored result."""
        return stored_clamp(self.clamp, signature.output)

    def requantization(self, signature: Signature) -> Requantization:
        """Accumulator to output scale, one entry an output channel."""
        x, weights, _ = signature.inputs
        assert weights.quantization is not None
        channels = signature.output.shape[3]
        scales = weights.quantization.scales
        scales = scales if len(scales) == channels else scales * channels
        return requantization(x.scale * scale / signature.output.scale for scale in scales)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        x, weights, bias = inputs
        shifted = x.astype(np.float64) - signature.inputs[0].zero_point
        sums = self._scatter(shifted, weights.astype(np.float64))
        # float64 holds every partial sum exactly: |sum| < 2^53.
        accumulators = sums.astype(np.int64) + bias
        scaled = self.requantization(signature).apply(accumulators, rounding)
        out = scaled + signature.output.zero_point
        return (saturate(out, *self.clamp_range(signature), dtype=np.int8),)

    def _scatter(self, x: Array, weights: Array) -> Array:
        """Sums without bias: every input pixel adds its kernel to a canvas, which is then cut."""
        n, height, width, _ = x.shape
        depth_out, kernel_h, kernel_w, _ = weights.shape
        (stride_y, stride_x), (top, left) = self.strides, self.padding
        canvas_h = max((height - 1) * stride_y + kernel_h, top + self.size[0])
        canvas_w = max((width - 1) * stride_x + kernel_w, left + self.size[1])
        canvas = np.zeros((n, canvas_h, canvas_w, depth_out))
        for ky in range(kernel_h):
            for kx in range(kernel_w):
                rows = slice(ky, ky + (height - 1) * stride_y + 1, stride_y)
                columns = slice(kx, kx + (width - 1) * stride_x + 1, stride_x)
                canvas[:, rows, columns] += x @ weights[:, ky, kx].T
        cut: Array = canvas[:, top : top + self.size[0], left : left + self.size[1]]
        return cut

    def macs(self, signature: Signature) -> int:
        x, weights, _ = signature.inputs
        return x.element_count // x.shape[3] * weights.element_count

    def input_rows(
        self, signature: Signature, first: int, end: int
    ) -> tuple[RowWindow | None, ...]:
        x, weights, _ = signature.inputs
        stride, top = self.strides[0], self.padding[0]
        lowest = max(-((weights.shape[1] - 1 - first - top) // stride), 0)
        highest = min((end - 1 + top) // stride + 1, x.shape[1])
        return RowWindow(min(lowest, x.shape[1]), max(highest, 0)), None, None
