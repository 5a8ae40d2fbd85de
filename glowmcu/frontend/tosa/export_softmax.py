"""Softmax of int8 in TOSA's integer operators, bit for bit what gemmlowp's fixed point gives.

A row's maximum less each element indexes four tables of bytes that make up exp in Q0.31; the sum's
reciprocal is three Newton-Raphson steps with MUL and a shift of 31, which is a saturating rounding
doubling high multiplication that never saturates here (only -2^31 times itself would).
"""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.tosa.export_layers import expect_bytes
from glowmcu.frontend.tosa.exporter import Export, exporter
from glowmcu.frontend.tosa.records import Ref
from glowmcu.frontend.tosa.rescaling import factors_of
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Node
from glowmcu.ir.operation import Array, Rounding
from glowmcu.ir.types import ElementType, Shape
from glowmcu.ops.normalization import Softmax

_I8, _I32 = ElementType.I8, ElementType.I32
#: Integer bits of the sum of exponentials (Q12.19), and the constants of gemmlowp's reciprocal.
_SUM_BITS = 12
_48_OVER_17_Q2, _MINUS_32_OVER_17_Q2 = 1515870810, -1010580540
_ONE_Q0 = 2**31 - 1
#: Classes from which on the last shift may exceed 31: the sum reaches 2^28 in Q12.19.
_MANY = 512


@exporter(Softmax)
def export_softmax(state: Export, node: Node) -> None:
    """int8 to int8 or int16 along the last axis."""
    op, (x,), out = node.op, node.inputs, node.output.type
    assert isinstance(op, Softmax)
    expect_bytes(x.type)
    if out.element not in (_I8, ElementType.I16):
        raise Unsupported("GM155", f"softmax into {out}")
    rounding = state.rounding(node)
    calculation = _Calculation(state, state.ref(x), out.shape)
    table = op.difference_scale(node.signature, rounding).exponentials(rounding)
    exponentials = calculation.exponentials(table)
    total = calculation.total(exponentials)
    headroom = calculation.emit("clz", total)
    scale = calculation.reciprocal(total, headroom)
    products = calculation.multiply(exponentials, scale)
    # exponent = bits + 31 - 8 or 16, bits = 12 - headroom: what is left of Q0.31 as stored value.
    largest = _SUM_BITS + 31 - 8 * out.element.size_bytes
    exponent = calculation.emit("sub", calculation.number(largest), headroom)
    result = calculation.shifted(products, exponent)
    lowest = out.element.limits[0]
    stored = calculation.emit("add", result, calculation.number(lowest))
    identity = factors_of(1 << 30, 1, Rounding.SINGLE, 2**28)
    # RESCALE by 1 saturates: a quotient of 1 is one above the largest stored value.
    state.bind(node.output, state.rescale(stored, identity, (0, 0), out.element))


class _Calculation:
    """int32 arithmetic on the rows of `x`."""

    def __init__(self, state: Export, x: Ref, shape: Shape) -> None:
        self._state, self._x = state, x
        self._axis = len(shape) - 1

    def number(self, value: int) -> Ref:
        return self._state.scalar(value, _I32, self._axis + 1)

    def emit(self, name: str, *operands: Ref, **attributes: bool | int) -> Ref:
        """An operation that broadcasts."""
        shape = np.broadcast_shapes(*(ref.type.shape for ref in operands))
        return self._state.emit(name, list(operands), shape, _I32, **attributes)

    def multiply(self, a: Ref, b: Ref) -> Ref:
        """round(a * b / 2^31)."""
        shape = np.broadcast_shapes(a.type.shape, b.type.shape)
        shift = self._state.scalar(31, _I8)
        return self._state.emit("mul", [a, b, shift], shape, _I32)

    def exponentials(self, table: Array) -> Ref:
        """exp of each element less its row's maximum, in Q0.31; `table` is by the difference."""
        state, x = self._state, self._x
        row = (*x.type.shape[:-1], 1)
        highest = state.emit(
            "reduce_max", [x], row, _I8, axis=self._axis, nan_mode="PROPAGATE"
        )  # fmt: skip
        wide, most = (state.emit("cast", [ref], ref.type.shape, _I32) for ref in (x, highest))
        # 127 - difference is a stored byte for each of the 256 differences.
        below = self.emit("add", self.emit("sub", wide, most), self.number(127))
        index = state.emit("cast", [below], x.type.shape, _I8)
        by_index = table[::-1].astype(np.int64)
        whole: Ref | None = None
        for place in (24, 16, 8, 0):
            values = ((by_index >> place) & 255).astype(np.uint8).view(np.int8)
            part = state.emit("table", [index, state.constant(values)], x.type.shape, _I8)
            byte = state.emit("cast", [part], x.type.shape, _I32)
            if place < 24:
                byte = self.emit("bitwise_and", byte, self.number(255))
            if place:
                byte = self.emit("logical_left_shift", byte, self.number(place))
            whole = byte if whole is None else self.emit("bitwise_or", whole, byte)
        assert whole is not None
        return whole

    def total(self, exponentials: Ref) -> Ref:
        """Their sum in Q12.19; exponentials are not negative, so that halves go up."""
        bits = self.number(_SUM_BITS)
        parts = self.emit("arithmetic_right_shift", exponentials, bits, round=True)
        row = (*self._x.type.shape[:-1], 1)
        return self._state.emit("reduce_sum", [parts], row, _I32, axis=self._axis)

    def reciprocal(self, total: Ref, headroom: Ref) -> Ref:
        """1 / total without its power of two, in Q0.31.

        total * 2^headroom is 2^31 + fraction; half of the denominator is half of that, rounded
        down. The first guess is within 1/17 of the reciprocal, so that no step leaves Q2.29.
        """
        top = self.number(-(2**31))
        whole = self.emit("logical_left_shift", total, headroom)
        # Without the highest bit; added as int32 it would be the sign.
        fraction = self.emit("bitwise_xor", whole, top)
        half = self.emit("arithmetic_right_shift", fraction, self.number(1), round=False)
        half = self.emit("add", half, self.number(1 << 30))
        x = self.multiply(half, self.number(_MINUS_32_OVER_17_Q2))
        x = self.emit("add", x, self.number(_48_OVER_17_Q2))
        for _ in range(3):
            rest = self.emit("sub", self.number(1 << 29), self.multiply(half, x))
            step = self.emit("logical_left_shift", self.multiply(x, rest), self.number(2))
            x = self.emit("add", x, step)
        # From Q1.30 to Q0.31, saturated: 1 itself is one too much.
        limited = self.emit("minimum", x, self.number((1 << 30) - 1))
        doubled = self.emit("logical_left_shift", limited, self.number(1))
        is_one = self._state.emit(
            "greater_equal", [x, self.number(1 << 30)], x.type.shape, ElementType.BOOL
        )
        return self._state.emit(
            "select", [is_one, self.number(_ONE_Q0), doubled], x.type.shape, _I32
        )

    def shifted(self, values: Ref, exponent: Ref) -> Ref:
        """round(values / 2^exponent); beyond 31 nothing is left of an int32."""
        if self._x.type.shape[-1] < _MANY:
            return self.emit("arithmetic_right_shift", values, exponent, round=True)
        within = self.emit("minimum", exponent, self.number(31))
        some = self.emit("arithmetic_right_shift", values, within, round=True)
        shape = exponent.type.shape
        fits = self._state.emit(
            "greater_equal", [self.number(31), exponent], shape, ElementType.BOOL
        )
        return self._state.emit("select", [fits, some, self.number(0)], values.type.shape, _I32)
