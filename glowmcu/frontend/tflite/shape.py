"""RESHAPE, SQUEEZE, EXPAND_DIMS, and the operators that only ask for or make shapes."""

from __future__ import annotations

import math

import numpy as np

from glowmcu.frontend.graph_builder import MAX_RANK
from glowmcu.frontend.tflite.axes import integer_list, positive_axis
from glowmcu.frontend.tflite.complex_numbers import complex_value, import_reshaped
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.ir.graph import Value
from glowmcu.ir.types import Shape
from glowmcu.ops.shape import Reshape
from glowmcu.ops.tiling import BroadcastTo


@importer("RESHAPE")
def import_reshape(state: Import, op: OperatorRecord) -> None:
    """The operand says the new shape (with a -1 that fits the input), else the declared result."""
    is_known = state.known(op, 1)
    shape = _declared(state, op)
    if is_known:
        count = math.prod(_operand_shape(state, op))
        wanted = _resolve(integer_list(state, op, 1, "the new shape"), count)
        # A shape written for another batch size is not believed; then the declared one stands.
        if all(size >= 0 for size in wanted) and math.prod(wanted) == count:
            shape = wanted
    _emit_reshaped(state, op, shape)


def _operand_shape(state: Import, op: OperatorRecord) -> Shape:
    """Of complex numbers without the axis of their parts."""
    if state.is_complex(op):
        return complex_value(state, op).type.shape[:-1]
    return state.value(op, 0).type.shape


def _declared(state: Import, op: OperatorRecord) -> Shape:
    if state.is_complex(op):
        return state.model.tensors[op.outputs[0]].shape
    return state.output_type(op).shape


def _emit_reshaped(state: Import, op: OperatorRecord, shape: Shape) -> None:
    if state.is_complex(op):
        import_reshaped(state, op, shape)
    else:
        state.emit(op, Reshape(shape), [state.value(op, 0)])


def _resolve(shape: Shape, element_count: int) -> Shape:
    known = math.prod(size for size in shape if size != -1)
    if known == 0:
        return shape
    return tuple(element_count // known if size == -1 else size for size in shape)


@importer("SQUEEZE")
def import_squeeze(state: Import, op: OperatorRecord) -> None:
    """The declared result has lost some axes of length 1; where it was declared for other sizes
    than the user gave, the options say which.
    """
    x, declared = _operand_shape(state, op), _declared(state, op)
    ones = [axis for axis, size in enumerate(x) if size == 1]
    shape = declared
    if _without_ones(declared) != _without_ones(x):
        dropped = [positive_axis(axis, len(x), op) for axis in _squeezed_axes(op)] or ones
        shape = tuple(size for axis, size in enumerate(x) if axis not in dropped)
        if not set(dropped) <= set(ones) or len(shape) != len(declared):
            raise Unsupported("GM106", f"squeeze: {x} does not squeeze to {declared}")
    _emit_reshaped(state, op, shape)


def _without_ones(shape: Shape) -> list[int]:
    return [size for size in shape if size != 1]


def _squeezed_axes(op: OperatorRecord) -> list[int]:
    if op.options_table is None:
        return []
    options = op.options(tflite.SqueezeOptions)
    return [
        options.SqueezeDims(place) for place in range(min(options.SqueezeDimsLength(), MAX_RANK))
    ]


@importer("EXPAND_DIMS")
def import_expand_dims(state: Import, op: OperatorRecord) -> None:
    """A new axis of length 1; a negative one counts from behind the last."""
    x = state.value(op, 0)
    axes = integer_list(state, op, 1, "its axis")
    if len(axes) != 1 or not -x.type.rank - 1 <= axes[0] <= x.type.rank:
        raise Unsupported("GM106", f"expand_dims: axis {axes} is outside {x.type.shape}")
    axis = axes[0] % (x.type.rank + 1)
    state.emit(op, Reshape((*x.type.shape[:axis], 1, *x.type.shape[axis:])), [x])


@importer("SHAPE")
def import_shape(state: Import, op: OperatorRecord) -> None:
    """Known at compile time: every shape is fixed."""
    dtype = state.output_type(op).element.numpy
    state.bind(op, np.array(state.value(op, 0).type.shape, dtype))


@importer("RANK")
def import_rank(state: Import, op: OperatorRecord) -> None:
    """Known at compile time."""
    state.bind(op, np.array(state.value(op, 0).type.rank, np.int32))


@importer("ZEROS_LIKE")
def import_zeros_like(state: Import, op: OperatorRecord) -> None:
    """Stored zeros, whatever the zero point: what the reference kernel writes."""
    x = state.value(op, 0)
    state.builder.afford(x.type.shape, x.type.element.size_bytes, "a constant")
    state.bind(op, np.zeros(x.type.shape, x.type.element.numpy))


@importer("FILL")
def import_fill(state: Import, op: OperatorRecord) -> None:
    """One value everywhere; a constant where the value is known."""
    shape = integer_list(state, op, 0, "the result's shape")
    value = state.value(op, 1)
    if any(size < 0 for size in shape) or value.type.element_count != 1:
        raise Unsupported("GM106", f"fill: cannot make {shape} from {value.type}")
    if state.known(op, 1):
        state.builder.afford(shape, value.type.element.size_bytes, "a constant")
        data = state.constant(op, 1, "the value")
        state.bind(op, np.full(shape, data.reshape(-1)[0], data.dtype))
    else:
        state.emit(op, BroadcastTo(shape), [_scalar(state, op, value)])


def _scalar(state: Import, op: OperatorRecord, value: Value) -> Value:
    if value.type.rank == 0:
        return value
    return state.emit_inner(op, Reshape(()), [value], value.type)


@importer("RANGE")
def import_range(state: Import, op: OperatorRecord) -> None:
    """Known at compile time: start, limit and step must be."""
    bounds = [state.constant(op, i, "its bounds") for i in range(3)]
    if any(data.size != 1 for data in bounds) or not bounds[2].any():
        raise Unsupported("GM106", "range: expected three numbers, the step not 0")
    start, limit, step = (data.item() for data in bounds)
    if not all(map(math.isfinite, (start, limit, step))):
        raise Unsupported("GM106", f"range: cannot count from {start} to {limit} by {step}")
    count = max(math.ceil((limit - start) / step), 0)
    state.builder.afford((count,), 8, "a constant")
    state.bind(op, (start + np.arange(count) * step).astype(bounds[0].dtype))
