"""Nodes on their way into a graph: shapes inferred, types verified, shape arithmetic folded."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from glowmcu import limits
from glowmcu.frontend.unsupported import TypeRefused, Unsupported
from glowmcu.ir.graph import Graph, Node, State, Value
from glowmcu.ir.operation import (
    Array,
    Operation,
    OperationError,
    Rounding,
    Signature,
    constant,
)
from glowmcu.ir.shared_constants import NO_BIAS
from glowmcu.ir.types import ElementType, Quantization, Shape, TensorType, element_type_of
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.comparison import Select

MAX_RANK = 16
#: Of a graph, and of the parts that one operator is cut into: each takes about a kilobyte here.
MAX_NODES = 100_000
#: Shape arithmetic has few elements; anything larger is left to the constant folding pass.
MAX_SHAPE_ELEMENTS = 64
_FOLDED_ELEMENTS = frozenset({ElementType.I32, ElementType.I64, ElementType.BOOL, ElementType.F32})
ShapeCheck = Callable[[Sequence[Shape]], None]


def check_tensor_size(shape: Shape, element_bytes: int, what: str) -> None:
    """Raise Unsupported GM114 for a tensor that is larger than any may be.

    An axis of length 0 does not excuse the others: loops run over them.
    """
    size_bytes = math.prod(size or 1 for size in shape) * element_bytes
    if size_bytes > limits.tensor_bytes():
        raise Unsupported(
            "GM114",
            f"{what} of {_shown(shape)} takes {limits.size_text(size_bytes)}, and "
            f"{limits.size_text(limits.tensor_bytes())} are allowed",
            limits.hint(size_bytes, limits.tensor_bytes()),
        )


def expect_few(count: int, what: str) -> None:
    """Raise Unsupported GM115 for more nodes, or parts of one, than a graph may have."""
    if count > MAX_NODES:
        raise Unsupported(
            "GM115",
            f"it makes {count} {what}; a graph may have {MAX_NODES}",
            "no program of that length fits a microcontroller: is a size or a count wrong?",
        )


def _shown(shape: Shape) -> str:
    sizes = "x".join(map(str, shape[:MAX_RANK]))
    return f"shape {sizes[:120] or '()'}"


@dataclass(frozen=True)
class Mark:
    """How far a `GraphBuilder` was."""

    node_count: int
    states: dict[State, Value]
    result_bytes: int
    end_count: int


class GraphBuilder:
    """Collects nodes in topological order. `known` holds the data of every constant value."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.known: dict[Value, Array] = {}
        #: What outlives a run, and what it becomes in one.
        self.states: dict[State, Value] = {}
        #: From which node on a run goes on only where a bool holds (`run_end.py`).
        self.goes_on: list[tuple[int, Value]] = []
        self._result_bytes = 0
        self._stand_ins: set[Value] = set()
        #: Names of the model's inputs behind an input of this graph: inside of another one it is
        #: something else.
        self.model_inputs: Callable[[Value], tuple[str, ...]] = _own_name
        #: Operators around the nodes to come: goes before what these say as their source.
        self.around = ""

    @contextmanager
    def inside_of(self, source: str) -> Iterator[None]:
        """What is made here is of a graph in the operator `source`."""
        before = self.around
        self.around = f"{before}{source}, "
        try:
            yield
        finally:
            self.around = before

    def mark(self) -> Mark:
        """What is there now, for `rewind`."""
        return Mark(len(self.nodes), dict(self.states), self._result_bytes, len(self.goes_on))

    def rewind(self, mark: Mark) -> None:
        """Take back what is computed since `mark`: a loop that was written out in vain, say.

        Constants stay, since others may know of them by now; what nobody reads goes later.
        """
        since = self.nodes[mark.node_count :]
        self.nodes[mark.node_count :] = [
            node for node in since if node.outputs[:1] and node.output in self.known
        ]
        self.states = dict(mark.states)
        self._result_bytes = mark.result_bytes
        del self.goes_on[mark.end_count :]

    def add_known(self, value: Value, data: Array, source: str = "") -> Value:
        """`value` is `data`, known at compile time."""
        self._check_node_count()
        self.known[value] = data
        self.nodes.append(Node(constant(data), (), (value,), value.name, source))
        return value

    def add_constant(
        self, data: Array, name: str, quantization: Quantization | None = None
    ) -> Value:
        """A new constant."""
        type_ = TensorType(data.shape, element_type_of(data.dtype), quantization)
        return self.add_known(Value(type_, name), data)

    def add_made_of(self, constant: Value, data: Array) -> Value:
        """A new constant in the place of another one, of its name and for what that stood."""
        source = next(node.source for node in reversed(self.nodes) if constant in node.outputs)
        is_whole = data.shape == constant.type.shape
        type_ = constant.type if is_whole else TensorType(data.shape, constant.type.element)
        return self.add_known(Value(type_, constant.name), data, source)

    def add_no_bias(self, channels: int, dtype: type[np.generic] = np.float32) -> Value:
        """Zeros in the place of a bias that the model does not have."""
        type_ = TensorType((channels,), element_type_of(np.dtype(dtype)))
        return self.add_known(Value(type_, "no_bias"), np.zeros(channels, dtype), NO_BIAS)

    def add_node(
        self,
        operation: Operation,
        inputs: Sequence[Value],
        types: Sequence[TensorType],
        names: Sequence[str],
        source: str,
        check_shapes: ShapeCheck | None = None,
    ) -> tuple[Value, ...]:
        """A node whose results have the element types and quantization of `types`.

        Shapes are inferred; `check_shapes` may compare them with what the file declares. Raises
        OperationError when the operands do not fit.
        """
        _check_channels(operation, inputs, types)
        shapes = operation.infer([value.type for value in inputs])
        if len(shapes) != len(types):
            raise OperationError(f"it has {len(shapes)} results, got {len(types)}")
        if check_shapes is not None:
            check_shapes(shapes)
        self._check_node_count()
        for shape, type_ in zip(shapes, types, strict=True):
            if len(shape) > MAX_RANK:
                raise OperationError(
                    f"a result of rank {len(shape)}; at most {MAX_RANK} make sense"
                )
            self.afford(shape, type_.element.size_bytes, "a result")
        results = [type_.with_shape(shape) for type_, shape in zip(types, shapes, strict=True)]
        signature = Signature(tuple(value.type for value in inputs), tuple(results))
        try:
            operation.verify(signature)
        except OperationError as cause:
            raise TypeRefused(str(cause), signature) from cause
        for shape in operation.inner_shapes(signature):
            check_tensor_size(shape, results[0].element.size_bytes, "what is computed on the way")
        values = tuple(Value(type_, name) for type_, name in zip(results, names, strict=True))
        if all(value.type.element_count == 0 for value in values):
            for value in values:
                self.add_known(value, np.zeros(value.type.shape, value.type.element.numpy))
        elif self._is_shape_arithmetic(inputs, values):
            self._fold(operation, inputs, values, signature)
        else:
            source = f"{self.around}{source}"
            self.nodes.append(Node(operation, tuple(inputs), values, names[0], source))
        return values

    def stand_in(self, type_: TensorType, name: str) -> Value:
        """A value in the place of a refused node's result; such a graph is never used."""
        value = Value(type_, name)
        self._stand_ins.add(value)
        return value

    def add_state(self, name: str, type_: TensorType, initial: Array) -> Value:
        """What a run leaves for the next one: its value before the run, `initial` in the first.

        `assign` says what it becomes; without that it stays what it is.
        """
        self.afford(type_.shape, type_.element.size_bytes, "a state")
        value = Value(type_, name)
        self.states[State(value, initial)] = value
        return value

    def assign(self, state: Value, value: Value) -> None:
        """At the end of the run the state is `value`, which has its type; what it was before, if
        the run has ended by then.
        """
        assert state.type == value.type, f"{state.name!r} is {state.type}, not {value.type}"
        (found,) = (item for item in self.states if item.value is state)
        if self.goes_on:
            value = self.chosen(self.goes_on[-1][1], value, self.states[found])
        self.states[found] = value

    def chosen(self, condition: Value, new: Value, old: Value) -> Value:
        """`new` where the condition holds, else `old`, which is of its type."""
        operands, name = [condition, new, old], f"{new.name}/held"
        return self.add_node(Select(), operands, [new.type], [name], "the end of a run")[0]

    def graph(self, inputs: Sequence[Value], outputs: Sequence[Value]) -> Graph:
        """All nodes so far, between the model's inputs and outputs."""
        states = tuple(self.states)
        return Graph(
            "main",
            (*inputs, *(state.value for state in states)),
            tuple(self.nodes),
            (*outputs, *self.states.values()),
            states=states,
        )

    @property
    def is_spent(self) -> bool:
        """Whether results take more than they may; what comes behind would only say so again."""
        return self._result_bytes > limits.results_bytes()

    def afford(self, shape: Shape, element_bytes: int, what: str) -> None:
        """Pay for a tensor that is not in the file, before anything is allocated.

        Raises Unsupported GM114 if it, or all such tensors together, would be too large.
        """
        check_tensor_size(shape, element_bytes, what)
        self._result_bytes += math.prod(shape) * element_bytes
        if self.is_spent:
            raise Unsupported(
                "GM114",
                f"with {what} of {_shown(shape)} all results take "
                f"{limits.size_text(self._result_bytes)}, and "
                f"{limits.size_text(limits.results_bytes())} are allowed",
                limits.hint(self._result_bytes, limits.results_bytes()),
            )

    def _check_node_count(self) -> None:
        expect_few(len(self.nodes) + 1, "nodes")

    def inputs_behind(self, value: Value) -> tuple[str, ...]:
        """Names of the model inputs that `value` is computed from."""
        producers = {result: node for node in self.nodes for result in node.outputs}
        seen: dict[Value, None] = {value: None}
        todo = [value]
        while todo:
            node = producers.get(todo.pop())
            fresh = [v for v in (node.inputs if node else ()) if v not in seen]
            seen.update(dict.fromkeys(fresh))
            todo += fresh
        sources = [v for v in seen if v not in producers and v not in self._stand_ins]
        names = (name for v in sources for name in self.model_inputs(v))
        return tuple(dict.fromkeys(names))

    def _is_shape_arithmetic(self, inputs: Sequence[Value], results: Sequence[Value]) -> bool:
        """Few plain numbers, all known: exporters compute shapes with ordinary operators."""
        return all(value in self.known for value in inputs) and all(
            value.type.element in _FOLDED_ELEMENTS
            and value.type.quantization is None
            and value.type.element_count <= MAX_SHAPE_ELEMENTS
            for value in (*inputs, *results)
        )

    def _fold(
        self,
        operation: Operation,
        inputs: Sequence[Value],
        values: Sequence[Value],
        signature: Signature,
    ) -> None:
        operands = [self.known[value] for value in inputs]
        results = operation.evaluate(operands, signature, Rounding.DOUBLE)
        for value, result in zip(values, results, strict=True):
            self.add_known(value, np.ascontiguousarray(result).reshape(value.type.shape))


def _own_name(value: Value) -> tuple[str, ...]:
    return (value.name,)


def _check_channels(
    operation: Operation, inputs: Sequence[Value], types: Sequence[TensorType]
) -> None:
    """Only weights and their biases have a scale a channel."""
    for position, value in enumerate(inputs):
        if _is_per_channel(value.type) and position not in operation.channel_operands:
            raise OperationError(f"{value.name!r} is quantized per channel; expected per tensor")
    for type_ in types:
        if _is_per_channel(type_):
            raise OperationError(f"a result is {type_}; only constants are quantized per channel")


def _is_per_channel(type_: TensorType) -> bool:
    return type_.quantization is not None and type_.quantization.per_channel
