"""A loop over time steps that is an LSTM, a GRU or a plain recurrent layer becomes that.

Keras 3 exports its recurrent layers as loops: a step takes row i of the sequence, two products with
weights, and what the cell makes of their sums. As `recurrence` they have an integer meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import constant
from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.lowering.recurrent_cells import Cell, StepGraph, cell_of
from glowmcu.ops.control_flow import Loop
from glowmcu.ops.recurrence import USUAL_FUNCTIONS, Recurrence
from glowmcu.ops.shape import Reshape


def run(graph: Graph) -> Graph:
    """The graph with layers in the place of such loops."""
    return rewrite(graph, _recognize)


def _recognize(context: Context, node: Node) -> Sequence[Value] | None:
    if not isinstance(node.op, Loop):
        return None
    layer = _layer(context, node, node.op)
    return None if layer is None else _written(context, node, layer)


@dataclass(frozen=True)
class _Layer:
    """Positions of what the loop carries: states, and counters, which end at `trips`; `sequence` is
    where all hidden states go, `lasts` where only the last one is.
    """

    cell: Cell
    x: Value
    counters: tuple[int, ...]
    sequence: int | None
    lasts: tuple[int, ...]
    trips: int


def _layer(context: Context, node: Node, op: Loop) -> _Layer | None:
    """What the loop computes, if that is a layer."""
    if op.is_conditional or op.scanned or op.trips is None:
        return None
    body = op.body.graph
    step = StepGraph(body)
    carried, after = body.inputs[: op.carried], body.outputs[: op.carried]
    counters = tuple(
        place for place, (old, new) in enumerate(zip(carried, after, strict=True))
        if _starts_at_zero(context, node.inputs[place]) and step.is_next(new, old)
    )  # fmt: skip
    for place in range(len(after)):
        cell = cell_of(step, carried, after, place)
        if cell is None:
            continue
        row = step.row(cell.x)
        if row is None or row[1] not in [carried[counter] for counter in counters]:
            continue
        if row[0] not in body.inputs[op.carried :] or row[0].type.rank != 3:
            continue
        if row[0].type.shape[0] != op.trips:
            continue
        outer = node.inputs[body.inputs.index(row[0])]
        layer = _Layer(cell, outer, counters, None, (), op.trips)
        return _with_ends(step, layer, row[1], carried, after)
    return None


def _with_ends(
    step: StepGraph, layer: _Layer, counter: Value, carried: Sequence[Value],
    after: Sequence[Value],
) -> _Layer | None:  # fmt: skip
    """The layer with what all other carried values become; None if one is something else."""
    hidden = after[layer.cell.hidden]
    sequence, lasts = None, []
    for place, (old, value) in enumerate(zip(carried, after, strict=True)):
        if place in layer.counters or place in (layer.cell.hidden, layer.cell.state):
            continue
        if step.is_written_row(value, old, hidden, counter) and old.type.shape[0] == layer.trips:
            sequence = place
        elif step.plain(value) is step.plain(hidden):
            lasts.append(place)
        else:
            return None
    return replace(layer, sequence=sequence, lasts=tuple(lasts))


def _starts_at_zero(context: Context, value: Value) -> bool:
    data = context.constant(value)
    return data is not None and data.size == 1 and not data.any()


def _written(context: Context, node: Node, layer: _Layer) -> list[Value]:
    """Results of the loop, by a `recurrence`."""
    cell, gates = layer.cell, layer.cell.gates
    bias = np.concatenate([gate.input_bias for gate in gates])
    recurrent_bias = np.concatenate([gate.recurrent_bias for gate in gates])
    constants = {
        "weights": np.concatenate([gate.input_weights for gate in gates]),
        "recurrent": np.concatenate([gate.recurrent_weights for gate in gates]),
        "bias": bias if cell.resets_after else bias + recurrent_bias,
    }
    if cell.resets_after:
        constants["recurrent_bias"] = recurrent_bias
    operands = [layer.x]
    operands += [
        context.add_constant(np.ascontiguousarray(data, np.float32), name=f"{node.name}/{name}")
        for name, data in constants.items()
    ]
    states = [place for place in (cell.hidden, cell.state) if place is not None]
    given = [node.inputs[place] for place in states]
    data = [context.constant(value) for value in given]
    has_initial = any(known is None or known.any() for known in data)
    if has_initial:
        operands += [_reshaped(context, x, (1, *x.type.shape), f"{x.name}/start") for x in given]
    op = Recurrence(
        cell.kind, USUAL_FUNCTIONS[cell.kind], resets_after=cell.resets_after,
        has_initial=has_initial,
    )  # fmt: skip
    shapes = op.infer([value.type for value in operands])
    results = [
        Value(TensorType(shape, ElementType.F32), f"{node.name}/{name}")
        for shape, name in zip(shapes, ("all", "hidden", "cell"), strict=False)
    ]
    context.added.append(
        Node(op, tuple(operands), tuple(results), node.name, node.source, node.stage)
    )
    ends = dict(zip(states, results[1:], strict=True)) | dict.fromkeys(layer.lasts, results[1])
    if layer.sequence is not None:
        ends[layer.sequence] = results[0]
    return [
        _reshaped(context, ends[place], out.type.shape, out.name)
        if place in ends
        else _counted(context, out, layer.trips)
        for place, out in enumerate(node.outputs)
    ]


def _reshaped(context: Context, value: Value, shape: tuple[int, ...], name: str) -> Value:
    """A view under a name of its own."""
    result = Value(value.type.with_shape(shape), name)
    node = context.node
    context.added.append(Node(Reshape(shape), (value,), (result,), name, node.source, node.stage))
    return result


def _counted(context: Context, out: Value, trips: int) -> Value:
    """Where a counter ends."""
    data = np.full(out.type.shape, trips, out.type.element.numpy)
    result = Value(out.type, out.name)
    context.added.append(Node(constant(data), (), (result,), out.name))
    return result
