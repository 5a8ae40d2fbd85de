"""SignalFilterBank and what follows it in TensorFlow Lite Micro: square root, PCAN, log."""

from __future__ import annotations

from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.custom_options import new_state, whole_options
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.frontend.tflite.operands import operands
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType, element_type_of
from glowmcu.ops.signal_filter_bank import (
    FilterBank,
    FilterBankLog,
    FilterBankSpectralSubtraction,
    FilterBankSquareRoot,
    Pcan,
)

_CONSTANTS = ("weights", "unweights", "frequency starts", "weight starts", "widths")


@importer("CUSTOM SignalFilterBank")
def import_filter_bank(state: Import, op: OperatorRecord) -> None:
    """Energies, weights, unweights, and three tables; all but the first must be known."""
    channels = whole_options(op, "num_channels")["num_channels"]
    inputs = operands(state, op, 6)
    known = [state.constant(op, 1 + i, what) for i, what in enumerate(_CONSTANTS)]
    starts, weight_starts, widths = (
        _table(op, data, what, channels)
        for data, what in zip(known[2:], _CONSTANTS[2:], strict=True)
    )
    # Where a channel that takes nothing would begin is never looked at.
    taken = [width > 0 for width in widths]
    operation = FilterBank(
        tuple(start if some else 0 for start, some in zip(starts, taken, strict=True)),
        tuple(start if some else 0 for start, some in zip(weight_starts, taken, strict=True)),
        tuple(max(width, 0) for width in widths),
    )
    state.emit(op, operation, inputs[:3])


def _table(op: OperatorRecord, data: Array, what: str, channels: int) -> list[int]:
    """The first `channels + 1` entries of int16."""
    is_table = data.ndim == 1 and element_type_of(data.dtype) is ElementType.I16
    if not is_table or not 1 <= channels < data.size:
        raise Unsupported(
            "GM106",
            f"{op.name}: its {what} are {data.dtype}{list(data.shape)}; "
            f"expected a vector of int16 with num_channels + 1 = {channels + 1} elements or more",
        )
    return [int(entry) for entry in data[: channels + 1]]


@importer("CUSTOM SignalFilterBankSquareRoot")
def import_square_root(state: Import, op: OperatorRecord) -> None:
    """Sums, and the bits of SignalFftAutoScale."""
    whole_options(op)
    state.emit(op, FilterBankSquareRoot(), operands(state, op, 2))


_COEFFICIENTS = (
    *("smoothing", "one_minus_smoothing", "alternate_smoothing"),
    *("alternate_one_minus_smoothing", "min_signal_remaining"),
    *("smoothing_bits", "spectral_subtraction_bits"),
)


@importer("CUSTOM SignalFilterBankSpectralSubtraction")
def import_spectral_subtraction(state: Import, op: OperatorRecord) -> None:
    """The noise is a state, and the second result."""
    options = whole_options(op, *_COEFFICIENTS, "clamping", "num_channels")
    (x,) = operands(state, op, 1, results=2)
    if x.type.shape != (options["num_channels"],):
        raise Unsupported(
            "GM106", f"{op.name}: {x.type} does not have {options['num_channels']} channels"
        )
    operation = FilterBankSpectralSubtraction(
        **{name: options[name] for name in _COEFFICIENTS}, clamping=bool(options["clamping"])
    )
    noise = new_state(state, op, "noise", x.type, 0)
    state.builder.assign(noise, state.emit(op, operation, [x, noise])[1])


@importer("CUSTOM SignalPCAN")
def import_pcan(state: Import, op: OperatorRecord) -> None:
    """Channels, noise and a table of gains."""
    options = whole_options(op, "snr_shift")
    state.emit(op, Pcan(options["snr_shift"]), operands(state, op, 3))


@importer("CUSTOM SignalFilterBankLog")
def import_log(state: Import, op: OperatorRecord) -> None:
    """Natural logarithms."""
    options = whole_options(op, "input_correction_bits", "output_scale")
    operation = FilterBankLog(options["output_scale"], options["input_correction_bits"])
    state.emit(op, operation, operands(state, op, 1))
