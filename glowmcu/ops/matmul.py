"""Matrix products: `fully_connected`, `batch_matmul`.

out = clamp(requantize(bias + sum((x - x_zp) * (w - w_zp))) + out_zp)
Source: TensorFlow Lite `reference/integer_ops/fully_connected.h`, `reference/batch_matmul.h`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, Signature
from glowmcu.ir.quantization_rule import QuantizationRule
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.ir.value_range import Int64Array, ValueRange
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.accumulator_range import fully_connected_range
from glowmcu.ops.fixed_point import Requantization, exact_float, requantization, saturate
from glowmcu.ops.real import clamp_float, verify_float
from glowmcu.ops.real_scale import real_requantization
from glowmcu.ops.registry import operation
from glowmcu.ops.weighted import WeightedOperation
from glowmcu.ops.wide import (
    ACCUMULATOR_END,
    expect_symmetric,
    is_wide,
    requantization_for,
    wide_requantization,
)


@operation("fully_connected")
@dataclass(frozen=True)
class FullyConnected(WeightedOperation):
    """Operands: input (…, I), weights (O, I), bias (O,); result (…, O).

    Weights per tensor (any zero point) or per output channel (zero point 0). `clamp` is the fused
    activation in stored output units; None leaves the type's full range. `rounds_once`: int8 as
    LiteRT's reference kernel has it: the sum times the scale in float64, halves away from zero.
    """

    clamp: tuple[float, float] | None = None
    rounds_once: bool = False

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        x, weights, bias = inputs
        if x.rank < 1 or weights.rank != 2 or x.shape[-1] != weights.shape[1]:
            raise OperationError(
                f"x is {x.shape} and w is {weights.shape}; both must end in the same length"
            )
        if bias.shape != (weights.shape[0],):
            raise OperationError(f"bias must be ({weights.shape[0]},), got {bias.shape}")
        return ((*x.shape[:-1], weights.shape[0]),)

    def verify(self, signature: Signature) -> None:
        super().verify(signature)
        if self.rounds_once and not is_wide(signature) and not signature.output.element.is_float:
            self.requantization(signature)

    def verify_zero_points(self, signature: Signature) -> None:
        weights = signature.inputs[1].quantization
        assert weights is not None
        if weights.per_channel and any(weights.zero_points):
            raise OperationError("weights quantized per channel must have zero point 0")

    def quantization_rule(self, signature: Signature) -> QuantizationRule | None:
        return QuantizationRule((0,), {1: 0}, {2: (0, 1)})

    def requantization(self, signature: Signature) -> Requantization:
        """Accumulator to output scale: one entry, or one an output channel."""
        x, weights, bias = signature.inputs
        assert weights.quantization is not None
        scales = weights.quantization.scales
        real = x.scale * np.array(scales) / signature.output.scale
        if self.rounds_once and not is_wide(signature):
            return real_requantization(real)
        return requantization_for(bias, real)

    def rounding_in(self, graph_rounding: Rounding) -> Rounding:
        return Rounding.SINGLE if self.rounds_once else super().rounding_in(graph_rounding)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        x, weights, bias = inputs
        if signature.output.element.is_float:
            with np.errstate(all="ignore"):
                return (clamp_float(x @ weights.T + bias, self.clamp),)
        quantization = signature.inputs[1].quantization
        assert quantization is not None
        points = np.array(quantization.zero_points, np.int16)
        columns = weights - points[:, np.newaxis]
        exact = exact_float(columns, x.dtype)
        rows = np.subtract(x, signature.inputs[0].zero_point, dtype=exact)
        sums = rows @ columns.astype(exact).T
        return (self.results(sums, bias, signature, rounding),)

    def accumulator_range(
        self, weights: Array, x: ValueRange, signature: Signature
    ) -> tuple[Int64Array, Int64Array]:
        x_type, weights_type, _ = signature.inputs
        assert weights_type.quantization is not None
        points = np.array(weights_type.quantization.zero_points, np.int16)
        columns = weights - points[:, np.newaxis]
        return fully_connected_range(columns, x, x_type.zero_point)

    def macs(self, signature: Signature) -> int:
        return signature.output.element_count * signature.inputs[1].shape[1]


@operation("batch_matmul")
@dataclass(frozen=True)
class BatchMatMul(Operation):
    """Operands: x (…, M, K) and y (…, K, N) with axes in front that broadcast; result (…, M, N).

    `adj_x`, `adj_y`: that operand's last two axes are stored the other way round.
    """

    adj_x: bool = False
    adj_y: bool = False

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        x, y = inputs
        if min(x.rank, y.rank) < 2 or max(x.rank, y.rank) > 5:
            raise OperationError(f"expected ranks from 2 to 5, got {x} and {y}")
        rows, depth = _swapped(x.shape[-2:], self.adj_x)
        y_depth, columns = _swapped(y.shape[-2:], self.adj_y)
        if depth != y_depth or depth < 1:
            raise OperationError(
                f"x is {x.shape} and y is {y.shape}: {depth} columns meet {y_depth} rows"
            )
        try:
            batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
        except ValueError:
            raise OperationError(
                f"x is {x.shape} and y is {y.shape}: they do not broadcast"
            ) from None
        return ((*batch, rows, columns),)

    def verify(self, signature: Signature) -> None:
        if signature.output.element.is_float:
            verify_float(signature)
            return
        if is_wide(signature):
            expect_symmetric(*signature.inputs, signature.output)
            self.requantization(signature)
            if self.depth(signature) >= _WIDE_DEPTH_END:
                raise OperationError(f"{self.depth(signature)} products exceed 47 bits")
            return
        for type_ in (*signature.inputs, signature.output):
            quantized = type_.quantization is not None and not type_.quantization.per_channel
            if type_.element is not ElementType.I8 or not quantized:
                raise OperationError(f"expected i8 quantized per tensor, got {type_}")
        if self.depth(signature) > _LARGEST_DEPTH:
            raise OperationError(f"a sum of {self.depth(signature)} products may overflow int32")

    def quantization_rule(self, signature: Signature) -> QuantizationRule | None:
        if self.depth(signature) > _LARGEST_DEPTH:
            return None
        return QuantizationRule((0, 1))

    def depth(self, signature: Signature) -> int:
        """K: products in a sum."""
        return _swapped(signature.inputs[0].shape[-2:], self.adj_x)[1]

    def requantization(self, signature: Signature) -> Requantization:
        """Accumulator to output scale: one entry."""
        x, y = signature.inputs
        real = [x.scale * y.scale / signature.output.scale]
        return wide_requantization(real) if is_wide(signature) else requantization(real)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        if signature.output.element.is_float:
            return (np.asarray(self._product(*inputs), np.float32),)
        x, y = (
            array.astype(np.float64) - type_.zero_point
            for array, type_ in zip(inputs, signature.inputs, strict=True)
        )
        # float64 holds every partial sum exactly: |sum| < 2^53.
        accumulators = self._product(x, y).astype(np.int64)
        scaled = self.requantization(signature).apply(accumulators, rounding)
        out = scaled + signature.output.zero_point
        element = signature.output.element
        return (saturate(out, *element.limits, dtype=element.numpy),)

    def _product(self, x: Array, y: Array) -> Array:
        left = np.swapaxes(x, -1, -2) if self.adj_x else x
        right = np.swapaxes(y, -1, -2) if self.adj_y else y
        product: Array = left @ right
        return product

    def macs(self, signature: Signature) -> int:
        return signature.output.element_count * self.depth(signature)


#: Most products of two int8 differences whose sum stays inside int32.
_LARGEST_DEPTH = (2**31 - 1) // 255**2
#: Number of products of two int16 whose sum a multiplier of 15 bits no longer rescales in int64.
_WIDE_DEPTH_END = ACCUMULATOR_END // 2**30


def _swapped(pair: tuple[int, ...], swap: bool) -> tuple[int, int]:
    first, second = pair
    return (second, first) if swap else (first, second)
