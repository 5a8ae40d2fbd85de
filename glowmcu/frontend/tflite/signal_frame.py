"""SignalWindow, SignalFftAutoScale, SignalEnergy and SignalOverlapAdd of TensorFlow Lite Micro."""

from __future__ import annotations

from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.custom_options import (
    expect_stated_type,
    new_state,
    whole_options,
)
from glowmcu.frontend.tflite.importer import Import, importer
from glowmcu.frontend.tflite.operands import operands
from glowmcu.ir.types import TensorType
from glowmcu.ops.shape import Reshape
from glowmcu.ops.signal_frame import Energy, FftAutoScale, OverlapAdd, Window


@importer("CUSTOM SignalWindow")
def import_window(state: Import, op: OperatorRecord) -> None:
    """Samples and weights."""
    options = whole_options(op, "shift")
    state.emit(op, Window(options["shift"]), operands(state, op, 2))


@importer("CUSTOM SignalFftAutoScale")
def import_fft_auto_scale(state: Import, op: OperatorRecord) -> None:
    """Results are samples and bits."""
    whole_options(op)
    state.emit(op, FftAutoScale(), operands(state, op, 1, results=2))


@importer("CUSTOM SignalEnergy")
def import_energy(state: Import, op: OperatorRecord) -> None:
    """Of a part of the spectrum."""
    options = whole_options(op, "end_index", "start_index")
    state.emit(op, Energy(options["start_index"], options["end_index"]), operands(state, op, 1))


@importer("CUSTOM SignalOverlapAdd")
def import_overlap_add(state: Import, op: OperatorRecord) -> None:
    """What later frames add to is a state; frames that do not overlap are samples as they are."""
    options = whole_options(op, "T", "frame_step")
    (x,) = operands(state, op, 1)
    expect_stated_type(op, options["T"], x)
    operation, size = OverlapAdd(options["frame_step"]), x.type.shape[-1] if x.type.rank else 0
    if x.type.rank >= 2 and operation.step == size:
        state.emit(op, Reshape((*x.type.shape[:-2], x.type.shape[-2] * size)), [x])
        return
    kept = TensorType((*x.type.shape[:-2], max(size - operation.step, 0)), x.type.element)
    sums = new_state(state, op, "sums", kept, 0)
    out, after = state.emit_all(op, operation, [x, sums], [state.output_type(op), kept])
    state.expect_declared(op, 0, out)
    state.set_value(op, out)
    state.builder.assign(sums, after)
