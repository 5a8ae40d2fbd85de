"""Operators of onnxruntime's own whose weights alone are rounded: computed with their real values.

What activations are rounded to while a model runs there is left out. Source: onnxruntime,
docs/ContribOperators.md.
"""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.onnx.composed import MICROSOFT, constant, run
from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, importer, load_importers
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.operation import Array

_BITS = (2, 4, 8)
_SMALLEST_BLOCK = 16


@importer("MatMulNBits", domain=MICROSOFT)
def import_matmul_nbits(state: Import, op: NodeRecord) -> None:
    """Weights of 2, 4 or 8 bits in blocks with a scale each, which must be known."""
    if state.has(op, 4):
        raise Unsupported("GM105", "MatMulNBits: rows in another order (g_idx) are not supported")
    first, matrix = op.outputs[0], np.ascontiguousarray(_real_matrix_of_blocks(state, op).T)
    name = constant(state, op, f"{first}/weights", matrix)
    if not state.has(op, 5):
        run(state, op, "MatMul", (op.inputs[0], name), first)
        return
    bias = state.value(op, 5)
    if bias.type.shape != matrix.shape[1:]:
        raise Unsupported(
            "GM106", f"MatMulNBits: a bias of {bias.type} for {matrix.shape[1]} columns"
        )
    product = run(state, op, "MatMul", (op.inputs[0], name), f"{first}/product")
    run(state, op, "Add", (product, op.inputs[5]), first)


def _real_matrix_of_blocks(state: Import, op: NodeRecord) -> Array:
    """float32 (columns, rows), without the rows that fill up the last block."""
    inner, columns = op.integer("K", 0), op.integer("N", 0)
    bits, size = op.integer("bits", 4), op.integer("block_size", 0)
    # onnxruntime's own rule; a block then ends with a byte.
    is_block = size >= _SMALLEST_BLOCK and size & (size - 1) == 0
    if bits not in _BITS or inner < 1 or columns < 1 or not is_block:
        raise Unsupported(
            "GM105", f"MatMulNBits: {inner}x{columns} of {bits} bits in blocks of {size}"
        )
    blocks = -(-inner // size)
    state.builder.afford((columns, blocks * size), 8, "a constant")
    stored = _unpacked(_bytes(state, op, 1, "its weights"), bits)
    scales = _scales(state, op, 2)
    if stored.size != columns * blocks * size or scales.size != columns * blocks:
        raise Unsupported(
            "GM106", f"MatMulNBits: {stored.size} weights, {scales.size} scales for "
            f"{inner}x{columns} in blocks of {size}",
        )  # fmt: skip
    offsets = stored.reshape(columns, blocks, size).astype(np.float32)
    offsets -= _zero_points(state, op, columns, blocks, bits)[:, :, np.newaxis]
    real: Array = offsets * scales.reshape(columns, blocks, 1)
    return real.reshape(columns, -1)[:, :inner]


def _bytes(state: Import, op: NodeRecord, position: int, what: str) -> Array:
    """A constant of uint8, or of int8 where an operator takes both."""
    data = state.constant(op, position, what)
    expected = ("uint8",) if op.kind == "MatMulNBits" else ("int8", "uint8")
    if data.dtype.name not in expected:
        raise Unsupported(
            "GM106", f"{op.kind}: {what} are {data.dtype}; expected {' or '.join(expected)}"
        )
    return data


def _scales(state: Import, op: NodeRecord, position: int) -> Array:
    data = state.constant(op, position, "its scales")
    if data.dtype != np.float32:
        raise Unsupported("GM106", f"{op.kind}: scales of {data.dtype}; expected float32")
    return data


def _unpacked(data: Array, bits: int) -> Array:
    """Numbers of so many bits, the lowest of each byte first."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    stored: Array = data.reshape(-1, 1) >> shifts
    return (stored & ((1 << bits) - 1)).reshape(-1)


def _zero_points(state: Import, op: NodeRecord, columns: int, blocks: int, bits: int) -> Array:
    """float32 (columns, blocks); the middle where none are given."""
    if not state.has(op, 3):
        return np.full((columns, blocks), 1 << (bits - 1), np.float32)
    points, row = state.constant(op, 3, "its zero points"), blocks
    if points.dtype != np.float32:  # every column begins a byte of its own
        points = _unpacked(_bytes(state, op, 3, "its zero points"), bits)
        row = -(-blocks * bits // 8) * 8 // bits
    if points.size != columns * row:
        raise Unsupported("GM106", f"MatMulNBits: {points.size} zero points for {columns}x{blocks}")
    return points.reshape(columns, row)[:, :blocks].astype(np.float32)


@importer("DynamicQuantizeMatMul", domain=MICROSOFT)
def import_dynamic_matmul(state: Import, op: NodeRecord) -> None:
    """MatMul with int8 or uint8 weights, then a bias; a scale a matrix or a column."""
    x, weights, scale, point, bias = (*op.inputs, *[""] * 5)[:5]
    first = op.outputs[0]
    axis = state.value(op, 1).type.rank - 1
    operands = tuple(filter(None, (weights, scale, point)))
    real = run(state, op, "DequantizeLinear", operands, f"{first}/weights", {"axis": axis})
    product = run(state, op, "MatMul", (x, real), f"{first}/product" if bias else first)
    if bias:
        run(state, op, "Add", (product, bias), first)


@importer("DynamicQuantizeLSTM", domain=MICROSOFT)
def import_dynamic_lstm(state: Import, op: NodeRecord) -> None:
    """LSTM with int8 weights, of which rows are inputs; a scale a matrix or a column."""
    first = next(name for name in op.outputs if name)
    names = [*op.inputs, *[""] * 12][:12]
    for position, scale in ((1, 8), (2, 10)):
        real = _real_matrix(state, op, position, scale)
        names[position] = constant(state, op, f"{first}/weights{position}", real)
    record = NodeRecord(
        op.index, "LSTM", "ai.onnx", op.name, tuple(names[:8]), op.outputs, op.attributes
    )
    load_importers()["ai.onnx", "LSTM"](state, record)


def _real_matrix(state: Import, op: NodeRecord, position: int, scale: int) -> Array:
    """float32 (directions, gates, inputs), as LSTM has it."""
    stored = _bytes(state, op, position, "its weights")
    scales = _scales(state, op, scale)
    points = _bytes(state, op, scale + 1, "its zero points").astype(np.float32)
    if stored.ndim != 3 or scales.size != points.size:
        raise Unsupported("GM106", f"{op.kind}: weights {stored.shape}, scales {scales.shape}")
    directions, _, columns = stored.shape
    wide = stored.astype(np.float32)
    if scales.size not in (directions, directions * columns):
        raise Unsupported("GM106", f"{op.kind}: weights {stored.shape}, scales {scales.shape}")
    real = (wide - points.reshape(directions, 1, -1)) * scales.reshape(directions, 1, -1)
    return np.ascontiguousarray(np.moveaxis(real, 1, 2))
