"""Matrix products: `fully_connected`.

out = clamp(requantize(bias + sum((x - x_zp) * (w - w_zp))) + out_zp)
Source: TensorFlow Lite `reference/integer_ops/fully_connected.h`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, Signature
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.ops.fixed_point import Requantization, requantization, saturate
from glowmcu.ops.registry import operation


@operation("fully_connected")
@dataclass(frozen=True)
class FullyConnected(Operation):
    """Operands: input (…, I), weights (O, I), bias (O,); result (…, O).

    Weights per tensor (any zero point) or per output channel (zero point 0). `clamp` is the fused
    activation in stored output units; None leaves the type's full range.
    """

    channel_operands: ClassVar[tuple[int, ...]] = (1, 2)
    clamp: tuple[int, int] | None = None

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
        x, weights, bias = signature.inputs
        for type_ in (x, weights, signature.output):
            if type_.element is not ElementType.I8 or type_.quantization is None:
                raise OperationError(f"expected quantized i8, got {type_}")
        if bias.element is not ElementType.I32:
            raise OperationError(f"expected i32 bias, got {bias}")
        assert weights.quantization is not None
        if weights.quantization.per_channel and any(weights.quantization.zero_points):
            raise OperationError("weights quantized per channel must have zero point 0")

    def clamp_range(self, signature: Signature) -> tuple[int, int]:
        """Least and greatest stored result."""
        return self.clamp or signature.output.element.limits

    def requantization(self, signature: Signature) -> Requantization:
        """Accumulator to output scale: one entry, or one an output channel."""
        x, weights, _ = signature.inputs
        assert weights.quantization is not None
        scales = weights.quantization.scales
        return requantization(x.scale * scale / signature.output.scale for scale in scales)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        x, weights, bias = inputs
        quantization = signature.inputs[1].quantization
        assert quantization is not None
        rows = x.astype(np.float64) - signature.inputs[0].zero_point
        columns = weights.astype(np.float64) - np.array(quantization.zero_points)[:, np.newaxis]
        # float64 holds every partial sum exactly: |sum| < 2^53.
        accumulators = (rows @ columns.T).astype(np.int64) + bias
        scaled = self.requantization(signature).apply(accumulators, rounding)
        out = scaled + signature.output.zero_point
        return (saturate(out, *self.clamp_range(signature), dtype=np.int8),)

    def macs(self, signature: Signature) -> int:
        return signature.output.element_count * signature.inputs[1].shape[1]
