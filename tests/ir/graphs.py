"""Small graphs to test the IR with: a builder that infers shapes, and strategies over fields."""

from __future__ import annotations

import enum
import types
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from hypothesis import strategies as st

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Operation, constant
from glowmcu.ir.text.fields import aliased
from glowmcu.ir.types import ElementType, Quantization, TensorType, element_type_of


def int8(*shape: int, scale: float = 0.5, zero_point: int = -3) -> TensorType:
    return TensorType(
        shape, ElementType.I8, Quantization((float(np.float32(scale)),), (zero_point,))
    )


def per_channel(shape: tuple[int, ...], axis: int) -> TensorType:
    scales = tuple(2.0 ** -(i + 1) for i in range(shape[axis]))
    return TensorType(shape, ElementType.I8, Quantization(scales, (0,) * len(scales), axis))


class GraphBuilder:
    """Values in, values out; `finish` verifies."""

    def __init__(self) -> None:
        self.inputs: list[Value] = []
        self.nodes: list[Node] = []

    def input(self, type_: TensorType, name: str = "x") -> Value:
        self.inputs.append(Value(type_, name))
        return self.inputs[-1]

    def constant(
        self, data: Any, quantization: Quantization | None = None, name: str = "c"
    ) -> Value:
        type_ = TensorType(data.shape, element_type_of(data.dtype), quantization)
        value = Value(type_, name)
        self.nodes.append(Node(constant(data), (), (value,), name))
        return value

    def add(
        self, op: Operation, *inputs: Value, like: TensorType | None = None, name: str = ""
    ) -> Value:
        """One result: inferred shape; element type and quantization of `like` (operand 0)."""
        return self.add_many(op, *inputs, like=like, name=name)[0]

    def add_many(
        self, op: Operation, *inputs: Value, like: TensorType | None = None, name: str = ""
    ) -> tuple[Value, ...]:
        shapes = op.infer([value.type for value in inputs])
        like = like or inputs[0].type
        name = name or f"{op.name}{len(self.nodes)}"
        values = tuple(
            Value(like.with_shape(shape), name if i == 0 else f"{name}_{i}")
            for i, shape in enumerate(shapes)
        )
        self.nodes.append(Node(op, inputs, values, name))
        return values

    def finish(self, *outputs: Value) -> Graph:
        graph = Graph("main", tuple(self.inputs), tuple(self.nodes), outputs)
        graph.verify()
        return graph


def random_arrays(values: Sequence[Value], seed: int = 0) -> list[Any]:
    """An array for each value, over the element type's whole range."""
    generator = np.random.default_rng(seed)
    arrays = []
    for value in values:
        element = value.type.element
        if element.is_float:
            arrays.append(generator.normal(0, 2, value.type.shape).astype(np.float32))
        else:
            low, high = element.limits
            data = generator.integers(low, high, value.type.shape, dtype=np.int64, endpoint=True)
            arrays.append(data.astype(element.numpy))
    return arrays


INTEGERS = st.integers(-(2**63), 2**63 - 1)


def values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a dataclass field's type."""
    hint = aliased(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return st.one_of([values_of(choice) for choice in arguments])
    if hint is type(None):
        return st.none()
    if origin is tuple and arguments[1:] == (...,):
        return st.lists(values_of(arguments[0]), max_size=4).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values_of, arguments))
    if origin is np.ndarray:
        return ARRAYS
    if hint is TensorType:
        return st.sampled_from([int8(2, 3), per_channel((2, 3), 1)])
    if issubclass(hint, enum.Enum):
        return st.sampled_from(list(hint))
    if hint in SCALARS:
        return SCALARS[hint]
    if issubclass(hint, Operation):
        from glowmcu.ops.registry import load_operations

        plain = [cls for cls in load_operations().values() if issubclass(cls, hint)]
        flat = [cls for cls in plain if "Operation" not in str(get_type_hints(cls))]
        return st.sampled_from(flat).flatmap(instances_of)
    return instances_of(hint)


def instances_of(cls: type[Any]) -> st.SearchStrategy[Any]:
    hints = get_type_hints(cls)
    parts = {field.name: values_of(hints[field.name]) for field in fields(cls) if field.init}
    return st.fixed_dictionaries(parts).map(lambda values: _make(cls, values)).filter(_made)


def _make(cls: type[Any], values: dict[str, Any]) -> Any:
    try:
        return cls(**values)
    except (AssertionError, ValueError):
        return None


def _made(instance: Any) -> bool:
    return instance is not None


SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    bool: st.booleans(),
    int: INTEGERS,
    float: st.floats(),
    str: st.text(),
}
DTYPES = [element.numpy for element in ElementType]
ARRAYS = st.tuples(
    st.sampled_from(DTYPES), st.lists(st.integers(0, 4), max_size=3), st.integers(0, 2**32 - 1)
).map(lambda item: _array(*item))


def _array(dtype: Any, shape: list[int], seed: int) -> Any:
    """Random bits: NaN with payload, -0.0 and subnormals among the floats."""
    raw = np.random.default_rng(seed).integers(0, 256, (*shape, dtype.itemsize), np.uint8)
    if dtype == np.bool_:
        raw &= 1
    return np.ascontiguousarray(raw).view(dtype).reshape(shape)
