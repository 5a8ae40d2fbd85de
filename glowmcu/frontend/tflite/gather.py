"""GATHER, GATHER_ND and EMBEDDING_LOOKUP."""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.tflite.axes import positive_axis
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType, Quantization, Shape, TensorType
from glowmcu.ops.cast import Cast
from glowmcu.ops.elementwise import Mul
from glowmcu.ops.gather import Gather, GatherNd
from glowmcu.ops.quantization import Dequantize


@importer("GATHER")
def import_gather(state: Import, op: OperatorRecord) -> None:
    """A negative axis or number of batch axes counts from the end."""
    x, indices = state.value(op, 0), short_places(state, op)
    options = op.options(tflite.GatherOptions)
    axis = positive_axis(options.Axis(), x.type.rank, op)
    batch_dims = options.BatchDims()
    if batch_dims < 0:
        batch_dims += indices.type.rank
    expect_inside(state, op, (x.type.shape[axis],))
    state.emit(op, Gather(axis, batch_dims), [x, indices])


@importer("GATHER_ND")
def import_gather_nd(state: Import, op: OperatorRecord) -> None:
    """Coordinates in the last axis of the indices."""
    x, indices = state.value(op, 0), short_places(state, op)
    coordinates = indices.type.shape[-1] if indices.type.rank else 0
    if coordinates <= x.type.rank:
        expect_inside(state, op, x.type.shape[:coordinates])
    state.emit(op, GatherNd(), [x, indices])


def short_places(state: Import, op: OperatorRecord, position: int = 1) -> Value:
    """The indices, operand `position`, in int32: no axis is longer than that counts."""
    places = state.value(op, position)
    if places.type.element is not ElementType.I64:
        return places
    return state.emit_inner(op, Cast(), [places], TensorType((), ElementType.I32))


@importer("EMBEDDING_LOOKUP")
def import_embedding_lookup(state: Import, op: OperatorRecord) -> None:
    """Rows of a table by their numbers; int8 rows may become real numbers, by a scale each."""
    rows, table = state.value(op, 0), state.value(op, 1)
    out = state.output_type(op)
    is_real = table.type.element is ElementType.I8 and out.element.is_float
    if rows.type.rank != 1 or table.type.rank < 2:
        raise Unsupported("GM106", f"embedding_lookup: rows {rows.type} of a table {table.type}")
    if not is_real and table.type.element is not out.element:
        raise Unsupported("GM106", f"embedding_lookup: {table.type} does not become {out}")
    if table.type.element not in (ElementType.F32, ElementType.I8):
        raise Unsupported("GM106", f"embedding_lookup: expected float32 or int8, got {table.type}")
    expect_inside(state, op, table.type.shape[:1], 0)
    if is_real:
        _emit_real_rows(state, op, rows, table)
    else:
        state.emit(op, Gather(0), [table, rows])


def _emit_real_rows(state: Import, op: OperatorRecord, rows: Value, table: Value) -> None:
    """Rows of an int8 table in float32: by one scale, or by each row's own."""
    quantization = table.type.quantization
    if quantization is None or any(quantization.zero_points) or quantization.axis not in (None, 0):
        raise Unsupported(
            "GM106",
            f"embedding_lookup: expected a table of one scale, or one a row, and zero points 0; "
            f"got {table.type}",
            "quantize its weights symmetrically",
        )
    if quantization.axis is None:
        found = state.emit_inner(op, Gather(0), [table, rows], table.type)
        state.emit(op, Dequantize(), [found])
        return
    stored = state.constant(op, 1, "its table, where every row has a scale")
    steps = Quantization((1.0,), (0,))
    plain = state.add_constant(stored, f"{table.name}/stored", steps)
    scales = np.array(quantization.scales, np.float32).reshape(-1, *(1,) * (stored.ndim - 1))
    factors = state.add_constant(scales, f"{table.name}/scales")
    found = state.emit_inner(op, Gather(0), [plain, rows], plain.type)
    real = state.emit_inner(op, Dequantize(), [found], factors.type)
    factor = state.emit_inner(op, Gather(0), [factors, rows], factors.type)
    state.emit(op, Mul(), [real, factor])


def expect_inside(state: Import, op: OperatorRecord, sizes: Shape, position: int = 1) -> None:
    """Indices that are known must be within `sizes`; computed ones are clamped at run time."""
    if not state.known(op, position) or not sizes:
        return
    expect_places(op, state.constant(op, position, "its indices"), sizes)


def expect_places(op: OperatorRecord, places: Array, sizes: Shape) -> None:
    """Coordinates, in the last axis of `places`, must be within `sizes`. Raises GM106."""
    data = places.reshape(-1, len(sizes))
    wrong = data[((data < 0) | (data >= np.array(sizes))).any(axis=1)]
    if len(wrong):
        raise Unsupported(
            "GM106", f"{op.name.lower()}: index {wrong[0].tolist()} is outside {list(sizes)}"
        )
