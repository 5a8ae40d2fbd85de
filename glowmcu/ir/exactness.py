"""Which results have the same bits wherever they are computed, and which may be a step off.

Integer meanings are exact. Real numbers are not: C may add in another order and has its own exp, so
that last bits differ between processors and from Python. A value is inexact when it is computed in
float, or from something that is. Into float (DEQUANTIZE) and out of it (QUANTIZE, comparisons) is a
single rounding of an exact value: the border of an int8 model stays exact. So does what is moved.

Of inexact integers those may be a step off that real numbers were rounded to. Those that were
chosen, classes and places say, have no neighbours: they are as compared as bits are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.types import ElementType, TensorType


def exact_outputs(graph: Graph) -> tuple[bool, ...]:
    """For each result of `graph` whether every byte of it is defined, in every run."""
    inexact = _inexact(graph)
    return tuple(value not in inexact for value in graph.results)


def rounded_outputs(graph: Graph) -> tuple[bool, ...]:
    """For each result of `graph` whether it is of integers that inexact real numbers became."""
    inexact = _inexact(graph)

    def made(node: Node, reached: set[Value]) -> Iterable[Value]:
        known = (value in reached or is_real(value) for value in node.inputs)
        if node.op.chooses or not any(known):
            return ()
        return [value for value in node.outputs if _is_number(value.type)]

    def is_real(value: Value) -> bool:
        return value in inexact and value.type.element.is_float

    rounded = _reached(graph, made)
    return tuple(
        value in inexact
        and _is_number(value.type)
        and (value in rounded or value.type.quantization is not None)
        for value in graph.results
    )


def _is_number(type_: TensorType) -> bool:
    return not type_.element.is_float and type_.element is not ElementType.BOOL


def _inexact(graph: Graph) -> set[Value]:
    def made(node: Node, reached: set[Value]) -> Iterable[Value]:
        is_one = computes_in_float(node) or not reached.isdisjoint(node.inputs)
        return node.outputs if is_one else ()

    return _reached(graph, made)


def _reached(graph: Graph, made: Callable[[Node, set[Value]], Iterable[Value]]) -> set[Value]:
    """What has a property that nodes give to what they make, from what has it; through states."""
    states, before = set[Value](), -1
    while len(states) != before:
        before = len(states)
        reached = set(states)
        for node in graph.nodes:
            reached.update(made(node, reached))
        pairs = zip(graph.states, graph.assigned, strict=True)
        states.update(state.value for state, value in pairs if value in reached)
    return reached


def computes_in_float(node: Node) -> bool:
    """Whether the node makes real numbers from real numbers, itself or in a body of its own."""
    if any(computes_in_float(inner) for graph in node.op.inner_graphs() for inner in graph.nodes):
        return True
    if node.op.keeps_bits:
        return False
    return any(value.type.element.is_float for value in node.inputs) and any(
        value.type.element.is_float for value in node.outputs
    )
