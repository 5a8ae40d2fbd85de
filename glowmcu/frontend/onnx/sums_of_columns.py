"""Sums of single columns of one table, side by side, are taken all at once.

skl2onnx writes the scores of a support vector machine's classes so: a node for each pair of classes
and each step, 600 for ten classes. The columns are gathered, get their signs and are summed in the
file's order, so that the numbers stay what they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from glowmcu.frontend.onnx.table_columns import is_column, taken_columns
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array
from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.activation import Neg
from glowmcu.ops.cast import Cast
from glowmcu.ops.elementwise import Add, Mul, Sub
from glowmcu.ops.gather import Gather
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.reduction import Sum
from glowmcu.ops.shape import Reshape

#: Below it the nodes stay as they are.
_FEWEST = 3
#: Terms that are followed, and how far.
_MOST_TERMS, _MOST_STEPS = 4096, 200


def join_sums_of_columns(graph: Graph) -> Graph:
    """The graph with a few nodes in the place of each such concatenation."""
    if not any(isinstance(node.op, Concatenation) and _joins_columns(node) for node in graph.nodes):
        return graph
    return rewrite(graph, _join)


@dataclass(frozen=True)
class _Columns:
    """A sum: of columns `places` of `table`, each with its sign, and then of `offset`."""

    table: Value
    places: tuple[int, ...]
    signs: tuple[int, ...]
    offset: float = 0.0

    def negated(self) -> _Columns:
        return _Columns(self.table, self.places, tuple(-sign for sign in self.signs), -self.offset)


def _join(context: Context, node: Node) -> Sequence[Value] | None:
    if not isinstance(node.op, Concatenation) or node.op.axis != 1 or not _joins_columns(node):
        return None
    sums: list[_Columns] = []
    for value in node.inputs:
        found = _columns(context, value, 0)
        if found is None:
            return None
        sums.append(found)
    table, count = sums[0].table, len(sums[0].places)
    if any((one.table, len(one.places)) != (table, count) for one in sums):
        return None
    if not 1 < count <= _MOST_TERMS // len(sums):
        return None
    offsets = [one.offset for one in sums]
    if any(offsets) and not (_is_of_flags(context, table) and max(map(abs, offsets)) < 2**20):
        return None
    return _added(context, node, sums)


def _joins_columns(node: Node) -> bool:
    return len(node.inputs) >= _FEWEST and all(is_column(value.type) for value in node.inputs)


def _columns(context: Context, value: Value, depth: int) -> _Columns | None:
    """What `value` is a sum of; None for anything else."""
    node = context.producer(value)
    if node is None or depth > _MOST_STEPS or not is_column(value.type):
        return None
    if isinstance(node.op, Neg):
        found = _columns(context, node.inputs[0], depth + 1)
        return None if found is None else found.negated()
    if isinstance(node.op, Add | Sub) and node.op.clamp is None:
        return _sum(context, node, depth)
    places = taken_columns(context, node)
    return None if places is None else _Columns(node.inputs[0], places, (1,))


def _sum(context: Context, node: Node, depth: int) -> _Columns | None:
    """Terms of the left operand, then those of the right one, which is one column or a number."""
    left = _columns(context, node.inputs[0], depth + 1)
    if left is None:
        return None
    sign = -1 if isinstance(node.op, Sub) else 1
    number = context.constant(node.inputs[1])
    if number is not None:
        if number.size != 1:
            return None
        return replace(left, offset=left.offset + sign * float(number.reshape(-1)[0]))
    right = _columns(context, node.inputs[1], depth + 1)
    if right is None or right.table is not left.table or len(right.places) > 1:
        return None
    right = right if sign > 0 else right.negated()
    return _Columns(
        left.table, left.places + right.places, left.signs + right.signs,
        left.offset + right.offset,
    )  # fmt: skip


def _is_of_flags(context: Context, table: Value) -> bool:
    """Whether all sums with small whole numbers are exact in any order."""
    node = context.producer(table)
    if node is None or not isinstance(node.op, Cast):
        return False
    return node.inputs[0].type.element is ElementType.BOOL


def _added(context: Context, node: Node, sums: Sequence[_Columns]) -> Sequence[Value]:
    table, count = sums[0].table, len(sums[0].places)
    rows, width = table.type.shape[0], len(sums) * count

    def real(*shape: int) -> TensorType:
        return TensorType(shape, ElementType.F32)

    def constant(data: Array) -> Value:
        return context.add_constant(data, name=f"{node.output.name}/terms")

    places = constant(np.array([one.places for one in sums], np.int32).reshape(-1))
    (terms,) = context.add(Gather(1), [table, places], [real(rows, width)])
    signs = np.array([one.signs for one in sums], np.float32).reshape(1, -1)
    if (signs < 0).any():
        (terms,) = context.add(Mul(), [terms, constant(signs)], [terms.type])
    (terms,) = context.add(Reshape((rows, len(sums), count)), [terms],
                           [real(rows, len(sums), count)])  # fmt: skip
    offsets = np.array([one.offset for one in sums], np.float32).reshape(1, -1)
    result = context.add(Sum((2,), False), [terms], [node.output.type])
    if not offsets.any():
        return result
    return context.add(Add(), [result[0], constant(offsets)], [node.output.type])
