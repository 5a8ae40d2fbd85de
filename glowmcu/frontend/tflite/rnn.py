"""RNN of one step or a sequence, in one or two directions: `recurrence`, one a direction, whose
hidden state is a variable tensor.
"""

from __future__ import annotations

from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.frontend.tflite.schema import schema_names, tflite
from glowmcu.frontend.tflite.variable_tensors import states_before, update, variable
from glowmcu.ir.graph import Value
from glowmcu.ir.types import ElementType
from glowmcu.ops.activation import Relu
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.real import FLOAT_MAX
from glowmcu.ops.recurrence import CellKind, Recurrence
from glowmcu.ops.recurrence_cells import CellFunction
from glowmcu.ops.shape import Reshape
from glowmcu.ops.transcendental import Tanh

_KINDS = tflite.ActivationFunctionType
_FUNCTIONS = {
    _KINDS.NONE: CellFunction(None),
    _KINDS.RELU: CellFunction(Relu((0.0, FLOAT_MAX))),
    _KINDS.RELU_N1_TO_1: CellFunction(Relu((-1.0, 1.0))),
    _KINDS.RELU6: CellFunction(Relu((0.0, 6.0))),
    _KINDS.TANH: CellFunction(Tanh()),
}
#: Operands of a direction: weights, recurrent weights, bias and hidden state from here on.
_FORWARD, _BACKWARD = 1, 5
_AUXILIARY = range(9, 12)


@importer("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN")
def import_rnn(state: Import, op: OperatorRecord) -> None:
    """One direction. float32, whatever weights are stored as."""
    is_sequence = op.name != "RNN"
    options = op.options(tflite.SequenceRNNOptions if is_sequence else tflite.RNNOptions)
    time_major = not is_sequence or bool(options.TimeMajor())
    x = _operand(state, op, 3 if is_sequence else 2)
    if not is_sequence:
        x = state.emit_inner(op, Reshape((1, *x.type.shape)), [x], x.type)
    function = _function(op, options.FusedActivationFunction())
    hidden = _direction(state, op, x, _FORWARD, function, time_major)
    sizes = (*x.type.shape[:2], hidden.type.shape[3])
    state.emit(op, Reshape(sizes if is_sequence else sizes[1:]), [hidden])


@importer("BIDIRECTIONAL_SEQUENCE_RNN")
def import_bidirectional_rnn(state: Import, op: OperatorRecord) -> None:
    """Both directions, as two results or joined. float32, whatever weights are stored as."""
    options = op.options(tflite.BidirectionalSequenceRNNOptions)
    if any(state.has(op, position) for position in _AUXILIARY):
        raise Unsupported("GM105", f"{op.name} with an auxiliary input is not supported")
    x, time_major = _operand(state, op, 3), bool(options.TimeMajor())
    function = _function(op, options.FusedActivationFunction())
    both = [
        _direction(state, op, x, first, function, time_major) for first in (_FORWARD, _BACKWARD)
    ]
    results = [
        state.emit_inner(op, Reshape((*x.type.shape[:2], y.type.shape[3])), [y], x.type)
        for y in both
    ]
    give_directions(state, op, results, bool(options.MergeOutputs()))


def give_directions(
    state: Import, op: OperatorRecord, results: list[Value], is_joined: bool
) -> None:
    """The operator's results are those of its two directions, joined along the last axis or not."""
    if len(op.outputs) != (1 if is_joined else 2):
        raise Unsupported("GM106", f"{op.name} has {len(op.outputs)} results")
    if is_joined:
        state.emit(op, Concatenation(results[0].type.rank - 1), results)
        return
    for position, value in enumerate(results):
        state.expect_declared(op, position, value)
        state.set_value(op, value, position)


def _operand(state: Import, op: OperatorRecord, rank: int) -> Value:
    x = state.value(op, 0)
    if x.type.element is not ElementType.F32 or x.type.rank != rank:
        raise Unsupported("GM106", f"{op.name} takes float32 of {rank} axes, got {x.type}")
    return x


def _function(op: OperatorRecord, activation: int) -> CellFunction:
    if activation not in _FUNCTIONS:
        name = schema_names("ActivationFunctionType").get(activation, str(activation))
        raise Unsupported("GM105", f"{op.name}: its activation {name} is not supported")
    return _FUNCTIONS[activation]


def _direction(
    state: Import, op: OperatorRecord, x: Value, first: int, function: CellFunction,
    time_major: bool,
) -> Value:  # fmt: skip
    """The hidden state after each step, with an axis of directions; the state moves on."""
    weights = [state.value(op, first + place) for place in range(3)]
    place = first + 3
    variable(state, op, place, "hidden state")
    (hidden,) = states_before(state, op, [place])
    shape = hidden.type.shape
    if len(shape) != 2:
        raise Unsupported("GM106", f"{op.name}: its hidden state is {hidden.type}")
    operation = Recurrence(
        CellKind.RNN, (function,), (first == _BACKWARD,), not time_major, has_initial=True
    )
    stacked = (1, *shape) if time_major else (shape[0], 1, shape[1])
    given = state.emit_inner(op, Reshape(stacked), [hidden], hidden.type)
    types = [x.type, hidden.type]
    result, last = state.emit_all(op, operation, [x, *weights, given], types)
    update(state, op, [place], [state.emit_inner(op, Reshape(shape), [last], last.type)])
    return result
