"""What operators with constant weights and a bias share: convolutions and matrix products.

out = clamp(requantize(bias + sum) + out_zp), on int8 and on 16-bit activations (`wide.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, Signature
from glowmcu.ir.types import ElementType
from glowmcu.ir.value_range import Int64Array, ValueRange
from glowmcu.ops.fixed_point import Requantization, saturate
from glowmcu.ops.ranges import clamped, requantized, unrestricted
from glowmcu.ops.real import stored_clamp, verify_float
from glowmcu.ops.wide import is_wide, requantization_for, verify_weighted


class WeightedOperation(Operation):
    """Base of operators of an input, weights and a bias; their first result axis may be anything,
    its last one has the output channels.
    """

    channel_operands: ClassVar[tuple[int, ...]] = (1, 2)
    #: Biases that go with 16-bit activations; they say how wide accumulators are.
    wide_biases: ClassVar[tuple[ElementType, ...]] = (ElementType.I32, ElementType.I64)
    #: The fused activation in stored output units; None leaves the type's full range.
    clamp: tuple[float, float] | None

    def verify(self, signature: Signature) -> None:
        x, weights, bias = signature.inputs
        if signature.output.element.is_float:
            verify_float(signature)
            return
        if is_wide(signature):
            verify_weighted(signature, *self.wide_biases)
            return
        for type_ in (x, weights, signature.output):
            if type_.element is not ElementType.I8 or type_.quantization is None:
                raise OperationError(f"expected quantized i8, got {type_}")
        if bias.element is not ElementType.I32:
            raise OperationError(f"expected i32 bias, got {bias}")
        self.verify_zero_points(signature)

    def verify_zero_points(self, signature: Signature) -> None:
        """OperationError for zero points of int8 weights that the operator cannot have."""
        weights = signature.inputs[1].quantization
        assert weights is not None
        if any(weights.zero_points):
            raise OperationError("weights must have zero point 0")

    def clamp_range(self, signature: Signature) -> tuple[int, int]:
        """Least and greatest stored result."""
        return stored_clamp(self.clamp, signature.output)

    def requantization(self, signature: Signature) -> Requantization:
        """Accumulator to output scale, one entry an output channel."""
        x, weights, bias = signature.inputs
        assert weights.quantization is not None
        channels = signature.output.shape[-1]
        scales = weights.quantization.scales
        scales = scales if len(scales) == channels else scales * channels
        real = x.scale * np.array(scales) / signature.output.scale
        return requantization_for(bias, real)

    def results(self, sums: Array, bias: Array, signature: Signature, rounding: Rounding) -> Array:
        """What exact `sums` (…, output channels) are stored as."""
        accumulators = sums.astype(np.int64) + bias
        scaled = self.requantization(signature).apply(accumulators, rounding)
        out = scaled + signature.output.zero_point
        dtype = signature.output.element.numpy
        return saturate(out, *self.clamp_range(signature), dtype=dtype)

    def accumulator_range(
        self, weights: Array, x: ValueRange, signature: Signature
    ) -> tuple[Int64Array, Int64Array]:
        """Least and greatest sum of every output channel, without the bias."""
        raise AssertionError(f"{type(self).__name__} has no accumulator range")

    def output_ranges(
        self,
        inputs: Sequence[ValueRange | None],
        constants: Sequence[Array | None],
        signature: Signature,
        rounding: Rounding,
    ) -> tuple[ValueRange | None, ...]:
        (unrestricted_range,) = unrestricted(signature)
        x, (weights, bias) = inputs[0], constants[1:]
        if unrestricted_range is None:
            return (None,)
        limits = self.clamp_range(signature)
        if x is None or weights is None or bias is None:
            return (clamped(unrestricted_range, *limits),)
        accumulator_range = self.accumulator_range(weights, x, signature)
        requantization = self.requantization(signature)
        return (requantized(accumulator_range, bias, requantization, limits, signature, rounding),)
