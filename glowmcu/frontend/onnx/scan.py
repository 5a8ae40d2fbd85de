"""ArgMax, ArgMin, CumSum, CumProd and TopK."""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.onnx.axes import positive_axis, required_integers
from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.running_products import running_products
from glowmcu.ir.types import ElementType
from glowmcu.ops.scan import ArgMax, ArgMin, CumSum, TopK
from glowmcu.ops.shape import Reshape


@importer("ArgMax", "ArgMin")
def import_arg_extreme(state: Import, op: NodeRecord) -> None:
    """int64 positions; the axis stays with length 1 unless `keepdims` is 0."""
    x = state.value(op, 0)
    axis = positive_axis(op, op.integer("axis", 0), x.type.rank)
    kind = ArgMax if op.kind == "ArgMax" else ArgMin
    operation = kind(axis, op.flag("select_last_index"))
    if not op.flag("keepdims", True):
        state.emit(op, operation, [x], ElementType.I64)
        return
    found = state.add(op, operation, [x], ElementType.I64)
    shape = x.type.shape
    state.emit(op, Reshape((*shape[:axis], 1, *shape[axis + 1 :])), [found])


@importer("CumSum")
def import_cumsum(state: Import, op: NodeRecord) -> None:
    """The axis must be known at compile time."""
    x = state.value(op, 0)
    axis = positive_axis(op, required_integers(state, op, 1, "", "its axis")[0], x.type.rank)
    exclusive, reverse = map(op.flag, ("exclusive", "reverse"))
    state.emit(op, CumSum(axis, exclusive, reverse, exact=True), [x])


@importer("CumProd")
def import_cumprod(state: Import, op: NodeRecord) -> None:
    """The axis must be known at compile time."""
    x = state.value(op, 0)
    axis = positive_axis(op, required_integers(state, op, 1, "", "its axis")[0], x.type.rank)
    result = running_products(
        lambda operation, operands: state.add(op, operation, operands, x.type.element),
        lambda shape: state.add_constant(np.ones(shape, x.type.element.numpy), "ones"),
        x,
        axis,
        op.flag("exclusive"),
        op.flag("reverse"),
    )
    state.bind(op, [result])


@importer("TopK")
def import_top_k(state: Import, op: NodeRecord) -> None:
    """k known at compile time; sorted whether it is asked for or not."""
    x = state.value(op, 0)
    count = required_integers(state, op, 1, "", "k")[0] if state.has(op, 1) else op.integer("k", 0)
    axis = positive_axis(op, op.integer("axis", -1), x.type.rank)
    operation = TopK(axis, count, op.flag("largest", True))
    state.emit(op, operation, [x], elements=(x.type.element, ElementType.I64))
