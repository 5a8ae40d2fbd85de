"""Functions of one tensor: Relu and its relatives, Sigmoid, Tanh, Gelu, Exp, Sin, Round, …"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.operation import Operation
from glowmcu.ops import parametric_activation as parametric
from glowmcu.ops import real_functions as functions
from glowmcu.ops.activation import Abs, HardSwish, LeakyRelu, Neg, Relu
from glowmcu.ops.elementwise import Maximum
from glowmcu.ops.real import FLOAT_MAX
from glowmcu.ops.transcendental import Elu, Exp, Gelu, Log, Logistic, Tanh

_FUNCTIONS: dict[str, type[Operation]] = {
    "Abs": Abs,
    "Acos": functions.Acos,
    "Acosh": functions.Acosh,
    "Asin": functions.Asin,
    "Asinh": functions.Asinh,
    "Atan": functions.Atan,
    "Atanh": functions.Atanh,
    "Ceil": functions.Ceil,
    "Cos": functions.Cos,
    "Cosh": functions.Cosh,
    "Erf": functions.Erf,
    "Exp": Exp,
    "Floor": functions.Floor,
    "HardSwish": HardSwish,
    "Log": Log,
    "Mish": parametric.Mish,
    "Neg": Neg,
    "Reciprocal": functions.Reciprocal,
    "Round": functions.Round,
    "Sigmoid": Logistic,
    "Sign": functions.Sign,
    "Sin": functions.Sin,
    "Sinh": functions.Sinh,
    "Softplus": parametric.Softplus,
    "Softsign": parametric.Softsign,
    "Sqrt": functions.Sqrt,
    "Tan": functions.Tan,
    "Tanh": Tanh,
}
_SELU_ALPHA, _SELU_GAMMA = 1.6732632423543772, 1.0507009873554805


def _elu(op: NodeRecord) -> Operation:
    alpha = op.number("alpha", 1.0)
    return Elu() if alpha == 1.0 else parametric.Selu(alpha)


def _gelu(op: NodeRecord) -> Operation:
    kind = op.text("approximate", "none")
    if kind not in ("none", "tanh"):
        raise Unsupported("GM105", f"Gelu: approximate {kind!r} is neither none nor tanh")
    return Gelu(kind == "tanh")


_WITH_ATTRIBUTES: dict[str, Callable[[NodeRecord], Operation]] = {
    "Celu": lambda op: parametric.Celu(op.number("alpha", 1.0)),
    "Elu": _elu,
    "Gelu": _gelu,
    "HardSigmoid": lambda op: parametric.HardSigmoid(
        op.number("alpha", 0.2), op.number("beta", 0.5)
    ),
    "LeakyRelu": lambda op: LeakyRelu(float(np.float32(op.number("alpha", 0.01)))),
    "Selu": lambda op: parametric.Selu(
        op.number("alpha", _SELU_ALPHA), op.number("gamma", _SELU_GAMMA)
    ),
    "Shrink": lambda op: parametric.Shrink(op.number("lambd", 0.5), op.number("bias", 0.0)),
    "Swish": lambda op: parametric.Swish(op.number("alpha", 1.0)),
    "ThresholdedRelu": lambda op: parametric.ThresholdedRelu(op.number("alpha", 1.0)),
}


@importer(*_FUNCTIONS)
def import_function(state: Import, op: NodeRecord) -> None:
    """One operand, no attributes."""
    state.emit(op, _FUNCTIONS[op.kind](), [state.value(op, 0)])


@importer(*_WITH_ATTRIBUTES)
def import_with_attributes(state: Import, op: NodeRecord) -> None:
    """One operand and numbers."""
    state.emit(op, _WITH_ATTRIBUTES[op.kind](op), [state.value(op, 0)])


@importer("Relu")
def import_relu(state: Import, op: NodeRecord) -> None:
    """Integers too, by a maximum."""
    x = state.value(op, 0)
    if x.type.element.is_float:
        state.emit(op, Relu((0.0, FLOAT_MAX)), [x])
        return
    zero = state.add_constant(np.zeros((), x.type.element.numpy), "zero")
    state.emit(op, Maximum(), [x, zero])
