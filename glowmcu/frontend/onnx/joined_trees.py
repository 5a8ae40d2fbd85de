"""Scores of several forests side by side are those of one, with as many targets.

skl2onnx writes bagged trees, AdaBoost for regression and several outputs so: a node for each tree,
and a concatenation. Each target's trees keep their order, so that sums are the same to the bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array
from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.ir.types import TensorType
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.shape import Reshape
from glowmcu.ops.trees import TreeEnsemble, joined_sets

#: Fewer forests stay as they are.
_FEWEST = 3


def join_trees(graph: Graph) -> Graph:
    """The graph with one forest in the place of each such concatenation."""
    if sum(isinstance(node.op, TreeEnsemble) for node in graph.nodes) < _FEWEST:
        return graph
    return rewrite(graph, _join)


def _join(context: Context, node: Node) -> Sequence[Value] | None:
    if not isinstance(node.op, Concatenation) or len(node.inputs) < _FEWEST:
        return None
    forests: list[Node] = []
    for value in node.inputs:
        forest = _forest_behind(context, node, value)
        if forest is None:
            return None
        forests.append(forest)
    x, out = forests[0].inputs[0], node.output.type
    types = {forest.output.type.element for forest in forests}
    if any(forest.inputs[0] is not x for forest in forests) or types != {out.element}:
        return None
    rows, axis = x.type.shape[0], node.op.axis
    is_in_order = rows == 1 and math.prod(out.shape[:axis]) == 1
    is_table = axis == 1 and all(value.type.rank == 2 for value in node.inputs)
    is_table &= all(value.type.shape[0] == rows for value in node.inputs)
    if len({*forests}) < len(forests) or not (is_in_order or is_table):
        return None
    ops = [forest.op for forest in forests if isinstance(forest.op, TreeEnsemble)]
    joined = _joined(ops)
    (scores,) = context.add(joined, [x], [TensorType((rows, joined.targets), out.element)])
    return context.add(Reshape(out.shape), [scores], [out])


def _forest_behind(context: Context, reader: Node, value: Value) -> Node | None:
    """The forest whose scores `value` is in some shape, if nobody else reads them."""
    while context.users(value) == (reader,) and not context.is_output(value):
        node = context.producer(value)
        if node is None or isinstance(node.op, TreeEnsemble):
            return node
        if not isinstance(node.op, Reshape):
            return None
        (value,), reader = node.inputs, node
    return None


def _joined(ops: Sequence[TreeEnsemble]) -> TreeEnsemble:
    """All trees, those of each with targets of their own."""
    nodes, rows, entries, targets = 0, 0, 0, 0
    lists: dict[str, list[Array]] = {
        name: [] for name in ("roots", "left", "right", "row_starts", "row_targets")
    }
    for op in ops:
        is_leaf = op.features < 0
        lists["roots"].append(op.roots + nodes)
        lists["left"].append(np.where(is_leaf, op.left + rows, op.left + nodes))
        lists["right"].append(np.where(is_leaf, 0, op.right + nodes))
        lists["row_starts"].append(op.row_starts[:-1] + entries)
        lists["row_targets"].append(op.row_targets + targets)
        nodes, rows = nodes + op.features.size, rows + op.row_starts.size - 1
        entries, targets = entries + op.weights.size, targets + op.targets
    lists["row_starts"].append(np.array([entries]))
    indices = {name: np.concatenate(arrays).astype(np.int32) for name, arrays in lists.items()}
    whole = {
        name: np.concatenate([getattr(op, name) for op in ops])
        for name in ("features", "thresholds", "missing_left", "weights")
    }
    return TreeEnsemble(targets=targets, **indices, **whole, **joined_sets(ops))
