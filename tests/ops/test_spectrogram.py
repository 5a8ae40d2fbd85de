"""`spectrogram`: near real numbers, the same bits in C, and never an overflow on the way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from glowmcu.compilation import Compilation, Options, Prepared
from glowmcu.ir.dump import IrDump
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.operation import Array, OperationError, Rounding, Signature
from glowmcu.ir.text import parse_graph, print_graph
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.lowering.passes import lower
from glowmcu.ops.registry import load_operations
from glowmcu.ops.spectrogram import Spectrogram
from glowmcu.ops.spectrum_words import halvings, spectrum, turns, window_shift, words_of_frames
from glowmcu.pipeline import compile_prepared
from glowmcu.verify.cortex_m.executor import CortexM
from glowmcu.verify.host import Host
from tests.ir.graphs import GraphBuilder
from tests.support.check_model import expect_equal, write_bundle
from tests.support.front_ends import hann, mel_bank, noise, speech

I8, I16, F32 = ElementType.I8, ElementType.I16, ElementType.F32
SAMPLES = Quantization((2.0**-15,), (0,))
#: Nothing on the way may be undefined.
UNDEFINED = ("-fsanitize=undefined", "-fno-sanitize-recover=undefined")
RANDOM = np.random.default_rng(3)

WINDOWS = {
    "Hann": hann,
    "Hamming": lambda n: 0.54 - 0.46 * np.cos(2 * np.pi * np.arange(n) / n),
    "Blackman": np.blackman,
    "none": np.ones,
}


def stored(weights: Array) -> tuple[Array, Quantization]:
    scale = float(np.float32(np.abs(weights).max() / 32767))
    return np.clip(np.rint(weights / scale), -32767, 32767).astype(np.int16), Quantization(
        (scale,), (0,)
    )  # fmt: skip


def stored_bank(weights: Array) -> tuple[Array, Quantization]:
    scales = np.maximum(weights.max(1) / 32767, weights.sum(1) / 60000)
    scales = np.where(scales > 0, scales, 1).astype(np.float32)
    per_channel = Quantization(tuple(map(float, scales)), (0,) * len(scales), 0)
    return np.rint(weights / scales[:, np.newaxis]).astype(np.int16), per_channel


def graph_of(
    op: Spectrogram,
    samples: int,
    weights: Array,
    bank: Array | None = None,
    out: TensorType | None = None,
    batch: int = 1,
) -> Graph:
    """The operator alone; of real numbers without `out`."""
    builder = GraphBuilder()
    kind = TensorType((batch, samples), I16, SAMPLES) if out else TensorType((batch, samples), F32)
    operands = [builder.input(kind), builder.constant(*stored(weights), name="window")]
    if bank is not None:
        operands.append(builder.constant(*stored_bank(bank), name="bank"))
    return builder.finish(builder.add(op, *operands, like=out or TensorType((), F32)))


def quantized_as(real: Array, element: ElementType) -> TensorType:
    """A type that holds all real features."""
    finite = real[np.isfinite(real)]
    low, high = min(float(finite.min()), 0.0), max(float(finite.max()), 0.0)
    if element is I16:
        return TensorType(
            (), I16, Quantization((float(np.float32(max(-low, high) / 32767)),), (0,))
        )
    scale = float(np.float32((high - low) / 255)) or 1.0
    return TensorType((), I8, Quantization((scale,), (round(-128 - low / scale),)))


def extremes(samples: int) -> list[Array]:
    """Silence, square waves of full scale, the least sample throughout, an impulse, noise."""
    time = np.arange(samples)
    impulse = np.zeros(samples, np.int16)
    impulse[samples // 2] = -(2**15)
    squares = [
        np.where(np.sin(2 * np.pi * time / period + 0.1) > 0, 2**15 - 1, -(2**15))
        for period in (2, 7, 64, samples)
    ]
    drawn = [RANDOM.integers(-(2**15), 2**15, samples), RANDOM.integers(-3, 4, samples)]
    signs = RANDOM.choice([-(2**15), 2**15 - 1], samples)
    whole = [np.zeros(samples), np.full(samples, -(2**15)), impulse, signs, *squares, *drawn]
    return [x.astype(np.int16)[np.newaxis] for x in whole]


def compiled(graph: Graph, core: str = "cortex-m4") -> Compilation:
    made = Prepared("m.onnx", "", graph, lower(graph), IrDump(None))
    return compile_prepared(made, Options("m", core=core))


def check(graph: Graph, sets: list[Array], folder: Path, core: str = "") -> None:
    """C against the meaning, in every bit, on a modelled core or here."""
    executor = CortexM(core, count=False) if core else Host(extra_flags=UNDEFINED)
    bundle = write_bundle(compiled(graph, core or "cortex-m4"), folder)
    for x, got in zip(sets, executor.run(bundle, [[x] for x in sets]), strict=True):
        expect_equal(got.outputs[0], run_graph(graph, [x])[0], f"features of {x}")


def frames_in(samples: int, window: int, step: int) -> int:
    return 1 + (samples - window) // step


CASES = {
    "power of 512": (512, 512, "Hann", Spectrogram(step=160, bins=257), None, I16),
    "log of 40 channels": (
        512, 480, "Hann", Spectrogram(step=320, is_logarithm=True, floor=1e-6), 40, I8,
    ),
    "log in int16, clipped": (
        512, 400, "Hamming",
        Spectrogram(step=160, is_logarithm=True, low=1e-7, high=3.0, slope=4.3, offset=-2), 40, I16,
    ),
    "400 samples": (
        400, 400, "Hann", Spectrogram(step=160, is_logarithm=True, low=1e-10), 23, I8,
    ),
    "magnitudes of 480": (
        480, 480, "Blackman", Spectrogram(step=240, is_magnitude=True, gain=0.1), 20, I16,
    ),
    "some magnitudes of 60": (
        60, 59, "Hann", Spectrogram(step=7, is_magnitude=True, bins=11, first_bin=3, first=5), None,
        I16,
    ),
    "logs of magnitudes": (
        256, 256, "none",
        Spectrogram(step=128, is_magnitude=True, is_logarithm=True, floor=1e-3), 16, I16,
    ),
    "log without a floor": (8, 8, "Hann", Spectrogram(step=3, is_logarithm=True, bins=5), None, I8),
    "8 samples, no window": (8, 8, "none", Spectrogram(step=1, bins=5, high=5.0), None, I8),
    "four samples": (4, 4, "none", Spectrogram(step=4, bins=3, low=0.1), None, I16),
    "6 samples": (6, 6, "Hamming", Spectrogram(step=5, bins=4), None, I16),
    "10 samples": (10, 9, "Hann", Spectrogram(step=5, bins=6, floor=0.5), None, I8),
    "90 samples": (90, 90, "none", Spectrogram(step=30, is_logarithm=True, floor=1.0), 9, I8),
    "a negative slope": (
        64, 64, "Hann", Spectrogram(step=32, is_logarithm=True, floor=1e-5, slope=-1.0), 8, I8,
    ),
    "large factors": (32, 32, "Hann", Spectrogram(step=32, gain=2.0**40, bins=17), None, I16),
    "small factors": (
        32, 32, "Hann",
        Spectrogram(step=32, gain=2.0**-50, bins=17, is_logarithm=True, floor=2.0**-60), None, I16,
    ),
    "1024 samples": (
        1024, 1024, "Hann", Spectrogram(step=512, is_logarithm=True, low=1e-9), 64, I8,
    ),
}  # fmt: skip


def case(name: str, batch: int = 1) -> Graph:
    """A graph of the case that was quantized for a loud noise."""
    length, size, kind, op, channels, element = CASES[name]
    samples = size + op.first + 5 * op.step + 1
    op = replace(op, length=length, frames=frames_in(samples - op.first, size, op.step))
    weights = WINDOWS[kind](size)
    bank = None if channels is None else mel_bank(length // 2 + 1, channels).T
    x = noise(np.random.default_rng(0), samples)[np.newaxis]
    real = run_graph(graph_of(op, samples, weights, bank), [x])[0]
    return graph_of(op, samples, weights, bank, quantized_as(real, element), batch)


@pytest.mark.parametrize("name", CASES)
def test_c_gives_the_bits_of_the_meaning(name: str, tmp_path: Path) -> None:
    graph = case(name)
    samples = graph.inputs[0].type.shape[1]
    more = [
        RANDOM.integers(-most, most + 1, (1, samples)).astype(np.int16)
        for most in (1, 30, 1000, 30000)
    ]
    check(graph, [*extremes(samples), *more], tmp_path)


@pytest.mark.arm
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m0plus"])
@pytest.mark.parametrize("name", CASES)
def test_cores_give_the_bits_of_the_meaning(name: str, core: str, tmp_path: Path) -> None:
    graph = case(name)
    check(graph, extremes(graph.inputs[0].type.shape[1])[1:8], tmp_path, core)


def test_signals_of_a_batch_are_apart(tmp_path: Path) -> None:
    graph, one = case("400 samples", batch=2), case("400 samples")
    x = RANDOM.integers(-999, 999, graph.inputs[0].type.shape).astype(np.int16)
    check(graph, [x], tmp_path)
    both = run_graph(graph, [x])[0]
    assert np.array_equal(both[1:], run_graph(one, [x[1:]])[0])


def ratio_db(want: Array, got: Array) -> float:
    error = np.square(got - want, dtype=np.float64).sum()
    return float(10 * np.log10(np.square(want, dtype=np.float64).sum() / error))


def real_of(stored_features: Array, type_: TensorType) -> Array:
    return np.asarray((stored_features.astype(np.float64) - type_.zero_point) * type_.scale)


@pytest.mark.parametrize("level", [0.99, 0.0099], ids=["full scale", "40 dB below"])
@pytest.mark.parametrize("make", [speech, noise])
@pytest.mark.parametrize(("element", "least_db"), [(I16, 60), (I8, 33)])
def test_features_are_near_real_ones(
    make: object, level: float, element: ElementType, least_db: float
) -> None:
    assert callable(make)
    op = Spectrogram(step=160, frames=frames_in(8000, 400, 160), is_logarithm=True, floor=1e-6)
    bank, weights = mel_bank(257, 40).T, hann(400)
    x = np.rint(make(np.random.default_rng(5), 8000, level) * 2**15).astype(np.int16)[np.newaxis]
    # int8 has the range of all that a model may hear.
    loud = speech(np.random.default_rng(6), 8000)[np.newaxis]
    heard = [x.astype(np.float32) / 2**15, *([loud] if element is I8 else [])]
    real = [run_graph(graph_of(op, 8000, weights, bank), [item])[0] for item in heard]
    type_ = quantized_as(np.concatenate(real), element)
    got = run_graph(graph_of(op, 8000, weights, bank, type_), [x])[0]
    assert ratio_db(real[0], real_of(got, type_)) > least_db


@pytest.mark.parametrize("length", [4, 6, 8, 10, 12, 30, 64, 90, 100, 240, 400, 480, 512, 2048])
def test_words_never_leave_31_bits_and_are_the_spectrum(length: int) -> None:
    for weights in (stored(np.ones(length))[0], stored(hann(length))[0]):
        shift = window_shift(weights, length)
        for x in extremes(length):
            words = words_of_frames(x, weights, shift)
            found = spectrum(words, length)
            most = max(int(np.abs(part).max()) for part in (found.re, found.im))
            assert most < 2**30
            halved = 2.0 ** halvings(length)
            error = np.abs(found.re + 1j * found.im - np.fft.rfft(words) / halved).max()
            # Factors have 16 bits each, and what every stage rounds down adds up.
            assert error < 1e-4 * np.abs(words).sum() / halved + 2 * length / halved


def test_factors_are_the_nearest_halves() -> None:
    found = turns(np.array([0.0, -np.pi / 2, -np.pi / 4]))
    assert found.re.tolist() == [32767, 0, 23170]
    assert found.im.tolist() == [0, -32768, -23170]


def test_the_operator_is_written_and_read_as_text() -> None:
    graph = case("log in int16, clipped")
    again = parse_graph(print_graph(graph), load_operations())
    assert [node.op for node in again.nodes] == [node.op for node in graph.nodes]


REFUSED = {
    "a length without a transform": (replace(Spectrogram(bins=4), length=14), "no transform of 14"),
    "frames beyond the samples": (Spectrogram(length=8, bins=5, frames=9, step=8), "reach beyond"),
    "bins beyond the spectrum": (Spectrogram(length=8, bins=5, first_bin=1), "of 5"),
}


@pytest.mark.parametrize(("op", "words"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_is_refused(op: Spectrogram, words: str) -> None:
    window = TensorType((8,), I16, Quantization((1.0,), (0,)))
    with pytest.raises(OperationError, match=words):
        op.infer([TensorType((1, 32), I16, SAMPLES), window])


UNFIT = {
    "samples around another zero": (
        TensorType((1, 8), I16, Quantization((1.0,), (3,))), Spectrogram(), "samples around 0",
    ),
    "int8 samples": (TensorType((1, 8), I8, SAMPLES), Spectrogram(), "i16 to i8 or i16"),
    "a negative gain": (
        TensorType((1, 8), I16, SAMPLES), Spectrogram(gain=-1.0), "cannot compute with",
    ),
    "logarithms times nothing": (
        TensorType((1, 8), I16, SAMPLES), Spectrogram(is_logarithm=True, slope=0.0),
        "logarithms times 0",
    ),
    "an offset of powers": (
        TensorType((1, 8), I16, SAMPLES), Spectrogram(offset=1.0), "those of logarithms",
    ),
    "units beyond all": (
        TensorType((1, 8), I16, SAMPLES), Spectrogram(gain=1e-300), "sums in units",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("x", "op", "words"), UNFIT.values(), ids=UNFIT)
def test_types_that_do_not_fit_are_refused(x: TensorType, op: Spectrogram, words: str) -> None:
    window = TensorType((8,), I16, Quantization((2.0**-15,), (0,)))
    out = TensorType((1, 1, 5), I8, Quantization((0.1,), (0,)))
    with pytest.raises(OperationError, match=words):
        replace(op, length=8, bins=5).verify(Signature((x, window), (out,)))


def test_real_numbers_are_numpys() -> None:
    op = Spectrogram(length=16, step=4, frames=5, bins=9, is_magnitude=True, gain=2.0)
    x = RANDOM.normal(size=(1, 32)).astype(np.float32)
    weights, type_ = stored(hann(16))
    graph = graph_of(op, 32, hann(16))
    (got,) = graph.nodes[-1].op.evaluate([x, weights], graph.nodes[-1].signature, Rounding.DOUBLE)
    frames = np.stack([x[0, k : k + 16] for k in range(0, 20, 4)])
    assert np.allclose(got[0], 2 * np.abs(np.fft.rfft(frames * weights * type_.scales[0])), 1e-5)
