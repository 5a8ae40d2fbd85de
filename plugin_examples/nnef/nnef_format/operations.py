"""The operations of NNEF that networks for microcontrollers are made of.

NNEF is NCHW and the IR is NHWC: spatial operations transpose in and out, and passes cancel what
is between. Source: The Khronos NNEF specification 1.0.5, 4.
"""

from __future__ import annotations

import math

import numpy as np

from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Operation
from glowmcu.ops.activation import Relu
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.elementwise import Add, Mul, Sub
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.normalization import Softmax
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D
from glowmcu.ops.real import FLOAT_MAX
from glowmcu.ops.reduction import Mean
from glowmcu.ops.shape import Reshape
from glowmcu.ops.transcendental import Logistic, Tanh
from glowmcu.ops.transpose import Transpose
from nnef_format.container import Invocation
from nnef_format.reader import Import, operation

_TO_NHWC, _TO_NCHW = (0, 2, 3, 1), (0, 3, 1, 2)
_FUNCTIONS = {"relu": Relu((0.0, FLOAT_MAX)), "sigmoid": Logistic(), "tanh": Tanh()}
_PAIRS: dict[str, Operation] = {"add": Add(), "sub": Sub(), "mul": Mul()}


@operation("external", "shape")
def _external(state: Import, op: Invocation) -> None:
    state.input(op, state.integers(op, "shape"))


@operation("variable", "shape", "label")
def _variable(state: Import, op: Invocation) -> None:
    label, shape = state.argument(op, "label"), state.integers(op, "shape")
    data = state.model.variables.get(label)
    if data is None or data.shape != shape:
        raise Unsupported("GM105", f"there is no tensor file {label}.dat of shape {shape}")
    state.bind(op, state.constant(data, op.results[0]))


@operation("relu", "x")
@operation("sigmoid", "x")
@operation("tanh", "x")
def _function(state: Import, op: Invocation) -> None:
    state.emit(op, _FUNCTIONS[op.operation], [state.tensor(op, "x")])


@operation("copy", "x")
def _copy(state: Import, op: Invocation) -> None:
    state.bind(op, state.tensor(op, "x"))


@operation("add", "x", "y")
@operation("sub", "x", "y")
@operation("mul", "x", "y")
def _pair(state: Import, op: Invocation) -> None:
    """Shapes are aligned at their first axis."""
    x, y = state.tensor(op, "x"), state.tensor(op, "y")
    rank = max(x.type.rank, y.type.rank)
    state.emit(op, _PAIRS[op.operation], [_of_rank(state, op, v, rank) for v in (x, y)])


def _of_rank(state: Import, op: Invocation, x: Value, rank: int) -> Value:
    if x.type.rank in (0, rank):
        return x
    shape = (*x.type.shape, *(1,) * (rank - x.type.rank))
    return state.node(op, Reshape(shape), [x])


@operation("softmax", "x", "axes")
def _softmax(state: Import, op: Invocation) -> None:
    x = state.tensor(op, "x")
    axes = state.integers(op, "axes") or (1,)
    if x.type.rank != 2 or axes != (1,):
        raise Unsupported("GM105", f"softmax of {x.type} over {axes}; expected rank 2, axis 1")
    state.emit(op, Softmax(), [x])


@operation("reshape", "input", "shape", "axis_start", "axis_count")
def _reshape(state: Import, op: Invocation) -> None:
    """Axes from `axis_start` on, `axis_count` of them; 0 keeps a size, -1 is what is left."""
    x, wanted = state.tensor(op, "input"), state.integers(op, "shape")
    start, count = state.argument(op, "axis_start", 0), state.argument(op, "axis_count", -1)
    sizes = x.type.shape
    end = len(sizes) if count == -1 else start + count
    part = sizes[start:end]
    kept = [part[i] if n == 0 and i < len(part) else n for i, n in enumerate(wanted)]
    known = math.prod(n for n in kept if n != -1)
    rest = math.prod(part) // known if known else 0
    shape = (*sizes[:start], *(rest if n == -1 else n for n in kept), *sizes[end:])
    state.emit(op, Reshape(shape), [x])


@operation("transpose", "input", "axes")
def _transpose(state: Import, op: Invocation) -> None:
    x, axes = state.tensor(op, "input"), state.integers(op, "axes")
    state.emit(op, Transpose((*axes, *range(len(axes), x.type.rank))), [x])


@operation("concat", "values", "axis")
def _concat(state: Import, op: Invocation) -> None:
    values = [state.value(op, item) for item in state.argument(op, "values", [])]
    state.emit(op, Concatenation(state.argument(op, "axis")), values)


@operation("mean_reduce", "input", "axes")
def _mean(state: Import, op: Invocation) -> None:
    state.emit(op, Mean(state.integers(op, "axes"), True), [state.tensor(op, "input")])


@operation("linear", "input", "filter", "bias")
def _linear(state: Import, op: Invocation) -> None:
    weights = state.known(op, "filter")
    bias = np.broadcast_to(state.known(op, "bias").reshape(-1), len(weights))
    operands = [state.tensor(op, "input"), state.tensor(op, "filter"), state.constant(bias, "bias")]
    state.emit(op, FullyConnected(), operands)


_WINDOW = ("border", "padding", "stride", "dilation")


@operation("conv", "input", "filter", "bias", *_WINDOW, "groups")
def _conv(state: Import, op: Invocation) -> None:
    x, weights = state.tensor(op, "input"), state.known(op, "filter")
    if x.type.rank != 4 or weights.ndim != 4:
        raise Unsupported("GM105", f"conv of {x.type}: two spatial axes are supported")
    _expect_border(state, op, "constant")
    groups = state.argument(op, "groups", 1) or x.type.shape[1]
    strides, dilations, padding = _window(state, op, x.type.shape[2:], weights.shape[2:], 2)
    if weights.shape[1] * groups != x.type.shape[1]:
        raise Unsupported("GM106", f"conv: {groups} groups of {weights.shape} on {x.type}")
    bias = np.broadcast_to(state.known(op, "bias").reshape(-1), len(weights))
    depthwise = weights.shape[1] == 1 and groups == x.type.shape[1] > 1
    kind = DepthwiseConv2D if depthwise else Conv2D
    order = (1, 2, 3, 0) if depthwise else (0, 2, 3, 1)
    operands = [
        state.node(op, Transpose(_TO_NHWC), [x]),
        state.constant(weights.transpose(order), f"{op.results[0]}/weights"),
        state.constant(bias, f"{op.results[0]}/bias"),
    ]
    image = state.node(op, kind(strides, dilations, padding), operands)
    state.emit(op, Transpose(_TO_NCHW), [image])


@operation("max_pool", "input", "size", *_WINDOW)
@operation("avg_pool", "input", "size", *_WINDOW)
def _pool(state: Import, op: Invocation) -> None:
    x, size = state.tensor(op, "input"), state.integers(op, "size")
    if x.type.rank != 4 or len(size) != 4 or size[:2] != (1, 1):
        raise Unsupported("GM105", f"{op.operation} of {size} on {x.type}")
    strides, dilations, padding = _window(state, op, x.type.shape, size, 4)
    if any(padding):
        _expect_border(state, op, "ignore")
    if dilations != (1, 1):
        raise Unsupported("GM105", f"{op.operation}: dilation {dilations}; expected none")
    kind = MaxPool2D if op.operation == "max_pool" else AveragePool2D
    pool = kind(kernel=size[2:], strides=strides, padding=padding)
    image = state.node(op, Transpose(_TO_NHWC), [x])
    state.emit(op, Transpose(_TO_NCHW), [state.node(op, pool, [image])])


def _expect_border(state: Import, op: Invocation, wanted: str) -> None:
    border = state.argument(op, "border", "constant")
    if border != wanted:
        raise Unsupported("GM105", f"{op.operation}: border is {border!r}, expected {wanted!r}")


def _window(
    state: Import, op: Invocation, sizes: tuple[int, ...], kernel: tuple[int, ...], axes: int
) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int, int, int]]:
    """Strides, dilations, and padding (top, left, bottom, right) of the last two axes."""
    steps, gaps = (state.integers(op, name) or (1,) * axes for name in ("stride", "dilation"))
    given = state.argument(op, "padding", [])
    if not given:  # as many windows as strides, the odd element of padding behind
        spans = [(k - 1) * d + 1 for k, d in zip(kernel, gaps, strict=True)]
        totals = [
            max((-(-n // step) - 1) * step + span - n, 0)
            for n, step, span in zip(sizes, steps, spans, strict=True)
        ]
        given = [(total // 2, total - total // 2) for total in totals]
    if len(steps) != axes or len(gaps) != axes or len(given) != axes:
        raise Unsupported("GM105", f"{op.operation}: stride, dilation or padding of another rank")
    (top, bottom), (left, right) = given[-2:]
    return (steps[-2], steps[-1]), (gaps[-2], gaps[-1]), (top, left, bottom, right)
