"""Sequences of tensors, resolved at compile time: no list exists at run time."""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.graph_builder import expect_few
from glowmcu.frontend.onnx.axes import integers, positive_axis
from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Split


@importer("SequenceEmpty")
def import_sequence_empty(state: Import, op: NodeRecord) -> None:
    """No tensors."""
    state.bind_sequence(op, [])


@importer("SequenceConstruct")
def import_sequence_construct(state: Import, op: NodeRecord) -> None:
    """The operands."""
    state.bind_sequence(op, [state.value(op, i) for i in range(len(op.inputs))])


@importer("SequenceLength")
def import_sequence_length(state: Import, op: NodeRecord) -> None:
    """Known at compile time."""
    state.bind_constant(op, np.array(len(state.sequence(op, 0)), np.int64))


@importer("SequenceAt")
def import_sequence_at(state: Import, op: NodeRecord) -> None:
    """The tensor at a place."""
    values = state.sequence(op, 0)
    state.bind(op, [values[_place(state, op, 1, len(values), len(values) - 1)]])


@importer("SequenceInsert")
def import_sequence_insert(state: Import, op: NodeRecord) -> None:
    """A tensor in front of a place, at the end if none is given."""
    values = list(state.sequence(op, 0))
    place = len(values) if not state.has(op, 2) else _place(state, op, 2, len(values), len(values))
    values.insert(place, state.value(op, 1))
    state.bind_sequence(op, values)


@importer("SequenceErase")
def import_sequence_erase(state: Import, op: NodeRecord) -> None:
    """Without the tensor at a place, the last one if none is given."""
    values = list(state.sequence(op, 0))
    last = len(values) - 1
    del values[last if not state.has(op, 1) else _place(state, op, 1, len(values), last)]
    state.bind_sequence(op, values)


def _place(state: Import, op: NodeRecord, position: int, length: int, most: int) -> int:
    """A constant position in a sequence of `length`, at most `most`."""
    place = int(state.constant(op, position, "a position").reshape(-1)[0])
    if not -length <= place <= most:
        raise Unsupported("GM106", f"{op.kind}: position {place} in a sequence of {length}")
    return place + length if place < 0 else place


@importer("SplitToSequence")
def import_split_to_sequence(state: Import, op: NodeRecord) -> None:
    """Parts of one size or of given sizes; without either parts of 1, which may lose the axis."""
    x = state.value(op, 0)
    axis = positive_axis(op, op.integer("axis", 0), x.type.rank)
    length = x.type.shape[axis]
    sizes = integers(state, op, 1, "split", "the sizes of its parts")
    drop_axis = sizes is None and not op.flag("keepdims", True)
    if sizes is None:
        expect_few(length, "parts")
        sizes = (1,) * length
    elif state.value(op, 1).type.rank == 0:
        if sizes[0] < 1:
            raise Unsupported("GM106", f"SplitToSequence: parts of {sizes[0]}")
        count = -(-length // sizes[0])
        expect_few(count, "parts")
        sizes = (*(sizes[0],) * (count - 1), length - sizes[0] * (count - 1)) if count else ()
    state.bind_sequence(op, state.add_all(op, Split(axis, sizes, drop_axis), [x]))


@importer("ConcatFromSequence")
def import_concat_from_sequence(state: Import, op: NodeRecord) -> None:
    """One behind the other along an axis of theirs or a new one."""
    values = list(state.sequence(op, 0))
    if not values:
        raise Unsupported("GM106", "ConcatFromSequence: the sequence is empty")
    new_axis = int(op.flag("new_axis"))
    axis = positive_axis(op, op.integer("axis", 0), values[0].type.rank + new_axis)
    if new_axis:
        shapes = [(*v.type.shape[:axis], 1, *v.type.shape[axis:]) for v in values]
        pairs = zip(values, shapes, strict=True)
        values = [state.add(op, Reshape(shape), [value]) for value, shape in pairs]
    state.emit(op, Concatenation(axis), values)
