"""CIRCULAR_BUFFER of TensorFlow Lite Micro: the newest rows of its input, and every how many runs
what comes after it is computed.

Source: `micro/kernels/circular_buffer{,_common}.cc`.
"""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.run_end import end_unless, first_value
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.custom_options import whole_options
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.frontend.tflite.operands import operands
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Operation
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.comparison import Equal, Select
from glowmcu.ops.elementwise import Sub
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.slicing import Slice

_COUNT = TensorType((), ElementType.I32)
_TRUTH = TensorType((), ElementType.BOOL)
#: Rows of buffers that are taken to be the last of their models where cycles are not said.
_LAST_ROWS = (5, 13, 25)
_LAST_PLACE, _LAST_SHAPE = 5, (2, 96)


@dataclass
class _Guesses:
    """Buffers without cycles since the last one that was taken to be a model's last."""

    count: int = 0


@importer("CUSTOM CIRCULAR_BUFFER")
def import_circular_buffer(state: Import, op: OperatorRecord) -> None:
    """Its rows are a state. What comes after it counts in every `cycles_max`-th run alone."""
    (x,) = operands(state, op, 1)
    out = state.output_type(op)
    _expect_rows(state, op, x, out)
    rows = out.shape[1]
    joined = x
    if rows > 1:
        kept = x.type.with_shape((1, rows - 1, *x.type.shape[2:]))
        state.builder.afford(kept.shape, 1, "a state")
        queue = state.builder.add_state(_named(state, op, "queue"), kept, first_value(kept))
        joined = state.emit_inner(op, Concatenation(1), [queue, x], out)
        newest = Slice((0, 1, 0, 0), kept.shape, (1, 1, 1, 1))
        state.builder.assign(queue, state.emit_inner(op, newest, [joined], kept))
    state.set_value(op, joined)
    cycles = _cycles(state, op, out)
    if cycles > 1:
        _count_down(state, op, cycles)


def _named(state: Import, op: OperatorRecord, what: str) -> str:
    return f"{state.model.tensors[op.outputs[0]].name}/{what}"


def _expect_rows(state: Import, op: OperatorRecord, x: Value, out: TensorType) -> None:
    """GM106 unless it is int8[1, 1, width, depth] to int8[1, rows, width, depth], alike."""
    is_int8 = x.type.element is ElementType.I8 and x.type.quantization == out.quantization
    fits = x.type.rank == out.rank == 4 and x.type.shape[:2] == (1, 1) and out.shape[1] >= 1
    if not is_int8 or not fits or out != x.type.with_shape((1, out.shape[1], *x.type.shape[2:])):
        raise Unsupported(
            "GM106",
            f"CIRCULAR_BUFFER: {x.type} to {out}; expected int8 of shape (1, 1, width, depth) to "
            "(1, rows, width, depth), of one scale and zero point",
        )
    if not state.model.tensors[op.outputs[0]].is_variable:
        raise Unsupported(
            "GM105", "CIRCULAR_BUFFER: its result is no variable tensor",
            "TensorFlow Lite Micro would give its memory to others between runs: mark the tensor "
            "as a variable (is_variable)",
        )  # fmt: skip
    if state.depth:
        raise Unsupported("GM102", "CIRCULAR_BUFFER in a subgraph of a branch or loop")


def _cycles(state: Import, op: OperatorRecord, out: TensorType) -> int:
    """Every how many runs it lets the others run. Where the options do not say, TensorFlow Lite
    Micro guesses by the shapes and places of buffers in the models that it was made for.
    """
    if op.custom_options:
        cycles = whole_options(op, "cycles_max")["cycles_max"]
        if cycles > 2**31 - 1:
            raise Unsupported("GM128", f"CIRCULAR_BUFFER: cycles_max is {cycles}, beyond int32")
        if cycles > 0:
            return cycles
    guesses = state.side_table(_Guesses)
    guesses.count += 1
    is_fifth = guesses.count == _LAST_PLACE and out.shape[2:] == _LAST_SHAPE
    if out.shape[1] in _LAST_ROWS or is_fifth:
        guesses.count = 0
        return 1
    return 2


def _count_down(state: Import, op: OperatorRecord, cycles: int) -> None:
    def scalar(operation: Operation, *values: Value) -> Value:
        type_ = _TRUTH if isinstance(operation, Equal) else _COUNT
        return state.emit_inner(op, operation, values, type_)

    def number(value: int) -> Value:
        return state.add_constant(np.array(value, np.int32), str(value))

    left = state.builder.add_state(_named(state, op, "cycles"), _COUNT, np.array(cycles, np.int32))
    after = scalar(Sub(), left, number(1))
    is_done = scalar(Equal(), after, number(0))
    state.builder.assign(left, scalar(Select(), is_done, number(cycles), after))
    end_unless(state.builder, is_done, f"operator {op.index} {op.name}")
