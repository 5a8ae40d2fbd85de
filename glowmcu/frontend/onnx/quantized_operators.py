"""Quantized operators (QLinearConv, QLinearMatMul, and onnxruntime's own) as the float operator
between pairs of DequantizeLinear and QuantizeLinear, which is what they mean.

`fold_qdq.py` makes integers of them again. ConvInteger and MatMulInteger, which have no scale, are
sums of whole numbers that float32 holds exactly; longer ones are int32 sums of such sums.
"""

from __future__ import annotations

import math
from functools import reduce

import numpy as np

from glowmcu.frontend.onnx.composed import MICROSOFT, constant, named, run
from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.types import ElementType
from glowmcu.ops.cast import Cast
from glowmcu.ops.elementwise import Add, Sub
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice

#: float32 holds every whole number below this.
_EXACT_END = 1 << 24
_LARGEST_OFFSET = 255
#: So many products of offsets stay below.
_MOST_PRODUCTS = (_EXACT_END - 1) // _LARGEST_OFFSET**2


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


@importer("QLinearWhere", domain=MICROSOFT)
def import_qlinear_where(state: Import, op: NodeRecord) -> None:
    """A condition, then two tensors with a scale each."""
    operands = (op.inputs[0], _real(state, op, 1), _real(state, op, 4))
    real = run(state, op, "Where", operands, f"{op.outputs[0]}/real")
    _bind_quantized(state, op, real, 7)


@importer("ConvInteger")
def import_conv_integer(state: Import, op: NodeRecord) -> None:
    """int32 sums of the differences to the zero points; the weights' may be one a channel."""
    weights = state.value(op, 1).type
    operands = _offsets(state, op, 0, 2), _offsets(state, op, 1, 3, weights.rank - 1)
    positions = math.prod(weights.shape[2:])
    parts = _parts(state, op, tuple(range(1, weights.rank)), weights.shape[1], positions)
    if len(parts) > 1 and op.integer("group", 1) != 1:
        raise _inexact(op, positions * weights.shape[1])
    _emit_sum(state, op, "Conv", operands, (1, 1), parts)


@importer("MatMulInteger")
def import_matmul_integer(state: Import, op: NodeRecord) -> None:
    """int32 sums; zero points per tensor, per row on the left or per column on the right."""
    left, right = state.value(op, 0).type, state.value(op, 1).type
    if not left.rank or not right.rank:
        raise Unsupported("GM106", f"{op.kind}: expected matrices, got {left} and {right}")
    operands = _offsets(state, op, 0, 2, 1), _offsets(state, op, 1, 3)
    axis = max(right.rank - 2, 0)
    parts = _parts(state, op, (axis,), right.shape[axis], 1)
    _emit_sum(state, op, "MatMul", operands, (left.rank - 1, axis), parts)


def _parts(
    state: Import, op: NodeRecord, axes: tuple[int, ...], length: int, each: int
) -> list[tuple[int, int]]:
    """Where the parts of an axis of `length` begin and how long they are, so that float32 holds the
    sums of each; `axes` of the weights are summed, with `each` products for a place of that one.
    """
    largest = _LARGEST_OFFSET * length * each
    if state.known(op, 1):
        data = np.abs(state.constant(op, 1, "weights").astype(np.int64))
        sums = (data + _largest_zero_point(state, op, 3)).sum(axis=axes)
        largest = min(largest, int(sums.max(initial=0)))
    if largest * _LARGEST_OFFSET < _EXACT_END:
        return [(0, length)]
    most = _MOST_PRODUCTS // each
    if not most:
        raise _inexact(op, each)
    return [(begin, min(most, length - begin)) for begin in range(0, length, most)]


def _inexact(op: NodeRecord, products: int) -> Unsupported:
    return Unsupported(
        "GM105",
        f"{op.kind}: sums of {products} products may reach {products * _LARGEST_OFFSET**2}; "
        f"float32 holds whole numbers up to {_EXACT_END}",
        "quantize the model statically (QDQ): it then runs on int8 from end to end",
    )


def _emit_sum(
    state: Import,
    op: NodeRecord,
    kind: str,
    operands: tuple[str, str],
    axes: tuple[int, int],
    parts: list[tuple[int, int]],
) -> None:
    """The operator's result: the sum of what `kind` gives of each part, as int32."""
    first = op.outputs[0]
    if len(parts) == 1:
        real = run(state, op, kind, operands, f"{first}/real", op.attributes)
        state.emit(op, Cast(), [state.named_value(real)], ElementType.I32)
        return
    types = [state.named_value(name).type for name in operands]
    if len({type_.shape[axis] for type_, axis in zip(types, axes, strict=True)}) > 1:
        raise Unsupported("GM106", f"{op.kind}: {types[0]} and {types[1]} do not fit each other")
    sums: list[Value] = []
    for number, part in enumerate(parts):
        last = f"{first}/part{number}"
        left = _part(state, op, operands[0], axes[0], part, f"{last}/left")
        right = _part(state, op, operands[1], axes[1], part, f"{last}/right")
        real = run(state, op, kind, (left, right), f"{last}/real", op.attributes)
        sums.append(state.add(op, Cast(), [state.named_value(real)], ElementType.I32))
    *most, end = sums
    state.emit(op, Add(), [reduce(lambda a, b: state.add(op, Add(), [a, b]), most), end])


def _part(
    state: Import, op: NodeRecord, name: str, axis: int, part: tuple[int, int], output: str
) -> str:
    """Some positions of an axis, under a name."""
    x, (begin, count) = state.named_value(name), part
    first = tuple(begin if place == axis else 0 for place in range(x.type.rank))
    size = (*x.type.shape[:axis], count, *x.type.shape[axis + 1 :])
    return named(state, op, output, state.add(op, Slice(first, size, (1,) * x.type.rank), [x]))


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
    name, x = f"{op.outputs[0]}/offset{position}", state.value(op, position)
    if x.type.element not in (ElementType.I8, ElementType.UI8):
        raise Unsupported("GM105", f"{op.kind}: operands are int8 or uint8, got {x.type}")
    real = state.add(op, Cast(), [x], ElementType.F32)
    if state.has(op, point):
        zero = state.add(op, Cast(), [state.value(op, point)], ElementType.F32)
        count = zero.type.element_count
        shape = (count, *(1,) * behind) if count > 1 else ()
        real = state.add(op, Sub(), [real, _shaped(state, op, zero, shape)])
    return named(state, op, name, real)


def _shaped(state: Import, op: NodeRecord, value: Value, shape: tuple[int, ...]) -> Value:
    return value if value.type.shape == shape else state.add(op, Reshape(shape), [value])
