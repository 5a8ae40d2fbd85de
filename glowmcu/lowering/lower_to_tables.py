"""Functions of one 8-bit tensor become tables of their 256 results.

That is every element-wise operator whose other operands, if any, are constants of a single value.
It is evaluated at all 256 stored values by its own meaning, so the table is exact by construction.
Tables that follow one another become one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array, Signature
from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.ir.types import ElementType
from glowmcu.ops.lookup import INDEX_TYPES, Lookup, all_values

_RESULTS = (ElementType.I8, ElementType.UI8, ElementType.BOOL)


def run(graph: Graph) -> Graph:
    """Tables for all functions of one 8-bit tensor."""
    return rewrite(graph, compose_tables, tabulate)


def tabulate(context: Context, node: Node) -> Sequence[Value] | None:
    """Rule: a function of one 8-bit tensor becomes a table."""
    op = node.op
    if not op.elementwise or isinstance(op, Lookup) or len(node.outputs) != 1:
        return None
    constants = [_single_value(context.constant(value)) for value in node.inputs]
    variable = [i for i, constant in enumerate(constants) if constant is None]
    if constants and not variable:
        # All is known, and it is an output, which is computed at run time.
        constants[0], variable = None, [0]
    # A tensor that meets itself (x * x) is still one operand.
    x = node.inputs[variable[0]] if variable else None
    if x is None or any(node.inputs[i] is not x for i in variable):
        return None
    fits = x.type.element in INDEX_TYPES and node.output.type.element in _RESULTS
    if not fits or x.type.shape != node.output.type.shape:
        return None
    operands = [all_values(x.type.element) if c is None else c for c in constants]
    table = _evaluate(node, operands, context.graph)
    return context.replace_op(Lookup(table), [x])


def _single_value(data: Array | None) -> Array | None:
    """A constant whose elements are all the same, as one element; None for anything else."""
    if data is None or data.size == 0 or (data != data.flat[0]).any():
        return None
    return data.reshape(-1)[:1]


def _evaluate(node: Node, operands: Sequence[Array], graph: Graph) -> Array:
    inputs = tuple(
        value.type.with_shape(data.shape) for value, data in zip(node.inputs, operands, strict=True)
    )
    signature = Signature(inputs, (node.output.type.with_shape((256,)),))
    (table,) = node.op.evaluate(operands, signature, node.op.rounding_in(graph.rounding))
    return np.ascontiguousarray(table)


def compose_tables(context: Context, node: Node) -> Sequence[Value] | None:
    """Rule: table(table(x)) is one table, if nobody else reads what is in between."""
    before = context.producer(node.inputs[0]) if node.inputs else None
    if not isinstance(node.op, Lookup) or before is None or not isinstance(before.op, Lookup):
        return None
    if not context.only_use(node.inputs[0]):
        return None
    table = node.op.table[before.op.table.view(np.uint8)]
    return context.replace_op(Lookup(table), [before.inputs[0]])
