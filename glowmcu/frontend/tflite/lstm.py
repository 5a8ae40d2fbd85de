"""LSTM over sequences, in one or two directions, with its states: the layer of Keras; its variants
are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from glowmcu.frontend.tflite.container import OperatorRecord, TensorRecord
from glowmcu.frontend.tflite.importer import (
    Import,
    Unsupported,
    constant_data,
    importer,
    real_values,
    tensor_type,
)
from glowmcu.frontend.tflite.rnn import give_directions
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.frontend.tflite.variable_tensors import (
    emit_updating,
    states_before,
    update,
    variable,
)
from glowmcu.ir.graph import Value
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.lstm import GATES, Lstm
from glowmcu.ops.transpose import Reverse


@dataclass(frozen=True)
class _Places:
    """Operands of a direction: where its weights begin, in the order of gates, and its states."""

    first: int
    hidden: int
    cell: int

    @property
    def weights(self) -> range:
        return range(self.first, self.first + 4)

    @property
    def recurrent(self) -> range:
        return range(self.first + 4, self.first + 8)

    @property
    def bias(self) -> range:
        return range(self.first + 11, self.first + 15)

    @property
    def variants(self) -> dict[str, range]:
        """What is refused where it is given."""
        return {
            "peephole weights": range(self.first + 8, self.first + 11),
            "a projection": range(self.first + 15, self.first + 17),
        }


_ONE, _END = _Places(1, 18, 19), 24
_FORWARD, _BACKWARD = _Places(1, 35, 36), _Places(18, 37, 38)
_STORED = ("INT8", "FLOAT32")
_HINT = "a Keras LSTM layer with its default activations is converted to what is supported"


@importer("UNIDIRECTIONAL_SEQUENCE_LSTM")
def import_lstm(state: Import, op: OperatorRecord) -> None:
    """The tensors of the four gates become one each of weights, recurrent weights and biases."""
    options = op.options(tflite.UnidirectionalSequenceLSTMOptions)
    _refuse_variants(state, op, _ONE.variants | {"layer normalization": range(20, _END)})
    if len(op.inputs) > _END:
        raise Unsupported("GM105", f"{op.name} has {len(op.inputs)} operands, at most {_END}")
    _expect_tanh(op, options.FusedActivationFunction())
    x = state.value(op, 0)
    operation = Lstm(bool(options.TimeMajor()), float(options.CellClip()))
    inputs = _operands(state, op, x, _ONE)
    emit_updating(state, op, operation, inputs, (_ONE.hidden, _ONE.cell))


@importer("BIDIRECTIONAL_SEQUENCE_LSTM")
def import_bidirectional_lstm(state: Import, op: OperatorRecord) -> None:
    """The same twice, once backwards; the results are joined or two. float32, whatever weights are
    stored as.
    """
    options = op.options(tflite.BidirectionalSequenceLSTMOptions)
    for places in (_FORWARD, _BACKWARD):
        _refuse_variants(state, op, places.variants)
    _refuse_variants(state, op, {"an auxiliary input": range(39, 48)})
    _expect_tanh(op, options.FusedActivationFunction())
    x, time_major = state.value(op, 0), bool(options.TimeMajor())
    if not x.type.element.is_float or x.type.rank != 3:
        raise Unsupported("GM106", f"{op.name} takes float32 of 3 axes, got {x.type}")
    operation = Lstm(time_major, float(options.CellClip()))
    back = Reverse((0 if time_major else 1,))
    ahead = _direction(state, op, operation, x, _FORWARD)
    turned = state.emit_inner(op, back, [x], x.type)
    behind = _direction(state, op, operation, turned, _BACKWARD)
    results = [ahead, state.emit_inner(op, back, [behind], x.type)]
    give_directions(state, op, results, bool(options.MergeOutputs()))


def _direction(
    state: Import, op: OperatorRecord, operation: Lstm, x: Value, places: _Places
) -> Value:
    """The hidden state after each step; the states move on."""
    inputs, positions = _operands(state, op, x, places), (places.hidden, places.cell)
    types = [x.type, *(value.type for value in states_before(state, op, positions))]
    result, *states = state.emit_all(op, operation, inputs, types)
    update(state, op, positions, states)
    return result


def _operands(state: Import, op: OperatorRecord, x: Value, places: _Places) -> list[Value]:
    """Those of `lstm`."""
    hidden = variable(state, op, places.hidden, "hidden state")
    cell = variable(state, op, places.cell, "cell state")
    parts = (("weights", places.weights), ("recurrent weights", places.recurrent),
             ("bias", places.bias))  # fmt: skip
    is_float = x.type.element.is_float
    constants = [_stacked(state, op, positions, what, is_float) for what, positions in parts]
    return [x, *constants, hidden, cell]


def _refuse_variants(
    state: Import, op: OperatorRecord, variants: Mapping[str, Sequence[int]]
) -> None:
    for what, positions in variants.items():
        if any(state.has(op, position) for position in positions):
            raise Unsupported("GM105", f"{op.name} with {what} is not supported", _HINT)


def _expect_tanh(op: OperatorRecord, activation: int) -> None:
    if activation != tflite.ActivationFunctionType.TANH:
        raise Unsupported("GM105", f"{op.name}: its activation must be TANH", _HINT)


def _stacked(
    state: Import, op: OperatorRecord, positions: Sequence[int], what: str, is_float: bool
) -> Value:
    """The constants of the four gates as one, with a scale a gate if they are quantized."""
    records = [_record(state, op, p, f"{what} of the {g} gate")
               for p, g in zip(positions, GATES, strict=True)]  # fmt: skip
    types = [tensor_type(record) for record in records]
    first = types[0]
    if any((type_.shape, type_.element) != (first.shape, first.element) for type_ in types):
        shown = ", ".join(map(str, types))
        raise Unsupported("GM106", f"{op.name}: {what} of its gates differ: {shown}", _HINT)
    arrays = [constant_data(record) for record in records]
    if is_float:
        arrays = [real_values(data, type_) for data, type_ in zip(arrays, types, strict=True)]
    quantization = None
    if first.element is ElementType.I8 and not is_float:
        quantization = _quantization(op, types, what)
    return state.add_constant(np.stack(arrays), f"{records[0].name}/{what}", quantization)


def _record(state: Import, op: OperatorRecord, position: int, what: str) -> TensorRecord:
    if not state.has(op, position):
        raise Unsupported("GM105", f"{op.name} lacks the {what} (operand {position})", _HINT)
    record = state.model.tensors[op.inputs[position]]
    if record.data is None:
        raise Unsupported("GM105", f"{op.name}: the {what} must be a constant", _HINT)
    if not what.startswith("bias") and record.type_name not in _STORED:
        raise Unsupported("GM105", f"{op.name}: the {what} are {record.type_name}, not INT8")
    return record


def _quantization(op: OperatorRecord, types: Iterable[TensorType], what: str) -> Quantization:
    parts = [type_.quantization for type_ in types]
    known = [part for part in parts if part is not None and not part.per_channel]
    if len(known) < len(GATES):
        raise Unsupported("GM106", f"{op.name}: {what} have one scale a gate", _HINT)
    scales = tuple(part.scales[0] for part in known)
    return Quantization(scales, tuple(part.zero_points[0] for part in known), 0)
