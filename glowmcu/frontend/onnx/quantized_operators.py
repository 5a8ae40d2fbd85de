"""Quantized operators (QLinearConv, QLinearMatMul, and onnxruntime's own) as the float operator
between pairs of DequantizeLinear and QuantizeLinear, which is what they mean.

`fold_qdq.py` makes integers of them again. ConvInteger and MatMulInteger, which have no scale, are
sums of whole numbers that float32 holds exactly; where it might not they are refused.
"""

from __future__ import annotations

import math

import numpy as np

from glowmcu.frontend.onnx.composed import MICROSOFT, constant, named, run
from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.types import ElementType
from glowmcu.ops.cast import Cast
from glowmcu.ops.elementwise import Sub
from glowmcu.ops.shape import Reshape

#: float32 holds every whole number below this.
_EXACT_END = 1 << 24
_LARGEST_OFFSET = 255


def _real(state: Import, op: NodeRecord, position: int, axis: int = 0) -> str:
    """The name of operand `position` as real numbers; scale and zero point follow it."""
    triple = _names(op, position, 3)
    output = f"{op.outputs[0]}/real{position}"
    return run(state, op, "DequantizeLinear", triple, output, {"axis": axis})


def _names(op: NodeRecord, position: int, count: int) -> tuple[str, ...]:
    padded = (*op.inputs, *[""] * (position + count))
    return padded[position : position + count]


def _bind_quantized(state: Import, op: NodeRecord, real: str, position: int) -> None:
    """The operator's result, quantized by the scale at `position` and the zero point behind it."""
    scale, point = _names(op, position, 2)
    run(state, op, "QuantizeLinear", (real, scale, point), op.outputs[0])


def _axis_from_end(state: Import, op: NodeRecord, position: int, back: int) -> int:
    return max(state.value(op, position).type.rank - back, 0)


@importer("QLinearConv")
def import_qlinear_conv(state: Import, op: NodeRecord) -> None:
    """Weights per tensor or per output channel; the bias is at the product of the scales."""
    operands = (_real(state, op, 0), _real(state, op, 3), _real_bias(state, op, 8, 1, 4))
    real = f"{op.outputs[0]}/real"
    run(state, op, "Conv", operands, real, op.attributes)
    _bind_quantized(state, op, real, 6)


def _real_bias(state: Import, op: NodeRecord, position: int, x: int, weights: int) -> str:
    """The name of an int32 bias as real numbers, empty without one; `x`, `weights`: scales."""
    if not state.has(op, position):
        return ""
    stored = state.constant(op, position, "its bias").astype(np.float64)
    scales = [state.constant(op, i, "its scales").astype(np.float64) for i in (x, weights)]
    name = f"{op.outputs[0]}/bias"
    data = (stored * scales[0].reshape(-1) * scales[1].reshape(-1)).astype(np.float32)
    return constant(state, op, name, data)


@importer("QLinearMatMul")
def import_qlinear_matmul(state: Import, op: NodeRecord) -> None:
    """Scales per tensor, per row on the left or per column on the right."""
    left = _real(state, op, 0, _axis_from_end(state, op, 0, 2))
    right = _real(state, op, 3, _axis_from_end(state, op, 3, 1))
    real = run(state, op, "MatMul", (left, right), f"{op.outputs[0]}/real")
    _bind_quantized(state, op, real, 6)


@importer("QGemm", domain=MICROSOFT)
def import_qgemm(state: Import, op: NodeRecord) -> None:
    """As Gemm; weights per tensor or per output channel."""
    axis = 0 if op.flag("transB") else 1
    operands = (_real(state, op, 0), _real(state, op, 3, axis), _real_bias(state, op, 6, 1, 4))
    real = run(state, op, "Gemm", operands, f"{op.outputs[0]}/real", op.attributes)
    _bind_quantized(state, op, real, 7)


@importer("QLinearAdd", "QLinearMul", domain=MICROSOFT)
def import_qlinear_arithmetic(state: Import, op: NodeRecord) -> None:
    """Two tensors with a scale each."""
    operands = (_real(state, op, 0), _real(state, op, 3))
    real = run(state, op, op.kind.removeprefix("QLinear"), operands, f"{op.outputs[0]}/real")
    _bind_quantized(state, op, real, 6)


@importer(
    "QLinearAveragePool", "QLinearGlobalAveragePool", "QLinearLeakyRelu", "QLinearSigmoid",
    "QLinearSoftmax",
    domain=MICROSOFT,
)  # fmt: skip
def import_qlinear_function(state: Import, op: NodeRecord) -> None:
    """One tensor; `channels_last` is onnxruntime's own layout and not for exchange."""
    if op.flag("channels_last"):
        raise Unsupported("GM105", f"{op.kind} with channels_last is not supported")
    known = {"channels_last", "opset"}
    attributes = {name: value for name, value in op.attributes.items() if name not in known}
    kind = op.kind.removeprefix("QLinear")
    real = run(state, op, kind, (_real(state, op, 0),), f"{op.outputs[0]}/real", attributes)
    _bind_quantized(state, op, real, 3)


@importer("QLinearConcat", domain=MICROSOFT)
def import_qlinear_concat(state: Import, op: NodeRecord) -> None:
    """Scale and zero point of the result come first, then tensors with theirs."""
    operands = tuple(_real(state, op, position) for position in range(2, len(op.inputs), 3))
    real = run(state, op, "Concat", operands, f"{op.outputs[0]}/real", op.attributes)
    _bind_quantized(state, op, real, 0)


@importer("ConvInteger")
def import_conv_integer(state: Import, op: NodeRecord) -> None:
    """int32 sums of the differences to the zero points; the weights' may be one a channel."""
    weights = state.value(op, 1)
    _expect_exact(state, op, tuple(range(1, weights.type.rank)))
    operands = _offsets(state, op, 0, 2), _offsets(state, op, 1, 3, weights.type.rank - 1)
    _bind_whole(state, op, run(state, op, "Conv", operands, f"{op.outputs[0]}/real",
                                op.attributes))  # fmt: skip


@importer("MatMulInteger")
def import_matmul_integer(state: Import, op: NodeRecord) -> None:
    """int32 sums; zero points per tensor, per row on the left or per column on the right."""
    _expect_exact(state, op, (-1 if state.value(op, 1).type.rank == 1 else -2,))
    operands = _offsets(state, op, 0, 2, 1), _offsets(state, op, 1, 3)
    _bind_whole(state, op, run(state, op, "MatMul", operands, f"{op.outputs[0]}/real"))


def _expect_exact(state: Import, op: NodeRecord, axes: tuple[int, ...]) -> None:
    """Unsupported where a sum of products over these axes of the weights may be inexact."""
    weights = state.value(op, 1).type
    largest = _LARGEST_OFFSET * math.prod(weights.shape[axis] for axis in axes)
    if state.known(op, 1):
        data = np.abs(state.constant(op, 1, "weights").astype(np.int64))
        sums = (data + _largest_zero_point(state, op, 3)).sum(axis=axes)
        largest = min(largest, int(sums.max(initial=0)))
    if largest * _LARGEST_OFFSET >= _EXACT_END:
        raise Unsupported(
            "GM105",
            f"{op.kind}: sums may reach {largest * _LARGEST_OFFSET}; "
            f"float32 holds whole numbers up to {_EXACT_END}",
            "quantize the model statically (QDQ): it then runs on int8 from end to end",
        )


def _largest_zero_point(state: Import, op: NodeRecord, position: int) -> int:
    """Greatest magnitude of the zero points at `position`, as far as is known."""
    if not state.has(op, position):
        return 0
    if not state.known(op, position):
        return _LARGEST_OFFSET
    points = state.constant(op, position, "zero points").astype(np.int64)
    return int(np.abs(points).max(initial=0))


def _offsets(state: Import, op: NodeRecord, position: int, point: int, behind: int = 0) -> str:
    """The name of an operand minus its zero point, float32; the point has `behind` axes behind."""
    name = f"{op.outputs[0]}/offset{position}"
    real = state.add(op, Cast(), [state.value(op, position)], ElementType.F32)
    if state.has(op, point):
        zero = state.add(op, Cast(), [state.value(op, point)], ElementType.F32)
        count = zero.type.element_count
        shape = (count, *(1,) * behind) if count > 1 else ()
        real = state.add(op, Sub(), [real, _shaped(state, op, zero, shape)])
    return named(state, op, name, real)


def _shaped(state: Import, op: NodeRecord, value: Value, shape: tuple[int, ...]) -> Value:
    return value if value.type.shape == shape else state.add(op, Reshape(shape), [value])


def _bind_whole(state: Import, op: NodeRecord, real: str) -> None:
    state.emit(op, Cast(), [state.named_value(real)], ElementType.I32)
