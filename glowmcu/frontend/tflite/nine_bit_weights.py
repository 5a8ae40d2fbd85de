"""Convolutions whose uint8 weights are around any zero point, as TensorFlow 1 trained them.

A weight less its zero point has nine bits. It is a sum of int8 parts, and where an input channel
occurs once for each part the sum of products is the same: kernels, rounding and meaning stay those
of int8. Few weights need a second part, since the zero point is near most of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from glowmcu.frontend.tflite.constant_filters import Layer
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, Unsupported
from glowmcu.frontend.tflite.unsigned import as_int8, as_int8_operation, knows_int8_alone
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Array, Operation, OperationError, Signature
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.ir.value_range import ValueRange, full_range
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.gather import Gather
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.slicing import Slice
from glowmcu.ops.transpose_conv import TransposeConv2D
from glowmcu.ops.update_slice import DynamicUpdateSlice

Int8Array = npt.NDArray[np.int8]
Int16Array = npt.NDArray[np.int16]

#: The zero point of uint8 that is 0 in int8.
_MIDDLE = 128
#: Depthwise filters of several parts that are computed aside, each by itself. Beyond that many, or
#: that share of a layer's filters, all are computed in groups.
_MOST_ASIDE, _SHARE_ASIDE = 16, 0.25
#: Ranges of channels that are taken by a slice each, which costs less than a gather.
_MOST_SLICES = 4


def emit_conv_2d(
    state: Import, op: OperatorRecord, operation: Conv2D | TransposeConv2D,
    operands: Sequence[Value],
) -> None:  # fmt: skip
    """CONV_2D or TRANSPOSE_CONV of input, weights (O, kh, kw, I) and bias.

    Raises Unsupported GM105 for types that do not go together, GM106 for weights or shapes.
    """
    offsets = _offsets(state, op, operation, operands)
    if offsets is None:
        state.emit(op, operation, operands)
        return
    depth_in, channels, result = offsets.shape[-1], operands[0].type.shape[-1], None
    if channels == depth_in and isinstance(operation, Conv2D):
        offsets, operands, result = _settled(state, op, operation, operands, offsets)
    elif depth_in not in (0, channels) and channels % depth_in == 0 and len(_parts(offsets)) > 1:
        raise _unsupported(op, operands[1], ", in groups")
    _emit_conv_2d(state, op, operation, operands, offsets)
    _note(state, op, result)


def emit_depthwise_conv_2d(
    state: Import, op: OperatorRecord, operation: DepthwiseConv2D, operands: Sequence[Value]
) -> None:
    """DEPTHWISE_CONV_2D of input, weights (1, kh, kw, O) and bias. Raises as `emit_conv_2d`."""
    offsets = _offsets(state, op, operation, operands)
    if offsets is None:
        state.emit(op, operation, operands)
        return
    x, _, bias = operands
    channels, depth_out = x.type.shape[-1], offsets.shape[-1]
    is_sound = offsets.shape[0] == 1 and channels and not depth_out % channels
    if not is_sound or bias.type.shape != (depth_out,):
        state.emit(op, operation, operands)  # which says what is wrong with the shapes
        return
    offsets, operands, result = _settled(state, op, operation, operands, offsets)
    if channels == 1:
        filters = offsets.transpose(3, 1, 2, 0)
        _emit_conv_2d(state, op, _windows_of(operation), operands, filters)
    else:
        _emit_depthwise(state, op, operation, operands, offsets)
    _note(state, op, result)


def _offsets(
    state: Import, op: OperatorRecord, operation: Operation, operands: Sequence[Value]
) -> Int16Array | None:
    """The weights less their zero point; None if they are not uint8, or as good as int8."""
    x, weights, _ = operands
    quantization = weights.type.quantization
    if {x.type.element, weights.type.element} != {ElementType.UI8} or quantization is None:
        return None
    knows_int8_alone(operation, [x.type, state.output_type(op)])  # else GM105
    if quantization.per_channel or not state.is_known(weights):
        if all(point == _MIDDLE for point in quantization.zero_points):
            return None
        which = " and more, one a channel" if quantization.per_channel else ", not constant"
        raise _unsupported(op, weights, which)
    (point,) = quantization.zero_points
    return state.builder.known[weights].astype(np.int16) - np.int16(point)


class _Ranges(dict[Value, ValueRange]):
    """What results of such layers can hold, by their values in int8."""


def _settled(
    state: Import, op: OperatorRecord, operation: Conv2D | DepthwiseConv2D,
    operands: Sequence[Value], offsets: Int16Array,
) -> tuple[Int16Array, list[Value], ValueRange | None]:  # fmt: skip
    """Weights and operands in which filters that give one result have weights of 0, and what the
    result can hold.
    """
    x, bias = state.signed(op, operands[0]), operands[2]
    count, given = offsets.shape[operation.channel_axis], list(operands)
    out = as_int8(state.output_type(op)).with_shape((1, 1, 1, count))
    known = state.side_table(_Ranges).get(x, full_range(x.type))
    is_usual = bias.type.element is ElementType.I32 and bias.type.shape == (count,)
    is_quantized = x.type.quantization is not None and out.quantization is not None
    if not (state.is_known(bias) and is_usual and is_quantized and known):
        return offsets, given, None
    types = (x.type, _signed(x.type, operands[1].type), bias.type)
    inner = as_int8_operation(operation)
    layer = Layer(inner, Signature(types, (out,)), offsets, state.builder.known[bias])
    try:
        result = layer.result_range(known)
    except OperationError:  # which the layer itself will say
        return offsets, given, None
    less = layer.without_constant_filters(known, result)
    if not np.array_equal(less.bias, layer.bias):
        given[2] = state.builder.add_made_of(bias, less.bias)
    return less.offsets, given, result


def _note(state: Import, op: OperatorRecord, result: ValueRange | None) -> None:
    if result is not None:
        value = state.signed(op, state.tensor_value(op.outputs[0]))
        state.side_table(_Ranges)[value] = result


def _unsupported(op: OperatorRecord, weights: Value, which: str) -> Unsupported:
    quantization = weights.type.quantization
    assert quantization is not None
    return Unsupported(
        "GM106",
        f"{op.name}: expected uint8 weights with zero point {_MIDDLE}, or constant ones with one "
        f"zero point and no groups, got {quantization.zero_points[0]}{which}",
        "no converter of TensorFlow writes such a layer: convert the float model anew, or "
        "`glowmcu profile` it",
    )


def _parts(offsets: Int16Array) -> list[Int8Array]:
    """int8 arrays, one to three, whose sum is `offsets`."""
    left = offsets
    parts: list[Int8Array] = []
    while left.any() or not parts:
        parts.append(np.clip(left, -128, 127).astype(np.int8))
        left = left - parts[-1]
    return parts


def _signed(x: TensorType, weights: TensorType) -> TensorType:
    """int8 weights around 0 that, times the input's scale, have the scale of the file's sums.

    TensorFlow Lite's kernels of uint8 multiply scales in float32, those of int8 in double. So the
    scale is the double that has the product of float32.
    """
    scale = weights.scale
    if x.quantization is not None and not x.quantization.per_channel:
        with np.errstate(over="ignore", under="ignore"):
            product = float(np.float32(x.scale) * np.float32(scale))
        if 0.0 < product < np.inf:
            nearest = product / x.scale
            around = (nearest, np.nextafter(nearest, 0.0), np.nextafter(nearest, np.inf))
            scale = next((float(each) for each in around if x.scale * each == product), nearest)
    return replace(weights, element=ElementType.I8, quantization=Quantization((scale,), (0,)))


def _constant(state: Import, operands: Sequence[Value], data: Array) -> Value:
    """A constant of int8 in place of the weights among the operands of the file."""
    x, weights = operands[:2]
    quantization = _signed(x.type, weights.type).quantization
    return state.add_constant(np.ascontiguousarray(data), weights.name, quantization)


def _emit_conv_2d(
    state: Import, op: OperatorRecord, operation: Conv2D | TransposeConv2D,
    operands: Sequence[Value], offsets: Int16Array,
) -> None:  # fmt: skip
    """Channels of the input occur again where some filter needs a further part of its weight."""
    x, _, bias = operands
    parts = _parts(offsets)
    columns, images = [parts[0]], [state.signed(op, x)]
    if offsets.shape[-1] == x.type.shape[-1]:
        for part in parts[1:]:
            channels = np.flatnonzero(part.any(axis=(0, 1, 2)))
            images += _taken(state, op, images[0], channels)
            columns.append(part[..., channels])
    stored = np.concatenate(columns, axis=-1)
    if len(columns) > 1:
        state.builder.afford(stored.shape, 1, "a constant of weights beyond int8")
    filters = _constant(state, operands, stored)
    image = _joined(state, op, images)
    state.emit_signed(op, as_int8_operation(operation), [image, filters, bias])


def _taken(state: Import, op: OperatorRecord, x: Value, channels: Array) -> list[Value]:
    """Images that have, one after the other, the channels of `x` that are named."""
    axis = x.type.rank - 1
    runs = np.split(channels, np.flatnonzero(np.diff(channels) != 1) + 1)
    if len(runs) > _MOST_SLICES:
        places = state.add_constant(channels.astype(np.int32), f"{x.name}/channels")
        return [state.emit_inner(op, Gather(axis), [x, places], x.type)]
    slices = [
        Slice((0,) * axis + (int(run[0]),), (*x.type.shape[:axis], len(run)), (1,) * (axis + 1))
        for run in runs
    ]
    return [state.emit_inner(op, one, [x], x.type) for one in slices]


def _joined(state: Import, op: OperatorRecord, images: Sequence[Value]) -> Value:
    """One image of the channels of all."""
    if len(images) == 1:
        return images[0]
    type_ = images[0].type
    return state.emit_inner(op, Concatenation(type_.rank - 1), images, type_)


def _emit_depthwise(
    state: Import, op: OperatorRecord, operation: DepthwiseConv2D, operands: Sequence[Value],
    offsets: Int16Array,
) -> None:  # fmt: skip
    """Filters of several parts become convolutions of one channel that is repeated."""
    x, bias = state.signed(op, operands[0]), operands[2]
    parts, signed = _parts(offsets), as_int8_operation(operation)
    stacked = np.stack([part[0] for part in parts], axis=-1).transpose(2, 0, 1, 3)
    multiplier = len(stacked) // x.type.shape[-1]
    aside = np.flatnonzero(stacked[..., 1:].any(axis=(1, 2, 3)))
    windows = as_int8_operation(_windows_of(operation))
    is_few = len(aside) <= min(_MOST_ASIDE, _SHARE_ASIDE * len(stacked))
    if not is_few or not state.is_known(bias):
        channels = np.repeat(np.arange(len(stacked)) // multiplier, len(parts))
        image = _joined(state, op, _taken(state, op, x, channels))
        state.builder.afford(stacked.shape, 1, "a constant of weights beyond int8")
        state.emit_signed(op, windows, [image, _constant(state, operands, stacked), bias])
        return
    type_ = as_int8(state.output_type(op))
    most = [x, _constant(state, operands, parts[0]), bias]
    if not len(aside):
        state.emit_signed(op, signed, most)
        return
    result = state.emit_inner(op, signed, most, type_)
    for filter_ in aside:
        one = slice(filter_, filter_ + 1)
        (channel,) = _taken(state, op, x, np.array([filter_ // multiplier]))
        image = _joined(state, op, [channel] * len(parts))
        some = state.builder.add_made_of(bias, state.builder.known[bias][one])
        those = [image, _constant(state, operands, stacked[one]), some]
        starts = state.add_constant(np.array([0, 0, 0, filter_], np.int32), f"{bias.name}/start")
        written = [result, state.emit_inner(op, windows, those, type_), starts]
        if filter_ == aside[-1]:
            state.emit_signed(op, DynamicUpdateSlice(), written)
        else:
            result = state.emit_inner(op, DynamicUpdateSlice(), written, type_)


def _windows_of(operation: DepthwiseConv2D) -> Conv2D:
    return Conv2D(operation.strides, operation.dilations, operation.padding, operation.clamp)
