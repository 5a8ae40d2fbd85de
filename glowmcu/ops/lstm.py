"""`lstm`: long short-term memory over a sequence, with states that outlive it.

    i, f, o = sigmoid(W x + b + R h)    g = tanh(W x + b + R h)
    c = f * c + i * g                   h = o * tanh(c)

Of integers each product is rescaled to int16 (Q3.12 in front of a gate, Q0.15 behind it) before it
is added. Source: TensorFlow Lite Micro `micro/kernels/{lstm_eval,lstm_eval_common}.cc`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, Signature
from glowmcu.ir.quantization_rule import QuantizationRule, StateRule
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.fixed_point import Int64Array, Requantization, exact_float, requantization
from glowmcu.ops.real import verify_float
from glowmcu.ops.registry import operation
from glowmcu.ops.wide import expect_symmetric, wide_requantization
from glowmcu.ops.wide_sigmoid import ArgumentScale, logistic_at, tanh_at

#: Of the result of a product in front of a gate, and behind it.
GATE_SCALE, GATED_SCALE = 2.0**-12, 2.0**-15
GATES = ("input", "forget", "cell", "output")
#: What a gate's argument becomes in steps of the table.
GATE_ARGUMENT = ArgumentScale(3, 0)
#: A factor beyond would shift an accumulator by more than all of its bits.
_FACTOR_END = 2.0**30
_SHIFTS = range(-31, 15)
#: Steps whose products are made at once.
_AT_ONCE = 256


@dataclass(frozen=True)
class LstmShape:
    """Sizes of a layer."""

    batches: int
    steps: int
    depth: int
    units: int


@operation("lstm")
@dataclass(frozen=True)
class Lstm(Operation):
    """Operands: x (B, T, I), or (T, B, I) where `time_major`; weights (4, U, I), recurrent weights
    (4, U, U) and bias (4, U) of the gates i, f, g and o; hidden (B, U) and cell state (B, U), both
    perhaps with an axis of one more in front of U or of all.
    Results: the hidden state after each step, (B, T, U) or (T, B, U), and both states at the end.

    int8 or int16 with int8 weights, one scale a gate, a cell state of int16 and a bias of int32 or
    int64; or float32. `cell_clip` bounds the cell state's real magnitude if it is positive.
    """

    channel_operands: ClassVar[tuple[int, ...]] = (1, 2)
    time_major: bool = False
    cell_clip: float = 0.0

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        x, weights, recurrent, bias, hidden, cell = inputs
        if x.rank != 3 or 0 in x.shape or hidden.rank not in (2, 3):
            raise OperationError(f"expected a sequence (B, T, I) and states (B, U), got {x}")
        shape = self.shape(inputs)
        units, depth = shape.units, shape.depth
        batches = shape.batches
        of_states = ((batches, units), (1, batches, units), (batches, 1, units))
        state = hidden.shape if hidden.shape in of_states else of_states[0]
        for what, type_, expected in (
            ("weights", weights, (4, units, depth)),
            ("recurrent weights", recurrent, (4, units, units)),
            ("bias", bias, (4, units)),
            ("hidden state", hidden, state),
            ("cell state", cell, state),
        ):
            if type_.shape != expected:
                raise OperationError(f"{what} must be {expected}, got {type_.shape}")
        return ((*x.shape[:2], units), hidden.shape, cell.shape)

    def shape(self, inputs: Sequence[TensorType]) -> LstmShape:
        """Sizes by the sequence and the hidden state."""
        first, second, depth = inputs[0].shape
        batches, steps = (second, first) if self.time_major else (first, second)
        return LstmShape(batches, steps, depth, inputs[4].shape[-1])

    def verify(self, signature: Signature) -> None:
        if math.isnan(self.cell_clip):
            raise OperationError("the bound of the cell state is no number")
        if signature.output.element.is_float:
            verify_float(signature)
            return
        x, weights, recurrent, bias, hidden, cell = signature.inputs
        if (hidden, cell) != signature.outputs[1:]:
            raise OperationError(f"states stay what they are, got {signature.outputs[1:]}")
        wide = x.element is ElementType.I16
        expect_symmetric(cell, *((x, hidden) if wide else ()))
        for type_ in (x, hidden):
            if type_.element not in (ElementType.I8, ElementType.I16) or not _is_per_tensor(type_):
                raise OperationError(f"expected quantized i8 or i16, got {type_}")
        if {x.element, signature.output.element} != {hidden.element}:
            raise OperationError(f"expected {x.element.value} throughout, got {signature.output}")
        for type_ in (weights, recurrent):
            quantization = type_.quantization
            if type_.element is not ElementType.I8 or quantization is None or quantization.axis:
                raise OperationError(f"expected i8 weights with one scale a gate, got {type_}")
            if any(quantization.zero_points):
                raise OperationError("weights must have zero point 0")
        if bias.element is not (ElementType.I64 if wide else ElementType.I32):
            raise OperationError(f"expected {'i64' if wide else 'i32'} bias, got {bias}")
        self._verify_scales(signature)

    def _verify_scales(self, signature: Signature) -> None:
        for operand in (0, 4):
            self.gate_requantization(signature, operand)
        self.input_requantization(signature)
        self.output_requantization(signature)
        if self._cell_shift(signature) not in _SHIFTS:
            raise OperationError(
                f"the cell state's scale must be from 2^-43 to 4, got {signature.inputs[5]}"
            )

    def interpreter_bytes(self, signature: Signature) -> int:
        """TensorFlow Lite Micro's operator asks for four buffers of the cell state's size."""
        return 4 * signature.inputs[5].size_bytes

    def updates(self, signature: Signature) -> Mapping[int, int]:
        return {1: 4, 2: 5}

    def macs(self, signature: Signature) -> int:
        shape = self.shape(signature.inputs)
        return 4 * shape.batches * shape.steps * shape.units * (shape.depth + shape.units)

    def gate_requantization(self, signature: Signature, operand: int) -> Requantization:
        """Of accumulators of operand 0 (x) or 4 (hidden state) in front of each gate: 4 entries."""
        weights = signature.inputs[1 if operand == 0 else 2].quantization
        assert weights is not None
        with np.errstate(over="ignore"):
            scales = np.array(weights.scales, np.float32) * np.float32(
                signature.inputs[operand].scale
            )
        factors = np.broadcast_to(scales.astype(np.float64) / GATE_SCALE, (4,))
        if not (factors < _FACTOR_END).all():
            raise OperationError(f"{signature.inputs[operand]} times its weights is too large")
        wide = signature.inputs[0].element is ElementType.I16
        return wide_requantization(factors) if wide else requantization(factors)

    def forget_requantization(self, signature: Signature) -> Requantization:
        """Of f * c to the cell state."""
        return _rescaled(GATED_SCALE * signature.inputs[5].scale, signature.inputs[5].scale)

    def input_requantization(self, signature: Signature) -> Requantization:
        """Of i * g to the cell state."""
        return _rescaled(GATED_SCALE * GATED_SCALE, signature.inputs[5].scale)

    def output_requantization(self, signature: Signature) -> Requantization:
        """Of o * tanh(c) to the hidden state, without its zero point."""
        return _rescaled(GATED_SCALE * GATED_SCALE, signature.inputs[4].scale)

    def cell_argument(self, signature: Signature) -> ArgumentScale:
        """The cell state in steps of the table: its scale counts as the nearest power of two."""
        shift = self._cell_shift(signature)
        return ArgumentScale(3 << shift, 0) if shift >= 0 else ArgumentScale(3, -shift)

    def _cell_shift(self, signature: Signature) -> int:
        return round(math.log2(signature.inputs[5].scale)) + 12

    def cell_limits(self, signature: Signature) -> tuple[int, int]:
        """Least and greatest stored cell state."""
        lowest, highest = ElementType.I16.limits
        if not self.cell_clip > 0:
            return lowest, highest
        bound = int(min(self.cell_clip / signature.inputs[5].scale, highest))
        return -bound, bound

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        x, state = inputs[0], inputs[4].shape
        hidden, cell = (inputs[n].reshape(-1, state[-1]) for n in (4, 5))
        sequence = x if self.time_major else x.swapaxes(0, 1)
        is_float = signature.output.element.is_float
        layer = _RealLayer(self, inputs) if is_float else _Layer(self, inputs, signature, rounding)
        outputs = []
        for first in range(0, len(sequence), _AT_ONCE):
            for products in layer.input_products(sequence[first : first + _AT_ONCE]):
                hidden, cell = layer.step(products, hidden, cell)
                outputs.append(hidden)
        result = np.stack(outputs, axis=0 if self.time_major else 1)
        return result, hidden.reshape(state), cell.reshape(state)

    def quantization_rule(self, signature: Signature) -> QuantizationRule | None:
        states = StateRule(4, 1), StateRule(5, 2, wide=True, is_power_of_two=True)
        weights = {1: 0, 2: 0}
        return QuantizationRule((0, 4, 5), weights, {3: (0, 1)}, states=states)

    def trajectories(
        self, inputs: Sequence[Array], results: Sequence[Array], signature: Signature
    ) -> Mapping[int, Array]:
        if not signature.output.element.is_float:
            return {}
        layer, cells = _RealLayer(self, inputs), [inputs[5].reshape(-1, inputs[5].shape[-1])]
        hidden = inputs[4].reshape(cells[0].shape)
        for x in inputs[0] if self.time_major else inputs[0].swapaxes(0, 1):
            hidden, cell = layer.step(layer.input_products(x), hidden, cells[-1])
            cells.append(cell)
        return {2: np.stack(cells)}


class _RealLayer:
    """A layer of real numbers."""

    def __init__(self, op: Lstm, inputs: Sequence[Array]) -> None:
        self._op = op
        depth = inputs[0].shape[-1]
        self._weights, self._bias = inputs[1].reshape(-1, depth).T, inputs[3].reshape(-1)
        self._recurrent = inputs[2].reshape(len(self._bias), -1).T

    def input_products(self, x: Array) -> Array:
        """(…, I) to (…, 4 U)."""
        products: Array = x @ self._weights + self._bias
        return products

    def step(self, products: Array, hidden: Array, cell: Array) -> tuple[Array, Array]:
        """The states after a step, each (B, U)."""
        i, f, g, o = np.split(products + hidden @ self._recurrent, 4, axis=-1)
        cell = _sigmoid(f) * cell + _sigmoid(i) * np.tanh(g)
        if self._op.cell_clip > 0:
            bound = np.float32(self._op.cell_clip)
            cell = np.clip(cell, -bound, bound)
        return np.asarray(_sigmoid(o) * np.tanh(cell), np.float32), np.asarray(cell, np.float32)


class _Layer:
    """A layer of integers."""

    def __init__(
        self, op: Lstm, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> None:
        self._rounding = rounding
        self._x, self._hidden = signature.inputs[0], signature.inputs[4]
        units = self._hidden.shape[-1]
        self._weights = inputs[1].reshape(4 * units, -1)
        self._recurrent = inputs[2].reshape(4 * units, -1)
        self._bias = inputs[3].reshape(-1).astype(np.int64)
        self._scales = [_for_units(op.gate_requantization(signature, n), units) for n in (0, 4)]
        self._forget = op.forget_requantization(signature)
        self._input = op.input_requantization(signature)
        self._output = op.output_requantization(signature)
        self._argument = op.cell_argument(signature)
        self._limits = op.cell_limits(signature)

    def input_products(self, x: Array) -> Array:
        """(…, I) to int16 (…, 4 U)."""
        sums = _sums(x, self._x.zero_point, self._weights) + self._bias
        return _short(self._scales[0].apply(sums, self._rounding))

    def step(self, products: Array, hidden: Array, cell: Array) -> tuple[Array, Array]:
        """The states after a step, each (B, U)."""
        sums = _sums(hidden, self._hidden.zero_point, self._recurrent)
        recurrent = _short(self._scales[1].apply(sums, self._rounding))
        gates = GATE_ARGUMENT.steps(_short(products + recurrent))
        i, f, g, o = np.split(gates, 4, axis=-1)
        kept = _short(self._product(self._forget, logistic_at(f), cell))
        new = _short(self._product(self._input, logistic_at(i), tanh_at(g)))
        total = _short(kept + new)
        cell = np.clip(total, *self._limits).astype(np.int16)
        shown = tanh_at(self._argument.steps(cell))
        result = self._product(self._output, shown, logistic_at(o)) + self._hidden.zero_point
        element = self._hidden.element
        return np.clip(result, *element.limits).astype(element.numpy), cell

    def _product(self, scale: Requantization, a: Array, b: Array) -> Int64Array:
        return scale.apply(a.astype(np.int64) * b, self._rounding)


def _is_per_tensor(type_: TensorType) -> bool:
    return type_.quantization is not None and not type_.quantization.per_channel


def _rescaled(scale: float, result: float) -> Requantization:
    if not scale / result < _FACTOR_END:
        raise OperationError(f"a state's scale of {result:.6g} is too small")
    return requantization([scale / result])


def _for_units(scale: Requantization, units: int) -> Requantization:
    """One entry a gate to one a channel."""
    return type(scale)(np.repeat(scale.multipliers, units), np.repeat(scale.shifts, units))


def _sums(x: Array, zero_point: int, weights: Array) -> Int64Array:
    exact = exact_float(weights, x.dtype)
    rows = np.subtract(x, zero_point, dtype=exact)
    return np.asarray(rows @ weights.astype(exact).T).astype(np.int64)


def _short(values: Array) -> Int64Array:
    """Saturated to int16."""
    short: Int64Array = np.clip(values, *ElementType.I16.limits)
    return short


def _sigmoid(x: Array) -> Array:
    e = np.exp(-np.abs(x))
    return np.asarray(np.where(x < 0, e, np.float32(1)) / (1 + e), np.float32)
