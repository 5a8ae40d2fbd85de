"""The part of a graph that learns, on real numbers.

Every node that a parameter has influence on means what it meant, without the rounding to 8 bits:
clamps of fused activations are in real units, what only rescales is nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace

import numpy as np

from glowmcu.errors import Problem
from glowmcu.gradient.builder import Builder
from glowmcu.ir.graph import Graph, Node, State, Value
from glowmcu.ir.operation import Array, Operation
from glowmcu.ir.shared_constants import no_bias
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.activation import Clip, Relu
from glowmcu.ops.padding import Pad
from glowmcu.ops.quantization import Dequantize, Quantize, Requantize
from glowmcu.ops.real import FLOAT_MAX

_RESCALING = (Quantize, Dequantize, Requantize)


@dataclass(frozen=True)
class RealPart:
    """`nodes` of both parts in order; `real` has the float32 value of what the part makes, and of
    its parameters; `inner` are the nodes of the part alone.
    """

    nodes: tuple[Node, ...]
    inner: tuple[Node, ...]
    real: Mapping[Value, Value]
    outputs: tuple[Value, ...]


def real_constant(graph: Graph, value: Value) -> Array:
    """What a constant means, float32."""
    data = graph.constant_data(value)
    assert data is not None
    quantization = value.type.quantization
    if quantization is None:
        return data.astype(np.float32)
    shape = [1] * value.type.rank
    if quantization.axis is not None:
        shape[quantization.axis] = -1
    scales = np.reshape(np.array(quantization.scales, np.float64), shape)
    points = np.reshape(np.array(quantization.zero_points, np.float64), shape)
    return np.asarray((data - points) * scales, np.float32)


def part_behind(graph: Graph, layers: Mapping[Node, object]) -> set[Node]:
    """`layers`, and all nodes that they have influence on."""
    reached, found = set[Value](), set[Node]()
    for node in graph.nodes:
        if node in layers or not reached.isdisjoint(node.inputs):
            reached.update(node.outputs)
            found.add(node)
    return found


def with_real_part(
    graph: Graph, part: set[Node], parameters: Mapping[Value, State], problems: list[Problem]
) -> RealPart:
    """The graph with `part` on real numbers; `parameters` are states that stand for constants. One
    that is of several stands for the others by what these differed from it.

    What is not possible is added to `problems`: GM361.
    """
    writer = _Writer(graph, parameters)
    for node in graph.nodes:
        if node not in part:
            writer.nodes.append(node)
            continue
        problem = writer.add(node)
        if problem is not None:
            problems.append(problem)
    outputs = tuple(writer.output(value) for value in graph.outputs)
    return RealPart(tuple(writer.nodes), tuple(writer.inner), writer.real, outputs)


class _Writer:
    """Collects the nodes."""

    def __init__(self, graph: Graph, parameters: Mapping[Value, State]) -> None:
        self._graph = graph
        self.nodes: list[Node] = []
        self.inner: list[Node] = []
        self.real: dict[Value, Value] = {}
        self._build = Builder("real")
        for value, state in parameters.items():
            self.real[value] = state.value
            differs = real_constant(graph, value) - state.initial
            if differs.any():
                self.real[value] = self._build.plus(state.value, self._build.constant(differs))
        self.inner += self._build.nodes
        self._take()
        self._made = set[Value]()

    def add(self, node: Node) -> Problem | None:
        """A node of the part; what is wrong with it, if anything."""
        inputs = [self._real(value) for value in node.inputs]
        if isinstance(node.op, _RESCALING):
            self.real[node.output] = inputs[0]
            self._made.add(node.output)
            return None
        outputs = tuple(
            Value(_real_type(value.type), f"{value.name}/real") for value in node.outputs
        )
        made = replace(node, op=_real_operation(node), inputs=tuple(inputs), outputs=outputs)
        self._take()
        self.nodes.append(made)
        self.inner.append(made)
        self.real.update(zip(node.outputs, outputs, strict=True))
        self._made.update(node.outputs)
        if made.type_fault is None:
            return None
        return Problem(
            "GM361",
            f"{node.op.name} cannot compute in real numbers, as what learns does: "
            f"{made.type_fault}",
            f"{self._graph.name}, {node.name!r}",
            "let fewer layers learn, those behind it",
        )

    def output(self, value: Value) -> Value:
        """A graph output as it was, of its name."""
        if value not in self._made:
            return value
        real = self.real[value]
        if value.type.element is real.type.element and value.type.quantization is None:
            # Who makes it calls it as the application does.
            renamed = Value(value.type, value.name)
            for nodes in (self.nodes, self.inner):
                nodes[:] = [_with_value(node, real, renamed) for node in nodes]
            self.real = {key: renamed if v is real else v for key, v in self.real.items()}
            return renamed
        result = Value(value.type, value.name)
        self.nodes.append(Node(Quantize(), (real,), (result,), value.name, "learning"))
        return result

    def _real(self, value: Value) -> Value:
        if value in self.real:
            return self.real[value]
        type_ = value.type
        if self._graph.constant_data(value) is not None:
            # Numbers that mean themselves, as indices do, stay what they are.
            made = value
            if type_.quantization is not None or no_bias(self._graph, value):
                made = self._build.constant(real_constant(self._graph, value))
        elif type_.quantization is not None:
            made = self._build.add(Dequantize(), value, name=f"{value.name}/real")
        else:
            made = value
        self._take()
        self.real[value] = made
        return made

    def _take(self) -> None:
        self.nodes += self._build.nodes
        self._build.nodes.clear()


def _with_value(node: Node, old: Value, new: Value) -> Node:
    if old not in (*node.inputs, *node.outputs):
        return node
    inputs = tuple(new if value is old else value for value in node.inputs)
    outputs = tuple(new if value is old else value for value in node.outputs)
    return replace(node, inputs=inputs, outputs=outputs)


def _real_type(type_: TensorType) -> TensorType:
    if type_.quantization is None:
        return type_
    return TensorType(type_.shape, ElementType.F32)


def _real_operation(node: Node) -> Operation:
    """The operator with clamps and fillings in real numbers."""
    op, type_ = node.op, node.output.type
    if type_.quantization is None:
        return op
    if isinstance(op, Clip):
        return Relu(_real_clamp((op.clamp[0], op.clamp[1]), type_) or (-FLOAT_MAX, FLOAT_MAX))
    changed: dict[str, object] = {}
    for field in fields(op):
        if field.name == "clamp":
            changed["clamp"] = _real_clamp(getattr(op, "clamp"), type_)  # noqa: B009
        elif field.name in ("rounds_once", "single_precision"):
            changed[field.name] = False
    if isinstance(op, Relu) and changed["clamp"] is None:
        changed["clamp"] = (-FLOAT_MAX, FLOAT_MAX)
    if isinstance(op, Pad):
        changed["value"] = (op.value - type_.zero_point) * type_.scale
    return replace(op, **changed) if changed else op


def _real_clamp(clamp: tuple[float, float] | None, type_: TensorType) -> tuple[float, float] | None:
    """Bounds in real numbers; those that are only what 8 bits can store are none, but for 0, below
    which such a type knows nothing.
    """
    least, most = type_.element.limits
    low, high = clamp or (least, most)
    real_low = (low - type_.zero_point) * type_.scale
    real_high = (high - type_.zero_point) * type_.scale
    is_open = low <= least and real_low < 0
    bounds = (-FLOAT_MAX if is_open else real_low, FLOAT_MAX if high >= most else real_high)
    return None if bounds == (-FLOAT_MAX, FLOAT_MAX) else bounds
