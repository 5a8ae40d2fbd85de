"""Pad."""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.graph_builder import check_tensor_size
from glowmcu.frontend.onnx.axes import integers, positive_axis, required_integers
from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Array
from glowmcu.ir.types import Shape
from glowmcu.ops.gather import Gather
from glowmcu.ops.padding import MirrorPad, Pad, Paddings
from glowmcu.ops.slicing import Slice

_MODES = ("constant", "reflect", "edge", "wrap")


@importer("Pad")
def import_pad(state: Import, op: NodeRecord) -> None:
    """Negative pads crop. What no mirror makes (edge, wrap, far reflections) is gathered."""
    x, mode = state.value(op, 0), op.text("mode", "constant")
    if mode not in _MODES:
        raise Unsupported("GM105", f"Pad: mode {mode!r} is none of {', '.join(_MODES)}")
    pads = _paddings(state, op, x.type.shape)
    crops = tuple((max(-before, 0), max(-after, 0)) for before, after in pads)
    pads = tuple((max(before, 0), max(after, 0)) for before, after in pads)
    x = _cropped(state, op, x, crops)
    if mode == "constant":
        state.emit(op, Pad(pads, _value(state, op, x)), [x])
        return
    sizes = zip(x.type.shape, pads, strict=True)
    if mode == "reflect" and all(max(pair) < size for size, pair in sizes if any(pair)):
        state.emit(op, MirrorPad(pads), [x])
        return
    for axis, pair in enumerate(pads):
        if any(pair):
            size = x.type.shape[axis] + sum(pair)
            padded = (*x.type.shape[:axis], size, *x.type.shape[axis + 1 :])
            check_tensor_size(padded, x.type.element.size_bytes, "a result")
            state.builder.afford((size,), 8, "a constant")
            positions = continued(x.type.shape[axis], *pair, mode)
            operands = [x, state.add_constant(positions, "positions")]
            x = state.add(op, Gather(axis), operands, name=op.outputs[0])
    state.bind(op, [x])


def continued(length: int, before: int, after: int, mode: str) -> Array:
    """Positions on an axis of `length` from `before` in front of it to `after` behind it."""
    if length == 0:
        raise Unsupported("GM106", f"Pad: nothing to {mode} on an axis without elements")
    at = np.arange(-before, length + after, dtype=np.int32)
    if mode == "edge":
        return np.asarray(np.clip(at, 0, length - 1))
    if mode == "wrap":
        return np.asarray(at % np.int32(length))
    period = max(2 * (length - 1), 1)
    back = at % np.int32(period)
    return np.asarray(np.minimum(back, np.int32(period) - back) % np.int32(length))


def _paddings(state: Import, op: NodeRecord, shape: Shape) -> Paddings:
    """Pairs, an axis each: all those in front come first in the file."""
    attribute = "pads" if op.has("pads") else "paddings"
    pads = required_integers(state, op, 1, attribute, "its pads")
    axes = integers(state, op, 3, "axes", "its axes")
    places = range(len(shape)) if axes is None else [positive_axis(op, a, len(shape)) for a in axes]
    count = len(places)
    if len(pads) != 2 * count:
        raise Unsupported("GM106", f"Pad: {len(pads)} pads for {count} axes of {shape}")
    found = [(0, 0)] * len(shape)
    for place, before, after in zip(places, pads[:count], pads[count:], strict=True):
        found[place] = before, after
    return tuple(found)


def _cropped(state: Import, op: NodeRecord, x: Value, crops: Paddings) -> Value:
    if not any(map(any, crops)):
        return x
    begin = tuple(before for before, _ in crops)
    size = tuple(n - sum(pair) for n, pair in zip(x.type.shape, crops, strict=True))
    return state.add(op, Slice(begin, size, (1,) * len(begin)), [x])


def _value(state: Import, op: NodeRecord, x: Value) -> int | float:
    """What to pad with, in the operand's type; 0 if it is not given."""
    if state.has(op, 2):
        given = state.constant(op, 2, "the value to pad with").reshape(-1)
        if given.size != 1:
            raise Unsupported("GM106", f"Pad: expected one value, got {given.size}")
        value: int | float = given[0].item()
    else:
        value = op.number("value", 0.0)
    return float(value) if x.type.element.is_float else int(value)
