"""A graph for one sample as the same graph for many: the outermost axis 1 becomes n.

Which operators allow that is not written down anywhere: shapes are inferred anew with the longer
axis, operators that say a shape keep it in front, and `batches_agree` compares a batch with its
samples run one by one. A graph that fails either is run sample by sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.operation import Array, Operation, OperationError
from glowmcu.ir.types import TensorType
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice
from glowmcu.ops.tiling import BroadcastTo

_RELATIVE_TOLERANCE = 1e-3


def batched(graph: Graph, count: int) -> tuple[Graph, dict[Value, Value]] | None:
    """The graph on `count` samples at once, and its values by those of `graph`.

    None if an input, output or operator does not go along.
    """
    values: dict[Value, Value] = {}
    for value in graph.inputs:
        if value.type.shape[:1] != (1,):
            return None
        values[value] = _longer(value, count)
    nodes: list[Node] = []
    for node in graph.nodes:
        batch = _batched_node(node, values, count)
        if batch is None:
            return None
        nodes.append(batch)
        values.update(zip(node.outputs, batch.outputs, strict=True))
    if any(v.type.shape[:1] != (1,) for v in graph.outputs):
        return None  # a sum over all of a sample, or a constant
    if any(values[v].type != _longer(v, count).type for v in graph.outputs):
        return None
    outputs = tuple(values[value] for value in graph.outputs)
    inputs = tuple(values[value] for value in graph.inputs)
    return replace(graph, inputs=inputs, nodes=tuple(nodes), outputs=outputs), values


def _longer(value: Value, count: int) -> Value:
    return Value(_longer_type(value.type, count), value.name)


def _longer_type(type_: TensorType, count: int) -> TensorType:
    return type_.with_shape((count, *type_.shape[1:])) if type_.shape[:1] == (1,) else type_


def _batched_node(node: Node, values: dict[Value, Value], count: int) -> Node | None:
    inputs = tuple(values[value] for value in node.inputs)
    if inputs == node.inputs:
        return node  # a constant, or made of constants
    op = _with_more(node.op, count)
    if op is None:
        return None
    try:
        shapes = op.infer([value.type for value in inputs])
    except OperationError:
        return None
    wanted = tuple(_longer_type(value.type, count).shape for value in node.outputs)
    if shapes != wanted:
        return None
    outputs = tuple(_longer(value, count) for value in node.outputs)
    return replace(node, op=op, inputs=inputs, outputs=outputs)


def _with_more(op: Operation, count: int) -> Operation | None:
    """An operator that says the shape of its result, 1 in front, with `count` there."""
    if isinstance(op, Reshape | BroadcastTo):
        return replace(op, shape=(count, *op.shape[1:])) if op.shape[:1] == (1,) else None
    if isinstance(op, Slice) and (op.begin[:1], op.size[:1]) == ((0,), (1,)):
        return replace(op, size=(count, *op.size[1:]))
    return op


def stacked(samples: Sequence[Sequence[Array]]) -> list[Array]:
    """Samples (a list of arrays each) as one array an input, joined along the outermost axis; one
    sample as it is, which may have no axis.
    """
    if len(samples) == 1:
        return list(samples[0])
    return [np.concatenate(arrays, axis=0) for arrays in zip(*samples, strict=True)]


def batches_agree(graph: Graph, samples: Sequence[Sequence[Array]]) -> bool:
    """Whether the batched graph gives on `samples` what the graph gives on each of them."""
    batch = batched(graph, len(samples))
    if batch is None:
        return False
    # What overflows does so alike; profiling says so by the tensor's name.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        together = run_graph(batch[0], stacked(samples))
        alone = [run_graph(graph, sample) for sample in samples]
    return all(
        _near(one, many[index : index + 1])
        for index, outputs in enumerate(alone)
        for one, many in zip(outputs, together, strict=True)
    )


def _near(one: Array, other: Array) -> bool:
    if not np.issubdtype(one.dtype, np.floating):
        return bool(np.array_equal(one, other))
    reach = float(np.abs(one[np.isfinite(one)]).max(initial=0.0))
    tolerance = _RELATIVE_TOLERANCE * reach
    return bool(np.allclose(one, other, _RELATIVE_TOLERANCE, tolerance, equal_nan=True))
