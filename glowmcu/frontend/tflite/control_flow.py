"""IF and WHILE: subgraphs of the file become part of the graph.

Where the condition is known at compile time, the subgraph's operators stand in its place: for a
loop once a trip.
"""

from __future__ import annotations

from collections.abc import Sequence

import tflite

from glowmcu.frontend.control_flow import MAX_NODES, MAX_TRIPS, expect_same_types, not_known
from glowmcu.frontend.tflite.container import DECODE_ERRORS, OperatorRecord
from glowmcu.frontend.tflite.importer import Import, importer, load_importers
from glowmcu.frontend.tflite.unsupported import unsupported_operator
from glowmcu.frontend.tflite.variables import share_variables, variables_mark
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType


@importer("IF")
def import_if(state: Import, op: OperatorRecord) -> None:
    """Either subgraph, by a condition that is known at compile time."""
    options = op.options(tflite.IfOptions)
    condition, *operands = _operands(state, op)
    expect_condition(op, condition)
    known = state.builder.known.get(condition)
    if known is None:
        raise not_known("the condition of IF")
    is_true = bool(known.reshape(-1)[0])
    number = options.ThenSubgraphIndex() if is_true else options.ElseSubgraphIndex()
    place = f"{result_name(state, op)}/{'then' if is_true else 'else'}"
    bind_results(state, op, write_out(state, op, number, operands, place))


@importer("WHILE")
def import_while(state: Import, op: OperatorRecord) -> None:
    """A loop with a number of trips that is known at compile time."""
    results = _written_out(state, op, _operands(state, op))
    if results is None:
        raise not_known("the number of trips of WHILE")
    bind_results(state, op, results)


def _written_out(state: Import, op: OperatorRecord, values: list[Value]) -> list[Value] | None:
    """What the loop leaves of `values`; None where the number of trips depends on data."""
    options = op.options(tflite.WhileOptions)
    name, start, take_back = result_name(state, op), state.builder.mark(), variables_mark(state)
    for trip in range(MAX_TRIPS + 1):
        place = f"{name}/trip{trip}"
        condition = write_out(state, op, options.CondSubgraphIndex(), values, f"{place}/cond")
        if len(condition) != 1:
            raise Unsupported("GM105", f"WHILE: its condition has {len(condition)} results")
        expect_condition(op, condition[0])
        again: Array | None = state.builder.known.get(condition[0])
        if again is None or len(state.builder.nodes) - start.node_count > MAX_NODES:
            break
        if not again.reshape(-1)[0]:
            return values
        after = write_out(state, op, options.BodySubgraphIndex(), values, place)
        if len(after) != len(values):
            raise Unsupported("GM105", f"WHILE: {len(values)} values, its body gives {len(after)}")
        expect_same_types(f"WHILE {name[:120]!r}", values, after, trip)
        values = after
    state.builder.rewind(start)
    take_back()
    return None


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
    importers = load_importers()
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
            what = str(cause)[:200] or type(cause).__name__
            raise Unsupported("GM101", f"{where} is damaged: {what}") from cause
    return [inner.tensor_value(index) for index in inner.model.outputs]
