"""Nodes of a gradient on their way into a graph: float32, shapes inferred, names unique."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from glowmcu.ir.graph import Node, Value
from glowmcu.ir.operation import Array, Operation, constant
from glowmcu.ir.types import ElementType, Shape, TensorType, element_type_of
from glowmcu.ops.comparison import Greater, Select
from glowmcu.ops.elementwise import Add, Mul, Sub
from glowmcu.ops.real import FLOAT_MAX, Clamp
from glowmcu.ops.reduction import Sum
from glowmcu.ops.shape import Reshape
from glowmcu.ops.tiling import BroadcastTo


class Builder:
    """Collects `nodes` of a stage; their names begin with `prefix`."""

    element = ElementType.F32

    def __init__(self, prefix: str = "gradient", stage: int = 0) -> None:
        self.nodes: list[Node] = []
        self._prefix = prefix
        self._stage = stage
        self._constants: dict[tuple[str, Shape, bytes], Value] = {}

    def add(
        self, op: Operation, *inputs: Value, element: ElementType | None = None, name: str = ""
    ) -> Value:
        """The result of a new node, of what the builder is for unless `element` is given."""
        (shape,) = op.infer([value.type for value in inputs])
        return self.add_typed(op, inputs, TensorType(shape, element or self.element), name)

    def add_typed(
        self, op: Operation, inputs: Sequence[Value], type_: TensorType, name: str = ""
    ) -> Value:
        """The same where the result's type is given."""
        name = name or f"{self._prefix}/{op.name}_{len(self.nodes)}"
        result = Value(type_, name)
        self.nodes.append(Node(op, tuple(inputs), (result,), name, self._prefix, self._stage))
        return result

    def constant(self, data: Array) -> Value:
        """A constant; equal ones are the same."""
        key = (data.dtype.str, data.shape, data.tobytes())
        if key not in self._constants:
            name = f"{self._prefix}/constant_{len(self.nodes)}"
            value = Value(TensorType(data.shape, element_type_of(data.dtype)), name)
            self.nodes.append(Node(constant(data), (), (value,), name, self._prefix, self._stage))
            self._constants[key] = value
        return self._constants[key]

    def number(self, value: float) -> Value:
        """A constant of shape (1,), which broadcasts to any."""
        return self.constant(np.full((1,), value, np.float32))

    def plus(self, a: Value, b: Value) -> Value:
        return self.add(Add(), a, b)

    def minus(self, a: Value, b: Value) -> Value:
        return self.add(Sub(), a, b)

    def times(self, a: Value, b: Value) -> Value:
        return self.add(Mul(), a, b)

    def scaled(self, value: Value, factor: float) -> Value:
        """`value` times a number; `value` itself for 1."""
        return value if factor == 1.0 else self.times(value, self.number(factor))

    def reshape(self, value: Value, shape: Shape) -> Value:
        return value if value.type.shape == shape else self.add(Reshape(shape), value)

    def typed_reshape(self, value: Value, shape: Shape) -> Value:
        """`value` of another shape, whatever its elements are."""
        if value.type.shape == shape:
            return value
        return self.add_typed(Reshape(shape), (value,), replace(value.type, shape=shape))

    def broadcast(self, value: Value, shape: Shape) -> Value:
        return value if value.type.shape == shape else self.add(BroadcastTo(shape), value)

    def sum(self, value: Value, axes: Sequence[int], keep_dims: bool = False) -> Value:
        """The sum along `axes`; `value` itself, reshaped, where all of these have length 1."""
        if all(value.type.shape[axis] == 1 for axis in axes):
            left = [s for axis, s in enumerate(value.type.shape) if keep_dims or axis not in axes]
            return self.reshape(value, tuple(left))
        return self.add(Sum(tuple(axes), keep_dims), value)

    def reduced_to(self, value: Value, shape: Shape) -> Value:
        """The sum along all axes that broadcasting `shape` to that of `value` repeats."""
        new = value.type.rank - len(shape)
        axes = [axis for axis in range(value.type.rank) if axis < new]
        axes += [
            new + axis
            for axis, size in enumerate(shape)
            if size == 1 and value.type.shape[new + axis] != 1
        ]
        summed = self.sum(value, axes, keep_dims=True) if axes else value
        return self.reshape(summed, shape)

    def where(self, condition: Value, value: Value) -> Value:
        """`value` where the condition holds, else 0."""
        return self.add(Select(), condition, value, self.number(0.0))

    def greater(self, a: Value, b: Value) -> Value:
        """Where a > b: bool."""
        return self.add(Greater(), a, b, element=ElementType.BOOL)

    def through_clamp(self, result: Value, clamp: Clamp, upstream: Value) -> Value:
        """The gradient before a fused activation: none where the result is at a bound."""
        low, high = clamp or (-FLOAT_MAX, FLOAT_MAX)
        if low > -FLOAT_MAX:
            upstream = self.where(self.greater(result, self.number(low)), upstream)
        if high < FLOAT_MAX:
            upstream = self.where(self.greater(self.number(high), result), upstream)
        return upstream
