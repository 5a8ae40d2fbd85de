"""Products of columns of one table, side by side, are taken all at once.

skl2onnx writes PolynomialFeatures so: two or three nodes for each of its products, 6,435 for 64
features. All first factors are gathered, all second ones, and so on, 1 where there are fewer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from glowmcu.frontend.graph_builder import expect_few
from glowmcu.frontend.onnx.table_columns import is_column, taken_columns
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array
from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.cast import Cast
from glowmcu.ops.elementwise import Mul
from glowmcu.ops.gather import Gather
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.reduction import ReduceProd

#: Fewer products stay as they are, and those of more factors.
_FEWEST, _MOST_FACTORS = 3, 8
#: Types of tables, which are products of real numbers here.
_TABLES = (ElementType.F32, ElementType.I32, ElementType.I64)


def join_products_of_columns(graph: Graph) -> Graph:
    """The graph with a few nodes in the place of each such concatenation."""
    if not any(isinstance(node.op, ReduceProd) for node in graph.nodes):
        return graph
    return rewrite(graph, _join)


@dataclass(frozen=True)
class _Product:
    """Of columns `places` of `table`, as real numbers; 1 without a table."""

    table: Value | None
    places: tuple[int, ...]


def _join(context: Context, node: Node) -> Sequence[Value] | None:
    if not isinstance(node.op, Concatenation) or node.op.axis != 1:
        return None
    if len(node.inputs) < _FEWEST or not all(is_column(value.type) for value in node.inputs):
        return None
    products: list[_Product] = []
    for value in node.inputs:
        found = _product(context, value)
        if found is None:
            return None
        products.append(found)
    tables = {one.table for one in products if one.table is not None}
    longest = max(len(one.places) for one in products)
    if len(tables) != 1 or not 2 <= longest <= _MOST_FACTORS:
        return None
    (table,) = tables
    return _added(context, node, table, [one.places for one in products], longest)


def _product(context: Context, value: Value) -> _Product | None:
    """What `value` is a product of; None for anything else."""
    known = context.constant(value)
    if known is not None:
        return _Product(None, ()) if bool((known == 1).all()) else None
    node = context.producer(value)
    if node is not None and isinstance(node.op, ReduceProd):
        if node.op.axes != (1,) or node.inputs[0].type.rank != 2:
            return None
        (value,) = node.inputs
        node = context.producer(value)
    if node is not None and isinstance(node.op, Cast) and value.type.element is ElementType.F32:
        (value,) = node.inputs
        node = context.producer(value)
    if node is None or value.type.element not in _TABLES:
        return None
    places = taken_columns(context, node)
    return None if places is None else _Product(node.inputs[0], places)


def _added(
    context: Context, node: Node, table: Value, terms: Sequence[tuple[int, ...]], longest: int
) -> Sequence[Value]:
    rows, width = table.type.shape
    expect_few(len(terms) * longest, "factors")

    def constant(data: Array, name: str) -> Value:
        return context.add_constant(data, name=f"{node.output.name}/{name}")

    if table.type.element is not ElementType.F32:
        type_ = replace(table.type, element=ElementType.F32)
        (table,) = context.add(Cast(), [table], [type_])
    if any(len(places) < longest for places in terms):
        one = constant(np.ones((rows, 1), np.float32), "one")
        type_ = TensorType((rows, width + 1), ElementType.F32)
        (table,) = context.add(Concatenation(1), [table, one], [type_])
    padded = np.array([(*places, *[width] * (longest - len(places))) for places in terms])
    result: Sequence[Value] = ()
    for position in range(longest):
        places = constant(padded[:, position].astype(np.int32), f"factor{position}")
        factor = context.add(Gather(1), [table, places], [node.output.type])
        result = context.add(Mul(), [*result, *factor], [node.output.type]) if result else factor
    return result
