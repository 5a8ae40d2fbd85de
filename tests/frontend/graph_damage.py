"""Graphs of which one part at a time is another one: what a pass makes of each, and that no number
changes by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from typing import Any

import numpy as np

from glowmcu.frontend.graph_builder import GraphBuilder
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.operation import Array, Constant, Operation, OperationError
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.activation import Abs, Neg
from glowmcu.ops.elementwise import Add, Mul, Sub
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.scan import ArgMax, ArgMin

Pass = Callable[[Graph], Graph]
_OTHER_KINDS: dict[type[Operation], Callable[[Any], Operation]] = {
    Add: lambda op: Sub(op.clamp), Sub: lambda op: Add(op.clamp), Mul: lambda op: Add(op.clamp),
    Neg: lambda _: Abs(), ArgMax: lambda op: ArgMin(op.axis, op.last),
}  # fmt: skip
#: Of a list in an operator: as many numbers are changed.
_MOST_NUMBERS = 2


class Made(GraphBuilder):
    """A graph on its way, operator by operator."""

    def __init__(self) -> None:
        super().__init__()
        self.inputs: list[Value] = []

    def input(self, *shape: int, element: ElementType = ElementType.F32) -> Value:
        """A new input."""
        self.inputs.append(Value(TensorType(shape, element), f"x{len(self.inputs)}"))
        return self.inputs[-1]

    def number(self, data: Any, dtype: str = "float32") -> Value:
        """A new constant."""
        return self.add_constant(np.array(data, dtype), f"c{len(self.nodes)}")

    def op(self, op: Operation, *operands: Value, element: ElementType | None = None) -> Value:
        """Its result, of the first operand's type unless another is given."""
        type_ = TensorType((), element or operands[0].type.element)
        return self.add_node(op, operands, [type_], [f"v{len(self.nodes)}"], "")[0]

    def done(self, *outputs: Value) -> Graph:
        """Between all inputs and `outputs`."""
        return self.graph(self.inputs, outputs)


def report(name: str, graph: Graph, fold: Pass, is_exact: bool = True) -> str:
    """What a pass makes of a graph and all its damages, by the operators that are there then.

    Raises AssertionError if numbers change.
    """
    groups: dict[str, list[str]] = {}
    for label, damaged in damages(graph):
        groups.setdefault(verdict(damaged, fold, is_exact), []).append(label)
    whole = verdict(graph, fold, is_exact)
    lines = [f"{name} = {whole}", f"  as it was <- {', '.join(groups.pop(whole))}"]
    return "\n".join(
        [*lines, *(f"  {kinds} <- {', '.join(groups[kinds])}" for kinds in groups), ""]
    )


def verdict(graph: Graph, fold: Pass, is_exact: bool = True) -> str:
    """Operators of which the graph then consists, but for constants."""
    folded = fold(graph)
    if folded.nodes == graph.nodes:
        return "it stays"
    _expect_the_same(graph, folded, is_exact)
    return " ".join(node.op.name for node in folded.nodes if not isinstance(node.op, Constant))


def _expect_the_same(graph: Graph, folded: Graph, is_exact: bool) -> None:
    draw = np.random.default_rng(1)
    inputs = []
    for value in graph.inputs:
        numbers = 2 * draw.normal(size=value.type.shape)
        inputs.append(numbers.astype(value.type.element.numpy))
    try:
        expected = run_graph(graph, inputs)
    except (IndexError, ValueError):
        return  # an index beyond the table, say: importers refuse it
    for ours, theirs in zip(run_graph(folded, inputs), expected, strict=True):
        assert ours.dtype == theirs.dtype
        if is_exact or ours.dtype != np.float32:
            np.testing.assert_array_equal(ours, theirs)
        else:
            np.testing.assert_allclose(ours, theirs, 1e-6, 1e-6)


def damages(graph: Graph) -> Iterator[tuple[str, Graph]]:
    """Each with its name; what is no graph is left out."""
    for place, node in enumerate(graph.nodes):
        if isinstance(node.op, Constant):
            changes = [(what, _rebuilt(graph, place, data=data)) for what, data in _datas(node)]
            changes.append(("computed", _rebuilt(graph, place, is_computed=True)))
        else:
            changes = [(what, _rebuilt(graph, place, op=op)) for what, op in _operations(node.op)]
            changes += [(what, _rebuilt(graph, place, operands=operands))
                        for what, operands in _operands(graph, place, node)]  # fmt: skip
            if node.output not in graph.outputs:
                changes.append(("an output", _rebuilt(graph, outputs=[node.output])))
        for what, damaged in changes:
            if damaged is not None:
                yield f"{node.op.name} {node.output.name} {what}", damaged


def _rebuilt(
    graph: Graph, at: int = -1, op: Operation | None = None,
    operands: Sequence[Value] | None = None, data: Array | None = None, is_computed: bool = False,
    outputs: Sequence[Value] = (),
) -> Graph | None:  # fmt: skip
    """The graph with another node at a place, types inferred anew; None if it is no graph."""
    builder, inputs = GraphBuilder(), [*graph.inputs]
    new = {value: value for value in inputs}
    with suppress(OperationError, Unsupported, IndexError):
        for place, node in enumerate(graph.nodes):
            if isinstance(node.op, Constant) and place == at and is_computed:
                inputs.append(Value(node.output.type, node.output.name))
                new[node.output] = inputs[-1]
            elif isinstance(node.op, Constant):
                array = node.op.data if data is None or place != at else data
                new[node.output] = builder.add_constant(array, node.output.name)
            else:
                given = node.inputs if operands is None or place != at else operands
                values = builder.add_node(
                    node.op if op is None or place != at else op, [new[value] for value in given],
                    [value.type for value in node.outputs], [value.name for value in node.outputs],
                    "",
                )  # fmt: skip
                new.update(zip(node.outputs, values, strict=True))
        return builder.graph(inputs, [new[value] for value in (*graph.outputs, *outputs)])
    return None


def _datas(node: Node) -> Iterator[tuple[str, Array]]:
    assert isinstance(node.op, Constant)
    data = node.op.data
    for place in dict.fromkeys((0, data.size - 1)) if data.size else ():
        for step in (1, -1) if data.dtype != np.bool_ else (1,):
            other = data.copy()
            other.reshape(-1)[place] += step
            yield f"[{place}] {step:+d}", other
    if data.dtype == np.float32 and data.size:
        other = data.copy()
        other.reshape(-1)[0] = np.inf
        yield "[0]=inf", other
    if data.dtype == np.int64:
        yield "beyond int32", data + 2**40
    if data.size > 1:
        yield "a column", data.reshape(-1, 1)
        yield "one number", data.reshape(-1)[:1]
    yield "an axis more", data[None]
    if data.ndim:
        yield "an axis less", data[0]


def _operations(op: Operation) -> Iterator[tuple[str, Operation]]:
    other = _OTHER_KINDS.get(type(op))
    if other is not None:
        yield other(op).name, other(op)
    for field in fields(op):
        for what, value in _values(getattr(op, field.name)):
            yield f"{field.name}{what}", replace(op, **{field.name: value})
        if field.name == "clamp":
            yield "clamp", replace(op, clamp=(0.0, 1.0))


def _values(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, bool):
        yield f"={not value}", not value
    elif isinstance(value, int):
        yield "+1", value + 1
        yield "-1", value - 1
    elif isinstance(value, tuple) and value and isinstance(value[0], int):
        for place, item in enumerate(value[:_MOST_NUMBERS]):
            for step in (1, -1):
                yield f"[{place}] {step:+d}", (*value[:place], item + step, *value[place + 1 :])
    elif isinstance(value, np.ndarray):
        for place in range(min(value.size, _MOST_NUMBERS)):
            other = value.copy()
            other[place] = not other[place] if other.dtype == np.bool_ else other[place] + 1
            yield f"[{place}] another", other


def _operands(graph: Graph, at: int, node: Node) -> Iterator[tuple[str, Sequence[Value]]]:
    earlier = [*graph.inputs, *(value for each in graph.nodes[:at] for value in each.outputs)]
    is_joining = isinstance(node.op, Concatenation)  # of any length along its axis
    for place, value in enumerate(node.inputs):
        alike = [other for other in earlier if other.type.element is value.type.element]
        others = [
            other
            for other in alike
            if other is not value and (is_joining or other.type == value.type)
        ]
        for other in dict.fromkeys((*others[:1], *others[-1:])):
            yield f"of {other.name}", (*node.inputs[:place], other, *node.inputs[place + 1 :])
    if len(node.inputs) > 1:
        yield "turned", node.inputs[::-1]
    if is_joining:
        yield "one operand less", node.inputs[:-1]
