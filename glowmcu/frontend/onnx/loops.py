"""Loops as one node with a body and a count: Loop whose end data may decide, and Scan."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.frontend.control_flow_nodes import Inside, LoopPart, add_loop
from glowmcu.frontend.graph_builder import GraphBuilder
from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import
from glowmcu.frontend.onnx.subgraphs import (
    Bound,
    expect_condition,
    loop_name,
    place_of,
    tensors,
    write_out,
)
from glowmcu.frontend.onnx.written_loops import LoopWriter, ScanSlices, scalar_shape
from glowmcu.ir.graph import Value
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.comparison import Less, LogicalAnd
from glowmcu.ops.elementwise import Add
from glowmcu.ops.shape import Reshape
from glowmcu.ops.transpose import Reverse, Transpose


def looped(state: Import, op: NodeRecord) -> list[Value]:
    """A Loop: the number of a trip is carried where somebody reads it."""
    written = LoopWriter(state, op)
    outer, inside, name = tensors(op, written.carried), Inside(state.builder), loop_name(op)
    count = _operand(state, op, 0)
    known = None if count is None else state.builder.known.get(count)
    trip = Value(TensorType(scalar_shape(written.body.inputs[0]), ElementType.I64), f"{name}/trip")
    go = inside.builder.add_constant(np.full(scalar_shape(written.body.inputs[1]), True), "go")
    carried = [Value(value.type, value.name) for value in outer]
    operands: list[Bound] = [trip, go, *carried]
    found = write_out(state, op, written.body, operands, f"{name}/body", inside)
    condition, *after = tensors(op, found)
    expect_condition(op, condition)
    after = _as_before(inside.builder, op, carried, after)
    counter = _Counter(inside.builder, trip, op)
    first = _operand(state, op, 1)
    if count is not None and known is None:
        condition = counter.also(condition, inside.value(count))
        first = _begins(state, op, first, count)
    always = inside.builder.known.get(condition)
    decides = first is not None and not _is_true(state.builder, first)
    decides |= always is None or not bool(always.reshape(-1)[0])
    results = [condition] if decides else []
    if any(trip in node.inputs for node in inside.builder.nodes) or trip in after:
        carried, outer = [trip, *carried], [_zero(state, trip), *outer]
        results.append(counter.following)
    added = len(carried) - len(written.carried)
    loop = LoopPart(
        inside.part([*results, *after]), carried,
        trips=None if known is None else int(known.reshape(-1)[0]), is_conditional=decides,
    )  # fmt: skip
    place = place_of(state, op, len(after), [f"{name}/trips"] * added)
    if decides and first is None:
        first = state.add_constant(np.array(True), f"{name}/begins")
    return add_loop(state.builder, place, first, loop, outer)[added:]


class _Counter:
    """The number of the trip, and of the one after it."""

    def __init__(self, builder: GraphBuilder, trip: Value, op: NodeRecord) -> None:
        self._builder, self._trip, self._source = builder, trip, f"node {op.index} {op.kind}"
        self._following: Value | None = None

    @property
    def following(self) -> Value:
        """Made when it is first asked for."""
        if self._following is None:
            one = self._builder.add_constant(np.array(1, np.int64), "one")
            (self._following,) = self._builder.add_node(
                Add(), [self._trip, one], [self._trip.type], [f"{self._trip.name}/next"],
                self._source,
            )  # fmt: skip
        return self._following

    def also(self, condition: Value, count: Value) -> Value:
        """Whether another trip is to come, by the condition and the count."""
        bool_ = TensorType((), ElementType.BOOL)
        (within,) = self._builder.add_node(
            Less(), [self.following, count], [bool_], [f"{self._trip.name}/within"], self._source
        )
        (both,) = self._builder.add_node(
            LogicalAnd(), [condition, within], [bool_], [f"{self._trip.name}/go_on"], self._source
        )
        return both


def _begins(state: Import, op: NodeRecord, first: Value | None, count: Value) -> Value:
    """Whether there is a first trip, of `count`."""
    zero = state.add_constant(np.array(0, np.int64), "zero")
    some = state.add(op, Less(), [zero, count], ElementType.BOOL)
    return some if first is None else state.add(op, LogicalAnd(), [first, some])


def _zero(state: Import, trip: Value) -> Value:
    return state.add_constant(np.zeros(trip.type.shape, np.int64), trip.name)


def _is_true(builder: GraphBuilder, value: Value) -> bool:
    known = builder.known.get(value)
    return known is not None and bool(known.reshape(-1)[0])


def _operand(state: Import, op: NodeRecord, position: int) -> Value | None:
    return state.value(op, position) if state.has(op, position) else None


def scanned(scan: ScanSlices) -> list[Bound]:
    """A Scan: slices lie in rows, from the first on."""
    state, op, inside = scan.state, scan.op, Inside(scan.state.builder)
    rows = [
        _first_to_last(state, op, _along(state, op, value, axis, 0), backward)
        for value, axis, backward in zip(scan.scanned, scan.axes, scan.backward, strict=True)
    ]
    carried = [Value(value.type, value.name) for value in scan.carried]
    slices = [Value(v.type.with_shape(v.type.shape[1:]), f"{v.name}/slice") for v in rows]
    operands: list[Bound] = [*carried, *slices]
    found = write_out(state, op, scan.body, operands, f"{loop_name(op)}/body", inside)
    results = _as_before(inside.builder, op, carried, tensors(op, found))
    loop = LoopPart(inside.part(results), carried, slices, scan.trips, is_conditional=False)
    place = place_of(state, op, len(results))
    last = add_loop(state.builder, place, None, loop, [*scan.carried, *rows])
    count = len(carried)
    collected = [
        _along(state, op, _first_to_last(state, op, value, backward), 0, scan.axis_of(n, value))
        for n, (value, backward) in enumerate(zip(last[count:], scan.output_backward, strict=True))
    ]
    return [*last[:count], *collected]


def _as_before(
    builder: GraphBuilder, op: NodeRecord, before: Sequence[Value], after: Sequence[Value]
) -> list[Value]:
    """What a body computed, stored numbers at the scale that they had before: in ONNX they have
    none, and a DequantizeLinear says what they mean.
    """
    found = list(after)
    for position, (old, new) in enumerate(zip(before, after, strict=False)):
        changed = old.type.quantization != new.type.quantization
        if changed and (old.type.element, old.type.shape) == (new.type.element, new.type.shape):
            (found[position],) = builder.add_node(
                Reshape(old.type.shape), [new], [old.type], [f"{new.name}/carried"],
                f"node {op.index} {op.kind}",
            )  # fmt: skip
    return found


def _along(state: Import, op: NodeRecord, value: Value, source: int, target: int) -> Value:
    """Axis `source` moved to `target`."""
    if source == target:
        return value
    order = [axis for axis in range(value.type.rank) if axis != source]
    order.insert(target, source)
    return state.add(op, Transpose(tuple(order)), [value])


def _first_to_last(state: Import, op: NodeRecord, value: Value, backward: int) -> Value:
    return state.add(op, Reverse((0,)), [value]) if backward else value
