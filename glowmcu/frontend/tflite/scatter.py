"""SCATTER_ND, SPARSE_TO_DENSE and ONE_HOT: elements at positions that indices say, something else
everywhere.
"""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.tflite.axes import integer_list, positive_axis
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.gather import expect_inside, short_places
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.comparison import Equal, Select
from glowmcu.ops.scatter import Combine, ScatterNd
from glowmcu.ops.shape import Reshape
from glowmcu.ops.tiling import BroadcastTo


@importer("SCATTER_ND")
def import_scatter_nd(state: Import, op: OperatorRecord) -> None:
    """The shape must be constant. Updates of one place are added up, as LiteRT does."""
    indices, updates = state.value(op, 0), state.value(op, 1)
    shape = integer_list(state, op, 2, "the result's shape")
    depth = indices.type.shape[-1] if indices.type.rank else 0
    if any(size < 1 for size in shape) or not 1 <= depth <= len(shape):
        raise Unsupported("GM106", f"scatter_nd: {indices.type} are no coordinates of {shape}")
    expect_inside(state, op, shape[:depth], 0)
    element = updates.type.element
    state.builder.afford(shape, element.size_bytes, "a constant")
    zeros = state.add_constant(np.zeros(shape, element.numpy), "zeros", updates.type.quantization)
    state.emit(op, ScatterNd(Combine.ADD), [zeros, indices, updates])


@importer("SPARSE_TO_DENSE")
def import_sparse_to_dense(state: Import, op: OperatorRecord) -> None:
    """The shape and what is everywhere else must be constant; one value may stand for all."""
    values, shape = state.value(op, 2), integer_list(state, op, 1, "the result's shape")
    default = state.constant(op, 3, "its default value")
    indices = short_places(state, op, 0)
    rank, count = len(shape), indices.type.shape[0] if indices.type.rank else 1
    if indices.type.element_count != count * rank or any(size < 1 for size in shape):
        raise Unsupported("GM106", f"{op.name}: {indices.type} are no coordinates of {shape}")
    if default.size != 1 or values.type.element_count not in (1, count):
        raise Unsupported("GM106", f"{op.name}: {values.type} are no values of {count} places")
    expect_inside(state, op, shape, 0)
    element = values.type.element
    state.builder.afford(shape, element.size_bytes, "a constant")
    dense = np.full(shape, default.reshape(-1)[0], element.numpy)
    base = state.add_constant(dense, "default", values.type.quantization)
    places = state.emit_inner(op, Reshape((count, rank)), [indices], indices.type)
    if values.type.rank == 0 and count > 1:
        values = state.emit_inner(op, BroadcastTo((count,)), [values], values.type)
    elif values.type.shape != (count,):
        values = state.emit_inner(op, Reshape((count,)), [values], values.type)
    state.emit(op, ScatterNd(), [base, places, values])


@importer("ONE_HOT")
def import_one_hot(state: Import, op: OperatorRecord) -> None:
    """The depth must be constant; an index outside gives no hot element."""
    indices, on, off = (state.value(op, position) for position in (0, 2, 3))
    depths = integer_list(state, op, 1, "its depth")
    if indices.type.element not in (ElementType.I32, ElementType.I64):
        raise Unsupported("GM106", f"one_hot: expected int32 or int64, got {indices.type}")
    if len(depths) != 1 or depths[0] < 1 or max(on.type.element_count, off.type.element_count) > 1:
        raise Unsupported("GM106", f"one_hot: depth {list(depths)}, values {on.type}, {off.type}")
    shape = indices.type.shape
    axis = positive_axis(op.options(tflite.OneHotOptions).Axis(), len(shape) + 1, op)
    column = TensorType((*shape[:axis], 1, *shape[axis:]), indices.type.element)
    compared = state.emit_inner(op, Reshape(column.shape), [indices], column)
    state.builder.afford((depths[0],), 8, "a constant")
    places = np.arange(depths[0], dtype=indices.type.element.numpy)
    places = places.reshape(-1, *(1,) * (len(shape) - axis))
    hot = state.emit_inner(
        op, Equal(), [compared, state.add_constant(places, "places")],
        TensorType((), ElementType.BOOL),
    )  # fmt: skip
    state.emit(op, Select(), [hot, on, off])
