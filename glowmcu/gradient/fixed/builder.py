"""Nodes of a gradient in fixed point on their way into a graph."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from glowmcu.gradient.builder import Builder
from glowmcu.gradient.rules import NoGradient
from glowmcu.ir.graph import Node, Value
from glowmcu.ir.operation import Operation
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops import block_gradient
from glowmcu.ops.block_gradient import BITS, SHARED, gradient_type, numbers_shape
from glowmcu.ops.stored_gradient import GradientSum, RequantizationGradient

#: Fewer bits say too little of a gradient.
_LEAST_BITS = 4
#: The largest share, of 2^15: all.
SHARE_END = 32767


@dataclass(frozen=True)
class FixedGradient:
    """Of a value by what is stored: numbers i16, of magnitudes up to 2^bits, of its shape or with 1
    for height and width, or packed; exponent and peak; and `scale`, by which the numbers are
    multiplied.
    """

    numbers: Value
    common: Value
    scale: float
    bits: int = BITS

    @property
    def shape(self) -> Shape:
        """Of the numbers."""
        return numbers_shape(self.numbers.type)

    @property
    def is_packed(self) -> bool:
        """Whether the numbers are."""
        return block_gradient.is_packed(self.numbers.type)


class _NumbersBuilder(Builder):
    """Adds nodes that move numbers to those of another builder."""

    element = ElementType.I16


class FixedBuilder(Builder):
    """Collects nodes of gradients in fixed point."""

    def of_numbers(self) -> Builder:
        """Who adds what moves the numbers of a gradient to the same nodes."""
        moving = _NumbersBuilder(self._prefix, self._stage)
        moving.nodes = self.nodes
        return moving

    def add_all(
        self, op: Operation, inputs: Sequence[Value], types: Sequence[TensorType]
    ) -> tuple[Value, ...]:
        """The results of a new node."""
        name = f"{self._prefix}/{op.name}_{len(self.nodes)}"
        results = tuple(Value(each, f"{name}/{number}") for number, each in enumerate(types))
        self.nodes.append(Node(op, tuple(inputs), results, name, self._prefix, self._stage))
        return results

    def gradient(
        self,
        op: Operation,
        inputs: Sequence[Value],
        scale: float,
        bits: int,
        is_packed: bool = False,
    ) -> FixedGradient:
        """Of an operator that makes one, packed if it says so."""
        shape = op.infer([value.type for value in inputs])[0]
        type_ = gradient_type(shape, is_packed)
        numbers, common = self.add_all(op, inputs, (type_, SHARED))
        return FixedGradient(numbers, common, scale, bits)

    def reshaped(self, given: FixedGradient, shape: Shape) -> FixedGradient:
        """The same numbers as another shape, of i16 where that is another one."""
        if given.is_packed and given.shape == shape:
            return given
        return replace(given, numbers=self.typed_reshape(given.numbers, shape))

    def requantized(
        self,
        given: FixedGradient,
        stored: Value,
        scales: Sequence[float],
        bounds: tuple[int | None, int | None],
        bits: int,
        is_packed: bool = False,
    ) -> FixedGradient:
        """Through the end of a layer: y = scale * sum of a channel (or of all), within bounds.

        Raises NoGradient where fewer bits than say anything are asked for.
        """
        if bits < _LEAST_BITS:
            raise NoGradient("a layer with more products than a sum in 32 bits takes")
        most = max(scales)
        is_same = min(scales) == most
        shares = np.array([SHARE_END] if is_same else _shares(scales), np.int16)
        op = RequantizationGradient(*bounds, bits, is_packed)
        inputs = (given.numbers, given.common, stored, self.constant(shares))
        scale = given.scale * most * 2**15 / SHARE_END
        return self.gradient(op, inputs, scale, bits, is_packed)

    def whole(self, given: FixedGradient, stored: Value) -> FixedGradient:
        """With a number for each element of what is stored."""
        return self.requantized(given, stored, (1.0,), (None, None), given.bits)

    def total(self, a: FixedGradient, b: FixedGradient, stored: Value) -> FixedGradient:
        """The sum of two gradients of a value."""
        a, b = self.whole(a, stored), self.whole(b, stored)
        (share_a, power_a), (share_b, power_b) = (math.frexp(each.scale) for each in (a, b))
        shares = [
            max(-SHARE_END, min(SHARE_END, round(2**15 * share))) for share in (share_a, share_b)
        ]
        op = GradientSum(shares[0], shares[1], power_a, power_b)
        inputs = (a.numbers, a.common, b.numbers, b.common)
        return self.gradient(op, inputs, 1.0, BITS)


def _shares(scales: Sequence[float]) -> list[int]:
    most = max(scales)
    return [round(SHARE_END * scale / most) for scale in scales]


def ratio(node: Node, operand: int = 0) -> float:
    """A stored step of an operand in those of the result."""
    return node.inputs[operand].type.scale / node.output.type.scale


def is_stored(value: Value) -> bool:
    """Whether it is int8 of one scale."""
    quantization = value.type.quantization
    is_int8 = value.type.element is ElementType.I8
    return is_int8 and quantization is not None and not quantization.per_channel
