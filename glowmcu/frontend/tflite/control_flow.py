"""IF and WHILE: subgraphs of the file become part of the graph.

Where the condition is known at compile time, the subgraph's operators stand in its place: for a
loop once a trip, if that is short. Else the operator is a node with graphs inside.
"""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.frontend.control_flow import (
    MAX_NODES,
    MAX_OPERATORS,
    MAX_TRIPS,
    SHORT_NODES,
    expect_same_types,
)
from glowmcu.frontend.control_flow_nodes import Inside, LoopPart, Place, add_if, add_loop
from glowmcu.frontend.tflite.container import DECODE_ERRORS, OperatorRecord, described
from glowmcu.frontend.tflite.custom_c import importers_with
from glowmcu.frontend.tflite.importer import Import, importer, load_importers
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.frontend.tflite.unsupported import unsupported_operator
from glowmcu.frontend.tflite.variables import (
    assign_current,
    current_value,
    give_inner_variables,
    share_variables,
    states_of_operators,
    used_variables,
    variables_mark,
)
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType


@importer("IF")
def import_if(state: Import, op: OperatorRecord) -> None:
    """Either subgraph, by a condition: the one that is taken if that is known."""
    options = op.options(tflite.IfOptions)
    numbers = options.ThenSubgraphIndex(), options.ElseSubgraphIndex()
    condition, *operands = _operands(state, op)
    expect_condition(op, condition)
    known = state.builder.known.get(condition)
    if known is None:
        bind_results(state, op, _branched(state, op, condition, operands, numbers))
        return
    is_true = bool(known.reshape(-1)[0])
    place = f"{result_name(state, op)}/{'then' if is_true else 'else'}"
    results = write_out(state, op, numbers[0 if is_true else 1], operands, place)
    bind_results(state, op, results)


@importer("WHILE")
def import_while(state: Import, op: OperatorRecord) -> None:
    """A loop: written out if it is short and the number of trips known at compile time."""
    operands = _operands(state, op)
    start, take_back = state.builder.mark(), variables_mark(state)
    results = _written_out(state, op, operands)
    if results is None or len(state.builder.nodes) - start.node_count > SHORT_NODES:
        state.builder.rewind(start)
        take_back()
        try:
            results = _looped(state, op, operands)
        except Unsupported:
            state.builder.rewind(start)
            take_back()
            if results is None:
                raise
            results = _written_out(state, op, operands)
    assert results is not None
    bind_results(state, op, results)


def _written_out(state: Import, op: OperatorRecord, values: list[Value]) -> list[Value] | None:
    """What the loop leaves of `values`; None if the number of trips depends on data."""
    options = op.options(tflite.WhileOptions)
    name, first = result_name(state, op), len(state.builder.nodes)
    most, states = state.effort.operators + MAX_OPERATORS, states_of_operators(state)
    for trip in range(MAX_TRIPS + 1):
        place = f"{name}/trip{trip}"
        condition = _condition(state, op, values, f"{place}/cond")
        again: Array | None = state.builder.known.get(condition)
        is_long = len(state.builder.nodes) - first > MAX_NODES or state.effort.operators > most
        if again is None or is_long:
            return None
        if not again.reshape(-1)[0]:
            return values
        after = write_out(state, op, options.BodySubgraphIndex(), values, place)
        _expect_count(op, values, after)
        if states_of_operators(state) > states:
            raise Unsupported(
                "GM105", f"WHILE {name[:120]!r}: an operator with a state of its own is in it",
                "variables (VAR_HANDLE) may be assigned in a loop; put the operator in front of it",
            )  # fmt: skip
        expect_same_types(f"WHILE {name[:120]!r}", values, after, trip)
        values = after
    return None


def _condition(state: Import, op: OperatorRecord, values: Sequence[Value], place: str) -> Value:
    number = op.options(tflite.WhileOptions).CondSubgraphIndex()
    return _only_condition(op, write_out(state, op, number, values, place))


def _only_condition(op: OperatorRecord, found: Sequence[Value]) -> Value:
    if len(found) != 1:
        raise Unsupported("GM105", f"{op.name}: its condition has {len(found)} results")
    expect_condition(op, found[0])
    return found[0]


def _expect_count(op: OperatorRecord, values: Sequence[Value], after: Sequence[Value]) -> None:
    if not len(after) == len(values) == len(op.outputs):
        raise Unsupported(
            "GM105",
            f"{op.name}: {len(values)} values, its body gives {len(after)}, and "
            f"{len(op.outputs)} results",
        )


def _inner_results(
    state: Import, op: OperatorRecord, inside: Inside, part: tuple[int, str],
    operands: Sequence[Value], variables: dict[str, Value],
) -> list[Value]:  # fmt: skip
    """Of a subgraph, by number and word, in a graph of its own; `variables` are then what it leaves
    of them.
    """
    number, word = part
    inner = state.enter(number, f"{result_name(state, op)}/{word}", inside.builder)
    left = give_inner_variables(inner, variables)
    found = subgraph_results(inner, op, operands)
    variables.update(left)
    return found


def _place(
    state: Import, op: OperatorRecord, variables: Sequence[str], positions: Sequence[int] = ()
) -> Place:
    """Results are named as the file does (all, or those at `positions`), then variables."""
    names = [state.model.tensors[index].name for index in op.outputs]
    if op.name == "WHILE":
        names = [names[position] for position in positions]
    what = f"{op.name} {result_name(state, op)[:120]!r}"
    return Place(what, f"operator {op.index} {op.name}", (*names, *variables))


def _branched(
    state: Import, op: OperatorRecord, condition: Value, operands: Sequence[Value],
    numbers: Sequence[int],
) -> list[Value]:  # fmt: skip
    """An `if`: what both branches give, and variables that one of them assigns."""
    used = used_variables(state, numbers)
    before = {name: current_value(state, name) for name in sorted(used)}
    assigned = [name for name in before if used[name]]
    parts = []
    for number, branch in zip(numbers, ("then", "else"), strict=True):
        inside = Inside(state.builder)
        variables = {name: inside.value(value) for name, value in before.items()}
        given = [inside.value(value) for value in operands]
        results = _inner_results(state, op, inside, (number, branch), given, variables)
        parts.append(inside.part([*results, *(variables[name] for name in assigned)]))
    counts = [len(part.results) - len(assigned) for part in parts]
    if counts != [len(op.outputs)] * 2:
        raise Unsupported("GM105", f"IF has {len(op.outputs)} results, its subgraphs {counts}")
    found = add_if(state.builder, _place(state, op, assigned), condition, *parts)
    for name, value in zip(assigned, found[counts[0] :], strict=True):
        assign_current(state, name, value)
    return found[: counts[0]]


def _looped(state: Import, op: OperatorRecord, operands: list[Value]) -> list[Value]:
    """A `loop`. What the body hands on as it is stands around the loop."""
    options = op.options(tflite.WhileOptions)
    cond, body = options.CondSubgraphIndex(), options.BodySubgraphIndex()
    condition = _condition(state, op, operands, f"{result_name(state, op)}/first")
    used, stays = used_variables(state, (cond, body)), _handed_on(state, body)
    before = {name: current_value(state, name) for name in sorted(used)}
    inside = Inside(state.builder)
    given = [
        inside.value(value) if position in stays else Value(value.type, value.name)
        for position, value in enumerate(operands)
    ]
    variables = {
        name: Value(value.type, name) if used[name] else inside.value(value)
        for name, value in before.items()
    }
    assigned = [name for name in before if used[name]]
    moving = [position for position in range(len(operands)) if position not in stays]
    carried = [*(given[position] for position in moving), *(variables[n] for n in assigned)]
    after = _inner_results(state, op, inside, (body, "body"), given, variables)
    _expect_count(op, operands, after)
    again = _inner_results(state, op, inside, (cond, "cond"), after, variables)
    results = [
        _only_condition(op, again), *(after[position] for position in moving),
        *(variables[name] for name in assigned),
    ]  # fmt: skip
    place = _place(state, op, assigned, moving)
    outer = [*(operands[position] for position in moving), *(before[name] for name in assigned)]
    loop = LoopPart(inside.part(results), carried)
    found = add_loop(state.builder, place, condition, loop, outer)
    for name, value in zip(assigned, found[len(moving) :], strict=True):
        assign_current(state, name, value)
    ends = dict(zip(moving, found[: len(moving)], strict=True))
    return [ends.get(position, value) for position, value in enumerate(operands)]


def _handed_on(state: Import, body: int) -> set[int]:
    """Inputs that the body gives back as they are, in their places."""
    record = state.model.subgraph(body)
    pairs = enumerate(zip(record.inputs, record.outputs, strict=False))
    return {position for position, (first, last) in pairs if first == last}


def _operands(state: Import, op: OperatorRecord) -> list[Value]:
    return [state.value(op, position) for position in range(len(op.inputs))]


def result_name(state: Import, op: OperatorRecord) -> str:
    """What the operator is called: as its first result."""
    return state.model.tensors[op.outputs[0]].name if op.outputs else op.name.lower()


def expect_condition(op: OperatorRecord, condition: Value) -> None:
    """Raise Unsupported GM106 unless it is one boolean."""
    if condition.type.element is not ElementType.BOOL or condition.type.element_count != 1:
        raise Unsupported("GM106", f"{op.name}: its condition is {condition.type}; expected a bool")


def bind_results(state: Import, op: OperatorRecord, values: Sequence[Value]) -> None:
    """The operator's results, if they are what the file declares."""
    if len(values) != len(op.outputs):
        raise Unsupported(
            "GM105", f"{op.name} has {len(op.outputs)} results, its subgraph {len(values)}"
        )
    for position, value in enumerate(values):
        state.expect_declared(op, position, value)
        state.set_value(op, value, position)


def write_out(
    state: Import, op: OperatorRecord, number: int, operands: Sequence[Value], place: str
) -> list[Value]:
    """The results of subgraph `number` on `operands`, its operators in the graph around it."""
    inner = state.enter(number, place, state.builder)
    share_variables(state, inner, number)
    return subgraph_results(inner, op, operands)


def subgraph_results(inner: Import, op: OperatorRecord, operands: Sequence[Value]) -> list[Value]:
    """Import all operators of a subgraph. Raises Unsupported naming the first that cannot be."""
    if len(operands) != len(inner.model.inputs):
        raise Unsupported(
            "GM105",
            f"{op.name} gives {len(operands)} operands to a subgraph of {len(inner.model.inputs)}",
        )
    for position, value in enumerate(operands):
        inner.give(position, value)
    with inner.builder.inside_of(f"operator {op.index} {op.name}"):
        _import_operators(inner, op)
    return [inner.tensor_value(index) for index in inner.model.outputs]


def _import_operators(inner: Import, op: OperatorRecord) -> None:
    importers = importers_with(inner.custom, load_importers())
    for each in inner.model.operators:
        where = f"in a subgraph of {op.name}, operator {each.index} {each.name}"
        if each.name not in importers:
            problem = unsupported_operator(each, "", list(importers))
            raise Unsupported(problem.code, f"{where}: {problem.message}", problem.hint)
        try:
            importers[each.name](inner, each)
        except Unsupported as cause:
            message = f"{where}: {cause.message}"
            raise Unsupported(cause.code, message, cause.hint, cause.bind) from cause
        except DECODE_ERRORS as cause:
            raise Unsupported("GM101", f"{where} is damaged: {described(cause)}") from cause
