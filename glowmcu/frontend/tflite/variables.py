"""VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE, CALL_ONCE: variables of the file become states.

A variable is one state however many handles name it. Reading gives what was assigned before in the
same run, else what the run before left. A stream begins with what CALL_ONCE's subgraph assigns,
else, as in TensorFlow Lite Micro (`micro_resource_variable.cc`), with zeros: an int8 tensor's zero
point. A variable that is never assigned is a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

import numpy as np

from glowmcu.frontend.tflite.container import ModelRecord, OperatorRecord
from glowmcu.frontend.tflite.importer import Import, importer, load_importers, tensor_type
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.frontend.tflite.variable_tensors import InnerTensors
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.lazy_dataclass import dataclass


@dataclass
class Variables:
    """Those of one subgraph. `names` are by tensor of a handle, `initial` and `values` by name.

    In a body that is a graph of its own, `is_inner`, they are inputs and results of it.
    """

    names: dict[int, str] = field(default_factory=dict)
    initial: dict[str, Array] = field(default_factory=dict)
    states: dict[str, Value] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)
    is_inner: bool = False

    def name(self, state: Import, op: OperatorRecord) -> str:
        """The variable that the operator's first operand refers to."""
        if not state.has(op, 0) or op.inputs[0] not in self.names:
            raise Unsupported("GM105", f"{op.name} lacks the handle of a variable")
        return self.names[op.inputs[0]]


def _of(state: Import) -> Variables:
    return state.side_table(Variables)


def share_variables(outer: Import, inner: Import, number: int) -> None:
    """Subgraph `number` reads and assigns the variables of the graph around it; handles are its
    own, and variable tensors are the same ones whenever the subgraph runs.
    """
    known, tensors = _of(outer), outer.side_table(InnerTensors)
    inner.give_table(Variables({}, known.initial, known.states, known.values, known.is_inner))
    inner.give_table(tensors)
    inner.give_table(tensors.of(number))


def variables_mark(state: Import) -> Callable[[], None]:
    """A function that takes back what is done to variables from now on."""
    known, inner = _of(state), state.side_table(InnerTensors)
    states, values, tensors = dict(known.states), dict(known.values), inner.copy()

    def take_back() -> None:
        # In place: graphs around and inside share these.
        for now, before in ((known.states, states), (known.values, values)):
            now.clear()
            now.update(before)
        inner.tables.clear()
        inner.tables.update(tensors)

    return take_back


def states_of_operators(state: Import) -> int:
    """How many states are no variables and no variable tensors: each time such an operator is
    imported it has another one.
    """
    inner = state.side_table(InnerTensors).tables.values()
    known = len(_of(state).states) + sum(len(item.states) for item in inner)
    return len(state.builder.states) - known


def used_variables(state: Import, numbers: Sequence[int]) -> dict[str, bool]:
    """Variables that subgraphs refer to, and those inside them: whether they are assigned there."""
    found: dict[str, bool] = {}
    todo, seen = list(numbers), set[int]()
    while todo:
        number = todo.pop(0)
        if number in seen:
            continue
        seen.add(number)
        graph = state.model.subgraph(number)
        assigned = assigned_names((graph,))
        for op in graph.operators:
            if op.name == "VAR_HANDLE":
                name = _handle_name(op)
                found[name] = found.get(name, False) or name in assigned
            todo += inner_numbers(op)
    return found


def inner_numbers(op: OperatorRecord) -> tuple[int, ...]:
    """Subgraphs that a branch or loop refers to."""
    if op.name == "IF":
        branches = op.options(tflite.IfOptions)
        return branches.ThenSubgraphIndex(), branches.ElseSubgraphIndex()
    if op.name == "WHILE":
        loop = op.options(tflite.WhileOptions)
        return loop.CondSubgraphIndex(), loop.BodySubgraphIndex()
    return ()


def current_value(state: Import, name: str) -> Value:
    """What a variable is so far in this run, whether it was read already or not."""
    variables = _of(state)
    if name not in variables.values:
        type_ = _declared_type(state.model, name)
        variables.values[name] = _first_value(state, variables, name, type_)
    return variables.values[name]


def assign_current(state: Import, name: str, value: Value) -> None:
    """From now on the variable is `value`."""
    variables = _of(state)
    variables.values[name] = value
    if not variables.is_inner:
        state.builder.assign(variables.states[name], value)


def give_inner_variables(inner: Import, values: Mapping[str, Value]) -> dict[str, Value]:
    """A body's variables, which it may assign in what is returned."""
    held = Variables({}, {}, {}, dict(values), is_inner=True)
    inner.give_table(held)
    return held.values


def _declared_type(model: ModelRecord, name: str) -> TensorType:
    """The type that a variable has where some subgraph reads or assigns it."""
    for graph in (model, *model.others):
        handles = {
            op.outputs[0]
            for op in graph.operators
            if op.name == "VAR_HANDLE" and _handle_name(op) == name
        }
        for op in graph.operators:
            if not op.inputs or op.inputs[0] not in handles:
                continue
            if op.name == "READ_VARIABLE":
                return tensor_type(graph.tensors[op.outputs[0]])
            if op.name == "ASSIGN_VARIABLE" and len(op.inputs) > 1 and op.inputs[1] >= 0:
                return tensor_type(graph.tensors[op.inputs[1]])
    raise Unsupported("GM105", f"variable {name[:120]!r} is neither read nor assigned")


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
    name, type_ = variables.name(state, op), state.output_type(op)
    if name not in variables.values:
        variables.values[name] = _first_value(state, variables, name, type_)
    value = variables.values[name]
    _expect_type(name, value.type, type_, "is read as")
    state.set_value(op, value)


@importer("ASSIGN_VARIABLE")
def import_assign_variable(state: Import, op: OperatorRecord) -> None:
    """From now on the variable is the operand, also for the next run."""
    variables = _of(state)
    name, value = variables.name(state, op), state.value(op, 1)
    if variables.is_inner:
        _expect_type(name, variables.values[name].type, value.type, "is assigned")
        variables.values[name] = value
        return
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
    if name in _ever_assigned(state.model):
        variables.states[name] = _new_state(state, variables, name, type_)
        return variables.states[name]
    return state.add_constant(_initial(state, variables, name, type_), name, type_.quantization)


def _ever_assigned(model: ModelRecord) -> set[str]:
    """Variables that some subgraph assigns, those that CALL_ONCE runs left out."""
    graphs = (model, *model.others)
    calls = [op for graph in graphs for op in graph.operators if op.name == "CALL_ONCE"]
    once = {op.options(tflite.CallOnceOptions).InitSubgraphIndex() for op in calls}
    others = (graph for number, graph in enumerate(model.others, 1) if number not in once)
    return assigned_names((model, *others))


def assigned_names(graphs: Sequence[ModelRecord]) -> set[str]:
    """Variables that these graphs assign themselves."""
    names: set[str] = set()
    for graph in graphs:
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
