"""TOSA's operations that move elements, of any integers."""

from __future__ import annotations

from glowmcu.frontend.tosa.import_layers import numbers
from glowmcu.frontend.tosa.importer import Import, importer
from glowmcu.frontend.tosa.records import Ref, TosaOp
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.types import ElementType
from glowmcu.ops.copy import Copy
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.padding import Pad
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice
from glowmcu.ops.tiling import Tile
from glowmcu.ops.transpose import Reverse, Transpose


def _operands(op: TosaOp, count: int) -> tuple[Ref, ...]:
    if len(op.operands) != count:
        raise Unsupported(
            "GM106", f"{op.name} has {count} operands in TOSA 1.0, got {len(op.operands)}"
        )
    return op.operands


def _axis(op: TosaOp) -> int:
    axis = op.attributes.get("axis")
    if type(axis) is not int or not 0 <= axis < op.results[0].type.rank:
        raise Unsupported("GM106", f"{op.name} along axis {axis} of {op.results[0].type}")
    return axis


@importer("reshape")
def import_reshape(state: Import, op: TosaOp) -> None:
    """The shape may have a -1; the result's type knows it."""
    x = state.value(_operands(op, 2)[0])
    state.emit(op, Reshape(op.results[0].type.shape), [x], x.type)


@importer("identity")
def import_identity(state: Import, op: TosaOp) -> None:
    """The same elements."""
    x = state.value(_operands(op, 1)[0])
    state.emit(op, Copy(), [x], x.type)


@importer("transpose")
def import_transpose(state: Import, op: TosaOp) -> None:
    """By the attribute `perms`."""
    x = state.value(_operands(op, 1)[0])
    perms = numbers(op, "perms", x.type.rank)
    if sorted(perms) != list(range(x.type.rank)):
        raise Unsupported("GM106", f"perms {perms} of {x.type}")
    state.emit(op, Transpose(perms), [x], x.type)


@importer("reverse")
def import_reverse(state: Import, op: TosaOp) -> None:
    """Along one axis."""
    x = state.value(_operands(op, 1)[0])
    state.emit(op, Reverse((_axis(op),)), [x], x.type)


@importer("concat")
def import_concat(state: Import, op: TosaOp) -> None:
    """Stored values as they are, whatever their zero points: they take the first one's."""
    if not op.operands:
        raise Unsupported("GM106", "concat of nothing")
    first = state.value(op.operands[0])
    values: list[Value] = [
        state.retyped(state.value(ref), first.type.quantization) for ref in op.operands
    ]
    state.emit(op, Concatenation(_axis(op)), values, first.type)


@importer("slice")
def import_slice(state: Import, op: TosaOp) -> None:
    """Begin and size."""
    source, begin, size = _operands(op, 3)
    x = state.value(source)
    first, sizes = state.sizes(begin, "the start"), state.sizes(size, "the size")
    if not len(first) == len(sizes) == x.type.rank or any(
        not (at >= 0 and count > 0 and at + count <= whole)
        for at, count, whole in zip(first, sizes, x.type.shape, strict=True)
    ):
        raise Unsupported("GM106", f"a slice of {sizes} at {first} of {x.type}")
    state.emit(op, Slice(first, sizes, (1,) * len(first)), [x], x.type)


@importer("pad")
def import_pad(state: Import, op: TosaOp) -> None:
    """With a constant."""
    source, amounts, filled = _operands(op, 3)
    x = state.value(source)
    flat = state.sizes(amounts, "the padding")
    if len(flat) != 2 * x.type.rank or x.type.element is ElementType.BOOL:
        raise Unsupported("GM106", f"padding {flat} of {x.type}")
    pairs = tuple(zip(flat[::2], flat[1::2], strict=True))
    state.emit(op, Pad(pairs, state.number(filled, "what is padded with")), [x], x.type)


@importer("tile")
def import_tile(state: Import, op: TosaOp) -> None:
    """Repetitions along each axis."""
    source, multiples = _operands(op, 2)
    x = state.value(source)
    state.emit(op, Tile(state.sizes(multiples, "the multiples")), [x], x.type)
