"""Tensors that an operator reads and writes, from run to run: states of the graph.

A stream begins with zeros, an int8 tensor with its zero point, as `MicroInterpreter::Reset` has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from glowmcu.frontend.run_end import first_value
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, Unsupported, tensor_type
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Operation
from glowmcu.lazy_dataclass import dataclass


@dataclass
class VariableTensors:
    """Those of one subgraph, by tensor: the state, and what it is so far in this run."""

    states: dict[int, Value] = field(default_factory=dict)
    values: dict[int, Value] = field(default_factory=dict)


@dataclass
class InnerTensors:
    """Those of the subgraphs of one graph, by number: of each there is one set."""

    tables: dict[int, VariableTensors] = field(default_factory=dict)

    def of(self, number: int) -> VariableTensors:
        """Those of subgraph `number`."""
        return self.tables.setdefault(number, VariableTensors())

    def copy(self) -> dict[int, VariableTensors]:
        """The tables as they are now."""
        return {
            number: VariableTensors(dict(item.states), dict(item.values))
            for number, item in self.tables.items()
        }


def variable(state: Import, op: OperatorRecord, position: int, what: str) -> Value:
    """What operand `position` is before the operator; `what` names it in errors."""
    tensors = state.side_table(VariableTensors)
    if not state.has(op, position) or not state.model.tensors[op.inputs[position]].is_variable:
        raise Unsupported(
            "GM105", f"{op.name}: its {what} (operand {position}) is no variable tensor",
            "export it as the TensorFlow Lite converter does, with a state of its own",
        )  # fmt: skip
    index = op.inputs[position]
    if index not in tensors.states:
        record = state.model.tensors[index]
        type_ = tensor_type(record)
        state.builder.afford(type_.shape, type_.element.size_bytes, "a state")
        tensors.states[index] = state.builder.add_state(record.name, type_, first_value(type_))
        tensors.values[index] = tensors.states[index]
    return tensors.values[index]


def emit_updating(
    state: Import, op: OperatorRecord, operation: Operation, inputs: Sequence[Value],
    positions: Sequence[int],
) -> None:  # fmt: skip
    """The operator, whose further results are what its operands `positions` become."""
    new = state.emit_with_states(op, operation, inputs, states_before(state, op, positions))
    update(state, op, positions, new)


def states_before(state: Import, op: OperatorRecord, positions: Sequence[int]) -> list[Value]:
    """What the variable tensors at `positions` are so far. Raises GM105 if two are one tensor."""
    tensors = state.side_table(VariableTensors)
    indices = [op.inputs[position] for position in positions]
    if len(set(indices)) != len(indices):
        raise Unsupported("GM105", f"{op.name}: two of its states are one tensor")
    return [tensors.values[index] for index in indices]


def update(
    state: Import, op: OperatorRecord, positions: Sequence[int], new: Sequence[Value]
) -> None:
    """From now on the variable tensors at `positions` are `new`, also for the next run."""
    tensors = state.side_table(VariableTensors)
    for position, value in zip(positions, new, strict=True):
        index = op.inputs[position]
        tensors.values[index] = value
        state.builder.assign(tensors.states[index], value)
