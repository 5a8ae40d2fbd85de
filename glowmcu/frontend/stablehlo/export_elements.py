"""Element-wise operators of real numbers in StableHLO."""

from __future__ import annotations

import math
from collections.abc import Callable

from glowmcu.frontend.stablehlo.exporter import Export, Ref, exporter
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Node
from glowmcu.ir.operation import Operation
from glowmcu.ops.activation import Abs, HardSwish, LeakyRelu, Neg, Relu
from glowmcu.ops.division import Div
from glowmcu.ops.elementwise import (
    Add,
    Arithmetic,
    Maximum,
    Minimum,
    Mul,
    Prelu,
    SquaredDifference,
    Sub,
)
from glowmcu.ops.multiply_add import MultiplyAdd
from glowmcu.ops.parametric_activation import (
    Celu,
    HardSigmoid,
    Mish,
    Selu,
    Softplus,
    Softsign,
    Swish,
)
from glowmcu.ops.real_functions import (
    Ceil,
    Cos,
    Floor,
    Power,
    Reciprocal,
    Round,
    Sign,
    Sin,
    Sqrt,
    Square,
    Tan,
)
from glowmcu.ops.transcendental import Elu, Exp, Gelu, Log, Logistic, Rsqrt, Tanh

_NAMES: dict[type[Operation], str] = {
    Abs: "abs", Ceil: "ceil", Cos: "cosine", Exp: "exponential", Floor: "floor", Log: "log",
    Logistic: "logistic", Neg: "negate", Round: "round_nearest_even", Rsqrt: "rsqrt",
    Sign: "sign", Sin: "sine", Sqrt: "sqrt", Tan: "tan", Tanh: "tanh",
}  # fmt: skip
_ARITHMETIC: dict[type[Operation], str] = {
    Add: "add", Div: "divide", Maximum: "maximum", Minimum: "minimum", Mul: "multiply",
    Sub: "subtract", SquaredDifference: "subtract",
}  # fmt: skip


@exporter(*_NAMES)
def export_function(state: Export, node: Node) -> None:
    """One that StableHLO has."""
    (x,) = state.refs(node)
    state.bind(node.output, state.unary(_NAMES[type(node.op)], x))


@exporter(*_ARITHMETIC)
def export_arithmetic(state: Export, node: Node) -> None:
    """With a fused activation."""
    a, b = state.refs(node)
    found = state.binary(_ARITHMETIC[type(node.op)], a, b)
    if isinstance(node.op, SquaredDifference):
        found = state.binary("multiply", found, found)
    limits = node.op.clamp if isinstance(node.op, Arithmetic) else None
    state.bind(node.output, state.clamp(found, limits))


@exporter(MultiplyAdd)
def export_multiply_add(state: Export, node: Node) -> None:
    """a * b + c."""
    a, b, c = state.refs(node)
    state.bind(node.output, state.binary("add", state.binary("multiply", a, b), c))


@exporter(Prelu)
def export_prelu(state: Export, node: Node) -> None:
    """x, below 0 times alpha."""
    x, alpha = state.refs(node)
    scaled = state.binary("multiply", x, alpha)
    wide = state.aligned(x, scaled.shape)
    state.bind(node.output, state.select(state.less(wide, 0.0), scaled, wide))


def _of_one(*operations: type[Operation]) -> Callable[[Callable[..., Ref]], Callable[..., Ref]]:
    """Decorator of what makes a result from the state, the operator and x."""

    def register(function: Callable[..., Ref]) -> Callable[..., Ref]:
        def export(state: Export, node: Node) -> None:
            (x,) = state.refs(node)
            state.bind(node.output, function(state, node.op, x))

        export.__module__, export.__qualname__ = function.__module__, function.__qualname__
        exporter(*operations)(export)
        return function

    return register


@_of_one(Relu)
def _relu(state: Export, op: Relu, x: Ref) -> Ref:
    return state.clamp(x, op.clamp)


@_of_one(LeakyRelu)
def _leaky_relu(state: Export, op: LeakyRelu, x: Ref) -> Ref:
    return state.select(state.less(x, 0.0), state.binary("multiply", x, op.alpha), x)


@_of_one(Elu)
def _elu(state: Export, op: Elu, x: Ref) -> Ref:
    return state.select(state.less(x, 0.0), state.unary("exponential_minus_one", x), x)


@_of_one(Celu)
def _celu(state: Export, op: Celu, x: Ref) -> Ref:
    below = state.unary("exponential_minus_one", state.binary("divide", x, op.alpha))
    below = state.binary("multiply", below, op.alpha)
    return state.select(state.less(state.number(0.0, x.shape), x), x, below)


@_of_one(Selu)
def _selu(state: Export, op: Selu, x: Ref) -> Ref:
    below = state.binary("multiply", state.unary("exponential_minus_one", x), op.alpha)
    chosen = state.select(state.less(state.number(0.0, x.shape), x), x, below)
    return state.binary("multiply", chosen, op.gamma)


@_of_one(HardSwish)
def _hard_swish(state: Export, op: HardSwish, x: Ref) -> Ref:
    gate = state.clamp(state.binary("add", x, 3.0), (0.0, 6.0))
    return state.binary("multiply", state.binary("multiply", x, gate), 1 / 6)


@_of_one(HardSigmoid)
def _hard_sigmoid(state: Export, op: HardSigmoid, x: Ref) -> Ref:
    line = state.binary("add", state.binary("multiply", x, op.alpha), op.beta)
    return state.clamp(line, (0.0, 1.0))


@_of_one(Swish)
def _swish(state: Export, op: Swish, x: Ref) -> Ref:
    gate = state.unary("logistic", state.binary("multiply", x, op.alpha))
    return state.binary("multiply", x, gate)


def _soft(state: Export, x: Ref) -> Ref:
    """log(1 + exp(x)), as max(x, 0) + log1p(exp(-|x|))."""
    tail = state.unary("exponential", state.unary("negate", state.unary("abs", x)))
    return state.binary("add", state.binary("maximum", x, 0.0), state.unary("log_plus_one", tail))


@_of_one(Softplus)
def _softplus(state: Export, op: Softplus, x: Ref) -> Ref:
    return _soft(state, x)


@_of_one(Mish)
def _mish(state: Export, op: Mish, x: Ref) -> Ref:
    return state.binary("multiply", x, state.unary("tanh", _soft(state, x)))


@_of_one(Softsign)
def _softsign(state: Export, op: Softsign, x: Ref) -> Ref:
    return state.binary("divide", x, state.binary("add", state.unary("abs", x), 1.0))


@_of_one(Square)
def _square(state: Export, op: Square, x: Ref) -> Ref:
    return state.binary("multiply", x, x)


@_of_one(Reciprocal)
def _reciprocal(state: Export, op: Reciprocal, x: Ref) -> Ref:
    return state.binary("divide", state.number(1.0, x.shape), x)


@_of_one(Power)
def _power(state: Export, op: Power, x: Ref) -> Ref:
    return state.binary("power", x, op.exponent)


@_of_one(Gelu)
def _gelu(state: Export, op: Gelu, x: Ref) -> Ref:
    """The tanh formula; StableHLO has no erf."""
    if not op.approximate:
        raise Unsupported("GM155", "StableHLO has no erf, of which gelu is made")
    cube = state.binary("multiply", state.binary("multiply", x, x), x)
    inner = state.binary("add", x, state.binary("multiply", cube, 0.044715))
    bent = state.unary("tanh", state.binary("multiply", inner, math.sqrt(2 / math.pi)))
    half = state.binary("multiply", x, 0.5)
    return state.binary("multiply", half, state.binary("add", bent, 1.0))
