"""The activations that RNN, GRU and LSTM name in their attributes, as ordinary operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

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
from glowmcu.ops.transcendental import Logistic, Tanh


@dataclass(frozen=True)
class Activation:
    """`scale_out * operation(scale_in * x) + offset`; without an operation x itself."""

    operation: Operation | None
    scale_in: float = 1.0
    scale_out: float = 1.0
    offset: float = 0.0

    def apply(self, state: Import, op: NodeRecord, x: Value) -> Value:
        """The activation of `x`."""
        x = _with_number(state, op, Mul(), x, self.scale_in, 1.0)
        if self.operation is not None:
            x = state.add(op, self.operation, [x])
        x = _with_number(state, op, Mul(), x, self.scale_out, 1.0)
        return _with_number(state, op, Add(), x, self.offset, 0.0)


def _with_number(
    state: Import, op: NodeRecord, operation: Operation, x: Value, number: float, neutral: float
) -> Value:
    if number == neutral:
        return x
    return state.add(op, operation, [x, state.add_constant(np.array(number, np.float32), "number")])


_PLAIN: dict[str, Activation] = {
    "relu": Activation(Relu((0.0, FLOAT_MAX))),
    "sigmoid": Activation(Logistic()),
    "softplus": Activation(Softplus()),
    "softsign": Activation(Softsign()),
    "tanh": Activation(Tanh()),
}
#: What takes alpha, with its default.
_WITH_ALPHA: dict[str, tuple[float, Callable[[float], Activation]]] = {
    "elu": (1.0, lambda alpha: Activation(Selu(alpha))),
    "leakyrelu": (0.01, lambda alpha: Activation(LeakyRelu(float(np.float32(alpha))))),
    "thresholdedrelu": (1.0, lambda alpha: Activation(ThresholdedRelu(alpha))),
}
#: What takes alpha and beta, with their defaults.
_WITH_BOTH: dict[str, tuple[float, float, Callable[[float, float], Activation]]] = {
    "affine": (1.0, 0.0, lambda alpha, beta: Activation(None, alpha, offset=beta)),
    "hardsigmoid": (0.2, 0.5, lambda alpha, beta: Activation(HardSigmoid(alpha, beta))),
    "scaledtanh": (1.0, 1.0, lambda alpha, beta: Activation(Tanh(), beta, alpha)),
}


def activations(
    op: NodeRecord, defaults: tuple[str, ...], directions: int
) -> list[tuple[Activation, ...]]:
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
) -> Activation:
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
