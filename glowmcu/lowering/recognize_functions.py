"""What exporters write in steps becomes one operator: normalized rows, GELU, SiLU, scaled scores.

(x - mean) / sqrt(mean((x - mean)^2) + epsilon) along the last axis is a normalization of rows;
so is x / max(|x|, epsilon) along any axis, but for a factor;
x / 2 * (1 + erf(x / sqrt(2))), its factors in any order, is `gelu`; x * sigmoid(a * x) is `swish`;
x / (1 + |x|) is `softsign`; a softmax takes the factor of its operand. Each step of its own would
round to 8 bits, and there is no division of integers at all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Operation
from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.ir.types import ElementType
from glowmcu.ops.activation import Abs, Relu
from glowmcu.ops.division import Div
from glowmcu.ops.elementwise import Add, Maximum, Mul, SquaredDifference, Sub
from glowmcu.ops.moments import MeanVarianceNormalization
from glowmcu.ops.normalization import Softmax
from glowmcu.ops.parametric_activation import Softsign, Swish
from glowmcu.ops.real import FLOAT_MAX
from glowmcu.ops.real_functions import Erf, Power, Reciprocal, Sqrt, Square
from glowmcu.ops.reduction import Mean, ReduceSumSquare, Sum
from glowmcu.ops.tiling import BroadcastTo
from glowmcu.ops.transcendental import Gelu, Logistic, Rsqrt
from glowmcu.ops.transpose import Transpose

#: Factors that are meant to be 1, 1/2 and sqrt(1/2) are so in float32 or a digit less.
_NEAR = 1e-4
#: What keeps a length from being 0, and no more: vectors that are shorter may become longer.
_LEAST_LENGTH = 1e-6


def run(graph: Graph) -> Graph:
    """The graph with one operator for each such chain."""
    return rewrite(graph, _normalize, _to_unit_length, _gelu, _swish, _softsign, _softmax)


def _normalize(context: Context, node: Node) -> Sequence[Value] | None:
    """A quotient, or a product with the inverse, of offsets and their root mean square."""
    for offsets, root in _quotients(context, node):
        made = _normalized(context, offsets, root)
        if made is not None and made[1].type == node.output.type:
            return context.add(made[0], [made[1]], [node.output.type])
    return None


def _quotients(context: Context, node: Node) -> Iterator[tuple[Value, Value]]:
    """Dividends, each with the number whose root divides it."""
    if not _is_real(node) or getattr(node.op, "clamp", None) is not None:
        return
    if isinstance(node.op, Div):
        root = _made_by(context, node.inputs[1], Sqrt)
        if root is not None:
            yield node.inputs[0], root.inputs[0]
    if isinstance(node.op, Mul):
        for offsets, factor in (node.inputs, node.inputs[::-1]):
            inverse = _made_by(context, factor, Rsqrt)
            over = _made_by(context, factor, Reciprocal) or _one_over(context, factor)
            if over is not None:
                inverse = _made_by(context, over.inputs[-1], Sqrt)
            if inverse is not None:
                yield offsets, inverse.inputs[0]


def _one_over(context: Context, value: Value) -> Node | None:
    node = _made_by(context, value, Div)
    return node if node is not None and _is_near(context, node.inputs[0], 1.0) else None


def _normalized(context: Context, offsets: Value, total: Value) -> tuple[Operation, Value] | None:
    """The operator and its operand where `total` is the mean square of `offsets` and epsilon."""
    epsilon, variance = 0.0, total
    sum_ = _made_by(context, total, Add)
    if sum_ is not None:
        found = _with_number(context, sum_)
        if found is None or found[1] < 0:
            return None
        variance, epsilon = found
    mean = _mean_of_rows(context, variance)
    if mean is None:
        return None
    shifted = _offsets(context, offsets)
    squares = context.producer(mean)
    if squares is None:
        return None
    if isinstance(squares.op, SquaredDifference):
        same = shifted is not None and {*squares.inputs} == {*_node(context, offsets).inputs}
        return (MeanVarianceNormalization(epsilon), shifted) if same and shifted else None
    squared = _squared(squares)
    if squared is None:
        return None
    if squared is offsets or (shifted is not None and _offsets(context, squared) is shifted):
        if shifted is not None:
            return MeanVarianceNormalization(epsilon), shifted
        return MeanVarianceNormalization(epsilon, False), offsets
    return None


def _node(context: Context, value: Value) -> Node:
    node = context.producer(value)
    assert node is not None
    return node


def _offsets(context: Context, value: Value) -> Value | None:
    """x where `value` is x - mean(x)."""
    difference = _made_by(context, value, Sub)
    if difference is None:
        return None
    x, mean = difference.inputs
    return x if _mean_of_rows(context, mean) is x else None


def _mean_of_rows(context: Context, value: Value) -> Value | None:
    """The operand of a mean along the last axis that keeps it."""
    node = _made_by(context, value, Mean)
    if node is None:
        return None
    (x, *_), out = node.inputs, node.output.type
    rows = (*x.type.shape[:-1], 1)
    is_last = isinstance(node.op, Mean) and node.op.axes == (x.type.rank - 1,)
    return x if is_last and out.shape == rows else None


def _squared(node: Node) -> Value | None:
    op, x = node.op, node.inputs[0]
    if isinstance(op, Square) or (isinstance(op, Power) and op.exponent == 2.0):
        return x
    is_product = isinstance(op, Mul) and op.clamp is None and node.inputs[1] is x
    return x if is_product else None


def _to_unit_length(context: Context, node: Node) -> Sequence[Value] | None:
    """A quotient of x and the root of the sum of its squares along one axis, or a product with the
    inverse.
    """
    for x, squares, least in _by_lengths(context, node):
        axis = _axis_of_squares(context, squares, x)
        if axis is None or least > _LEAST_LENGTH**2 or x.type != node.output.type:
            continue
        last = x.type.rank - 1
        swap = list(range(last + 1))
        swap[axis], swap[last] = last, axis
        order, is_last = Transpose(tuple(swap)), axis == last
        type_ = x.type.with_shape(tuple(x.type.shape[place] for place in swap))
        depth = x.type.shape[axis]
        rows = x if is_last else context.add(order, [x], [type_])[0]
        operation = MeanVarianceNormalization(max(least, 0.0) / depth, False)
        (rows,) = context.add(operation, [rows], [type_])
        factor = np.full((1,) * x.type.rank, depth**-0.5, np.float32)
        (rows,) = context.add(Mul(), [rows, context.add_constant(factor)], [type_])
        return [rows] if is_last else context.add(order, [rows], [x.type])
    return None


def _by_lengths(context: Context, node: Node) -> Iterator[tuple[Value, Value, float]]:
    """Dividends, each with the number whose root divides it, and the least that this may be."""
    for x, square in _quotients(context, node):
        yield x, *_at_least(context, square)
    if isinstance(node.op, Div) and node.op.clamp is None:
        length, least = _at_least(context, node.inputs[1])
        root = _made_by(context, length, Sqrt)
        if root is not None:
            yield node.inputs[0], root.inputs[0], max(least, 0.0) ** 2


def _at_least(context: Context, value: Value) -> tuple[Value, float]:
    """x and the number where `value` is max(x, number), perhaps broadcast; else `value` and 0."""
    node = context.producer(value)
    if node is None or not all(item.type.element is ElementType.F32 for item in node.outputs):
        return value, 0.0
    if isinstance(node.op, BroadcastTo):
        return _at_least(context, node.inputs[0])
    if isinstance(node.op, Relu) and node.op.clamp[1] >= FLOAT_MAX:
        return node.inputs[0], node.op.clamp[0]
    found = _with_number(context, node) if isinstance(node.op, Maximum) else None
    return (value, 0.0) if found is None else found


def _axis_of_squares(context: Context, value: Value, x: Value) -> int | None:
    """The axis along which `value` sums the squares of `x`, and that it keeps."""
    node = context.producer(value)
    if node is None or not isinstance(node.op, ReduceSumSquare | Sum) or not _is_real(node):
        return None
    squared: Value | None = node.inputs[0]
    if isinstance(node.op, Sum):
        inner = context.producer(node.inputs[0])
        squared = None if inner is None else _squared(inner)
    kept = tuple(1 if axis in node.op.axes else n for axis, n in enumerate(x.type.shape))
    is_one = len(node.op.axes) == 1 and node.output.type.shape == kept
    return node.op.axes[0] if is_one and squared is x else None


def _softsign(context: Context, node: Node) -> Sequence[Value] | None:
    """x / (1 + |x|)."""
    if not isinstance(node.op, Div) or not _is_real(node) or node.op.clamp is not None:
        return None
    x, divisor = node.inputs
    sum_ = _made_by(context, divisor, Add)
    found = None if sum_ is None else _with_number(context, sum_)
    size = None if found is None or found[1] != 1.0 else _made_by(context, found[0], Abs)
    if size is None or size.inputs[0] is not x:
        return None
    return context.add(Softsign(), [x], [node.output.type])


def _gelu(context: Context, node: Node) -> Sequence[Value] | None:
    """Products of x, 1/2 and 1 + erf(x * sqrt(1/2)), in any order."""
    factors = _factors(context, node)
    if factors is None or len(factors[1]) != 2 or not math.isclose(factors[0], 0.5, rel_tol=_NEAR):
        return None
    for x, other in (factors[1], factors[1][::-1]):
        one_more = _made_by(context, other, Add)
        found = None if one_more is None else _with_number(context, one_more)
        if found is None or not math.isclose(found[1], 1.0, rel_tol=_NEAR):
            continue
        error = _made_by(context, found[0], Erf)
        if error is not None and _is_scaled(context, error.inputs[0], x, math.sqrt(0.5)):
            return context.add(Gelu(), [x], [node.output.type])
    return None


def _swish(context: Context, node: Node) -> Sequence[Value] | None:
    """x * sigmoid(alpha * x)."""
    factors = _factors(context, node)
    if factors is None or len(factors[1]) != 2 or factors[0] != 1.0:
        return None
    for x, other in (factors[1], factors[1][::-1]):
        sigmoid = _made_by(context, other, Logistic)
        if sigmoid is None:
            continue
        inner = _factors(context, context.producer(sigmoid.inputs[0]))
        if sigmoid.inputs[0] is x:
            return context.add(Swish(), [x], [node.output.type])
        if inner is not None and inner[1] == [x]:
            return context.add(Swish(inner[0]), [x], [node.output.type])
    return None


def _softmax(context: Context, node: Node) -> Sequence[Value] | None:
    """softmax(x * number): its own factor."""
    op = node.op
    inner = context.producer(node.inputs[0]) if isinstance(op, Softmax) else None
    found = _factors(context, inner)
    if not isinstance(op, Softmax) or found is None or len(found[1]) != 1 or not found[0] > 0:
        return None
    beta = op.beta * found[0]
    return context.add(Softmax(beta), found[1], [node.output.type])


def _is_scaled(context: Context, value: Value, x: Value, factor: float) -> bool:
    """Whether `value` is x * factor."""
    found = _factors(context, context.producer(value))
    if found is None or found[1] != [x]:
        return False
    return math.isclose(found[0], factor, rel_tol=_NEAR)


def _factors(context: Context, node: Node | None) -> tuple[float, list[Value]] | None:
    """A product as a number and tensors of its own shape; None for what is no product."""
    if node is None or not isinstance(node.op, Mul | Div) or not _is_real(node):
        return None
    if node.op.clamp is not None:
        return None
    number, tensors = 1.0, list[Value]()
    for position, value in enumerate(node.inputs):
        constant = _number(context, value)
        inverted = isinstance(node.op, Div) and position == 1
        if constant is not None and constant != 0:
            number *= 1 / constant if inverted else constant
            continue
        if inverted or value.type != node.output.type:
            return None
        inner = None if value in tensors else _factors(context, context.producer(value))
        if inner is None or not _is_free(context, value, node):
            tensors.append(value)
        else:
            number *= inner[0]
            tensors += inner[1]
    return number, tensors


def _is_free(context: Context, value: Value, reader: Node) -> bool:
    """Whether a factor may be taken apart: nobody else reads it."""
    return context.users(value) == (reader,) and not context.is_output(value)


def _with_number(context: Context, node: Node) -> tuple[Value, float] | None:
    """The operands of a sum of which one is a single number."""
    if getattr(node.op, "clamp", None) is not None:
        return None
    for value, other in (node.inputs, node.inputs[::-1]):
        number = _number(context, other)
        if number is not None and value.type == node.output.type:
            return value, number
    return None


def _is_near(context: Context, value: Value, number: float) -> bool:
    found = _number(context, value)
    return found is not None and math.isclose(found, number, rel_tol=_NEAR)


def _number(context: Context, value: Value) -> float | None:
    """The value of a constant of equal elements."""
    data = context.constant(value)
    if data is None or data.size == 0 or (data != data.flat[0]).any():
        return None
    return float(data.flat[0])


def _made_by(context: Context, value: Value, kind: type[Operation]) -> Node | None:
    """The node of that operator, without a clamp, that makes a float `value`."""
    node = context.producer(value)
    if node is None or not isinstance(node.op, kind) or not _is_real(node):
        return None
    return node if getattr(node.op, "clamp", None) is None else None


def _is_real(node: Node) -> bool:
    return all(value.type.element is ElementType.F32 for value in (*node.inputs, *node.outputs))
