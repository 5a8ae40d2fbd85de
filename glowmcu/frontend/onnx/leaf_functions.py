"""What is computed of the leaf that a tree gives is in the leaf, and sums of trees are one forest.

skl2onnx writes an isolation forest as trees that give the number of a leaf, and 25 operators for
each that look up and compute how deep it lies. That is known leaf by leaf at compile time, by
the operators' own meaning. A tree that takes its features from a table takes them where they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array, Constant, Signature
from glowmcu.ir.rewriting import remove_dead_nodes
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.cast import Cast
from glowmcu.ops.elementwise import Add
from glowmcu.ops.gather import Gather
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.scan import ArgMax, ArgMin
from glowmcu.ops.shape import Reshape
from glowmcu.ops.trees import TreeEnsemble, joined_sets

_LIMITS = np.iinfo(np.int32)
#: Numbers that are computed at compile time, in all.
_MOST_NUMBERS = 2**24
#: Trees of one sum: each sum on the way to it knows its own.
_MOST_TREES = 2048


@dataclass(frozen=True)
class _Tree:
    """A tree of `x`, and numbers of any type for each of its nodes, of which leaves count: an array
    whose first axis are nodes where that of the value are rows.
    """

    x: Value
    made_by: Node
    op: TreeEnsemble
    numbers: Array


@dataclass(frozen=True)
class _Sum:
    """The numbers of several trees, added in order."""

    trees: tuple[_Tree, ...]


def fold_leaf_functions(graph: Graph) -> Graph:
    """The graph with forests in the place of trees with operators behind them."""
    if not any(isinstance(node.op, TreeEnsemble) for node in graph.nodes):
        return graph
    found = _Found(graph)
    ends = found.ends()
    if not ends:
        return graph
    nodes: list[Node] = []
    for node in graph.nodes:
        nodes += _forest(node, ends[node.outputs[0]]) if node.outputs[0] in ends else [node]
    return remove_dead_nodes(replace(graph, nodes=tuple(nodes)))


class _Found:
    """Values that are functions of leaves, in the order of the graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._made_by = {value: node for node in graph.nodes for value in node.outputs}
        self._known = {
            node.outputs[0]: node.op.data for node in graph.nodes if isinstance(node.op, Constant)
        }
        self._found: dict[Value, _Sum] = {}
        self._left = _MOST_NUMBERS
        for node in graph.nodes:
            result = self._tree(node) if isinstance(node.op, TreeEnsemble) else self._behind(node)
            if result is not None:
                self._found[node.outputs[0]] = result

    def ends(self) -> dict[Value, _Sum]:
        """Those that others read, where each tree has one such end, and more than itself."""
        users: dict[Value, list[Node]] = {}
        for node in self._graph.nodes:
            for value in node.inputs:
                users.setdefault(value, []).append(node)
        outputs = {*self._graph.outputs}
        ends = [
            value
            for value in self._found
            if value in outputs
            or not all(user.outputs[0] in self._found for user in users.get(value, ()))
        ]
        counts: dict[Node, int] = {}
        for value in ends:
            for tree in self._found[value].trees:
                counts[tree.made_by] = counts.get(tree.made_by, 0) + 1
        return {value: self._found[value] for value in ends if self._is_worth_it(value, counts)}

    def _is_worth_it(self, value: Value, counts: dict[Node, int]) -> bool:
        trees = self._found[value].trees
        if any(counts[tree.made_by] > 1 for tree in trees):
            return False
        node = self._made_by[value]
        while isinstance(node.op, Reshape):
            node = self._made_by[node.inputs[0]]
        if isinstance(node.op, TreeEnsemble):
            return node.inputs[0] is not trees[0].x
        numbers = [tree.numbers[tree.op.features < 0] for tree in trees]
        if value.type.element is ElementType.F32:
            return all(bool(np.isfinite(array).all()) for array in numbers)
        return len(trees) == 1 and all(
            bool((_LIMITS.min <= array).all() and (array <= _LIMITS.max).all()) for array in numbers
        )

    def _tree(self, node: Node) -> _Sum | None:
        op, x = node.op, node.inputs[0]
        assert isinstance(op, TreeEnsemble)
        source = self._made_by.get(x)
        if source is not None and isinstance(source.op, Gather) and source.op.axis == 1:
            places = self._known.get(source.inputs[1])
            if places is not None and places.ndim == 1 and not source.op.batch_dims:
                features = np.where(op.features < 0, -1, places[np.maximum(op.features, 0)])
                op, x = replace(op, features=features.astype(np.int32)), source.inputs[0]
        if op.roots.size != 1 or not self._affords(op, op.targets):
            return None
        sums = np.zeros((op.row_starts.size - 1, op.targets), op.weights.dtype)
        for row in range(len(sums)):
            for entry in range(op.row_starts[row], op.row_starts[row + 1]):
                sums[row, op.row_targets[entry]] += op.weights[entry]
        is_leaf = op.features < 0
        numbers = sums[np.where(is_leaf, op.left, 0)]
        return _Sum((_Tree(x, node, op, numbers),))

    def _affords(self, op: TreeEnsemble, numbers: int) -> bool:
        """Whether as many may still be computed for each node: files of others ask for it."""
        self._left -= op.features.size * numbers
        return self._left >= 0

    def _behind(self, node: Node) -> _Sum | None:
        """A node that reads such a value, if it is one itself."""
        operands = [self._found.get(value) for value in node.inputs]
        given = [operand for operand in operands if operand is not None]
        if not given or len(node.outputs) != 1 or node.outputs[0].type.quantization is not None:
            return None
        if not self._goes_row_by_row(node, given[0].trees[0].x.type.shape[0]):
            return None
        alike = {tree.made_by for operand in given for tree in operand.trees}
        if len(alike) == 1:
            return self._leaf_by_leaf(node, operands)
        return _added(node, operands)

    def _goes_row_by_row(self, node: Node, rows: int) -> bool:
        """Whether a row of the result depends on that row of the operands alone."""
        shapes = [value.type.shape for value in node.inputs if value in self._found]
        shape = node.outputs[0].type.shape
        if any(not item or item[0] != rows for item in (*shapes, shape)):
            return False
        others = [value.type.shape for value in node.inputs if value not in self._found]
        rank = len(shapes[0])
        if node.op.elementwise:
            is_below = all(len(item) < rank or item[:1] == (1,) for item in others)
            return {len(item) for item in shapes} == {rank} == {len(shape)} and is_below
        if isinstance(node.op, Reshape | Cast):
            return True
        if isinstance(node.op, ArgMax | ArgMin | Concatenation):
            return node.op.axis > 0 and not others
        is_lookup = isinstance(node.op, Gather) and node.op.axis == node.op.batch_dims == 0
        return is_lookup and node.inputs[0] in self._known and len(others[0]) == 1

    def _leaf_by_leaf(self, node: Node, operands: Sequence[_Sum | None]) -> _Sum | None:
        """The operator's meaning, for the numbers of all nodes at once."""
        (tree,) = next(operand.trees for operand in operands if operand is not None)
        shape = (tree.op.features.size, *node.outputs[0].type.shape[1:])
        if isinstance(node.op, Reshape):
            return _Sum((replace(tree, numbers=tree.numbers.reshape(shape)),))
        if not self._affords(tree.op, math.prod(shape[1:])):
            return None
        arrays, types = list[Array](), list[TensorType]()
        for value, operand in zip(node.inputs, operands, strict=True):
            array = operand.trees[0].numbers if operand is not None else self._known.get(value)
            if array is None or value.type.quantization is not None:
                return None
            arrays.append(array)
            types.append(TensorType(array.shape, value.type.element))
        type_ = TensorType(shape, node.outputs[0].type.element)
        with np.errstate(all="ignore"):
            (numbers,) = node.op.evaluate(
                arrays, Signature(tuple(types), (type_,)), self._graph.rounding
            )
        return _Sum((replace(tree, numbers=numbers),)) if numbers.shape == shape else None


def _added(node: Node, operands: Sequence[_Sum | None]) -> _Sum | None:
    """A sum of real numbers and those of one tree more, of the same features."""
    if not isinstance(node.op, Add) or node.op.clamp is not None:
        return None
    left, right = operands
    if left is None or right is None or len(right.trees) != 1:
        return None
    if len(left.trees) >= _MOST_TREES:
        return None
    trees = (*left.trees, *right.trees)
    is_real = all(tree.numbers.dtype == np.float32 for tree in trees)
    if not is_real or len({tree.x for tree in trees}) != 1:
        return None
    is_once = len({tree.made_by for tree in trees}) == len(trees)
    is_alike = {tree.numbers.shape[1:] for tree in trees} == {node.outputs[0].type.shape[1:]}
    return _Sum(trees) if is_once and is_alike else None


def _forest(node: Node, found: _Sum) -> list[Node]:
    """Nodes that give what `node` does."""
    value, trees = node.outputs[0], found.trees
    is_real = value.type.element is ElementType.F32
    op = _joined(trees, np.float32 if is_real else np.int32)
    rows = trees[0].x.type.shape[0]
    element = ElementType.F32 if is_real else ElementType.I32
    made = Value(TensorType((rows, op.targets), element), f"{value.name}/trees")
    if made.type == value.type:
        made = value
    nodes = [replace(node, op=op, inputs=(trees[0].x,), outputs=(made,))]
    if element is not value.type.element:
        cast = Value(replace(made.type, element=value.type.element), f"{value.name}/cast")
        cast = value if cast.type == value.type else cast
        nodes.append(replace(node, op=Cast(), inputs=(made,), outputs=(cast,)))
        made = cast
    if made is not value:
        reshape = Reshape(value.type.shape)
        nodes.append(replace(node, op=reshape, inputs=(made,), outputs=(value,)))
    return nodes


def _joined(trees: Sequence[_Tree], dtype: type[np.generic]) -> TreeEnsemble:
    """All trees with their numbers as weights."""
    starts = np.cumsum([0, *(tree.op.features.size for tree in trees)])
    targets = math.prod(trees[0].numbers.shape[1:])
    rows: dict[bytes, int] = {}
    weights: list[Array] = []
    left, right, roots = list[Array](), list[Array](), list[int]()
    for start, tree in zip(starts, trees, strict=False):
        op, is_leaf = tree.op, tree.op.features < 0
        numbers = tree.numbers.astype(dtype).reshape(-1, targets)
        places = op.left + start
        for place in np.flatnonzero(is_leaf):
            if (key := numbers[place].tobytes()) not in rows:
                rows[key] = len(weights)
                weights.append(numbers[place])
            places[place] = rows[key]
        left.append(places)
        right.append(np.where(is_leaf, 0, op.right + start))
        roots.append(int(op.roots[0] + start))
    entries = [(target, row[target]) for row in weights for target in np.flatnonzero(row).tolist()]
    counts = [int(np.count_nonzero(row)) for row in weights]

    def indices(data: Sequence[int] | Array) -> Array:
        return np.array(data, np.int32)

    ops = [tree.op for tree in trees]
    return TreeEnsemble(
        targets, indices(roots), np.concatenate([op.features for op in ops]),
        np.concatenate([op.thresholds for op in ops]),
        np.concatenate([op.missing_left for op in ops]), indices(np.concatenate(left)),
        indices(np.concatenate(right)), indices(np.cumsum([0, *counts])),
        indices([target for target, _ in entries]), np.array([w for _, w in entries], dtype),
        **joined_sets(ops),
    )  # fmt: skip
