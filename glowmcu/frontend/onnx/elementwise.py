"""Add, Sub, Mul, Div, Pow, Mod, Max, Min, Sum, Mean, Clip, PRelu, BitShift and Bitwise*."""

from __future__ import annotations

from functools import reduce

import numpy as np

from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.fake_quantization import clip_stored
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Array, Operation
from glowmcu.ir.types import ElementType
from glowmcu.ops.activation import Relu
from glowmcu.ops.bitwise import BitwiseAnd, BitwiseNot, BitwiseOr, BitwiseXor, ShiftLeft, ShiftRight
from glowmcu.ops.cast import Cast
from glowmcu.ops.division import Div, FloorMod, Pow, TruncMod
from glowmcu.ops.elementwise import Add, Maximum, Minimum, Mul, Prelu, Sub
from glowmcu.ops.real import FLOAT_MAX
from glowmcu.ops.real_functions import Power, Reciprocal, Sqrt, Square
from glowmcu.ops.shape import Reshape
from glowmcu.ops.transcendental import Rsqrt

_PAIRS: dict[str, type[Operation]] = {
    "Add": Add,
    "Sub": Sub,
    "Mul": Mul,
    "Div": Div,
    "BitwiseAnd": BitwiseAnd,
    "BitwiseOr": BitwiseOr,
    "BitwiseXor": BitwiseXor,
}
_MANY: dict[str, type[Operation]] = {"Max": Maximum, "Min": Minimum, "Sum": Add, "Mean": Add}


def pair(state: Import, op: NodeRecord) -> tuple[Value, Value]:
    """Two operands that broadcast as numpy's do; before opset 7 `axis` says where b begins."""
    a, b = state.value(op, 0), state.value(op, 1)
    if state.opset < 7 and op.has("axis"):
        axis = op.integer("axis", 0) % max(a.type.rank, 1)
        after = a.type.rank - axis - b.type.rank
        b = state.add(op, Reshape((*b.type.shape, *(1,) * max(after, 0))), [b])
    return a, b


@importer(*_PAIRS)
def import_pair(state: Import, op: NodeRecord) -> None:
    """Division of real numbers by constants is multiplication, which int8 has too."""
    a, b = pair(state, op)
    inverse = _inverse(state, b) if op.kind == "Div" and not state.known(op, 0) else None
    if inverse is not None:
        state.emit(op, Mul(), [a, state.add_constant(inverse, f"1/{b.name}")])
        return
    state.emit(op, _PAIRS[op.kind](), [a, b])


def _inverse(state: Import, divisor: Value) -> Array | None:
    """1 / a constant, where float32 holds that well."""
    data = state.builder.known.get(divisor)
    if data is None or data.dtype != np.float32:
        return None
    with np.errstate(all="ignore"):
        inverse = np.asarray(1 / data, np.float32)
    size = np.abs(inverse)
    return inverse if bool(((size > 1e-37) & (size < 1e37)).all()) else None


@importer(*_MANY)
def import_many(state: Import, op: NodeRecord) -> None:
    """Any number of operands, one after the other."""
    values = [state.value(op, position) for position in range(len(op.inputs))]
    if not values:
        raise Unsupported("GM105", f"{op.kind} has no operands")
    operation = _MANY[op.kind]()
    total = reduce(lambda a, b: state.add(op, operation, [a, b]), values)
    if op.kind == "Mean":
        share = state.add_constant(np.array(1 / len(values), np.float32), "share")
        total = state.add(op, Mul(), [total, share])
    state.bind(op, [total])


@importer("Mod")
def import_mod(state: Import, op: NodeRecord) -> None:
    """`fmod` keeps the dividend's sign, otherwise the divisor's."""
    state.emit(op, TruncMod() if op.flag("fmod") else FloorMod(), list(pair(state, op)))


_POWERS: dict[float, type[Operation]] = {2.0: Square, 0.5: Sqrt, -1.0: Reciprocal, -0.5: Rsqrt}


@importer("Pow")
def import_pow(state: Import, op: NodeRecord) -> None:
    """The result has the base's type; a constant exponent makes it a function of one tensor."""
    base, exponent = pair(state, op)
    data = state.builder.known.get(exponent)
    real = base.type.element is ElementType.F32
    if real and data is not None and data.size == 1 and exponent.type.rank <= base.type.rank:
        power = float(data.reshape(-1)[0])
        state.emit(op, _POWERS[power]() if power in _POWERS else Power(power), [base])
        return
    if not real and exponent.type.element is ElementType.F32:
        wide = state.add(op, Cast(), [base], ElementType.F32)
        result = state.add(op, Pow(), [wide, exponent])
        state.emit(op, Cast(), [result], base.type.element)
        return
    if exponent.type.element is not base.type.element:
        exponent = state.add(op, Cast(), [exponent], base.type.element)
    state.emit(op, Pow(), [base, exponent])


@importer("Clip")
def import_clip(state: Import, op: NodeRecord) -> None:
    """Bounds are attributes before opset 11, then optional operands."""
    x = state.value(op, 0)
    if state.opset < 11:
        low, high = op.number("min", -FLOAT_MAX), op.number("max", FLOAT_MAX)
        state.emit(op, Relu((low, high)), [x])
        return
    given = [position for position in (1, 2) if state.has(op, position)]
    if x.type.element.is_float and all(state.known(op, position) for position in given):
        bounds = [-FLOAT_MAX, FLOAT_MAX]
        for position in given:
            bounds[position - 1] = float(state.constant(op, position, "a bound").reshape(-1)[0])
        state.emit(op, Relu((bounds[0], bounds[1])), [x])
        return
    if all(state.known(op, position) for position in given):
        numbers = {p: float(state.constant(op, p, "a bound").reshape(-1)[0]) for p in given}
        if clip_stored(state, op, x, (numbers.get(1, -np.inf), numbers.get(2, np.inf))):
            return
    for position in given:
        operation = Maximum() if position == 1 else Minimum()
        x = state.add(op, operation, [x, state.value(op, position)])
    state.bind(op, [x])


@importer("PRelu")
def import_prelu(state: Import, op: NodeRecord) -> None:
    """Before opset 7 the slope is one value a channel."""
    x, slope = state.value(op, 0), state.value(op, 1)
    if state.opset < 7 and slope.type.rank == 1 and slope.type.element_count > 1:
        slope = state.add(op, Reshape((slope.type.shape[0], *(1,) * (x.type.rank - 2))), [slope])
    state.emit(op, Prelu(), [x, slope])


@importer("BitwiseNot")
def import_bitwise_not(state: Import, op: NodeRecord) -> None:
    """One operand."""
    state.emit(op, BitwiseNot(), [state.value(op, 0)])


@importer("BitShift")
def import_bit_shift(state: Import, op: NodeRecord) -> None:
    """Counts have the type of what is shifted."""
    direction = op.text("direction", "")
    if direction not in ("LEFT", "RIGHT"):
        raise Unsupported("GM105", f"BitShift: direction {direction!r} is neither LEFT nor RIGHT")
    operation = ShiftLeft() if direction == "LEFT" else ShiftRight()
    state.emit(op, operation, list(pair(state, op)))
