"""One step of RNN and GRU on integers: int8 inputs and weights, a hidden state of int16.

Each product is rescaled to int16 (Q3.12) and saturated before it is added, as in front of the gates
of TensorFlow Lite Micro's LSTM; sigmoid and tanh go through the same table and give Q0.15. A GRU
rounds its state once a step: h' = (z h + (1 - z) n) with a sum of 32 bits.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from glowmcu.ir.operation import Array, OperationError, Rounding
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.fixed_point import (
    INT32_MAX,
    INT32_MIN,
    Int64Array,
    Requantization,
    exact_float,
    requantization,
)
from glowmcu.ops.lstm import GATE_ARGUMENT, GATE_SCALE, GATED_SCALE
from glowmcu.ops.wide import expect_symmetric
from glowmcu.ops.wide_sigmoid import logistic_at, tanh_at

#: A factor beyond would shift a sum by more than all of its bits.
_FACTOR_END = 2.0**30
#: Of 1 in Q0.15, and half a step of it.
ONE, HALF = 1 << 15, 1 << 14


@dataclass(frozen=True, eq=False)
class StepScales:
    """How sums, functions and the hidden state are rescaled."""

    #: Of the products with the input and with the hidden state to Q3.12: one entry a row, or one.
    inputs: Requantization
    recurrent: Requantization
    #: Of Q0.15 to the hidden state, and of that to the results.
    state: Requantization
    shown: Requantization


def step_scales(
    operands: Mapping[str, TensorType], out: TensorType, state: TensorType
) -> StepScales:
    """Raises OperationError for scales that cannot be expressed."""
    return StepScales(
        _factors(operands["x"].scale, operands["weights"]),
        _factors(state.scale, operands["recurrent"]),
        _expressible(GATED_SCALE / state.scale),
        _expressible(state.scale / out.scale),
    )


def _factors(scale: float, weights: TensorType) -> Requantization:
    quantization = weights.quantization
    assert quantization is not None
    return _expressible(np.array(quantization.scales, np.float64) * scale / GATE_SCALE)


def _expressible(factors: Array | float) -> Requantization:
    each = np.atleast_1d(factors)
    if not (each < _FACTOR_END).all():
        raise OperationError(f"a scale of {each.max():.6g} times another is too large")
    return requantization(each)


def verify_integers(operands: Mapping[str, TensorType], out: TensorType, state: TensorType) -> None:
    """OperationError unless types and scales are those of integers."""
    for name in ("weights", "recurrent"):
        type_ = operands[name]
        if type_.element is not ElementType.I8 or type_.quantization is None:
            raise OperationError(f"expected quantized i8 {name}, got {type_}")
        if any(type_.quantization.zero_points) or type_.quantization.axis:
            raise OperationError(f"{name} need zero point 0 and scales of rows, got {type_}")
    for type_ in (operands["x"], out):
        quantization = type_.quantization
        if type_.element is not ElementType.I8 or quantization is None or quantization.per_channel:
            raise OperationError(f"expected quantized i8 with one scale, got {type_}")
    for name in ("bias", "recurrent_bias"):
        if name in operands and operands[name].element is not ElementType.I32:
            raise OperationError(f"expected i32 {name}, got {operands[name]}")
    expect_symmetric(state)
    if operands.get("hidden", state) != state:
        raise OperationError(f"the hidden state stays {state}, got {operands['hidden']}")
    step_scales(operands, out, state)


class IntegerLayer:
    """One direction of a layer; `first_row` is where its rows of the weights begin."""

    def __init__(
        self,
        parts: Mapping[str, Array],
        scales: StepScales,
        first_row: int,
        zero_points: tuple[int, int],
        resets_after: bool,
        rounding: Rounding,
    ) -> None:
        rows = len(parts["weights"])
        self._parts, self._rounding, self._resets_after = parts, rounding, resets_after
        self._inputs = _rows_of(scales.inputs, first_row, rows)
        self._recurrent = _rows_of(scales.recurrent, first_row, rows)
        self._state, self._shown = scales.state, scales.shown
        self._x_zero_point, self._out_zero_point = zero_points
        self._units = parts["recurrent"].shape[1]

    def input_products(self, x: Array) -> Array:
        """(n, B, I) to int16 (n, B, G H)."""
        sums = _sums(x, self._x_zero_point, self._parts["weights"]) + self._parts["bias"]
        return self._gate(self._inputs, sums)

    def step(self, products: Array, states: tuple[Array, ...]) -> tuple[Array, ...]:
        """The hidden state after a step."""
        (h,) = states
        is_gru = products.shape[1] == 3 * self._units
        return (self._gru(products, h) if is_gru else self._rnn(products, h),)

    def show(self, hidden: Array) -> Array:
        """The hidden state as results store it."""
        stored = self._shown.apply(hidden.astype(np.int64), self._rounding) + self._out_zero_point
        return np.clip(stored, *ElementType.I8.limits).astype(np.int8)

    def _rnn(self, products: Array, h: Array) -> Array:
        total = _short(products + self._products(h, 0, self._units))
        return self._stored(tanh_at(GATE_ARGUMENT.steps(total)))

    def _gru(self, products: Array, h: Array) -> Array:
        size = self._units
        gates = _short(products[:, : 2 * size] + self._products(h, 0, 2 * size))
        opened = logistic_at(GATE_ARGUMENT.steps(gates)).astype(np.int64)
        update, reset = opened[:, :size], opened[:, size:]
        if self._resets_after:
            kept = (reset * self._products(h, 2 * size, 3 * size) + HALF) >> 15
        else:
            gated = ((reset * h + HALF) >> 15).astype(np.int16)
            kept = self._products(gated, 2 * size, 3 * size)
        fresh = self._stored(tanh_at(GATE_ARGUMENT.steps(_short(products[:, 2 * size :] + kept))))
        total = update * h.astype(np.int64) + (ONE - update) * fresh.astype(np.int64)
        return ((total + HALF) >> 15).astype(np.int16)

    def _products(self, h: Array, first: int, end: int) -> Int64Array:
        """int16 of some rows with the hidden state."""
        sums = _sums(h, 0, self._parts["recurrent"][first:end])
        if "recurrent_bias" in self._parts:
            sums = sums + self._parts["recurrent_bias"][first:end]
        scale = _rows_of(self._recurrent, first, end - first)
        return self._gate(scale, sums)

    def _gate(self, scale: Requantization, sums: Array) -> Int64Array:
        """Sums, which saturate, in front of a gate."""
        return _short(scale.apply(np.clip(sums, INT32_MIN, INT32_MAX), self._rounding))

    def _stored(self, values: Array) -> Array:
        """Q0.15 as the hidden state has it."""
        return _short(self._state.apply(values.astype(np.int64), self._rounding)).astype(np.int16)


def _rows_of(scale: Requantization, first: int, count: int) -> Requantization:
    """Entries of some rows; one entry is all rows'."""
    if len(scale.multipliers) == 1:
        return scale
    part = slice(first, first + count)
    return type(scale)(scale.multipliers[part], scale.shifts[part])


def _sums(x: Array, zero_point: int, weights: Array) -> Int64Array:
    exact = exact_float(weights, x.dtype)
    rows = np.subtract(x, zero_point, dtype=exact)
    return np.asarray(rows @ weights.astype(exact).T).astype(np.int64)


def _short(values: Array) -> Int64Array:
    """Saturated to int16."""
    short: Int64Array = np.clip(values, *ElementType.I16.limits)
    return short
