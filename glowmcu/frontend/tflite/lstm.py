"""UNIDIRECTIONAL_SEQUENCE_LSTM: the layer of Keras, with its states; its variants are refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.frontend.tflite.variable_tensors import emit_updating, variable
from glowmcu.ir.graph import Value
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.ops.lstm import GATES, Lstm

#: Operands; weights and biases are in the order of gates.
_WEIGHTS, _RECURRENT, _BIAS = range(1, 5), range(5, 9), range(12, 16)
_HIDDEN, _CELL, _END = 18, 19, 24
_VARIANTS = {
    "peephole weights": range(9, 12),
    "a projection": range(16, 18),
    "layer normalization": range(20, 24),
}
_STORED = ("INT8", "FLOAT32")
_HINT = "a Keras LSTM layer with its default activations is converted to what is supported"


@importer("UNIDIRECTIONAL_SEQUENCE_LSTM")
def import_lstm(state: Import, op: OperatorRecord) -> None:
    """The tensors of the four gates become one each of weights, recurrent weights and biases."""
    options = op.options(tflite.UnidirectionalSequenceLSTMOptions)
    _refuse_variants(state, op)
    if options.FusedActivationFunction() != tflite.ActivationFunctionType.TANH:
        raise Unsupported("GM105", f"{op.name}: its activation must be TANH", _HINT)
    x = state.value(op, 0)
    hidden = variable(state, op, _HIDDEN, "hidden state")
    cell = variable(state, op, _CELL, "cell state")
    is_float = x.type.element.is_float
    constants = (
        _stacked(state, op, _WEIGHTS, "weights", is_float),
        _stacked(state, op, _RECURRENT, "recurrent weights", is_float),
        _stacked(state, op, _BIAS, "bias", is_float),
    )
    operation = Lstm(bool(options.TimeMajor()), float(options.CellClip()))
    emit_updating(state, op, operation, [x, *constants, hidden, cell], (_HIDDEN, _CELL))


def _refuse_variants(state: Import, op: OperatorRecord) -> None:
    for what, positions in _VARIANTS.items():
        if any(state.has(op, position) for position in positions):
            raise Unsupported("GM105", f"{op.name} with {what} is not supported", _HINT)
    if len(op.inputs) > _END:
        raise Unsupported("GM105", f"{op.name} has {len(op.inputs)} operands, at most {_END}")


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
    if position not in _BIAS and record.type_name not in _STORED:
        raise Unsupported("GM105", f"{op.name}: the {what} are {record.type_name}, not INT8")
    return record


def _quantization(op: OperatorRecord, types: Iterable[TensorType], what: str) -> Quantization:
    parts = [type_.quantization for type_ in types]
    known = [part for part in parts if part is not None and not part.per_channel]
    if len(known) < len(GATES):
        raise Unsupported("GM106", f"{op.name}: {what} have one scale a gate", _HINT)
    scales = tuple(part.scales[0] for part in known)
    return Quantization(scales, tuple(part.zero_points[0] for part in known), 0)
