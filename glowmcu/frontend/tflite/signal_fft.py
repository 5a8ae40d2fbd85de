"""SignalRfft and SignalIrfft of TensorFlow Lite Micro."""

from __future__ import annotations

from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.custom_options import expect_stated_type, whole_options
from glowmcu.frontend.tflite.importer import Import, importer
from glowmcu.frontend.tflite.operands import operands
from glowmcu.ops.signal_fft import Irfft, Rfft

_TRANSFORMS = {"CUSTOM SignalRfft": Rfft, "CUSTOM SignalIrfft": Irfft}


@importer(*_TRANSFORMS)
def import_fft(state: Import, op: OperatorRecord) -> None:
    """`T` is the operand's type."""
    options = whole_options(op, "T", "fft_length")
    inputs = operands(state, op, 1)
    expect_stated_type(op, options["T"], inputs[0])
    state.emit(op, _TRANSFORMS[op.name](options["fft_length"]), inputs)
