"""TOSA's layers with the RESCALE behind them, and its poolings."""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.tosa.importer import Import, Rescaled, importer
from glowmcu.frontend.tosa.records import Ref, TosaOp
from glowmcu.frontend.tosa.rescaling import SINGLE, Factors, apply
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Array, Operation, OperationError, Rounding
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D, Padding, Pair
from glowmcu.ops.fixed_point import requantization
from glowmcu.ops.matmul import BatchMatMul
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D

_I8 = ElementType.I8
#: Largest kernel, stride, dilation and padding of TOSA's level 8K.
_MOST = 8192
#: Sums of an average that are compared one by one.
_MOST_SUMS = 1 << 20
#: Weight of each element in a sum that is to be an average.
_ONE = 64


def numbers(op: TosaOp, key: str, count: int) -> tuple[int, ...]:
    """An attribute of `count` integers."""
    found = op.attributes.get(key)
    if not isinstance(found, tuple) or len(found) != count:
        raise Unsupported("GM106", f"{op.name} needs {key} of {count} integers, got {found}")
    if max(map(abs, found)) > _MOST:
        raise Unsupported("GM105", f"{op.name} with {key} {found}; TOSA's level 8K ends at {_MOST}")
    return found


def _window(op: TosaOp) -> tuple[Pair, Padding]:
    """Strides, and padding in our order: top, left, bottom, right."""
    sy, sx = numbers(op, "stride", 2)
    top, bottom, left, right = numbers(op, "pad", 4)
    if min(sy, sx) < 1 or min(top, bottom, left, right) < 0:
        raise Unsupported("GM106", f"stride {(sy, sx)} and pad {(top, bottom, left, right)}")
    return (sy, sx), (top, left, bottom, right)


@importer("conv2d", "depthwise_conv2d")
def import_convolution(state: Import, op: TosaOp) -> None:
    """With its RESCALE and CLAMP."""
    _expect_bytes(op, 5, op.operands[:2])
    x, weights, bias, x_point, weights_point = op.operands
    strides, padding = _window(op)
    dilations = numbers(op, "dilation", 2)
    if min(dilations) < 1 or weights.type.rank != 4:
        raise Unsupported("GM106", f"dilation {dilations}, weights {weights.type}")
    data = _centred(state, weights, weights_point)
    kind: type[Conv2D | DepthwiseConv2D] = Conv2D
    if op.name == "depthwise_conv2d":
        kernel_h, kernel_w, channels, count = data.shape
        data, kind = data.reshape(1, kernel_h, kernel_w, channels * count), DepthwiseConv2D
    elif data.shape[3] != x.type.shape[-1]:
        raise Unsupported("GM106", f"{x.type} meets weights of {weights.type}")
    depth_out = data.shape[kind.channel_axis]
    biases = state.constant(bias, "the bias").reshape(-1)
    if bias.type.element is not ElementType.I32 or biases.size not in (1, depth_out):
        raise Unsupported("GM105", f"expected a bias of {depth_out} x i32, got {bias.type}")
    last, rescaled = state.rescaled_behind(op)
    point = state.number(x_point, "the operand's zero point")
    image, padding = _whole_image(state, op, padding, strides)
    operation = kind(strides, (dilations[0], dilations[1]), padding, rescaled.limits)
    value = state.value(image, point)
    bias_data = np.broadcast_to(biases, (depth_out,))
    constants = _Constants(data, kind.channel_axis, bias_data)
    operands = [value, *constants.values(state, op, rescaled, value.type.scale)]
    state.emit(op, operation, operands, _result_type(last, rescaled), last)


def _expect_bytes(op: TosaOp, count: int, refs: tuple[Ref, ...]) -> None:
    if len(op.operands) != count:
        raise Unsupported(
            "GM106", f"{op.name} has {count} operands in TOSA 1.0, got {len(op.operands)}"
        )
    for ref in refs:
        if ref.type.element is not _I8:
            raise Unsupported("GM105", f"{op.name} of {ref.type}; i8 is read")


def _centred(state: Import, weights: Ref, point: Ref) -> Array:
    """Weights less their zero point, where int8 holds that."""
    data = state.constant(weights, "the weight").astype(np.int16)
    data = data - state.number(point, "the weight's zero point")
    if data.size and (data.min() < -128 or data.max() > 127):
        raise Unsupported("GM105", "weights less their zero point are no int8")
    return data.astype(np.int8)


@dataclass(frozen=True, eq=False)
class _Constants:
    """A layer's weights, with channels along `axis`, and its bias."""

    data: Array
    axis: int
    bias: Array

    def values(self, state: Import, op: TosaOp, rescaled: Rescaled, scale: float) -> list[Value]:
        """As constants of the graph: RESCALE's factors are the scales of the weights, those of
        the operand's `scale` taken away.
        """
        real = state.real_factors(rescaled.factors) / scale
        # A factor of 0 is no scale: such a channel is 0 times anything.
        gone = np.broadcast_to(real <= 0, self.bias.shape)
        last = np.where(gone, np.int8(0), np.moveaxis(self.data, self.axis, -1))
        data = np.ascontiguousarray(np.moveaxis(last, -1, self.axis))
        bias = np.where(gone, 0, self.bias).astype(np.int32)
        scales = np.where(real > 0, real, 1.0)
        axis = self.axis if scales.size > 1 else None
        quantization = Quantization(tuple(scales.tolist()), (0,) * scales.size, axis)
        name = op.results[0].name
        return [
            state.builder.add_constant(data, f"{name}/weight", quantization),
            state.builder.add_constant(bias, f"{name}/bias"),
        ]


def _result_type(last: TosaOp, rescaled: Rescaled) -> TensorType:
    quantization = Quantization((1.0,), (rescaled.zero_point,))
    return TensorType(last.results[0].type.shape, _I8, quantization)


def _whole_image(state: Import, op: TosaOp, padding: Padding, strides: Pair) -> tuple[Ref, Padding]:
    """The image before a SLICE that only cuts rows and columns off its end which no window of
    ours would look at, since TOSA wants windows to end where the image does.
    """
    x = op.operands[0]
    maker = state.makers.get(x)
    if (
        maker is None
        or maker.name != "slice"
        or len(maker.operands) != 3
        or padding[2]
        or padding[3]
    ):
        return x, padding
    source, begin, _ = maker.operands
    cut = [before - after for before, after in zip(source.type.shape, x.type.shape, strict=True)]
    is_end = not any(state.sizes(begin, "the start")) and cut[0] == cut[3] == 0
    is_unseen = all(0 <= cut[1 + axis] < strides[axis] for axis in (0, 1))
    return (source, padding) if is_end and is_unseen else (x, padding)


@importer("matmul")
def import_matmul(state: Import, op: TosaOp) -> None:
    """With its RESCALE; a CLAMP stays an operation of its own."""
    _expect_bytes(op, 4, op.operands[:2])
    points = [state.number(ref, "a zero point") for ref in op.operands[2:]]
    found = state.only_user(op.results[0], "rescale")
    if found is None:
        raise Unsupported("GM105", "matmul must be followed by rescale, and by nothing else")
    factors, (_, point) = state.rescale_of(found)
    real = state.real_factors(factors)
    if real.size != 1 or real[0] <= 0:
        raise Unsupported("GM105", "matmul needs one factor above 0")
    x, y = (state.value(ref, at) for ref, at in zip(op.operands[:2], points, strict=True))
    scale = x.type.scale * y.type.scale / float(real[0])
    out = TensorType(found.results[0].type.shape, _I8, Quantization((scale,), (point,)))
    result = state.inner(op, BatchMatMul(), [x, y], out)
    state.done.add(found)
    state.values[found.results[0]] = state.retyped(result, Quantization((1.0,), (point,)))


@importer("max_pool2d")
def import_max_pool(state: Import, op: TosaOp) -> None:
    """Of stored values."""
    _expect_bytes(op, 1, op.operands)
    strides, padding = _window(op)
    height, width = numbers(op, "kernel", 2)
    x = state.value(op.operands[0])
    state.emit(op, MaxPool2D((height, width), strides, padding), [x], x.type)


@importer("avg_pool2d")
def import_average_pool(state: Import, op: TosaOp) -> None:
    """AVG_POOL2D rounds halves away from the zero point, and ours away from 0: the same where it is
    0 or no window has halves. Else a depthwise convolution sums up.
    """
    _expect_bytes(op, 3, op.operands[:1])
    points = [state.number(ref, "a zero point") for ref in op.operands[1:]]
    strides, padding = _window(op)
    height, width = numbers(op, "kernel", 2)
    if min(height, width) < 1 or height * width >= 1 << 22:
        raise Unsupported("GM105", f"a window of {height} x {width}")
    operation = AveragePool2D((height, width), strides, padding)
    x = state.value(op.operands[0], points[0])
    is_whole = not any(padding)
    counts = np.array([height * width]) if is_whole else _counts(operation, x.type)
    if points[0] == points[1] and (points[0] == 0 or (counts % 2 == 1).all()):
        state.emit(op, operation, [x], x.type)
        return
    if not is_whole:
        raise Unsupported(
            "GM105", f"avg_pool2d of an even number of elements with padding and zero point "
            f"{points[0]}", "pad by an operation of its own, or pool stored values: zero points 0",
        )  # fmt: skip
    _emit_sum(state, op, x, (height, width), strides, points[1])


def _counts(operation: AveragePool2D, x: TensorType) -> Array:
    """Elements inside the image in each window."""
    try:
        operation.infer([x])
    except OperationError as cause:
        raise Unsupported("GM106", str(cause)) from cause
    return operation.window_counts(x)


def _emit_sum(
    state: Import, op: TosaOp, x: Value, kernel: Pair, strides: Pair, out_point: int
) -> None:
    """Weights of 64 leave the first of two roundings six bits: no half arises there."""
    count, channels = kernel[0] * kernel[1], x.type.shape[3]
    bits = (count - 1).bit_length()
    multiplier = (((1 << 30) + 1) << bits) // count
    factors = Factors(np.array([multiplier]), np.array([30 + bits]), SINGLE)
    real = multiplier * 2.0 ** -(30 + bits) / _ONE
    mine = requantization([real])
    sums = np.arange(-255 * count, 255 * count + 1)
    rounding = Rounding.DOUBLE if state.rounding is Rounding.LITERT else state.rounding
    results = mine.apply(_ONE * sums, rounding)
    if count * 511 > _MOST_SUMS or (apply(sums, factors) != results).any():
        raise Unsupported("GM105", f"avg_pool2d of {count} elements with a zero point")
    ones = np.full((1, *kernel, channels), _ONE, np.int8)
    name, scale = op.results[0].name, Quantization((real / x.type.scale,), (0,))
    weights = state.builder.add_constant(ones, f"{name}/weight", scale)
    bias = state.builder.add_constant(np.zeros(channels, np.int32), f"{name}/bias")
    operation: Operation = DepthwiseConv2D(strides)
    out = TensorType(op.results[0].type.shape, _I8, Quantization((1.0,), (out_point,)))
    state.emit(op, operation, [x, weights, bias], out)
