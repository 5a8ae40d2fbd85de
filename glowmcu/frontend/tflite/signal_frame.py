"""SignalWindow, SignalFftAutoScale and SignalEnergy of TensorFlow Lite Micro."""

from __future__ import annotations

from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.custom_options import operands, whole_options
from glowmcu.frontend.tflite.importer import Import, importer
from glowmcu.ops.signal_frame import Energy, FftAutoScale, Window


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
