"""What is a comparison with positions: Hardmax, OneHot and Trilu."""

from __future__ import annotations

import math

import numpy as np

from glowmcu.frontend.onnx.axes import positive_axis
from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.gather import counted_from_the_end
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.types import ElementType
from glowmcu.ops.cast import Cast
from glowmcu.ops.comparison import Equal, Select
from glowmcu.ops.scan import ArgMax
from glowmcu.ops.shape import Reshape


def _at_position(state: Import, op: NodeRecord, indices: Value, axis: int, length: int) -> Value:
    """Bools: whether the place along a new `axis` of `length` is the index."""
    shape = indices.type.shape
    column = state.add(op, Reshape((*shape[:axis], 1, *shape[axis:])), [indices])
    state.builder.afford((length,), 8, "a constant")
    places = np.arange(length, dtype=np.int32).reshape(-1, *(1,) * (len(shape) - axis))
    return state.add(
        op, Equal(), [column, state.add_constant(places, "places")], ElementType.BOOL
    )  # fmt: skip


@importer("OneHot")
def import_one_hot(state: Import, op: NodeRecord) -> None:
    """Depth and both values known at compile time; indices outside give no hot element."""
    indices = state.value(op, 0)
    depth = int(state.constant(op, 1, "its depth").reshape(-1)[0])
    values = state.constant(op, 2, "its values").reshape(-1)
    axis = positive_axis(op, op.integer("axis", -1), indices.type.rank + 1)
    if depth < 1 or values.size != 2:
        raise Unsupported("GM106", f"OneHot: depth {depth}, {values.size} values")
    hot = _at_position(
        state, op, counted_from_the_end(state, op, indices, (depth,)), axis, depth
    )  # fmt: skip
    off, on = (state.add_constant(value.reshape(()), "value") for value in values)
    state.emit(op, Select(), [hot, on, off], on.type.element)


@importer("Hardmax")
def import_hardmax(state: Import, op: NodeRecord) -> None:
    """1 at the first largest element; before opset 13 of all axes from `axis` on together."""
    x = state.value(op, 0)
    shape = x.type.shape
    axis = positive_axis(op, op.integer("axis", -1 if state.opset >= 13 else 1), x.type.rank)
    if state.opset < 13:
        x = state.add(op, Reshape((math.prod(shape[:axis]), math.prod(shape[axis:]))), [x])
        axis = 1
    best = state.add(op, ArgMax(axis), [x], ElementType.I32)
    hot = _at_position(state, op, best, axis, x.type.shape[axis])
    result = state.add(op, Cast(), [hot], x.type.element)
    state.emit(op, Reshape(shape), [result])


@importer("Trilu")
def import_trilu(state: Import, op: NodeRecord) -> None:
    """The upper or lower triangle of each matrix, zeros elsewhere."""
    x = state.value(op, 0)
    k = int(state.constant(op, 1, "its diagonal").reshape(-1)[0]) if state.has(op, 1) else 0
    if x.type.rank < 2:
        raise Unsupported("GM106", f"Trilu: expected matrices, got {x.type}")
    state.builder.afford(x.type.shape[-2:], 2, "a constant")
    matrix = np.ones(x.type.shape[-2:], np.bool_)
    kept = np.triu(matrix, k) if op.flag("upper", True) else np.tril(matrix, k)
    zero = state.add_constant(np.zeros((), x.type.element.numpy), "zero")
    state.emit(op, Select(), [state.add_constant(kept, "kept"), x, zero], x.type.element)
