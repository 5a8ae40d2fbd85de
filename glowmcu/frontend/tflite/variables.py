"""VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE, CALL_ONCE: variables of the file become states.

A variable is one state however many handles name it. Reading gives what was assigned before in the
same run, else what the run before left. A stream begins with what CALL_ONCE's subgraph assigns,
else, as in TensorFlow Lite Micro (`micro_resource_variable.cc`), with zeros: an int8 tensor's zero
point. A variable that is never assigned is a constant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import tflite

from glowmcu.frontend.tflite.container import ModelRecord, OperatorRecord
from glowmcu.frontend.tflite.importer import Import, importer, load_importers
from glowmcu.frontend.tflite.variable_tensors import InnerTensors
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType, TensorType


@dataclass
class Variables:
    """Those of one subgraph. `names` are by tensor of a handle, `initial` and `values` by name."""

    names: dict[int, str] = field(default_factory=dict)
    initial: dict[str, Array] = field(default_factory=dict)
    states: dict[str, Value] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)

    def name(self, op: OperatorRecord) -> str:
        """The variable that the operator's first operand refers to."""
        handle = op.inputs[0] if op.inputs else -1
        if handle not in self.names:
            raise Unsupported("GM105", f"{op.name} lacks the handle of a variable")
        return self.names[handle]


def _of(state: Import) -> Variables:
    return state.side_table(Variables)


def share_variables(outer: Import, inner: Import, number: int) -> None:
    """Subgraph `number` reads and assigns the variables of the graph around it; handles are its
    own, and variable tensors are the same ones whenever the subgraph runs.
    """
    known, tensors = _of(outer), outer.side_table(InnerTensors)
    inner.give_table(Variables({}, known.initial, known.states, known.values))
    inner.give_table(tensors)
    inner.give_table(tensors.of(number))


def variables_mark(state: Import) -> Callable[[], None]:
    """A function that takes back what is done to variables from now on."""
    known, inner = _of(state), state.side_table(InnerTensors)
    states, values, tensors = dict(known.states), dict(known.values), inner.copy()

    def take_back() -> None:
        known.states, known.values = states, values
        inner.tables = tensors

    return take_back


@importer("VAR_HANDLE")
def import_var_handle(state: Import, op: OperatorRecord) -> None:
    """Gives a name to the tensor that stands for the variable."""
    _of(state).names[op.outputs[0]] = _handle_name(op)


def _handle_name(op: OperatorRecord) -> str:
    options = op.options(tflite.VarHandleOptions)
    container, shared = (options.Container() or b"")[:4096], (options.SharedName() or b"")[:4096]
    return b"/".join(filter(None, (container, shared))).decode("utf-8", "replace") or "variable"


@importer("READ_VARIABLE")
def import_read_variable(state: Import, op: OperatorRecord) -> None:
    """The tensor is the variable's value, without a copy."""
    variables = _of(state)
    name, type_ = variables.name(op), state.output_type(op)
    if name not in variables.values:
        variables.values[name] = _first_value(state, variables, name, type_)
    value = variables.values[name]
    _expect_type(name, value.type, type_, "is read as")
    state.set_value(op, value)


@importer("ASSIGN_VARIABLE")
def import_assign_variable(state: Import, op: OperatorRecord) -> None:
    """From now on the variable is the operand, also for the next run."""
    variables = _of(state)
    name, value = variables.name(op), state.value(op, 1)
    if name not in variables.states:
        type_ = variables.values[name].type if name in variables.values else value.type
        variables.states[name] = _new_state(state, variables, name, type_)
    _expect_type(name, variables.states[name].type, value.type, "is assigned")
    variables.values[name] = value
    state.builder.assign(variables.states[name], value)


@importer("CALL_ONCE")
def import_call_once(state: Import, op: OperatorRecord) -> None:
    """What the subgraph assigns is what variables begin with."""
    variables = _of(state)
    if variables.values or variables.states:
        raise Unsupported(
            "GM105",
            "CALL_ONCE comes after a variable is used, which would differ in the first run alone",
            "let the model begin with it, as the TensorFlow Lite converter does",
        )
    options = op.options(tflite.CallOnceOptions)
    inner = Import(state.model.subgraph(options.InitSubgraphIndex()), InputOptions())
    importers = load_importers()
    for each in inner.model.operators:
        if each.name == "CALL_ONCE" or each.name not in importers:
            raise Unsupported("GM105", f"{each.name} in the subgraph that CALL_ONCE refers to")
        importers[each.name](inner, each)
    assigned = _of(inner).values
    graph = Graph("once", (), tuple(inner.builder.nodes), tuple(assigned.values()))
    graph.verify()
    variables.initial.update(zip(assigned, run_graph(graph, ()), strict=True))


def _first_value(state: Import, variables: Variables, name: str, type_: TensorType) -> Value:
    """What a variable is before the run assigns it."""
    if name in _assigned_names(state.model):
        variables.states[name] = _new_state(state, variables, name, type_)
        return variables.states[name]
    return state.add_constant(_initial(state, variables, name, type_), name, type_.quantization)


def _assigned_names(model: ModelRecord) -> set[str]:
    """Variables that some subgraph assigns, those that CALL_ONCE runs left out."""
    graphs = (model, *model.others)
    calls = [op for graph in graphs for op in graph.operators if op.name == "CALL_ONCE"]
    once = {op.options(tflite.CallOnceOptions).InitSubgraphIndex() for op in calls}
    names: set[str] = set()
    for graph in (model, *(g for number, g in enumerate(model.others, 1) if number not in once)):
        handles = {
            op.outputs[0]: _handle_name(op) for op in graph.operators if op.name == "VAR_HANDLE"
        }
        names.update(
            handles[op.inputs[0]]
            for op in graph.operators
            if op.name == "ASSIGN_VARIABLE" and op.inputs and op.inputs[0] in handles
        )
    return names


def _new_state(state: Import, variables: Variables, name: str, type_: TensorType) -> Value:
    return state.builder.add_state(name, type_, _initial(state, variables, name, type_))


def _initial(state: Import, variables: Variables, name: str, type_: TensorType) -> Array:
    state.builder.afford(type_.shape, type_.element.size_bytes, "a variable")
    dtype = type_.element.numpy
    if name not in variables.initial:
        is_int8 = type_.element is ElementType.I8 and type_.quantization is not None
        return np.full(type_.shape, type_.zero_point if is_int8 else 0, dtype)
    data = variables.initial[name]
    if (data.shape, data.dtype) != (type_.shape, dtype):
        begins = f"{data.dtype}{list(data.shape)}"
        raise _differs(name, f"begins as {begins} and is {type_}")
    return data


def _expect_type(name: str, type_: TensorType, other: TensorType, verb: str) -> None:
    if type_ != other:
        raise _differs(name, f"is {type_} and {verb} {other}")


def _differs(name: str, what: str) -> Unsupported:
    return Unsupported(
        "GM106",
        f"variable {name[:120]!r} {what}",
        "a variable keeps its shape, its type and its scale: does the model change them?",
    )
