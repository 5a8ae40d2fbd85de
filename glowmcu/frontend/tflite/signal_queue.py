"""SignalDelay, SignalFramer and SignalStacker: queues of samples, made of joints and slices.

What TensorFlow Lite Micro leaves unwritten while a queue fills (`signal/micro/kernels/{framer,
stacker}.cc`) is what the queue holds by then.
"""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.graph_builder import expect_few
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.custom_options import new_state, whole_options
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.frontend.tflite.operands import operands
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Operation
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.comparison import Equal, GreaterEqual, Select
from glowmcu.ops.elementwise import Add, Minimum
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice

_COUNT = TensorType((), ElementType.I32)
_TRUTH = TensorType((), ElementType.BOOL)


def _samples(state: Import, op: OperatorRecord, results: int) -> Value:
    (x,) = operands(state, op, 1, results)
    if x.type.element is not ElementType.I16 or 0 in (x.type.shape or (0,)):
        raise Unsupported("GM106", f"{op.name}: expected samples of int16, got {x.type}")
    return x


def _expect(op: OperatorRecord, is_fit: bool, what: str) -> None:
    if not is_fit:
        raise Unsupported("GM106", f"{op.name}: {what}")


def _part(state: Import, op: OperatorRecord, x: Value, first: int, count: int) -> Value:
    """`count` positions of the last axis from `first` on."""
    outer = x.type.shape[:-1]
    operation = Slice((*(0 for _ in outer), first), (*outer, count), (1,) * x.type.rank)
    return state.emit_inner(op, operation, [x], x.type)


def _queued(state: Import, op: OperatorRecord, kept: int, x: Value) -> Value:
    """The last `kept` samples of the runs before, and those of this one."""
    if kept == 0:
        return x
    queue = new_state(state, op, "queue", x.type.with_shape((*x.type.shape[:-1], kept)), 0)
    joined = state.emit_inner(op, Concatenation(x.type.rank - 1), [queue, x], x.type)
    state.builder.assign(queue, _part(state, op, joined, x.type.shape[-1], kept))
    return joined


def _finish(state: Import, op: OperatorRecord, *values: Value) -> None:
    for position, value in enumerate(values):
        state.expect_declared(op, position, value)
        state.set_value(op, value, position)


def _number(state: Import, number: int) -> Value:
    return state.add_constant(np.array(number, np.int32), str(number))


def _counted(state: Import, op: OperatorRecord, operation: Operation, *operands: Value) -> Value:
    type_ = _TRUTH if isinstance(operation, (Equal, GreaterEqual)) else _COUNT
    return state.emit_inner(op, operation, operands, type_)


@importer("CUSTOM SignalDelay")
def import_delay(state: Import, op: OperatorRecord) -> None:
    """Samples of `delay_length` samples ago; zeros before the first."""
    length = whole_options(op, "delay_length")["delay_length"]
    x = _samples(state, op, results=1)
    _expect(op, length >= 0, f"a delay of {length} samples")
    _finish(state, op, _part(state, op, _queued(state, op, length, x), 0, x.type.shape[-1]))


@importer("CUSTOM SignalFramer")
def import_framer(state: Import, op: OperatorRecord) -> None:
    """Frames that overlap, and whether all of them are of samples that were there."""
    options = whole_options(op, "frame_size", "frame_step", "prefill")
    size, step, is_filled = options["frame_size"], options["frame_step"], bool(options["prefill"])
    x = _samples(state, op, results=2)
    samples = x.type.shape[-1]
    _expect(op, 1 <= step <= samples and samples % step == 0, f"{samples} samples by {step}")
    _expect(op, size >= (step if is_filled else 1), f"frames of {size} samples by {step}")
    frames = samples // step
    expect_few(frames, "frames")
    # Without zeros in front, a frame begins with the oldest of whole steps.
    kept = size - step if is_filled else -(-size // step) * step - step
    joined = _queued(state, op, kept, x)
    shape = (*x.type.shape[:-1], 1, size)
    parts = [
        state.emit_inner(op, Reshape(shape), [_part(state, op, joined, k * step, size)], x.type)
        for k in range(frames)
    ]
    joint = Concatenation(x.type.rank - 1)
    framed = state.emit_inner(op, joint, parts, x.type) if frames > 1 else parts[0]
    _finish(state, op, framed, _is_full(state, op, frames, 0 if is_filled else kept // step))


def _is_full(state: Import, op: OperatorRecord, new: int, wanted: int) -> Value:
    """Whether `wanted` steps were there before this run, which brings `new` ones."""
    count, enough = new_state(state, op, "steps", _COUNT, 0), _number(state, wanted)
    after = _counted(state, op, Add(), count, _number(state, new))
    state.builder.assign(count, _counted(state, op, Minimum(), after, enough))
    return _counted(state, op, GreaterEqual(), count, enough)


@importer("CUSTOM SignalStacker")
def import_stacker(state: Import, op: OperatorRecord) -> None:
    """Neighbouring frames in one, every few frames, and whether this run has made one.

    Before the first frame are copies of it.
    """
    names = ("num_channels", "stacker_left_context", "stacker_right_context", "stacker_step")
    channels, left, right, step = (whole_options(op, *names)[name] for name in names)
    x = _samples(state, op, results=2)
    stacked = left + right + 1
    _expect(op, x.type.shape == (channels,), f"{x.type} is no frame of {channels} channels")
    _expect(op, min(left, right) >= 0, f"contexts of {left} and {right} frames")
    _expect(op, 1 <= step <= stacked, f"a step of {step} for {stacked} frames")
    expect_few(stacked, "frames")
    joined = x.type.with_shape((channels * stacked,))
    # Frames since the last result that count for the next one; none is -1.
    count = new_state(state, op, "frames", _COUNT, -1)
    is_first = _counted(state, op, Equal(), count, _number(state, -1))
    out = x
    if stacked > 1:
        before = joined.with_shape((channels * (stacked - 1),))
        queue = new_state(state, op, "queue", before, 0)
        copies = state.emit_inner(op, Concatenation(0), [x] * (stacked - 1), x.type)
        known = state.emit_inner(op, Select(), [is_first, copies, queue], x.type)
        out = state.emit_inner(op, Concatenation(0), [known, x], x.type)
        state.builder.assign(queue, _part(state, op, out, channels, channels * (stacked - 1)))
    after = _counted(state, op, Add(), count, _number(state, 1))
    now = _counted(state, op, Select(), is_first, _number(state, left + 1), after)
    is_made = _counted(state, op, GreaterEqual(), now, _number(state, stacked))
    left_over = _number(state, stacked - step)
    state.builder.assign(count, _counted(state, op, Select(), is_made, left_over, now))
    _finish(state, op, out, is_made)
