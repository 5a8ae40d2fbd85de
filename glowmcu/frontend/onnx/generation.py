"""Tensors made at compile time: ConstantOfShape, EyeLike, NonZero and Range."""

from __future__ import annotations

import math

import numpy as np

from glowmcu.frontend.onnx.axes import required_integers
from glowmcu.frontend.onnx.container import NodeRecord, element_of, tensor_data
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.unsupported import Unsupported


@importer("ConstantOfShape")
def import_constant_of_shape(state: Import, op: NodeRecord) -> None:
    """One value everywhere; float 0 if none is given."""
    shape = required_integers(state, op, 0, "shape", "its shape")
    if any(size < 0 for size in shape):
        raise Unsupported("GM106", f"ConstantOfShape: {shape} is no shape of a tensor in memory")
    state.builder.afford(shape, 8, "a constant")
    value = np.zeros(1, np.float32)
    if op.has("value"):
        value = tensor_data(op.attributes["value"], state.model.folder).reshape(-1)
    state.bind_constant(op, np.full(shape, value[0], value.dtype))


@importer("EyeLike")
def import_eye_like(state: Import, op: NodeRecord) -> None:
    """Ones on a diagonal of a matrix of the operand's shape."""
    x = state.value(op, 0)
    said = op.integer("dtype", 0)
    element, type_name = element_of(said) if said else (x.type.element, "")
    if element is None:
        raise Unsupported("GM105", f"EyeLike of {type_name} is not supported")
    if x.type.rank != 2:
        raise Unsupported("GM106", f"EyeLike: expected a matrix, got {x.type}")
    rows, columns = x.type.shape
    state.builder.afford(x.type.shape, 8, "a constant")
    eye = np.eye(rows, columns, op.integer("k", 0))
    state.bind_constant(op, eye.astype(element.numpy))


@importer("Range")
def import_range(state: Import, op: NodeRecord) -> None:
    """From start to limit, which is not reached, in steps of delta."""
    parts = [state.constant(op, i, "its bounds").reshape(-1) for i in range(3)]
    if any(part.size != 1 for part in parts) or not parts[2][0]:
        raise Unsupported("GM106", "Range: expected one start, one limit and one step other than 0")
    start, limit, delta = (part[0] for part in parts)
    span = (float(limit) - float(start)) / float(delta)
    if not math.isfinite(span):
        raise Unsupported("GM106", f"Range: cannot count from {start} to {limit} by {delta}")
    count = max(math.ceil(span), 0)
    state.builder.afford((count,), 8, "a constant")
    steps = np.arange(count, dtype=parts[0].dtype)
    state.bind_constant(op, (start + steps * delta).astype(parts[0].dtype))


@importer("NonZero")
def import_non_zero(state: Import, op: NodeRecord) -> None:
    """How many there are depends on the data: it must be known at compile time."""
    data = state.constant(op, 0, "its operand")
    state.bind_constant(op, np.array(np.nonzero(data), np.int64))
