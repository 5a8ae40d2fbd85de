"""QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from glowmcu.frontend.onnx.axes import positive_axis
from glowmcu.frontend.onnx.container import FOUR_BITS, NodeRecord, element_of
from glowmcu.frontend.onnx.fake_quantization import clamped_real
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Array, Rounding, Signature
from glowmcu.ir.types import ElementType, Quantization
from glowmcu.ops.activation import Relu
from glowmcu.ops.cast import Cast
from glowmcu.ops.division import Div
from glowmcu.ops.elementwise import Add, Maximum, Minimum, Mul, Sub
from glowmcu.ops.quantization import Dequantize, Quantize
from glowmcu.ops.real_functions import Round
from glowmcu.ops.reduction import ReduceMax, ReduceMin
from glowmcu.ops.shape import Reshape

_UINT4_MAX = 15
_UINT8 = 2  # onnx.TensorProto.UINT8
#: What is stored as in the file, but for the sign; int16 may get a step of its own.
BYTES = (ElementType.I8, ElementType.UI8)
_STORED = (*BYTES, ElementType.I16)


@importer("QuantizeLinear")
@importer("QuantizeLinear", domain="com.microsoft")
def import_quantize(state: Import, op: NodeRecord) -> None:
    """round(x / scale) + zero point, halves to even; the zero point's type is the result's.

    Four bits end where they do in the file, and are stored as int8.
    """
    x, scale = state.value(op, 0), state.value(op, 1)
    element, name = _stored_element(state, op)
    if element not in _STORED or not x.type.element.is_float:
        raise Unsupported("GM105", f"QuantizeLinear: {x.type} to {name} is not supported")
    limits = FOUR_BITS.get(name, element.limits)
    constants = x if state.known(op, 0) else None
    quantization = _quantization(state, op, constants)
    if quantization is not None and constants is not None:
        steps = _steps(op, state.builder.known[x], quantization)
        state.bind_constant(op, np.clip(steps, *limits).astype(element.numpy))
        return
    if quantization is not None and not quantization.per_channel:
        if name in FOUR_BITS:
            x = clamped_real(state, op, x, limits, quantization)
        state.emit(op, Quantize(half_even=True), [x], element, quantization)
        return
    rows = _in_blocks(state, op, x)
    quotient = state.add(op, Div(), [rows, _aligned(state, op, scale, x)])
    point = _aligned(state, op, state.value(op, 2), x) if state.has(op, 2) else None
    result = _stored(state, op, quotient, point, element, limits)
    state.emit(op, Reshape(x.type.shape), [result])


def _stored_element(state: Import, op: NodeRecord) -> tuple[ElementType | None, str]:
    """The zero point's type, or without one what `output_dtype` says; uint8 if nothing does."""
    said = op.integer("output_dtype", 0)
    element, name = element_of(said or _UINT8)
    if name in FOUR_BITS:
        element = ElementType.I8
    if not state.has(op, 2):
        return element, name
    point = state.value(op, 2)
    own = point.type.element
    if said and own is not element:
        raise Unsupported(
            "GM106", f"{op.kind}: output_dtype is {name}, and its zero point {own.value}"
        )
    return own, state.four_bits.get(point, name if said else own.value)


def _steps(op: NodeRecord, data: Array, quantization: Quantization) -> Array:
    """Of a constant, which training leaves in front of its pair: the numbers to be stored, which
    may be beyond their type.
    """
    shape = [1] * data.ndim
    if quantization.axis is not None:
        shape[quantization.axis] = -1
    scales = np.array(quantization.scales, np.float32).reshape(shape)
    points = np.array(quantization.zero_points, np.float32).reshape(shape)
    with np.errstate(invalid="ignore", over="ignore"):
        steps = np.rint(np.float32(data) / scales) + points
    if np.isnan(steps).any():
        raise Unsupported("GM105", f"{op.kind}: a constant holds NaN")
    return np.asarray(steps)


def _stored(
    state: Import,
    op: NodeRecord,
    quotient: Value,
    point: Value | None,
    element: ElementType,
    limits: tuple[float, float],
) -> Value:
    """Rounded, moved by the zero point, clamped to `limits`."""
    whole = state.add(op, Round(), [quotient])
    if point is not None:
        whole = state.add(op, Add(), [whole, state.add(op, Cast(), [point], ElementType.F32)])
    limited = state.add(op, Relu((float(limits[0]), float(limits[1]))), [whole])
    return state.add(op, Cast(), [limited], element)


@importer("DequantizeLinear")
@importer("DequantizeLinear", domain="com.microsoft")
def import_dequantize(state: Import, op: NodeRecord) -> None:
    """(x - zero point) * scale. A constant keeps its stored form in front of the node."""
    x, scale = state.value(op, 0), state.value(op, 1)
    if op.integer("block_size", 0) > 0 and all(state.known(op, i) for i in range(len(op.inputs))):
        _bind_blocks(state, op)
        return
    quantization = _quantization(state, op, x)
    if quantization is not None and state.known(op, 0):
        data, quantization = _around_zero(state.builder.known[x], quantization)
        stored = state.builder.add_constant(data, x.name, quantization)
        (real,) = state.emit(op, Dequantize(), [stored], ElementType.F32)
        signature = Signature((stored.type,), (real.type,))
        (state.builder.known[real],) = Dequantize().evaluate([data], signature, Rounding.DOUBLE)
        return
    per_tensor = quantization is not None and not quantization.per_channel
    is_plain = x.type.quantization is None and x.type.element in _STORED
    if per_tensor and (
        is_plain or (x.type.element in BYTES and x.type.quantization != quantization)
    ):
        # Bytes of the application, or of an operator that knows bytes only: now they have a scale.
        # Or another one than their quantizer's, which in ONNX is that node's alone.
        x = state.add(op, Reshape(x.type.shape), [x], quantization=quantization)
    if quantization is not None and x.type.quantization == quantization:
        state.emit(op, Dequantize(), [x], ElementType.F32)
        return
    wide = state.add(op, Cast(), [_in_blocks(state, op, x)], ElementType.F32)
    if state.has(op, 2):
        point = state.add(op, Cast(), [state.value(op, 2)], ElementType.F32)
        wide = state.add(op, Sub(), [wide, _aligned(state, op, point, x)])
    result = state.add(op, Mul(), [wide, _aligned(state, op, scale, x)])
    state.emit(op, Reshape(x.type.shape), [result])


def _bind_blocks(state: Import, op: NodeRecord) -> None:
    """Constants in blocks along an axis, of which the last may be shorter, as real numbers."""
    stored = state.constant(op, 0, "weights")
    parts = [state.constant(op, position, "a scale") for position in range(1, len(op.inputs))]
    axis = positive_axis(op, op.integer("axis", 1), stored.ndim)
    size, length = op.integer("block_size", 0), stored.shape[axis]
    shape = (*stored.shape[:axis], -(-length // size), *stored.shape[axis + 1 :])
    if any(part.shape != shape for part in parts):
        found = " and ".join(str(part.shape) for part in parts)
        raise Unsupported("GM106", f"{op.kind}: expected scales of {shape}, got {found}")
    state.builder.afford(stored.shape, 8, "a constant")
    block = np.arange(length) // size
    scales, *points = (np.take(part, block, axis).astype(np.float32) for part in parts)
    real = stored.astype(np.float32)
    for point in points:
        real = real - point
    state.bind_constant(op, real * scales)


def _around_zero(data: Array, quantization: Quantization) -> tuple[Array, Quantization]:
    """Numbers of 0 to 15 around a zero point, as uint4 has them, as int8 around 0: the same real
    values in a form that layers take for weights.
    """
    points = np.array(quantization.zero_points, np.int64)
    if data.dtype != np.int8 or not points.any() or (data < 0).any():
        return data, quantization
    shape = [1] * data.ndim
    if quantization.axis is not None:
        shape[quantization.axis] = -1
    moved = data.astype(np.int64) - points.reshape(shape)
    if (np.abs(moved) > _UINT4_MAX).any():
        return data, quantization
    zeros = (0,) * len(points)
    return moved.astype(np.int8), replace(quantization, zero_points=zeros)


def _in_blocks(state: Import, op: NodeRecord, x: Value) -> Value:
    """`x` with its axis split into blocks that have a scale each; as it is without blocks."""
    size = op.integer("block_size", 0)
    if not size:
        return x
    axis = positive_axis(op, op.integer("axis", 1), x.type.rank)
    length = x.type.shape[axis]
    if size < 0 or length % size:
        raise Unsupported("GM105", f"{op.kind}: blocks of {size} on an axis of {length}")
    shape = (*x.type.shape[:axis], length // size, size, *x.type.shape[axis + 1 :])
    return state.add(op, Reshape(shape), [x])


def _quantization(state: Import, op: NodeRecord, stored: Value | None) -> Quantization | None:
    """Scales and zero points if they are known and one a tensor, or one a slice of `stored`."""
    in_blocks = op.integer("block_size", 0) != 0
    if in_blocks or not state.known(op, 1) or (state.has(op, 2) and not state.known(op, 2)):
        return None
    scales = state.constant(op, 1, "the scale").astype(np.float32)
    points = state.constant(op, 2, "the zero point") if state.has(op, 2) else np.zeros(1, np.int64)
    if not (np.isfinite(scales) & (scales > 0)).all():
        raise Unsupported("GM105", f"{op.kind}: a scale is not positive and finite")
    if points.size not in (1, scales.size):
        raise Unsupported("GM106", f"{op.kind}: {scales.size} scales, {points.size} zero points")
    numbers = tuple(float(item) for item in scales.reshape(-1))
    zero_points = tuple(int(item) for item in np.broadcast_to(points.reshape(-1), (len(numbers),)))
    if len(numbers) == 1:
        return Quantization(numbers, zero_points)
    if stored is None:
        return None
    axis = positive_axis(op, op.integer("axis", 1), stored.type.rank)
    if stored.type.shape[axis] != len(numbers):
        raise Unsupported("GM106", f"{op.kind}: {len(numbers)} scales on axis {axis} of "
                          f"{stored.type}")  # fmt: skip
    return Quantization(numbers, zero_points, axis)


def _aligned(state: Import, op: NodeRecord, value: Value, x: Value) -> Value:
    """One number a slice (or block) of `x`, shaped to broadcast along the operator's axis."""
    if op.integer("block_size", 0):
        axis = positive_axis(op, op.integer("axis", 1), x.type.rank)
        sizes = value.type.shape
        return state.add(op, Reshape((*sizes[: axis + 1], 1, *sizes[axis + 1 :])), [value])
    if value.type.element_count == 1:
        return value
    axis = positive_axis(op, op.integer("axis", 1), x.type.rank)
    return state.add(op, Reshape((value.type.shape[0], *(1,) * (x.type.rank - axis - 1))), [value])


@importer("DynamicQuantizeLinear")
def import_dynamic_quantize(state: Import, op: NodeRecord) -> None:
    """uint8 with scale and zero point from the tensor's own range, which holds 0."""
    x = state.value(op, 0)
    axes = tuple(range(x.type.rank))
    zero = state.add_constant(np.zeros((), np.float32), "zero")
    high = state.add(op, Maximum(), [state.add(op, ReduceMax(axes), [x]), zero])
    low = state.add(op, Minimum(), [state.add(op, ReduceMin(axes), [x]), zero])
    steps = state.add_constant(np.array(255, np.float32), "steps")
    scale = state.add(op, Div(), [state.add(op, Sub(), [high, low]), steps])
    negative = state.add(op, Sub(), [zero, low])
    limits = ElementType.UI8.limits
    offset = state.add(op, Div(), [negative, scale])
    point = _stored(state, op, offset, None, ElementType.UI8, limits)
    quotient = state.add(op, Div(), [x, scale])
    state.bind(op, [_stored(state, op, quotient, point, ElementType.UI8, limits), scale, point])
