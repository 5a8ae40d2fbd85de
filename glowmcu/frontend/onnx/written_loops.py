"""Loops that are written out: their body stands in the graph around them once a trip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from glowmcu.frontend.control_flow import MAX_NODES, MAX_OPERATORS, MAX_TRIPS, expect_same_types
from glowmcu.frontend.onnx.axes import positive_axis
from glowmcu.frontend.onnx.container import InputRecord, NodeRecord
from glowmcu.frontend.onnx.importer import Import
from glowmcu.frontend.onnx.subgraphs import Bound, expect_condition, loop_name, write_out
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.types import ElementType, Shape
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Split

_OLDEST_SCAN = 9
#: Types of a Loop's first operands: how many trips, and whether there is a first one.
_DECIDES = (ElementType.I64, ElementType.BOOL)


class ScanSlices:
    """What a Scan loops over, and what it makes of what its body gives."""

    def __init__(self, state: Import, op: NodeRecord) -> None:
        if state.opset < _OLDEST_SCAN:
            raise Unsupported(
                "GM103", f"Scan of opset {state.opset}; expected {_OLDEST_SCAN} or later",
                "convert it: onnx.version_converter.convert_version(model, 17)",
            )  # fmt: skip
        self.state, self.op, self.body = state, op, op.graph("body")
        count = op.integer("num_scan_inputs", 0)
        if not 1 <= count <= len(op.inputs):
            raise Unsupported("GM105", f"Scan: {count} of {len(op.inputs)} operands are scanned")
        operands = [state.value(op, position) for position in range(len(op.inputs))]
        self.carried, self.scanned = operands[:-count], operands[-count:]
        axes = self._listed("scan_input_axes", count)
        pairs = zip(axes, self.scanned, strict=True)
        self.axes = [positive_axis(op, axis, value.type.rank) for axis, value in pairs]
        self.backward = self._listed("scan_input_directions", count)
        outputs = len(self.body.outputs) - len(self.carried)
        if outputs < 0:
            raise Unsupported("GM105", "Scan: its body does not give all that it carries")
        self.output_axes = self._listed("scan_output_axes", outputs)
        self.output_backward = self._listed("scan_output_directions", outputs)
        lengths = {
            value.type.shape[axis] for axis, value in zip(self.axes, self.scanned, strict=True)
        }
        if len(lengths) != 1:
            raise Unsupported("GM106", f"Scan: its operands have {sorted(lengths)} slices")
        (self.trips,) = lengths
        if self.trips < 1:
            raise Unsupported("GM105", f"Scan: {self.trips} slices; expected at least one")

    def _listed(self, name: str, count: int) -> tuple[int, ...]:
        found = self.op.integers(name) or (0,) * count
        if len(found) != count:
            raise Unsupported("GM105", f"Scan: {name} has {len(found)} entries, expected {count}")
        return found

    def parts(self) -> list[list[Value]]:
        """The slices of each operand in the order of trips."""
        found = []
        for value, axis, backward in zip(self.scanned, self.axes, self.backward, strict=True):
            split = Split(axis, (1,) * self.trips, drop_axis=True)
            slices = list(self.state.add_all(replace(self.op, outputs=()), split, [value]))
            found.append(slices[::-1] if backward else slices)
        return found

    def axis_of(self, number: int, stacked: Value) -> int:
        """Where the trips of a result go."""
        return positive_axis(self.op, self.output_axes[number], stacked.type.rank)

    def stacked(self, rows: Sequence[Sequence[Value]]) -> list[Value]:
        """What trips gave, along new axes."""
        results = []
        for number, stored in enumerate(self.output_axes):
            column = [row[number] for row in rows]
            if self.output_backward[number]:
                column.reverse()
            axis = positive_axis(self.op, stored, column[0].type.rank + 1)
            results.append(stacked(self.state, self.op, column, axis))
        return results


def written_scan(scan: ScanSlices) -> list[Bound]:
    """All results. Raises GM142 for more trips or nodes than anybody wants."""
    state, op = scan.state, scan.op
    what = f"Scan {loop_name(op)[:120]!r}"
    carried, rows = list[Bound](scan.carried), list[list[Value]]()
    parts = scan.parts()
    for trip in range(scan.trips):
        operands = [*carried, *(part[trip] for part in parts)]
        after = write_out(state, op, scan.body, operands, f"{loop_name(op)}/trip{trip}")
        carried, row = after_trip(what, carried, after, trip)
        rows.append(row)
        expect_not_too_many(op, len(rows) * len(scan.body.nodes))
    return [*carried, *scan.stacked(rows)]


class LoopWriter:
    """A loop whose body stands in the graph around it once a trip."""

    def __init__(self, state: Import, op: NodeRecord) -> None:
        self.state, self.op, self.body = state, op, op.graph("body")
        self.what = f"Loop {loop_name(op)[:120]!r}"
        self.carried = [_operand(state, op, position) for position in range(2, len(op.inputs))]
        if len(self.body.inputs) != 2 + len(self.carried):
            raise Unsupported(
                "GM105",
                f"{self.what}: {len(self.carried)} values are carried, its body has "
                f"{len(self.body.inputs)} inputs",
            )
        if len(self.body.outputs) < 1 + len(self.carried):
            raise Unsupported("GM105", f"{self.what}: its body does not give all that it carries")

    def written_out(self) -> list[Bound] | None:
        """What the loop gives; None if the number of trips depends on data."""
        state = self.state
        first, effort = len(state.builder.nodes), state.effort.operators + MAX_OPERATORS
        most = self._known(0, MAX_TRIPS + 1)
        again = self._known(1, 1)
        carried, rows = self.carried, list[list[Value]]()
        while most is not None and again and len(rows) < most:
            condition, carried, row = self.trip(len(rows), carried)
            rows.append(row)
            known = state.builder.known.get(condition)
            again = None if known is None else int(bool(known.reshape(-1)[0]))
            count = len(state.builder.nodes) - first
            is_long = count > MAX_NODES or state.effort.operators > effort
            if len(rows) > MAX_TRIPS or is_long:
                again = None
        if most is None or again is None:
            return None
        return [*carried, *(self._stacked(rows, number) for number in range(self._scans))]

    def _known(self, position: int, default: int) -> int | None:
        """An operand that counts or decides; `default` if it is left out, None if not known."""
        if not self.state.has(self.op, position):
            return default
        value = self.state.value(self.op, position)
        if value.type.element_count != 1 or value.type.element is not _DECIDES[position]:
            raise Unsupported("GM106", f"{self.what}: operand {position} is {value.type}")
        known = self.state.builder.known.get(value)
        return None if known is None else int(known.reshape(-1)[0])

    @property
    def _scans(self) -> int:
        return len(self.body.outputs) - 1 - len(self.carried)

    def trip(self, number: int, carried: list[Bound]) -> tuple[Value, list[Bound], list[Value]]:
        """Whether to go on, what is carried on, and what is collected."""
        head = [
            scalar(self.state, self.body.inputs[0], number, np.int64),
            scalar(self.state, self.body.inputs[1], True, np.bool_),
        ]
        place = f"{loop_name(self.op)}/trip{number}"
        condition, *after = write_out(self.state, self.op, self.body, [*head, *carried], place)
        if not isinstance(condition, Value):
            raise Unsupported("GM106", f"{self.what}: its condition is a sequence")
        expect_condition(self.op, condition)
        new, row = after_trip(self.what, carried, after, number)
        return condition, new, row

    def _stacked(self, rows: Sequence[Sequence[Value]], number: int) -> Value:
        if rows:
            return stacked(self.state, self.op, [row[number] for row in rows], 0)
        start = self.state.builder.mark()
        type_ = self.trip(0, self.carried)[2][number].type
        self.state.builder.rewind(start)
        empty = np.zeros((0, *type_.shape), type_.element.numpy)
        return self.state.add_constant(empty, f"{loop_name(self.op)}/nothing")


def after_trip(
    what: str, before: Sequence[Bound], after: Sequence[Bound], trip: int
) -> tuple[list[Bound], list[Value]]:
    """What is carried on, and the rest. Raises GM140 if a tensor changes its type.

    Stored numbers may come with a scale in one trip and without in another: they have none in ONNX.
    """
    carried, rest = list(after[: len(before)]), after[len(before) :]
    pairs = [
        (old, new)
        for old, new in zip(before, carried, strict=True)
        if isinstance(old, Value) and isinstance(new, Value)
    ]
    typed = [
        Value(replace(new.type, quantization=old.type.quantization), new.name) for old, new in pairs
    ]
    expect_same_types(what, [old for old, _ in pairs], typed, trip)
    row = [value for value in rest if isinstance(value, Value)]
    if len(row) != len(rest):
        raise Unsupported("GM105", f"{what}: it collects sequences; collect tensors")
    return carried, row


def expect_not_too_many(op: NodeRecord, count: int) -> None:
    """Raise Unsupported GM142 if a loop that is written out would be too long."""
    if count > MAX_NODES:
        raise Unsupported(
            "GM142",
            f"{op.kind} {loop_name(op)[:120]!r}: written out it is more than {MAX_NODES} nodes",
            "let the model see fewer slices a run, and keep what it carries as a state",
        )


def stacked(state: Import, op: NodeRecord, values: Sequence[Value], axis: int) -> Value:
    """Tensors of one shape along a new axis."""
    shape = values[0].type.shape
    for value in values:
        if value.type != values[0].type:
            raise Unsupported(
                "GM140",
                f"{op.kind} {loop_name(op)[:120]!r} collects {value.name[:120]!r}, which is "
                f"{values[0].type} first and {value.type} later",
                "what a loop collects keeps its shape from trip to trip",
            )
    parts = [state.add(op, Reshape((*shape[:axis], 1, *shape[axis:])), [v]) for v in values]
    return parts[0] if len(parts) == 1 else state.add(op, Concatenation(axis), parts)


def _operand(state: Import, op: NodeRecord, position: int) -> Bound:
    found = state.bound(op.inputs[position])
    return state.value(op, position) if found is None else found


def scalar(state: Import, record: InputRecord, number: int, dtype: type[np.generic]) -> Value:
    """A number in the shape that the body declares."""
    return state.add_constant(np.full(scalar_shape(record), number, dtype), record.name)


def scalar_shape(record: InputRecord) -> Shape:
    """(1,) where the body declares a vector, else ()."""
    return (1,) if record.sizes is not None and len(record.sizes) == 1 else ()
