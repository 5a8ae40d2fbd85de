"""Gemm with constant weights."""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.transpose import Transpose


@importer("Gemm")
def import_gemm(state: Import, op: NodeRecord) -> None:
    """alpha * A * B + beta * C; B and C known at compile time, so that alpha and beta fold in."""
    a = state.value(op, 0)
    b = state.constant(op, 1, "weights B")
    if b.ndim != 2 or a.type.rank != 2:
        raise Unsupported("GM106", f"Gemm: expected two matrices, got {a.type} and {b.shape}")
    if op.integer("transA", 0):
        a = state.add(op, Transpose((1, 0)), [a])
    weights = b if op.integer("transB", 0) else b.T
    depth_out = weights.shape[0]
    bias = state.constant(op, 2, "bias C") if state.has(op, 2) else np.zeros(1, np.float32)
    if bias.size not in (1, depth_out):
        raise Unsupported("GM105", f"Gemm: C of {bias.shape} is no row of {depth_out} values")
    row = np.broadcast_to(bias.reshape(-1), (depth_out,)) * np.float32(op.number("beta", 1.0))
    scaled = weights * np.float32(op.number("alpha", 1.0))
    operands = [
        a,
        state.add_constant(scaled.astype(np.float32), op.inputs[1]),
        state.add_constant(row.astype(np.float32), "bias"),
    ]
    state.emit(op, FullyConnected(), operands)
