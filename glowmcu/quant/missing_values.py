"""Inputs in which NaN stands for a missing value, as imputers and trees take it: int8 has none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType
from glowmcu.ops.comparison import NotEqual
from glowmcu.ops.elementwise import Add, Mul, Sub
from glowmcu.ops.movement import Movement
from glowmcu.ops.shape import Reshape
from glowmcu.ops.trees import TreeEnsemble


def inputs_with_missing(graph: Graph) -> list[Value]:
    """Inputs of real numbers that the graph asks which of them are missing."""
    asked = {value for node in nodes_with_missing(graph) for value in node.inputs}
    return [v for v in graph.inputs if v in asked and v.type.element is ElementType.F32]


def nodes_with_missing(graph: Graph) -> dict[Node, str]:
    """Nodes that ask what is missing, and what hands it on to them: each with why it has no int8
    form.
    """
    found: dict[Node, str] = {}
    asked: set[Value] = set()
    for node in reversed(graph.nodes):
        if _asks(node) or (_hands_on(graph, node) and not asked.isdisjoint(node.outputs)):
            found[node] = "NaN is a missing value there, and int8 has none"
            asked.update(node.inputs)
    return found


def values_with_missing(graph: Graph) -> set[Value]:
    """Those inputs, and what they are moved, added to and multiplied into."""
    found = set(inputs_with_missing(graph))
    for node in graph.nodes:
        if _hands_on(graph, node) and not found.isdisjoint(node.inputs):
            found.update(node.outputs)
    return found


def missing_notes(graph: Graph, arguments: Sequence[Value]) -> list[str]:
    """Which inputs of the float `graph` cannot lack a value any more, being quantized."""
    stored = {value.name for value in arguments if value.type.quantization is not None}
    return [
        f"the model takes NaN at input {value.name!r} for a missing value, and a quantized input "
        "has none: NaN becomes the least number; --io float keeps it"
        for value in inputs_with_missing(graph)
        if value.name in stored
    ]


def filled(array: Array) -> Array:
    """`array` with the mean of each channel in the place of what is missing there: of no range, and
    of no mean, is that an end or a change. A channel that has nothing gets zeros.
    """
    missing = np.isnan(array)
    if not missing.any():
        return array
    rows = array.reshape(-1, array.shape[-1] if array.ndim else 1)
    known = ~missing.reshape(rows.shape)
    sums = np.where(known, rows, 0).sum(axis=0, dtype=np.float64)
    means = (sums / np.maximum(known.sum(axis=0), 1)).astype(np.float32)
    return np.where(known, rows, means).reshape(array.shape)


def _asks(node: Node) -> bool:
    """Only what is not a number differs from itself; trees say where it goes."""
    if isinstance(node.op, NotEqual):
        return node.inputs[0] is node.inputs[1]
    return isinstance(node.op, TreeEnsemble) and bool(node.op.missing_left.any())


def _hands_on(graph: Graph, node: Node) -> bool:
    """Whether NaN stays where it is, or goes where it is moved."""
    if isinstance(node.op, Movement | Reshape):
        return True
    constants = [graph.constant_data(value) is not None for value in node.inputs]
    return isinstance(node.op, Add | Mul | Sub) and any(constants)
