"""Reshape, Flatten, Squeeze, Unsqueeze, Identity, Dropout, Constant, Shape, Transpose."""

from __future__ import annotations

import math

import numpy as np

from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.types import Shape
from glowmcu.ops.shape import Reshape
from glowmcu.ops.transpose import Transpose

_EVALUATE = "export it after model.eval()"


def normalized_axes(op: NodeRecord, axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """Axes counted from the front, sorted; Unsupported when one is out of range."""
    if any(not -rank <= axis < rank for axis in axes):
        raise Unsupported("GM106", f"{op.kind}: axes {axes} of a tensor of rank {rank}")
    return tuple(sorted({axis % rank for axis in axes}))


def axes_operand(state: Import, op: NodeRecord, position: int) -> tuple[int, ...] | None:
    """Axes, an attribute in old opsets and an operand in new ones; None if not given."""
    if state.has(op, position):
        return tuple(int(axis) for axis in state.constant(op, position, "axes").reshape(-1))
    return op.integers("axes")


@importer("Identity", "Dropout")
def import_identity(state: Import, op: NodeRecord) -> None:
    """The operand itself: at inference time Dropout does nothing; its mask is all true, or before
    opset 10 all ones of the operand's type.
    """
    x = state.value(op, 0)
    if state.has(op, 2) and bool(state.constant(op, 2, "its training mode").any()):
        ratio = state.constant(op, 1, "its ratio") if state.has(op, 1) else np.array(0.5)
        if ratio.any():
            raise Unsupported("GM105", f"{op.kind}: the model is in training mode", _EVALUATE)
    state.bind(op, [x])
    if len(op.outputs) > 1 and op.outputs[1]:
        dtype = np.dtype(np.bool_ if state.opset >= 10 else x.type.element.numpy)
        state.builder.afford(x.type.shape, dtype.itemsize, "a constant")
        mask = state.add_constant(np.ones(x.type.shape, dtype), op.outputs[1])
        state.bind(op, [x, mask])


@importer("Reshape")
def import_reshape(state: Import, op: NodeRecord) -> None:
    """0 keeps the operand's size there (unless allowzero), -1 is what remains."""
    x = state.value(op, 0)
    if state.has(op, 1):
        wanted = tuple(int(n) for n in state.constant(op, 1, "its shape").reshape(-1))
    else:
        wanted = op.integers("shape") or ()
    if not op.flag("allowzero"):
        wanted = tuple(
            x.type.shape[axis] if size == 0 and axis < x.type.rank else size
            for axis, size in enumerate(wanted)
        )
    state.emit(op, Reshape(_resolved(op, wanted, x.type.element_count)), [x])


def _resolved(op: NodeRecord, wanted: Shape, count: int) -> Shape:
    """`wanted` with its -1 replaced."""
    if wanted.count(-1) > 1:
        raise Unsupported("GM106", f"{op.kind}: two sizes of {wanted} are open")
    known = math.prod(size for size in wanted if size != -1)
    rest = count // known if known else 0
    return tuple(rest if size == -1 else size for size in wanted)


@importer("Flatten")
def import_flatten(state: Import, op: NodeRecord) -> None:
    """Axes before `axis` become rows, the rest columns."""
    x = state.value(op, 0)
    axis = op.integer("axis", 1)
    axis = axis + x.type.rank if axis < 0 else axis
    rows = math.prod(x.type.shape[:axis])
    state.emit(op, Reshape((rows, math.prod(x.type.shape[axis:]))), [x])


@importer("Squeeze")
def import_squeeze(state: Import, op: NodeRecord) -> None:
    """Axes of size 1 go; all of them if no axes are given."""
    x = state.value(op, 0)
    axes = axes_operand(state, op, 1)
    if axes is None:
        gone = {axis for axis, size in enumerate(x.type.shape) if size == 1}
    else:
        gone = set(normalized_axes(op, axes, x.type.rank))
    shape = tuple(size for axis, size in enumerate(x.type.shape) if axis not in gone)
    state.emit(op, Reshape(shape), [x])


@importer("Unsqueeze")
def import_unsqueeze(state: Import, op: NodeRecord) -> None:
    """Axes of size 1 at the given places of the result."""
    x = state.value(op, 0)
    given = axes_operand(state, op, 1) or ()
    rank = x.type.rank + len(given)
    new = normalized_axes(op, given, rank)
    if len(new) < len(given):
        raise Unsupported("GM106", f"Unsqueeze: axes {given} name a place of the result twice")
    sizes = iter(x.type.shape)
    state.emit(op, Reshape(tuple(1 if a in new else next(sizes) for a in range(rank))), [x])


@importer("Transpose")
def import_transpose(state: Import, op: NodeRecord) -> None:
    """`perm`, or all axes reversed."""
    x = state.value(op, 0)
    state.emit(op, Transpose(op.integers("perm") or tuple(reversed(range(x.type.rank)))), [x])


@importer("Shape")
def import_shape(state: Import, op: NodeRecord) -> None:
    """Known at compile time: `start` and `end` as Python slices them."""
    shape = state.value(op, 0).type.shape
    end = op.integer("end", len(shape))
    state.bind_constant(op, np.array(shape[op.integer("start", 0) : end], np.int64))


@importer("Size")
def import_size(state: Import, op: NodeRecord) -> None:
    """Known at compile time."""
    state.bind_constant(op, np.array(state.value(op, 0).type.element_count, np.int64))


@importer("Constant")
def import_constant(state: Import, op: NodeRecord) -> None:
    """A tensor, a number or a list of numbers in an attribute."""
    for name, dtype in (("value_float", np.float32), ("value_floats", np.float32),
                        ("value_int", np.int64), ("value_ints", np.int64)):  # fmt: skip
        if op.has(name):
            state.bind_constant(op, np.array(op.attributes[name], dtype))
            return
    if not op.has("value"):
        raise Unsupported("GM105", "Constant: strings and sparse tensors are not supported")
    state.bind_tensor(op, op.attributes["value"])
