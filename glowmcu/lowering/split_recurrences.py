"""LSTM layers of `recurrence` become `lstm`, one a direction: these have an integer meaning.

A layer that runs backwards reads its input, and leaves its results, in opposite order. Layers with
other functions, clips, peepholes or lengths stay, as do those whose weights are computed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array, Operation
from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.ir.types import Shape, TensorType
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.lstm import Lstm
from glowmcu.ops.recurrence import UNSEEN_CLIP, CellKind, Recurrence
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice
from glowmcu.ops.transpose import Reverse

#: Gates i, o, f, g of a recurrence in the order of `lstm`: i, f, g, o.
_ORDER = (0, 2, 3, 1)


def run(graph: Graph) -> Graph:
    """The graph with layers that can be quantized."""
    return rewrite(graph, _split)


def _split(context: Context, node: Node) -> Sequence[Value] | None:
    op = node.op
    if not isinstance(op, Recurrence) or not _is_usual(op):
        return None
    constants = [context.constant(value) for value in node.inputs[1:4]]
    weights, recurrent, bias = constants
    if weights is None or recurrent is None or bias is None:
        return None
    parts = [
        _direction(context, node, op, number, (weights, recurrent, bias))
        for number in range(len(op.reversed))
    ]
    axes = (2, 1, 1) if op.batch_first else (1, 0, 0)
    together = zip(axes, node.outputs, zip(*parts, strict=True), strict=True)
    return [_joined(context, axis, values, out) for axis, out, values in together]


def _is_usual(op: Recurrence) -> bool:
    """Whether an `lstm` computes every direction."""
    if op.kind is not CellKind.LSTM or not op.has_usual_functions:
        return False
    is_clipped = 0 < op.clip < UNSEEN_CLIP
    return not (is_clipped or op.couples_gates or op.has_peepholes or op.has_lengths)


def _direction(
    context: Context, node: Node, op: Recurrence, number: int, constants: Sequence[Array]
) -> tuple[Value, ...]:
    """Hidden states and the states at the end; these have an axis for the direction."""
    shape, x = op.shape([value.type for value in node.inputs]), node.inputs[0]
    time = 1 if op.batch_first else 0
    if op.reversed[number]:
        x = _one(context, Reverse((time,)), [x], x.type.shape, f"{x.name}/reverse")
    place = f"{node.name}/{'reverse' if op.reversed[number] else 'forward'}"
    gates = [data.reshape(len(op.reversed), 4, shape.units, -1)[number] for data in constants]
    weights = [np.ascontiguousarray(data[list(_ORDER)]) for data in gates]
    weights[2] = weights[2].reshape(4, shape.units)
    operands = [
        context.add_constant(data, name=f"{place}/{name}")
        for data, name in zip(weights, ("weights", "recurrent", "bias"), strict=True)
    ]
    states = _initial(context, node, op, number, place)
    inputs = (x, *operands, *states)
    hidden, *ends = _layer(context, Lstm(not op.batch_first), inputs, place)
    if op.reversed[number]:
        hidden = _one(context, Reverse((time,)), [hidden], hidden.type.shape, f"{place}/order")
    return hidden, *ends


def _layer(context: Context, op: Lstm, inputs: tuple[Value, ...], place: str) -> tuple[Value, ...]:
    """The node and its results; what is the only direction's end has the name that it had."""
    node = context.node
    ends = [value.name for value in node.outputs[1:]]
    if node.outputs[1].type.shape != inputs[4].type.shape:
        ends = [f"{place}/hidden_end", f"{place}/cell_end"]
    shapes = op.infer([value.type for value in inputs])
    results = tuple(
        Value(inputs[0].type.with_shape(shape), name)
        for shape, name in zip(shapes, (f"{place}/hidden", *ends), strict=True)
    )
    context.added.append(Node(op, inputs, results, node.name, node.source))
    return results


def _initial(context: Context, node: Node, op: Recurrence, number: int, place: str) -> list[Value]:
    """Hidden and cell state."""
    shape = op.shape([value.type for value in node.inputs])
    if not op.has_initial:
        one = (shape.batches, 1) if op.batch_first else (1, shape.batches)
        zeros = np.zeros((*one, shape.units), np.float32)
        return [context.add_constant(zeros, name=f"{place}/{name}") for name in ("h0", "c0")]
    given = [node.inputs[op.position(name)] for name in ("hidden", "cell")]
    if len(op.reversed) == 1:
        return given
    axis = 1 if op.batch_first else 0
    return [_taken(context, value, axis, number) for value in given]


def _taken(context: Context, value: Value, axis: int, number: int) -> Value:
    """One position along an axis, which stays."""
    data = context.constant(value)
    if data is not None:
        return context.add_constant(data.take([number], axis), name=f"{value.name}/{number}")
    begin = tuple(number if i == axis else 0 for i in range(3))
    sizes = tuple(1 if i == axis else n for i, n in enumerate(value.type.shape))
    part = Slice(begin, sizes, (1, 1, 1))
    return _one(context, part, [value], sizes, f"{value.name}/{number}")


def _joined(context: Context, axis: int, values: Sequence[Value], out: Value) -> Value:
    """All directions, under the name of the result."""
    if len(values) == 1:
        (only,) = values
        same = only.type.shape == out.type.shape
        return only if same else _reshaped(context, only, out.type.shape, out.name)
    sizes = (*out.type.shape[:axis], 1, *out.type.shape[axis + 1 :])
    parts = [
        value
        if value.type.shape == sizes
        else _reshaped(context, value, sizes, f"{value.name}/direction")
        for value in values
    ]
    return _one(context, Concatenation(axis), parts, out.type.shape, out.name)


def _reshaped(context: Context, value: Value, shape: Shape, name: str) -> Value:
    return _one(context, Reshape(shape), [value], shape, name)


def _one(
    context: Context, op: Operation, inputs: Sequence[Value], shape: Shape, name: str
) -> Value:
    """A node with one result."""
    type_ = TensorType(shape, inputs[0].type.element)
    value = Value(type_, name)
    context.added.append(Node(op, tuple(inputs), (value,), name, context.node.source))
    return value
