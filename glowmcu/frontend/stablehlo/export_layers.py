"""Layers with weights or windows, and reductions, in StableHLO."""

from __future__ import annotations

import math

from glowmcu.frontend.stablehlo.exporter import Export, Ref, exporter, integers, pairs, reduction
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Node
from glowmcu.ir.types import Shape
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.matmul import BatchMatMul, FullyConnected
from glowmcu.ops.moments import MeanVarianceNormalization
from glowmcu.ops.normalization import L2Normalization, LogSoftmax, Softmax
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D
from glowmcu.ops.reduction import (
    Mean,
    ReduceMax,
    ReduceMin,
    ReduceProd,
    ReduceSumAbsolute,
    ReduceSumSquare,
    Reduction,
    Sum,
)


@exporter(Conv2D, DepthwiseConv2D)
def export_convolution(state: Export, node: Node) -> None:
    """Weights are OHWI with groups, or (depthwise) IHWO with a group for each input channel."""
    op, out = node.op, node.output.type
    assert isinstance(op, Conv2D | DepthwiseConv2D)
    x, weights, bias = state.refs(node)
    is_depthwise = isinstance(op, DepthwiseConv2D)
    groups = x.shape[3] // (1 if is_depthwise else weights.shape[3])
    kernel = "i, 0, 1, o" if is_depthwise else "o, 0, 1, i"
    top, left, bottom, right = op.padding
    sums = state.emit(
        "convolution", [x, weights], out.shape,
        window_strides=integers(op.strides), padding=pairs([(top, bottom), (left, right)]),
        rhs_dilation=integers(op.dilations),
        dimension_numbers=f"#stablehlo.conv<[b, 0, 1, f]x[{kernel}]->[b, 0, 1, f]>",
        feature_group_count=f"{groups} : i64", batch_group_count="1 : i64",
    )  # fmt: skip
    state.bind(node.output, state.clamp(state.binary("add", sums, bias), op.clamp))


@exporter(FullyConnected)
def export_fully_connected(state: Export, node: Node) -> None:
    """Both operands along their last axes."""
    op, out = node.op, node.output.type
    assert isinstance(op, FullyConnected)
    x, weights, bias = state.refs(node)
    numbers = _dot((), ((len(x.shape) - 1,), (1,)))
    sums = state.emit("dot_general", [x, weights], out.shape, dot_dimension_numbers=numbers)
    state.bind(node.output, state.clamp(state.binary("add", sums, bias), op.clamp))


@exporter(BatchMatMul)
def export_batch_matmul(state: Export, node: Node) -> None:
    """Axes in front are batches, broadcast first."""
    op, out = node.op, node.output.type
    assert isinstance(op, BatchMatMul)
    batch = out.shape[:-2]
    x, y = (state.aligned(ref, (*batch, *ref.shape[-2:])) for ref in state.refs(node))
    count = len(batch)
    inner = (count if op.adj_x else count + 1,), (count + 1 if op.adj_y else count,)
    numbers = _dot(tuple(range(count)), inner)
    product = state.emit("dot_general", [x, y], out.shape, dot_dimension_numbers=numbers)
    state.bind(node.output, product)


def _dot(batch: tuple[int, ...], inner: tuple[tuple[int, ...], tuple[int, ...]]) -> str:
    sides = []
    for side, axes in zip(("lhs", "rhs"), inner, strict=True):
        if batch:
            sides.append(f"{side}_batching_dimensions = {list(batch)}")
        sides.append(f"{side}_contracting_dimensions = {list(axes)}")
    batches = [text for text in sides if "batching" in text]
    return f"#stablehlo.dot<{', '.join([*batches, *(s for s in sides if s not in batches)])}>"


@exporter(MaxPool2D, AveragePool2D)
def export_pool(state: Export, node: Node) -> None:
    """A window's maximum, or its sum over the number of its elements in the image."""
    op, out = node.op, node.output.type
    assert isinstance(op, MaxPool2D | AveragePool2D)
    (x,) = state.refs(node)
    is_max = isinstance(op, MaxPool2D)
    top, left, bottom, right = op.padding
    found = state.emit(
        "reduce_window", [x, state.number(-math.inf if is_max else 0.0)], out.shape,
        region=reduction("maximum" if is_max else "add"),
        window_dimensions=integers((1, *op.kernel, 1)),
        window_strides=integers((1, *op.strides, 1)),
        window_dilations=integers((1, *op.dilations, 1)),
        padding=pairs([(0, 0), (top, bottom), (left, right), (0, 0)]),
    )  # fmt: skip
    if isinstance(op, AveragePool2D):
        counts = op.window_counts(node.inputs[0].type).astype("float32")
        found = state.binary("divide", found, state.constant(counts))
    state.bind(node.output, state.clamp(found, op.clamp))


@exporter(Softmax, LogSoftmax)
def export_softmax(state: Export, node: Node) -> None:
    """Less the row's maximum first."""
    op, (x,) = node.op, state.refs(node)
    below = state.binary("subtract", x, _along_rows(state, "maximum", x, -math.inf))
    if isinstance(op, Softmax) and op.beta != 1.0:
        below = state.binary("multiply", below, op.beta)
    exponentials = state.unary("exponential", below)
    total = _along_rows(state, "add", exponentials, 0.0)
    if isinstance(op, LogSoftmax):
        state.bind(node.output, state.binary("subtract", below, state.unary("log", total)))
        return
    state.bind(node.output, state.binary("divide", exponentials, total))


@exporter(L2Normalization)
def export_l2_normalization(state: Export, node: Node) -> None:
    """x / max(sqrt(sum x^2), epsilon)."""
    op, (x,) = node.op, state.refs(node)
    assert isinstance(op, L2Normalization)
    squares = _along_rows(state, "add", state.binary("multiply", x, x), 0.0)
    length = state.binary("maximum", state.unary("sqrt", squares), op.epsilon)
    state.bind(node.output, state.binary("divide", x, length))


@exporter(MeanVarianceNormalization)
def export_mean_variance_normalization(state: Export, node: Node) -> None:
    """(x - mean) / sqrt(variance + epsilon)."""
    op, (x,) = node.op, state.refs(node)
    assert isinstance(op, MeanVarianceNormalization)
    count = float(x.shape[-1])
    if op.center:
        mean = state.binary("divide", _along_rows(state, "add", x, 0.0), count)
        x = state.binary("subtract", x, mean)
    squares = _along_rows(state, "add", state.binary("multiply", x, x), 0.0)
    variance = state.binary("add", state.binary("divide", squares, count), op.epsilon)
    state.bind(node.output, state.binary("divide", x, state.unary("sqrt", variance)))


def _along_rows(state: Export, name: str, x: Ref, start: float) -> Ref:
    """Reduced along the last axis, which stays with length 1."""
    found = state.reduce(name, x, (len(x.shape) - 1,), start)
    return state.reshape(found, (*x.shape[:-1], 1))


@exporter(Mean, Sum, ReduceMax, ReduceMin, ReduceProd, ReduceSumAbsolute, ReduceSumSquare)
def export_reduction(state: Export, node: Node) -> None:
    """A mean is the sum over the number of elements."""
    op, (x,) = node.op, state.refs(node)
    assert isinstance(op, Reduction)
    if 0 in x.shape:
        raise Unsupported("GM155", f"a reduction of nothing: {x.type}")
    if isinstance(op, ReduceMax):
        found = state.reduce("maximum", x, op.axes, -math.inf)
    elif isinstance(op, ReduceMin):
        found = state.reduce("minimum", x, op.axes, math.inf)
    elif isinstance(op, ReduceProd):
        found = state.reduce("multiply", x, op.axes, 1.0)
    else:
        if isinstance(op, ReduceSumSquare):
            x = state.binary("multiply", x, x)
        elif isinstance(op, ReduceSumAbsolute):
            x = state.unary("abs", x)
        found = state.reduce("add", x, op.axes, 0.0)
    if isinstance(op, Mean):
        found = state.binary("divide", found, float(op.reduced_count(node.inputs[0].type)))
    shape: Shape = node.output.type.shape
    state.bind(node.output, state.reshape(found, shape))
