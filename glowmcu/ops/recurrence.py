"""`recurrence`: RNN, GRU and LSTM over a whole sequence, as one loop over its steps.

    RNN   h' = f(W x + R h + b)
    GRU   z, r = f(W x + R h + b)    n = g(W x + R (r * h) + b)    h' = n + z * (h - n)
    LSTM  i, o, f = f(W x + R h + P c + b)   c' = f * c + i * g(W x + R h + b)   h' = o * h(c')

Constants are those of one step, whatever the number of steps. What a step does with numbers is in
`recurrence_cells` and `recurrence_integers`.
Source: ONNX operators `RNN`, `GRU` and `LSTM`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import ClassVar, Protocol

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, Signature
from glowmcu.ir.quantization_rule import QuantizationRule, StateRule
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.activation import UnaryFunction
from glowmcu.ops.recurrence_cells import CELLS, CellFunction, RealLayer
from glowmcu.ops.recurrence_integers import IntegerLayer, step_scales, verify_integers
from glowmcu.ops.registry import operation
from glowmcu.ops.transcendental import Logistic, Tanh

_SIGMOID, _TANH = CellFunction(Logistic()), CellFunction(Tanh())
#: No integer argument of a gate is beyond; no float32 result of one changes beyond the other.
GATE_LIMIT, UNSEEN_CLIP = 8.0, 17.0
#: Steps whose products with the input are made at once.
_AT_ONCE = 256


class CellKind(Enum):
    """What a step computes."""

    RNN = "rnn"
    GRU = "gru"
    LSTM = "lstm"


#: Of each kind, for one direction.
USUAL_FUNCTIONS = {
    CellKind.RNN: (_TANH,),
    CellKind.GRU: (_SIGMOID, _TANH),
    CellKind.LSTM: (_SIGMOID, _TANH, _TANH),
}


@dataclass(frozen=True)
class RecurrenceShape:
    """Sizes of a layer; `gates` are rows of the weights for each unit."""

    directions: int
    batches: int
    steps: int
    depth: int
    units: int
    gates: int


class Layer(Protocol):
    """One direction of a layer."""

    def input_products(self, x: Array) -> Array:
        """(n, B, I) to what each of the n steps needs of its input."""

    def step(self, products: Array, states: tuple[Array, ...]) -> tuple[Array, ...]:
        """The states after a step, each (B, H); the hidden state first."""

    def show(self, hidden: Array) -> Array:
        """The hidden state as results have it."""


@operation("recurrence")
@dataclass(frozen=True)
class Recurrence(Operation):
    """Operands, in this order: x (T, B, I); weights (D G H, I) and recurrent weights (D G H, H) of
    D directions with G gates; bias (D G H,); where `resets_after` the bias of the recurrent
    products (D G H,); with `has_initial` the hidden state (D, B, H) and of LSTM the cell state;
    with `has_peepholes` their weights (D 3 H,); with `has_lengths` int32 (B,), how many steps each
    sequence has. Results: the hidden state after each step (T, D, B, H), zeros behind the end of a
    sequence, and the states at the end. Where `batch_first`, B comes first in x, results, states.

    Gates are in ONNX's order: z, r, n of GRU; i, o, f, g of LSTM. `functions` are 1, 2 or 3 for
    each direction; where `clip` is positive it bounds their arguments but for the cell state's.
    float32; or RNN and GRU with their usual functions and no clip below 8: x and the results int8,
    weights int8 with a scale a row, biases int32, the hidden state int16.
    """

    channel_operands: ClassVar[tuple[int, ...]] = (1, 2, 3, 4)
    kind: CellKind
    functions: tuple[CellFunction, ...]
    reversed: tuple[bool, ...] = (False,)
    batch_first: bool = False
    clip: float = 0.0
    #: GRU: the reset gate acts on R h + b instead of h.
    resets_after: bool = False
    #: LSTM: the forget gate is 1 - i.
    couples_gates: bool = False
    has_initial: bool = False
    has_peepholes: bool = False
    has_lengths: bool = False

    def _verify_attributes(self) -> None:
        """Raise OperationError if they do not fit each other."""
        cell = CELLS[self.kind.value]
        if len(self.functions) != cell.functions * len(self.reversed) or not self.reversed:
            raise OperationError(f"{len(self.functions)} functions do not fit {self.kind.value}")
        operations = [function.operation for function in self.functions]
        if not all(op is None or isinstance(op, UnaryFunction) for op in operations):
            raise OperationError("expected functions of one number")
        if math.isnan(self.clip) or (self.resets_after and self.kind is not CellKind.GRU):
            raise OperationError(f"{self.kind.value} has no such clip or reset")
        if (self.has_peepholes or self.couples_gates) and self.kind is not CellKind.LSTM:
            raise OperationError(f"{self.kind.value} has neither peepholes nor a forget gate")

    @property
    def operands(self) -> tuple[str, ...]:
        """What each operand is."""
        is_lstm = self.kind is CellKind.LSTM
        optional = (
            ("recurrent_bias", self.resets_after),
            ("hidden", self.has_initial),
            ("cell", self.has_initial and is_lstm),
            ("peepholes", self.has_peepholes),
            ("lengths", self.has_lengths),
        )
        return ("x", "weights", "recurrent", "bias", *(name for name, has in optional if has))

    def position(self, name: str) -> int:
        """Of the operand `name`, which the layer has."""
        return self.operands.index(name)

    def functions_of(self, direction: int) -> tuple[CellFunction, ...]:
        """Of one direction."""
        count = len(self.functions) // len(self.reversed)
        return self.functions[direction * count : (direction + 1) * count]

    def shape(self, inputs: Sequence[TensorType]) -> RecurrenceShape:
        """Sizes by the sequence and the recurrent weights."""
        x, recurrent = inputs[0], inputs[2]
        first, second, depth = x.shape
        batches, steps = (first, second) if self.batch_first else (second, first)
        gates = CELLS[self.kind.value].gates
        return RecurrenceShape(len(self.reversed), batches, steps, depth, recurrent.shape[1], gates)

    def interpreter_bytes(self, signature: Signature) -> int:
        """Of a step that is run as operators the gates of all batch items."""
        shape = self.shape(signature.inputs)
        gates = shape.batches * shape.gates * shape.units
        return gates * signature.inputs[0].element.size_bytes

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        self._verify_attributes()
        if len(inputs) != len(self.operands):
            raise OperationError(f"expected {', '.join(self.operands)}; got {len(inputs)} operands")
        x, weights, recurrent = inputs[:3]
        if (x.rank, weights.rank, recurrent.rank) != (3, 2, 2) or 0 in x.shape + recurrent.shape:
            raise OperationError(f"expected (T, B, I) and matrices, got {x} and {recurrent}")
        shape = self.shape(inputs)
        d, b, h = shape.directions, shape.batches, shape.units
        rows, state = d * shape.gates * h, (b, d, h) if self.batch_first else (d, b, h)
        expected: dict[str, Shape] = {
            "weights": (rows, shape.depth),
            "recurrent": (rows, h),
            "bias": (rows,),
            "recurrent_bias": (rows,),
            "hidden": state,
            "cell": state,
            "peepholes": (d * 3 * h,),
            "lengths": (b,),
        }
        for name, type_ in zip(self.operands[1:], inputs[1:], strict=True):
            if type_.shape != expected[name]:
                raise OperationError(f"{name} must be {expected[name]}, got {type_.shape}")
        sequence = (b, shape.steps, d, h) if self.batch_first else (shape.steps, d, b, h)
        return (sequence, *(state,) * self._state_count)

    @property
    def _state_count(self) -> int:
        return 2 if self.kind is CellKind.LSTM else 1

    @property
    def has_usual_functions(self) -> bool:
        """Whether gates and states go through sigmoid and tanh, as without `activations`."""
        return self.functions == USUAL_FUNCTIONS[self.kind] * len(self.reversed)

    @property
    def _has_integers(self) -> bool:
        """Whether there is an integer meaning, in which no argument of a gate is beyond 8."""
        is_clipped = 0 < self.clip < GATE_LIMIT
        return self.kind is not CellKind.LSTM and self.has_usual_functions and not is_clipped

    @property
    def float_reason(self) -> str:
        has_limit = 0 < self.clip < (UNSEEN_CLIP if self.kind is CellKind.LSTM else GATE_LIMIT)
        obstacles = {
            f"a clip of {self.clip:g}": has_limit,
            "peepholes": self.has_peepholes,
            "coupled gates": self.couples_gates,
            "lengths of sequences": self.has_lengths and self.kind is CellKind.LSTM,
            "other functions than sigmoid and tanh": not self.has_usual_functions,
        }
        found = [obstacle for obstacle, is_here in obstacles.items() if is_here]
        # `split_recurrences` makes integers of all others whose weights are known.
        what = f"with {' and '.join(found)}" if found else "with weights that are computed"
        return f"{self.kind.value.upper()} {what} has no int8 meaning"

    def integer_types(
        self, signature: Signature
    ) -> tuple[dict[str, TensorType], TensorType, TensorType]:
        """Of operands by name, results and the hidden state."""
        operands = dict(zip(self.operands, signature.inputs, strict=True))
        return operands, signature.outputs[0], signature.outputs[1]

    def quantization_rule(self, signature: Signature) -> QuantizationRule | None:
        if not self._has_integers:
            return None
        hidden = self.position("hidden") if self.has_initial else None
        biases = {3: (0, 1)}
        if self.resets_after:
            biases[self.position("recurrent_bias")] = (len(signature.inputs) + 1, 2)
        activations = (0,) if hidden is None else (0, hidden)
        states = (StateRule(hidden, 1, wide=True),)
        return QuantizationRule(activations, {1: 0, 2: 0}, biases, states=states)

    def trajectories(
        self, inputs: Sequence[Array], results: Sequence[Array], signature: Signature
    ) -> Mapping[int, Array]:
        if self.kind is CellKind.LSTM or not signature.output.element.is_float:
            return {}
        seen = [results[0], results[1]]
        seen += [inputs[self.position("hidden")]] if self.has_initial else []
        units = results[0].shape[-1]
        return {1: np.concatenate([array.reshape(-1, units) for array in seen])}

    def verify(self, signature: Signature) -> None:
        if not signature.output.element.is_float:
            if not self._has_integers:
                raise OperationError(f"{self.kind.value} with these functions has no integers")
            self._expect(signature, "lengths", ElementType.I32)
            verify_integers(*self.integer_types(signature))
            return
        for name, type_ in zip(self.operands, signature.inputs, strict=True):
            expected = ElementType.I32 if name == "lengths" else ElementType.F32
            if type_.element is not expected:
                raise OperationError(f"expected {expected.value} {name}, got {type_}")
        for type_ in signature.outputs:
            if type_.element is not ElementType.F32:
                raise OperationError(f"expected f32 results, got {type_}")

    def _expect(self, signature: Signature, name: str, element: ElementType) -> None:
        """OperationError where the operand is there and has another type."""
        if name in self.operands:
            type_ = signature.inputs[self.position(name)]
            if type_.element is not element:
                raise OperationError(f"expected {element.value} {name}, got {type_}")

    def updates(self, signature: Signature) -> Mapping[int, int]:
        # Where the reset gate comes first, its product with real states lies in the new one.
        is_first = self.kind is CellKind.GRU and not self.resets_after
        if not self.has_initial or (is_first and signature.output.element.is_float):
            return {}
        first = self.position("hidden")
        return {1 + i: first + i for i in range(self._state_count)}

    def macs(self, signature: Signature) -> int:
        shape = self.shape(signature.inputs)
        rows = shape.directions * shape.gates * shape.units
        return shape.batches * shape.steps * rows * (shape.depth + shape.units)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        run = _Run(self, inputs, signature, rounding)
        parts = [run.direction(number) for number in range(len(self.reversed))]
        hidden = np.stack([part[0] for part in parts], 1)
        axis = 1 if self.batch_first else 0
        states = (np.stack([part[1][i] for part in parts], axis) for i in range(self._state_count))
        if self.batch_first:
            hidden = np.ascontiguousarray(hidden.transpose(2, 0, 1, 3))
        return (hidden, *states)


class _Run:
    """A layer on one input."""

    def __init__(
        self, op: Recurrence, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> None:
        self._op, self._rounding = op, rounding
        self._operands = dict(zip(op.operands, inputs, strict=True))
        self._shape = op.shape(signature.inputs)
        self._signature = signature
        x = inputs[0]
        self._sequence = x.swapaxes(0, 1) if op.batch_first else x

    def direction(self, number: int) -> tuple[Array, tuple[Array, ...]]:
        """The hidden state after each step, (T, B, H), and the states at the end."""
        shape, lengths = self._shape, self._operands.get("lengths")
        layer, states = self._layer(number), self._initial(number)
        out = self._signature.output
        none = 0 if out.element.is_float else out.zero_point
        hidden = np.full((shape.steps, shape.batches, shape.units), none, out.element.numpy)
        for time, products in self._products(layer, self._op.reversed[number]):
            new = layer.step(products, states)
            if lengths is not None:
                inside = (time < lengths)[:, np.newaxis]
                states = tuple(np.where(inside, *pair) for pair in zip(new, states, strict=True))
                hidden[time] = np.where(inside, layer.show(new[0]), none)
            else:
                states = new
                hidden[time] = layer.show(new[0])
        return hidden, states

    def _products(self, layer: Layer, is_reversed: bool) -> Iterator[tuple[int, Array]]:
        """Steps in the order of the direction."""
        times = np.arange(self._shape.steps)[:: -1 if is_reversed else 1]
        for first in range(0, len(times), _AT_ONCE):
            some = times[first : first + _AT_ONCE]
            yield from zip(map(int, some), layer.input_products(self._sequence[some]), strict=True)

    def _layer(self, number: int) -> Layer:
        parts = {
            name: self._operands[name].reshape(len(self._op.reversed), -1, *rest)[number]
            for name, rest in (
                ("weights", (self._shape.depth,)),
                ("recurrent", (self._shape.units,)),
                ("bias", ()),
                ("recurrent_bias", ()),
                ("peepholes", ()),
            )
            if name in self._operands
        }
        op = self._op
        if not self._signature.output.element.is_float:
            operands, out, state = op.integer_types(self._signature)
            rows, zero_points = len(parts["weights"]), (operands["x"].zero_point, out.zero_point)
            return IntegerLayer(
                parts, step_scales(operands, out, state), number * rows, zero_points,
                op.resets_after, self._rounding,
            )  # fmt: skip
        return RealLayer(
            CELLS[op.kind.value](
                parts, op.functions_of(number), op.clip, op.resets_after, op.couples_gates
            )
        )

    def _initial(self, number: int) -> tuple[Array, ...]:
        shape, axis = self._shape, 1 if self._op.batch_first else 0
        if not self._op.has_initial:
            element = self._signature.outputs[1].element.numpy
            zeros = np.zeros((shape.batches, shape.units), element)
            return (zeros,) * self._op._state_count
        names = ("hidden", "cell")[: self._op._state_count]
        return tuple(self._operands[name].take(number, axis) for name in names)
