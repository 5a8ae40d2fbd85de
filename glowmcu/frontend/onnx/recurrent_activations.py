"""The activations that RNN, GRU and LSTM name in their attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Operation
from glowmcu.ops.activation import LeakyRelu, Relu
from glowmcu.ops.elementwise import Add, Mul
from glowmcu.ops.parametric_activation import (
    HardSigmoid,
    Selu,
    Softplus,
    Softsign,
    ThresholdedRelu,
)
from glowmcu.ops.real import FLOAT_MAX
from glowmcu.ops.recurrence_cells import CellFunction
from glowmcu.ops.transcendental import Logistic, Tanh


def applied(state: Import, op: NodeRecord, function: CellFunction, x: Value) -> Value:
    """The function of `x` as ordinary operators."""
    x = _with_number(state, op, Mul(), x, function.scale_in, 1.0)
    if function.operation is not None:
        x = state.add(op, function.operation, [x])
    x = _with_number(state, op, Mul(), x, function.scale_out, 1.0)
    return _with_number(state, op, Add(), x, function.offset, 0.0)


def _with_number(
    state: Import, op: NodeRecord, operation: Operation, x: Value, number: float, neutral: float
) -> Value:
    if number == neutral:
        return x
    return state.add(op, operation, [x, state.add_constant(np.array(number, np.float32), "number")])


_PLAIN: dict[str, CellFunction] = {
    "relu": CellFunction(Relu((0.0, FLOAT_MAX))),
    "sigmoid": CellFunction(Logistic()),
    "softplus": CellFunction(Softplus()),
    "softsign": CellFunction(Softsign()),
    "tanh": CellFunction(Tanh()),
}
#: What takes alpha, with its default.
_WITH_ALPHA: dict[str, tuple[float, Callable[[float], CellFunction]]] = {
    "elu": (1.0, lambda alpha: CellFunction(Selu(alpha))),
    "leakyrelu": (0.01, lambda alpha: CellFunction(LeakyRelu(float(np.float32(alpha))))),
    "thresholdedrelu": (1.0, lambda alpha: CellFunction(ThresholdedRelu(alpha))),
}
#: What takes alpha and beta, with their defaults.
_WITH_BOTH: dict[str, tuple[float, float, Callable[[float, float], CellFunction]]] = {
    "affine": (1.0, 0.0, lambda alpha, beta: CellFunction(None, alpha, offset=beta)),
    "hardsigmoid": (0.2, 0.5, lambda alpha, beta: CellFunction(HardSigmoid(alpha, beta))),
    "scaledtanh": (1.0, 1.0, lambda alpha, beta: CellFunction(Tanh(), beta, alpha)),
}


def activations(
    op: NodeRecord, defaults: tuple[str, ...], directions: int
) -> list[tuple[CellFunction, ...]]:
    """The activations of every direction.

    `activation_alpha` and `activation_beta` hold a number for each activation that takes one.
    """
    names = _texts(op, "activations") or defaults * directions
    if len(names) != len(defaults) * directions:
        raise Unsupported(
            "GM106",
            f"{op.kind}: expected {len(defaults) * directions} activations, got {len(names)}",
        )
    alphas, betas = _numbers(op, "activation_alpha"), _numbers(op, "activation_beta")
    found = [_activation(op, name, alphas, betas) for name in names]
    size = len(defaults)
    return [tuple(found[i * size : (i + 1) * size]) for i in range(directions)]


def _activation(
    op: NodeRecord, name: str, alphas: Iterator[float], betas: Iterator[float]
) -> CellFunction:
    key = name.lower()
    if key in _PLAIN:
        return _PLAIN[key]
    if key in _WITH_ALPHA:
        alpha, make = _WITH_ALPHA[key]
        return make(next(alphas, alpha))
    if key in _WITH_BOTH:
        alpha, beta, make_both = _WITH_BOTH[key]
        return make_both(next(alphas, alpha), next(betas, beta))
    raise Unsupported("GM105", f"{op.kind}: the activation {name!r} is unknown")


def _texts(op: NodeRecord, name: str) -> tuple[str, ...]:
    items = op.attributes.get(name) or ()
    return tuple(
        item.decode("utf-8", "replace") if isinstance(item, bytes) else str(item) for item in items
    )


def _numbers(op: NodeRecord, name: str) -> Iterator[float]:
    return (float(item) for item in op.attributes.get(name) or ())
