"""What operators mean in float64: an oracle of its own, for finite differences."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from glowmcu.index_notation import plan_of
from glowmcu.index_notation.statements import Reduction
from glowmcu.ir.graph import Node, Value
from glowmcu.ir.operation import Constant
from glowmcu.ops.real import Clamp

Array = np.ndarray[Any, np.dtype[Any]]


def run(nodes: Sequence[Node], given: Mapping[Value, Array]) -> dict[Value, Array]:
    """All values, real numbers in float64."""
    values = dict(given)
    for node in nodes:
        inputs = [values[value] for value in node.inputs]
        values[node.outputs[0]] = _evaluate(node, inputs)
    return values


def _evaluate(node: Node, inputs: list[Array]) -> Array:
    op: Any = node.op
    if isinstance(op, Constant):
        return op.data.astype(np.float64) if op.data.dtype == np.float32 else op.data
    result = np.asarray(_MEANING[op.name](op, *inputs))
    assert result.shape == node.outputs[0].type.shape, op.name
    places = all(array.dtype == np.int32 for array in inputs)
    assert result.dtype in (np.int32 if places else np.float64, np.bool_), op.name
    return result


_CALLED: dict[str, Any] = {
    "where": lambda condition, yes, no: yes if condition else no,
    "clip": lambda x, low, high: min(max(x, low), high),
    "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "tanh": np.tanh, "sin": np.sin, "cos": np.cos,
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)), "floor": math.floor,
}  # fmt: skip
_REDUCED: dict[Reduction, Callable[[list[float]], float]] = {
    Reduction.NONE: lambda values: values[0], Reduction.SUM: sum, Reduction.PRODUCT: math.prod,
    Reduction.MAX: max, Reduction.MIN: min,
}  # fmt: skip


def _defined(op: Any, *inputs: Array) -> Array:
    """A definition in index notation, as the Python that it is written in, element by element."""
    definition = op.source.definition
    given = [(x.shape, "int32" if x.dtype.kind == "i" else "float32") for x in inputs]
    plan = plan_of(definition, given, op.numbers)
    names = [form.name for form in definition.inputs]
    held: dict[str, Any] = dict(zip(names, inputs, strict=True))
    for space in plan.spaces:
        statement, reduced = space.statement, space.reduced
        value = compile(ast.unparse(statement.value), "definition", "eval")
        made = np.zeros([space.sizes[name] for name in statement.indices])
        goes_on = statement.goes_on and statement.target in held
        for place in np.ndindex(*made.shape):
            outer = dict(zip(statement.indices, place, strict=True))
            values = [held[statement.target][place]] if goes_on else []
            for inner in itertools.product(*(range(space.sizes[name]) for name in reduced)):
                index = {**outer, **dict(zip(reduced, inner, strict=True))}
                values.append(eval(value, {**_CALLED, **held, **plan.numbers, **index}))
            made[place] = _REDUCED[statement.reduction](values)
        held[statement.target] = made
    result: Array = held[definition.outputs[0].name]
    return result


def _clamped(values: Array, clamp: Clamp) -> Array:
    return values if clamp is None else np.clip(values, *clamp)


def _matmul(op: Any, x: Array, y: Array) -> Array:
    left = np.swapaxes(x, -1, -2) if op.adj_x else x
    result: Array = left @ (np.swapaxes(y, -1, -2) if op.adj_y else y)
    return result


def _pixels(
    op: Any, x: Array, kernel: tuple[int, int], outside: float
) -> tuple[list[Array], tuple[int, int]]:
    """What each tap of a window sees, row by row, with loops that have nothing to do with ops/."""
    top, left, bottom, right = op.padding
    n, height, width, c = x.shape
    padded = np.full((n, height + top + bottom, width + left + right, c), outside)
    padded[:, top : top + height, left : left + width] = x
    (sy, sx), (dy, dx) = op.strides, op.dilations
    out_h = (padded.shape[1] - (kernel[0] - 1) * dy - 1) // sy + 1
    out_w = (padded.shape[2] - (kernel[1] - 1) * dx - 1) // sx + 1
    taps = []
    for ky in range(kernel[0]):
        for kx in range(kernel[1]):
            tap = np.empty((n, out_h, out_w, c))
            for y in range(out_h):
                for column in range(out_w):
                    tap[:, y, column] = padded[:, y * sy + ky * dy, column * sx + kx * dx]
            taps.append(tap)
    return taps, (out_h, out_w)


def _conv(op: Any, x: Array, weights: Array, bias: Array) -> Array:
    _, kh, kw, inputs = weights.shape
    groups = x.shape[3] // inputs
    parts = []
    for own, part in zip(np.split(weights, groups), np.split(x, groups, axis=3), strict=True):
        taps, _ = _pixels(op, part, (kh, kw), 0.0)
        parts.append(sum(tap @ own[:, i // kw, i % kw].T for i, tap in enumerate(taps)))
    return _clamped(np.concatenate(parts, axis=3) + bias, op.clamp)


def _transposed_conv(op: Any, x: Array, weights: Array, bias: Array) -> Array:
    """Every pixel adds its window to the result."""
    n, height, width, _ = x.shape
    outputs, kh, kw, inputs = weights.shape
    groups = x.shape[3] // inputs
    if groups > 1:
        apart = (np.split(x, groups, 3), np.split(weights, groups), np.split(bias, groups))
        parts = [_transposed_conv(op, *each) for each in zip(*apart, strict=True)]
        return np.concatenate(parts, axis=3)
    result = np.zeros((n, *op.size, outputs)) + bias
    for y, column, ky, kx in itertools.product(*map(range, (height, width, kh, kw))):
        row = y * op.strides[0] + ky * op.dilations[0] - op.padding[0]
        place = column * op.strides[1] + kx * op.dilations[1] - op.padding[1]
        if 0 <= row < op.size[0] and 0 <= place < op.size[1]:
            result[:, row, place] += x[:, y, column] @ weights[:, ky, kx].T
    return _clamped(result, op.clamp)


def _depthwise(op: Any, x: Array, weights: Array, bias: Array) -> Array:
    _, kh, kw, depth = weights.shape
    taps, _ = _pixels(op, x, (kh, kw), 0.0)
    repeated = [np.repeat(tap, depth // x.shape[3], axis=3) for tap in taps]
    total = sum(tap * weights[0, i // kw, i % kw] for i, tap in enumerate(repeated))
    return _clamped(np.asarray(total + bias), op.clamp)


def _average(op: Any, x: Array) -> Array:
    taps, _ = _pixels(op, x, op.kernel, 0.0)
    inside, _ = _pixels(op, np.ones_like(x), op.kernel, 0.0)
    return _clamped(np.sum(taps, axis=0) / np.sum(inside, axis=0), op.clamp)


def _largest(op: Any, x: Array) -> Array:
    taps, _ = _pixels(op, x, op.kernel, -np.inf)
    return _clamped(np.max(taps, axis=0), op.clamp)


def _softmax(op: Any, x: Array) -> Array:
    exponentials = np.exp(op.beta * (x - x.max(-1, keepdims=True)))
    return np.asarray(exponentials / exponentials.sum(-1, keepdims=True))


def _log_softmax(op: Any, x: Array) -> Array:
    return np.asarray(x - np.log(np.exp(x).sum(-1, keepdims=True)))


def _sliced(op: Any, x: Array) -> Array:
    places = [
        [begin + i * step for i in range(size)]
        for begin, size, step in zip(op.begin, op.size, op.step, strict=True)
    ]
    return x[np.ix_(*places)]


def _gathered(op: Any, x: Array, indices: Array) -> Array:
    if not op.batch_dims:
        return np.take(x, indices, axis=op.axis)
    inner = replace(op, axis=op.axis - 1, batch_dims=op.batch_dims - 1)
    return np.stack([_gathered(inner, *pair) for pair in zip(x, indices, strict=True)])


def _resized(op: Any, x: Array, means: bool) -> Array:
    """Each pixel from where it lies in the image, axis by axis."""
    for axis in (1, 2):
        size, count = x.shape[axis], op.size[axis - 1]
        scale, centre = size / count, 0.5 if op.half_pixel_centers else 0.0
        if op.align_corners and count > 1:
            scale = (size - 1) / (count - 1)
        parts = []
        for number in range(count):
            place = (number + centre) * scale - (centre if means else 0.0)
            if not means:
                place = float(math.floor(place + (0.5 if op.align_corners else 0.0)))
            place = min(max(place, 0.0), size - 1.0)
            low = math.floor(place)
            share, high = place - low, min(low + 1, size - 1)
            parts.append(x.take(low, axis) * (1 - share) + x.take(high, axis) * share)
        x = np.stack(parts, axis)
    return x


def _gathered_by_coordinates(op: Any, x: Array, indices: Array) -> Array:
    return np.asarray([x[tuple(place)] for place in indices])


def _gathered_elements(op: Any, x: Array, indices: Array) -> Array:
    result = np.empty(indices.shape)
    for place in np.ndindex(*indices.shape):
        taken = list(place)
        taken[op.axis] = indices[place]
        result[place] = x[tuple(taken)]
    return result


def _scattered(op: Any, x: Array, indices: Array, updates: Array) -> Array:
    result = x.astype(np.float64)
    for place in np.ndindex(*indices.shape[:-1]):
        result[tuple(indices[place])] += updates[place]
    return result


def _scattered_elements(op: Any, x: Array, indices: Array, updates: Array) -> Array:
    result = x.astype(np.float64)
    for place in np.ndindex(*indices.shape):
        taken = list(place)
        taken[op.axis] = indices[place]
        result[tuple(taken)] += updates[place]
    return result


def _running_sum(op: Any, x: Array) -> Array:
    rows = np.moveaxis(x, op.axis, 0)[:: -1 if op.reverse else 1]
    sums = [rows[: i + (not op.exclusive)].sum(0) for i in range(len(rows))]
    return np.moveaxis(np.stack(sums)[:: -1 if op.reverse else 1], 0, op.axis)


def _blocks_to_depth(op: Any, x: Array) -> Array:
    corners = itertools.product(range(op.block), repeat=2)
    return np.concatenate([x[:, y :: op.block, c :: op.block] for y, c in corners], axis=-1)


def _depth_to_blocks(op: Any, x: Array) -> Array:
    n, height, width, depth = x.shape
    result = np.empty((n, height * op.block, width * op.block, depth // op.block**2))
    corners = itertools.product(range(op.block), repeat=2)
    parts = np.split(x, op.block**2, axis=-1)
    for (y, c), part in zip(corners, parts, strict=True):
        result[:, y :: op.block, c :: op.block] = part
    return result


def _blocks_to_batch(op: Any, x: Array) -> Array:
    top, left, bottom, right = op.padding
    padded = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)))
    rows, columns = op.block
    corners = itertools.product(range(rows), range(columns))
    return np.concatenate([padded[:, y::rows, c::columns] for y, c in corners], axis=0)


def _batch_to_blocks(op: Any, x: Array) -> Array:
    (rows, columns), (top, left, bottom, right) = op.block, op.crops
    n, height, width, depth = x.shape
    whole = np.empty((n // (rows * columns), height * rows, width * columns, depth))
    corners = itertools.product(range(rows), range(columns))
    for (y, c), part in zip(corners, np.split(x, rows * columns), strict=True):
        whole[:, y::rows, c::columns] = part
    return whole[:, top : whole.shape[1] - bottom, left : whole.shape[2] - right]


def _lengths_one(op: Any, x: Array) -> Array:
    lengths = np.linalg.norm(x, axis=-1, keepdims=True)
    return np.asarray(x / np.maximum(lengths, op.epsilon))


def _standardized(op: Any, x: Array) -> Array:
    offsets = x - x.mean(-1, keepdims=True) * op.center
    return np.asarray(offsets / np.sqrt((offsets**2).mean(-1, keepdims=True) + op.epsilon))


def _gelu(op: Any, x: Array) -> Array:
    if op.approximate:
        return np.asarray(x / (1 + np.exp(-2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))
    return np.asarray(x * np.vectorize(math.erfc)(-x / math.sqrt(2)) / 2)


def _reduced(function: Callable[..., Array]) -> Callable[..., Array]:
    return lambda op, x: function(x, axis=op.axes, keepdims=op.keep_dims)


_MEANING: dict[str, Callable[..., Any]] = {
    "add": lambda op, a, b: _clamped(a + b, op.clamp),
    "sub": lambda op, a, b: _clamped(a - b, op.clamp),
    "mul": lambda op, a, b: _clamped(a * b, op.clamp),
    "div": lambda op, a, b: _clamped(a / b, op.clamp),
    "squared_difference": lambda op, a, b: _clamped((a - b) ** 2, op.clamp),
    "maximum": lambda op, a, b: np.maximum(a, b),
    "minimum": lambda op, a, b: np.minimum(a, b),
    "select": lambda op, c, a, b: np.where(c, a, b),
    "greater": lambda op, a, b: a > b,
    "equal": lambda op, a, b: a == b,
    "relu": lambda op, x: np.clip(x, *op.clamp),
    "leaky_relu": lambda op, x: np.where(x > 0, x, float(np.float32(op.alpha)) * x),
    "elu": lambda op, x: np.where(x > 0, x, np.exp(x) - 1),
    "hard_swish": lambda op, x: x * np.clip(x + 3, 0, 6) / 6,
    "logistic": lambda op, x: 1 / (1 + np.exp(-x)),
    "tanh": lambda op, x: np.tanh(x),
    "neg": lambda op, x: -x,
    "abs": lambda op, x: np.abs(x),
    "sign": lambda op, x: np.sign(x),
    "exp": lambda op, x: np.exp(x),
    "log": lambda op, x: np.log(x),
    "square": lambda op, x: x * x,
    "sqrt": lambda op, x: np.sqrt(x),
    "rsqrt": lambda op, x: 1 / np.sqrt(x),
    "reciprocal": lambda op, x: 1 / x,
    "power": lambda op, x: x**op.exponent,
    "sin": lambda op, x: np.sin(x),
    "cos": lambda op, x: np.cos(x),
    "tan": lambda op, x: np.tan(x),
    "asin": lambda op, x: np.arcsin(x),
    "acos": lambda op, x: np.arccos(x),
    "atan": lambda op, x: np.arctan(x),
    "sinh": lambda op, x: np.sinh(x),
    "cosh": lambda op, x: np.cosh(x),
    "asinh": lambda op, x: np.arcsinh(x),
    "acosh": lambda op, x: np.arccosh(x),
    "atanh": lambda op, x: np.arctanh(x),
    "erf": lambda op, x: np.vectorize(math.erf)(x),
    "ceil": lambda op, x: np.ceil(x),
    "floor": lambda op, x: np.floor(x),
    "round": lambda op, x: np.round(x),
    "pow": lambda op, a, b: a**b,
    "selu": lambda op, x: op.gamma * np.where(x > 0, x, op.alpha * (np.exp(x) - 1)),
    "celu": lambda op, x: np.where(x > 0, x, op.alpha * (np.exp(x / op.alpha) - 1)),
    "softplus": lambda op, x: np.log(1 + np.exp(x)),
    "softsign": lambda op, x: x / (1 + np.abs(x)),
    "mish": lambda op, x: x * np.tanh(np.log(1 + np.exp(x))),
    "swish": lambda op, x: x / (1 + np.exp(-op.alpha * x)),
    "gelu": _gelu,
    "hard_sigmoid": lambda op, x: np.clip(op.alpha * x + op.beta, 0, 1),
    "thresholded_relu": lambda op, x: np.where(x > op.alpha, x, 0),
    "shrink": lambda op, x: np.where(np.abs(x) > op.threshold, x - np.sign(x) * op.bias, 0),
    "prelu": lambda op, x, alpha: np.where(x > 0, x, x * alpha),
    "cumsum": _running_sum,
    "reduce_sum_absolute": lambda op, x: np.abs(x).sum(op.axes, keepdims=op.keep_dims),
    "l2_normalization": _lengths_one,
    "mean_variance_normalization": _standardized,
    "gather": _gathered,
    "resize_bilinear": lambda op, x: _resized(op, x, True),
    "resize_nearest_neighbor": lambda op, x: _resized(op, x, False),
    "gather_nd": _gathered_by_coordinates,
    "gather_elements": _gathered_elements,
    "scatter_nd": _scattered,
    "scatter_elements": _scattered_elements,
    "mirror_pad": lambda op, x: np.pad(
        x, op.paddings, mode="symmetric" if op.edge_twice else "reflect"
    ),
    "split": lambda op, x: np.split(x, np.cumsum(op.sizes)[:-1], op.axis)[0].reshape(
        [n for axis, n in enumerate(x.shape) if axis != op.axis]
        if op.drop_axis
        else [op.sizes[0] if axis == op.axis else n for axis, n in enumerate(x.shape)]
    ),
    "tile": lambda op, x: np.tile(x, op.multiples),
    "space_to_depth": _blocks_to_depth,
    "depth_to_space": _depth_to_blocks,
    "space_to_batch": _blocks_to_batch,
    "batch_to_space": _batch_to_blocks,
    "fully_connected": lambda op, x, w, b: _clamped(x @ w.T + b, op.clamp),
    "batch_matmul": _matmul,
    "conv_2d": _conv,
    "transpose_conv_2d": _transposed_conv,
    "depthwise_conv_2d": _depthwise,
    "average_pool_2d": _average,
    "max_pool_2d": _largest,
    "sum": _reduced(np.sum),
    "mean": _reduced(np.mean),
    "reduce_max": _reduced(np.max),
    "reduce_min": _reduced(np.min),
    "reduce_sum_square": lambda op, x: np.sum(x * x, axis=op.axes, keepdims=op.keep_dims),
    "reshape": lambda op, x: x.reshape(op.shape),
    "transpose": lambda op, x: np.transpose(x, op.permutation),
    "reverse": lambda op, x: np.flip(x, op.axes),
    "broadcast_to": lambda op, x: np.broadcast_to(x, op.shape),
    "concatenation": lambda op, *parts: np.concatenate(parts, op.axis),
    "slice": _sliced,
    "pad": lambda op, x: np.pad(x, op.paddings, constant_values=op.value),
    "copy": lambda op, x: x,
    "assign": lambda op, x: x,
    "defined": _defined,
    "defined_function": _defined,
    "softmax": _softmax,
    "log_softmax": _log_softmax,
}

#: So that a mistake of the oracle shows: it has no operator of real numbers but these.
assert math.isclose(float(_MEANING["logistic"](None, np.float64(0.0))), 0.5)
