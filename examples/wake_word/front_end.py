"""What the network hears: 40 mel bands of a frame of sound, a hundred times a second, as `.tflite`.

A frame is 480 samples at 16 kHz (30 ms), the next one begins 160 samples later:

    samples int16 -> Hann window -> FFT of 512 -> energies -> mel bands -> square root
    -> less the noise of each band -> gain by that noise (PCAN) -> logarithm -> int8

Operators and parameters are those of TensorFlow's microfrontend, as micro_speech and microWakeWord
use it: the features are the same numbers, and networks trained on either hear with the other.
Sources: tensorflow/lite/experimental/microfrontend/lib (`*_util.c`: defaults and tables),
tflite-micro, python/tflite_micro/signal (operators).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from flatbuffers import flexbuffers

from glowmcu.frontend.tflite.writer import ModelBuilder, TensorRef

SAMPLE_RATE = 16000
FRAME, HOP, BANDS = 480, 160, 40
_FFT, _BINS = 512, 257
_LOWEST_HZ, _HIGHEST_HZ = 125.0, 7500.0
#: Window and filter bank are in Q12, the noise's coefficients in Q14.
_WINDOW_BITS, _WEIGHT_BITS, _NOISE_BITS = 12, 12, 14
_SMOOTHING_BITS, _LOG_CORRECTION_BITS, _LOG_SCALE = 10, 3, 64
_EVEN_SMOOTHING, _ODD_SMOOTHING, _LEAST_SIGNAL = 0.025, 0.06, 0.05
_GAIN_STRENGTH, _GAIN_OFFSET, _GAIN_BITS = 0.95, 80.0, 21
#: 666 / 64 is the logarithm that 256 steps of int8 span.
_STEPS, _SPAN, _LOWEST = 256, 666, -128

Table = npt.NDArray[np.int16]


def window() -> Table:
    """A Hann window, sampled between its ends."""
    turns = (np.arange(FRAME) + 0.5) / FRAME
    return _rounded((0.5 - 0.5 * np.cos(2 * np.pi * turns)) * 2**_WINDOW_BITS)


@dataclass(frozen=True)
class FilterBank:
    """Bins of each channel: those up to its centre; a bin counts to the channel by its weight, to
    the next one by its unweight. The first channel is there for the latter alone.
    """

    starts: Table
    weight_starts: Table
    widths: Table
    weights: Table
    unweights: Table


def filter_bank() -> FilterBank:
    """Triangles that overlap by half, evenly spaced in mel."""
    low, high = _mel(np.array([_LOWEST_HZ, _HIGHEST_HZ]))
    edges = np.linspace(low, high, BANDS + 2)
    bins = np.arange(_first_bin(), _BINS)
    mels = _mel(bins * SAMPLE_RATE / _FFT)
    channel = np.searchsorted(edges[1:], mels)
    bins, mels, channel = (x[channel <= BANDS] for x in (bins, mels, channel))
    shares = (edges[channel + 1] - mels) / (edges[channel + 1] - edges[channel])
    widths = np.bincount(channel, minlength=BANDS + 1)
    firsts = np.concatenate([[0], np.cumsum(widths)[:-1]])
    return FilterBank(
        starts=(bins[0] + firsts).astype(np.int16),
        weight_starts=firsts.astype(np.int16),
        widths=widths.astype(np.int16),
        weights=(shares * 2**_WEIGHT_BITS).astype(np.int16),
        unweights=((1 - shares) * 2**_WEIGHT_BITS).astype(np.int16),
    )


def gains() -> Table:
    """A parabola for each power of two of the noise: gain at its start, slope, curvature."""
    entries = [_gain(0), _gain(1)]
    for interval in range(2, 33):
        start = 2 ** (interval - 1)
        last = 2 * start - int(interval == 32)
        first, middle, end = (_gain(x) for x in (start, start + start // 2, last))
        slope = 4 * (middle - first) - (end - first)
        entries += [first, slope, end - first - slope, 0]
    return np.array(entries[:-1], np.int16)


def write() -> bytes:
    """The `.tflite` file: int16 (1, 480) to int8 (40,)."""
    model = ModelBuilder("40 mel bands of 30 ms of sound at 16 kHz, int8")
    samples = model.input("samples", (1, FRAME), "int16")
    energies, bits = _spectrum(model, samples)
    bank = filter_bank()
    names = ("weights", "unweights", "starts", "weight_starts", "widths")
    tables = [model.constant(f"bands/{name}", getattr(bank, name)) for name in names]
    sums = model.tensor("bands/sums", (BANDS,), "uint64")
    _custom(model, "SignalFilterBank", [energies, *tables], [sums], num_channels=BANDS)
    bands = model.tensor("bands", (BANDS,), "uint32")
    _custom(model, "SignalFilterBankSquareRoot", [sums, bits], [bands])
    model.output(_to_int8(model, _without_noise(model, bands)))
    return model.finish()


def _spectrum(model: ModelBuilder, samples: TensorRef) -> tuple[TensorRef, TensorRef]:
    """Energies of the bins, and by how many bits samples were scaled up before the transform."""
    weighted = model.tensor("window", (1, FRAME), "int16")
    weights = model.constant("window/weights", window())
    _custom(model, "SignalWindow", [samples, weights], [weighted], shift=_WINDOW_BITS)
    frame = model.tensor("frame", (FRAME,), "int16")
    shape = model.constant("frame/shape", np.array([FRAME], np.int32))
    model.op("RESHAPE", [weighted, shape], [frame], {"new_shape": [FRAME]})
    scaled, bits = model.tensor("scaled", (FRAME,), "int16"), model.tensor("bits", (), "int32")
    _custom(model, "SignalFftAutoScale", [frame], [scaled, bits])
    spectrum = model.tensor("spectrum", (2 * _BINS,), "int16")
    _custom(model, "SignalRfft", [scaled], [spectrum], T=7, fft_length=_FFT)  # 7: int16
    energies = model.tensor("energies", (_BINS,), "uint32")
    bank = filter_bank()
    end = int(bank.starts[-1] + bank.widths[-1])
    _custom(model, "SignalEnergy", [spectrum], [energies], start_index=_first_bin(), end_index=end)
    return energies, bits


def _without_noise(model: ModelBuilder, bands: TensorRef) -> TensorRef:
    """Logarithms of what each band has more than before, by what it had before."""
    left = model.tensor("bands/left", (BANDS,), "uint32")
    noise = model.tensor("bands/noise", (BANDS,), "uint32")
    one = 2**_NOISE_BITS
    even, odd = int(_EVEN_SMOOTHING * one), int(_ODD_SMOOTHING * one)
    _custom(
        model, "SignalFilterBankSpectralSubtraction", [bands], [left, noise],
        smoothing=even, one_minus_smoothing=one - even,
        alternate_smoothing=odd, alternate_one_minus_smoothing=one - odd,
        min_signal_remaining=int(_LEAST_SIGNAL * one), smoothing_bits=_SMOOTHING_BITS,
        spectral_subtraction_bits=_NOISE_BITS, num_channels=BANDS, clamping=False,
    )  # fmt: skip
    even_louder = model.tensor("bands/normalized", (BANDS,), "uint32")
    table = model.constant("bands/gains", gains())
    shift = _GAIN_BITS - _LOG_CORRECTION_BITS - 12  # 12: fraction bits of a ratio to the noise
    _custom(model, "SignalPCAN", [left, noise, table], [even_louder], snr_shift=shift)
    logarithms = model.tensor("bands/log", (BANDS,), "int16")
    _custom(
        model, "SignalFilterBankLog", [even_louder], [logarithms],
        output_scale=_LOG_SCALE, input_correction_bits=_LOG_CORRECTION_BITS,
    )  # fmt: skip
    return logarithms


def _to_int8(model: ModelBuilder, logarithms: TensorRef) -> TensorRef:
    """(256 x + 333) / 666 - 128, held to int8."""
    x = model.tensor("features/log", (BANDS,), "int32")
    model.op("CAST", [logarithms], [x])
    steps: tuple[tuple[str, int], ...] = (
        ("MUL", _STEPS), ("ADD", _SPAN // 2), ("DIV", _SPAN), ("ADD", _LOWEST),
        ("MINIMUM", 127), ("MAXIMUM", -128),
    )  # fmt: skip
    for index, (kind, number) in enumerate(steps):
        operand = model.constant(f"features/operand_{index}", np.array(number, np.int32))
        y = model.tensor(f"features/step_{index}", (BANDS,), "int32")
        model.op(kind, [x, operand], [y])
        x = y
    features = model.tensor("features", (BANDS,), "int8")
    model.op("CAST", [x], [features])
    return features


def _custom(
    model: ModelBuilder,
    code: str,
    inputs: list[TensorRef],
    outputs: list[TensorRef],
    **options: int,
) -> None:
    stored = bytes(flexbuffers.Dumps(options)) if options else b""
    model.custom_op(code, inputs, outputs, stored)


def _first_bin() -> int:
    """The first that counts."""
    return int(1.5 + _LOWEST_HZ * _FFT / SAMPLE_RATE)


def _mel(hz: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.asarray(1127.0 * np.log1p(hz / 700.0))


def _gain(noise: int) -> int:
    """What a band is multiplied by where its noise is `noise`."""
    scaled = noise / 2 ** (_SMOOTHING_BITS - _LOG_CORRECTION_BITS)
    gain = 2**_GAIN_BITS * (scaled + _GAIN_OFFSET) ** -_GAIN_STRENGTH
    return min(int(gain + 0.5), 2**15 - 1)


def _rounded(values: npt.NDArray[np.float64]) -> Table:
    return np.floor(values + 0.5).astype(np.int16)


if __name__ == "__main__":
    (Path(__file__).resolve().parent / "front_end.tflite").write_bytes(write())
