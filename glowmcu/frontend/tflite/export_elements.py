"""Operators without weights, back to TFLite: arithmetic, functions, reductions, movement."""

from __future__ import annotations

from typing import Any

from glowmcu.frontend.tflite.exporter import Export, exporter
from glowmcu.frontend.tflite.importer import Unsupported
from glowmcu.frontend.tflite.writer_options import OptionValue
from glowmcu.ir.graph import Node
from glowmcu.ir.operation import Operation
from glowmcu.ir.types import TensorType
from glowmcu.ops.activation import Abs, Clip, HardSwish, LeakyRelu, Neg, Relu, quantize_bound
from glowmcu.ops.elementwise import Add, Maximum, Minimum, Mul, Prelu, SquaredDifference, Sub
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.normalization import L2Normalization, LogSoftmax, Softmax
from glowmcu.ops.padding import MirrorPad, Pad
from glowmcu.ops.quantization import Dequantize, Quantize, Requantize
from glowmcu.ops.real import FLOAT_MAX
from glowmcu.ops.reduction import Mean, ReduceMax, ReduceMin, Sum
from glowmcu.ops.resize import ResizeBilinear, ResizeNearestNeighbor
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice, Split
from glowmcu.ops.space import DepthToSpace, SpaceToDepth
from glowmcu.ops.transcendental import Elu, Exp, Gelu, Log, Logistic, Rsqrt, Tanh
from glowmcu.ops.transpose import Transpose

_PLAIN: dict[type[Operation], str] = {
    Abs: "ABS", Dequantize: "DEQUANTIZE", Elu: "ELU", Exp: "EXP", HardSwish: "HARD_SWISH",
    L2Normalization: "L2_NORMALIZATION", Log: "LOG", LogSoftmax: "LOG_SOFTMAX",
    Logistic: "LOGISTIC", Maximum: "MAXIMUM", Minimum: "MINIMUM", Neg: "NEG", Prelu: "PRELU",
    Quantize: "QUANTIZE", Requantize: "QUANTIZE", Rsqrt: "RSQRT",
    SquaredDifference: "SQUARED_DIFFERENCE", Tanh: "TANH",
}  # fmt: skip
_REDUCTIONS: dict[type[Operation], str] = {
    Mean: "MEAN", ReduceMax: "REDUCE_MAX", ReduceMin: "REDUCE_MIN", Sum: "SUM",
}  # fmt: skip
#: Attributes of ours and the options that hold them.
_OPTIONS: dict[type[Operation], tuple[str, dict[str, str]]] = {
    Softmax: ("SOFTMAX", {"beta": "beta"}),
    LeakyRelu: ("LEAKY_RELU", {"alpha": "alpha"}),
    Gelu: ("GELU", {"approximate": "approximate"}),
    Concatenation: ("CONCATENATION", {"axis": "axis"}),
    SpaceToDepth: ("SPACE_TO_DEPTH", {"block": "block_size"}),
    DepthToSpace: ("DEPTH_TO_SPACE", {"block": "block_size"}),
}


@exporter(*_PLAIN)
def export_plain(state: Export, node: Node) -> None:
    """Operands, and no attributes that TFLite could say."""
    if getattr(node.op, "clamp", None) is not None:
        raise Unsupported("GM194", f"{node.op.name} has no fused activation in TFLite")
    state.emit(node, _PLAIN[type(node.op)], [state.ref(value) for value in node.inputs])


@exporter(*_OPTIONS)
def export_with_options(state: Export, node: Node) -> None:
    """Attributes that TFLite has under another name."""
    kind, names = _OPTIONS[type(node.op)]
    options: dict[str, OptionValue] = {
        option: getattr(node.op, attribute) for attribute, option in names.items()
    }
    state.emit(node, kind, [state.ref(value) for value in node.inputs], **options)


@exporter(Add, Sub, Mul)
def export_arithmetic(state: Export, node: Node) -> None:
    """With a fused activation."""
    operands = [state.ref(value) for value in node.inputs]
    state.emit_clamped(node, node.op.name.upper(), operands)


@exporter(*_REDUCTIONS)
def export_reduction(state: Export, node: Node) -> None:
    """Axes are an operand."""
    op: Any = node.op
    axes = state.integers(op.axes, f"{node.name}/axes")
    operands = [state.ref(node.inputs[0]), axes]
    state.emit(node, _REDUCTIONS[type(op)], operands, keep_dims=op.keep_dims)


@exporter(Reshape)
def export_reshape(state: Export, node: Node) -> None:
    """The shape is an operand and an option."""
    shape = node.output.type.shape
    operands = [state.ref(node.inputs[0]), state.integers(shape, f"{node.name}/shape")]
    state.emit(node, "RESHAPE", operands, new_shape=shape)


@exporter(Transpose)
def export_transpose(state: Export, node: Node) -> None:
    """The permutation is an operand."""
    assert isinstance(node.op, Transpose)
    order = state.integers(node.op.permutation, f"{node.name}/permutation")
    state.emit(node, "TRANSPOSE", [state.ref(node.inputs[0]), order])


@exporter(Pad)
def export_pad(state: Export, node: Node) -> None:
    """PAD fills with real zeros; everything else is PADV2."""
    op, x = node.op, node.inputs[0]
    assert isinstance(op, Pad)
    operands = [state.ref(x), state.integers(op.paddings, f"{node.name}/padding")]
    zero = 0 if x.type.quantization is None else x.type.zero_point
    if op.value != zero:
        operands.append(state.scalar(op.value, x.type, f"{node.name}/value"))
    state.emit(node, "PAD" if op.value == zero else "PADV2", operands)


@exporter(MirrorPad)
def export_mirror_pad(state: Export, node: Node) -> None:
    """SYMMETRIC repeats the edge."""
    assert isinstance(node.op, MirrorPad)
    paddings = state.integers(node.op.paddings, f"{node.name}/padding")
    mode = "SYMMETRIC" if node.op.edge_twice else "REFLECT"
    state.emit(node, "MIRROR_PAD", [state.ref(node.inputs[0]), paddings], mode=mode)


@exporter(Slice)
def export_slice(state: Export, node: Node) -> None:
    """SLICE without steps, STRIDED_SLICE with."""
    op = node.op
    assert isinstance(op, Slice)
    x = state.ref(node.inputs[0])
    begin = state.integers(op.begin, f"{node.name}/begin")
    if set(op.step) <= {1}:
        state.emit(node, "SLICE", [x, begin, state.integers(op.size, f"{node.name}/size")])
        return
    if min(op.step) < 1:
        raise Unsupported("GM194", f"a slice that runs backwards, {op.step}")
    ends = [b + (s - 1) * t + 1 for b, s, t in zip(op.begin, op.size, op.step, strict=True)]
    end, step = (state.integers(v, f"{node.name}/range") for v in (ends, op.step))
    state.emit(node, "STRIDED_SLICE", [x, begin, end, step])


@exporter(Split)
def export_split(state: Export, node: Node) -> None:
    """UNPACK, or SPLIT_V for parts of any size."""
    op, x = node.op, node.inputs[0]
    assert isinstance(op, Split)
    if op.drop_axis:
        state.emit(node, "UNPACK", [state.ref(x)], num=len(node.outputs), axis=op.axis)
        return
    sizes = state.integers(op.sizes, f"{node.name}/sizes")
    axis = state.integers(op.axis, f"{node.name}/axis")
    state.emit(node, "SPLIT_V", [state.ref(x), sizes, axis], num_splits=len(node.outputs))


@exporter(ResizeBilinear, ResizeNearestNeighbor)
def export_resize(state: Export, node: Node) -> None:
    """The size is an operand."""
    op = node.op
    assert isinstance(op, ResizeBilinear | ResizeNearestNeighbor)
    operands = [state.ref(node.inputs[0]), state.integers(op.size, f"{node.name}/size")]
    state.emit(
        node, op.name.upper(), operands,
        align_corners=op.align_corners, half_pixel_centers=op.half_pixel_centers,
    )  # fmt: skip


@exporter(Relu)
def export_relu(state: Export, node: Node) -> None:
    """RELU and its relatives rescale; other clamps have no operator that does both."""
    op, type_ = node.op, node.output.type
    assert isinstance(op, Relu)
    for kind, low, high in _RELUS:
        if op.clamp == _stored(type_, low, high):
            state.emit(node, kind, [state.ref(node.inputs[0])])
            return
    raise Unsupported("GM194", f"an activation clamped to {op.clamp} is not TFLite's")


_RELUS = (
    ("RELU", 0.0, None), ("RELU_N1_TO_1", -1.0, 1.0), ("RELU_0_TO_1", 0.0, 1.0),
)  # fmt: skip


def _stored(type_: TensorType, low: float, high: float | None) -> tuple[float, float]:
    if type_.element.is_float:
        return low, FLOAT_MAX if high is None else high
    lowest, highest = type_.element.limits
    bounds = quantize_bound(low, type_), highest if high is None else quantize_bound(high, type_)
    return max(bounds[0], lowest), min(bounds[1], highest)


@exporter(Clip)
def export_clip(state: Export, node: Node) -> None:
    """Stored values between two constants."""
    op, type_ = node.op, node.output.type
    assert isinstance(op, Clip)
    lower = state.inner(type_, f"{node.name}/lower")
    low, high = (state.scalar(bound, type_, f"{node.name}/bound") for bound in op.clamp)
    state.builder.op("MAXIMUM", [state.ref(node.inputs[0]), low], [lower])
    state.emit(node, "MINIMUM", [lower, high])
