"""SLICE, STRIDED_SLICE, SPLIT, SPLIT_V and UNPACK."""

from __future__ import annotations

from glowmcu.frontend.tflite.axes import axis_operand, integer_list, positive_axis
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.ir.types import Shape
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice, Split


@importer("SLICE")
def import_slice(state: Import, op: OperatorRecord) -> None:
    """A size of -1 goes to the end of its axis."""
    x = state.value(op, 0)
    begin = integer_list(state, op, 1, "where it begins")
    sizes = integer_list(state, op, 2, "its size")
    if not len(begin) == len(sizes) == x.type.rank:
        raise Unsupported("GM106", f"slice: {begin} and {sizes} do not fit {x.type.shape}")
    size = tuple(
        length - first if count == -1 else count
        for length, first, count in zip(x.type.shape, begin, sizes, strict=True)
    )
    state.emit(op, Slice(begin, size, (1,) * len(begin)), [x])


@dataclass(frozen=True)
class _Masks:
    begin: int
    end: int
    ellipsis: int
    new_axis: int
    shrink: int


@importer("STRIDED_SLICE")
def import_strided_slice(state: Import, op: OperatorRecord) -> None:
    """numpy's basic slicing: a slice, then a reshape where axes appear or disappear."""
    x = state.value(op, 0)
    options = op.options(tflite.StridedSliceOptions)
    masks = _Masks(
        options.BeginMask(),
        options.EndMask(),
        options.EllipsisMask(),
        options.NewAxisMask(),
        options.ShrinkAxisMask(),
    )
    spec = tuple(integer_list(state, op, i, "begin, end and strides") for i in (1, 2, 3))
    begin, end, strides = spec
    if not len(begin) == len(end) == len(strides):
        raise Unsupported("GM106", f"strided_slice: begin {begin}, end {end}, strides {strides}")
    operation, shape = resolve_slice(x.type.shape, begin, end, strides, masks, options.Offset())
    if shape == operation.size:
        state.emit(op, operation, [x])
    else:
        part = state.emit_inner(op, operation, [x], x.type)
        state.emit(op, Reshape(shape), [part])


def resolve_slice(
    shape: Shape, begin: Shape, end: Shape, strides: Shape, masks: _Masks, offset: bool
) -> tuple[Slice, Shape]:
    """The slice along every axis, and the result's shape with new and without shrunk axes.

    With `offset`, `end` counts from `begin`.
    """
    new_axes = sum(masks.new_axis >> i & 1 for i in range(len(begin)))
    spelled = len(begin) - new_axes - (1 if masks.ellipsis & ((1 << len(begin)) - 1) else 0)
    if spelled > len(shape):
        raise Unsupported("GM106", f"strided_slice: {len(begin)} entries for {shape}")
    parts: list[tuple[int, int, int]] = []
    result: list[int] = []
    for i, stride in enumerate(strides):
        if masks.ellipsis >> i & 1:
            skipped = shape[len(parts) : len(parts) + len(shape) - spelled]
            parts += [(0, size, 1) for size in skipped]
            result += skipped
        elif masks.new_axis >> i & 1:
            result.append(1)
        elif masks.shrink >> i & 1:
            parts.append(_one(begin[i], shape[len(parts)]))
        else:
            first = None if masks.begin >> i & 1 else begin[i]
            last = None if masks.end >> i & 1 else end[i] + (begin[i] if offset else 0)
            parts.append(_range(first, last, stride, shape[len(parts)]))
            result.append(parts[-1][1])
    for size in shape[len(parts) :]:
        parts.append((0, size, 1))
        result.append(size)
    firsts, sizes, steps = (tuple(part[i] for part in parts) for i in range(3))
    return Slice(firsts, sizes, steps), tuple(result)


def _one(position: int, length: int) -> tuple[int, int, int]:
    if not -length <= position < length:
        raise Unsupported("GM106", f"strided_slice: {position} is outside an axis of {length}")
    return position % length, 1, 1


def _range(first: int | None, last: int | None, stride: int, length: int) -> tuple[int, int, int]:
    if stride == 0:
        raise Unsupported("GM106", "strided_slice: a stride of 0")
    positions = range(*slice(first, last, stride).indices(length))
    return positions.start, len(positions), stride


@importer("SPLIT")
def import_split(state: Import, op: OperatorRecord) -> None:
    """As many equal parts as there are results; the axis comes first."""
    x = state.value(op, 1)
    axis = axis_operand(state, op, 0, x.type.rank)
    count = len(op.outputs)
    if count == 0 or x.type.shape[axis] % count:
        raise Unsupported("GM106", f"split: axis {axis} of {x.type.shape} into {count} parts")
    state.emit(op, Split(axis, (x.type.shape[axis] // count,) * count), [x])


@importer("SPLIT_V")
def import_split_v(state: Import, op: OperatorRecord) -> None:
    """Parts of given sizes; one of them may be -1, the rest."""
    x = state.value(op, 0)
    sizes = integer_list(state, op, 1, "the sizes of its parts")
    axis = axis_operand(state, op, 2, x.type.rank)
    if sizes.count(-1) == 1:
        rest = x.type.shape[axis] - sum(sizes) - 1
        sizes = tuple(rest if size == -1 else size for size in sizes)
    state.emit(op, Split(axis, sizes), [x])


@importer("UNPACK")
def import_unpack(state: Import, op: OperatorRecord) -> None:
    """One part for each position of the axis, without the axis."""
    x = state.value(op, 0)
    axis = positive_axis(op.options(tflite.UnpackOptions).Axis(), x.type.rank, op)
    if len(op.outputs) != x.type.shape[axis]:
        raise Unsupported(
            "GM106", f"unpack: axis {axis} of {x.type.shape} into {len(op.outputs)} parts"
        )
    state.emit(op, Split(axis, (1,) * len(op.outputs), drop_axis=True), [x])
