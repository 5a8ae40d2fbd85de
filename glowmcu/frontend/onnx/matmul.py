"""Gemm and MatMul. A constant matrix on the right makes a fully connected layer of them."""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.onnx.spatial import reshaped
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Array
from glowmcu.ops.elementwise import Add, Mul
from glowmcu.ops.matmul import BatchMatMul, FullyConnected
from glowmcu.ops.transpose import Transpose


@importer("Gemm")
def import_gemm(state: Import, op: NodeRecord) -> None:
    """alpha * A * B + beta * C; alpha and beta fold into B and C if those are known."""
    a, b = state.value(op, 0), state.value(op, 1)
    if a.type.rank != 2 or b.type.rank != 2:
        raise Unsupported("GM106", f"Gemm: expected two matrices, got {a.type} and {b.type}")
    if not state.known(op, 1):
        _import_computed(state, op, a, b)
        return
    if op.flag("transA"):
        a = state.add(op, Transpose((1, 0)), [a])
    matrix = state.builder.known[b]
    rows = matrix if op.flag("transB") else matrix.T
    scaled = (rows * np.float32(op.number("alpha", 1.0))).astype(np.float32)
    row = _constant_row(state, op, scaled.shape[0])
    if row is None or not state.has(op, 2):
        bias = state.builder.add_no_bias(scaled.shape[0])
    else:
        bias = state.made_of(state.value(op, 2), row, "bias")
    weights = state.made_of(b, scaled, op.inputs[1])
    product = state.add(op, FullyConnected(), [a, weights, bias])
    _bind_sum(state, op, product, is_complete=row is not None)


def _constant_row(state: Import, op: NodeRecord, width: int) -> Array | None:
    """beta * C if that is known and one row for all; zeros without C; else None."""
    if not state.has(op, 2):
        return np.zeros(width, np.float32)
    if not state.known(op, 2):
        return None
    c = state.constant(op, 2, "C")
    if c.size not in (1, width) or (c.size > 1 and c.shape[-1] != width):
        return None
    row: Array = np.broadcast_to(c.reshape(-1), (width,)) * np.float32(op.number("beta", 1.0))
    return row.astype(np.float32)


def _import_computed(state: Import, op: NodeRecord, a: Value, b: Value) -> None:
    product = BatchMatMul(op.flag("transA"), op.flag("transB"))
    result = _scaled(state, op, state.add(op, product, [a, b]), op.number("alpha", 1.0))
    _bind_sum(state, op, result, is_complete=not state.has(op, 2))


def _bind_sum(state: Import, op: NodeRecord, product: Value, is_complete: bool) -> None:
    """Bind product + beta * C, or the product alone."""
    if is_complete:
        state.bind(op, [product])
        return
    c = state.value(op, 2)
    beta = op.number("beta", 1.0)
    if state.known(op, 2):
        data = state.constant(op, 2, "C") * np.float32(beta)
        c = state.add_constant(data.astype(np.float32), op.inputs[2])
    else:
        c = _scaled(state, op, c, beta)
    if state.emit(op, Add(), [product, c])[0].type.shape != product.type.shape:
        raise Unsupported("GM106", f"Gemm: C is {c.type} for a product of {product.type}")


def _scaled(state: Import, op: NodeRecord, value: Value, factor: float) -> Value:
    if factor == 1.0:
        return value
    return state.add(
        op, Mul(), [value, state.add_constant(np.array([factor], np.float32), "factor")]
    )


@importer("MatMul")
def import_matmul(state: Import, op: NodeRecord) -> None:
    """A vector on the left is a row, on the right a column; its axis leaves the result."""
    a, b = state.value(op, 0), state.value(op, 1)
    if min(a.type.rank, b.type.rank) < 1:
        raise Unsupported("GM106", f"MatMul: expected tensors, got {a.type} and {b.type}")
    left = reshaped(state, op, a, (1, *a.type.shape)) if a.type.rank == 1 else a
    right = _as_column(state, op, b) if b.type.rank == 1 else b
    matrix = state.builder.known.get(right)
    if matrix is not None and matrix.ndim == 2:
        bias = state.builder.add_no_bias(matrix.shape[1])
        weights = state.made_of(right, matrix.T, right.name)
        product = state.add(op, FullyConnected(), [left, weights, bias])
    else:
        product = state.add(op, BatchMatMul(), [left, right])
    batch, (rows, columns) = product.type.shape[:-2], product.type.shape[-2:]
    shape = (
        *batch,
        *(() if a.type.rank == 1 else (rows,)),
        *(() if b.type.rank == 1 else (columns,)),
    )
    state.bind(op, [reshaped(state, op, product, shape)])


def _as_column(state: Import, op: NodeRecord, b: Value) -> Value:
    data = state.builder.known.get(b)
    if data is not None:
        return state.made_of(b, data[:, np.newaxis], b.name)
    return reshaped(state, op, b, (*b.type.shape, 1))
