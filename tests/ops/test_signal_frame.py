"""Windows, scaling and energies of frames of samples equal TensorFlow Lite Micro in every bit."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.reader import read_tflite
from glowmcu.ir.interpreter import run_graph
from tests.support.oracle import open_tflm
from tests.support.signal_models import expect_as_tflm, extremes, signal_model
from tests.support.single_op import Tensor


def window_model(shape: tuple[int, ...], weights: np.ndarray, shift: int) -> bytes:
    frames = Tensor(shape, "int16")
    return signal_model("SignalWindow", [frames, weights], [frames], {"shift": shift})


@pytest.mark.parametrize("shift", [0, 1, 12, 14, 15, 30, 31])
@pytest.mark.parametrize("shape", [(1, 48), (16,), (3, 2, 16), (1, 7)], ids=str)
def test_windowed_samples_equal_tflm(shape: tuple[int, ...], shift: int) -> None:
    generator = np.random.default_rng(shift)
    weights = next(extremes(generator, (16 if shape[-1] % 16 == 0 else 7,), "int16"))
    sets = islice(extremes(generator, shape, "int16"), 20)
    expect_as_tflm(window_model(shape, weights, shift), ([x] for x in sets))


def auto_scale_model(count: int) -> bytes:
    x = Tensor((count,), "int16")
    return signal_model("SignalFftAutoScale", [x], [x, Tensor((), "int32")], {})


@pytest.mark.parametrize("count", [1, 2, 3, 480])
def test_scaled_samples_and_their_bits_equal_tflm(count: int) -> None:
    generator = np.random.default_rng(count)
    sets = [*islice(extremes(generator, (count,), "int16"), 200)]
    for bits in range(16):
        for largest in (1 << bits, (1 << bits) - 1, -(1 << bits)):
            x = generator.integers(-abs(largest), abs(largest) + 1, count)
            x[generator.integers(count)] = largest
            sets.append(np.clip(x, -(2**15), 2**15 - 1).astype(np.int16))
    expect_as_tflm(auto_scale_model(count), ([x] for x in sets))


def test_what_follows_the_least_sample_counts_alone_as_in_tflm() -> None:
    """The magnitude of -2^15 is no int16: TFLM's largest value is negative from there on."""
    least, generator = -(2**15), np.random.default_rng(5)
    endings = [[-7, -3], [-3, -7], [5], [-5], [0, -1], [-1, 0], [], [-20000, -3, -4], [300, -400]]
    sets = [np.array([9, least, *ending, *[0] * (3 - len(ending))], np.int16) for ending in endings]
    sets += [
        np.array([9, *[0] * (3 - len(ending)), least, *ending], np.int16) for ending in endings
    ]
    for _ in range(300):
        x = -generator.integers(1, 2 ** int(generator.integers(1, 15)), 5)
        x[generator.integers(4)] = least
        sets.append(x.astype(np.int16))
    expect_as_tflm(auto_scale_model(5), ([x] for x in sets if x.size == 5))


def energy_model(values: int, start: int, end: int) -> bytes:
    ends = [Tensor((values,), "int16")], [Tensor((values // 2,), "uint32")]
    return signal_model("SignalEnergy", *ends, {"start_index": start, "end_index": end})


@pytest.mark.parametrize("pairs", [1, 5, 257])
def test_energies_equal_tflm(pairs: int) -> None:
    generator = np.random.default_rng(pairs)
    data = energy_model(2 * pairs, 0, pairs)
    expect_as_tflm(data, ([x] for x in islice(extremes(generator, (2 * pairs,), "int16"), 100)))


def test_energies_of_a_part_equal_tflm_and_the_others_are_zero() -> None:
    data = energy_model(60, 4, 21)
    graph, oracle = read_tflite(data, "m.tflite"), open_tflm(data)
    for x in islice(extremes(np.random.default_rng(0), (60,), "int16"), 30):
        (got,), (want,) = run_graph(graph, [x]), oracle([x])
        assert got[4:21].tolist() == want[4:21].tolist()
        assert not got[:4].any()
        assert not got[21:].any()


SAMPLES, SPECTRUM = Tensor((16,), "int16"), Tensor((8,), "uint32")
REFUSED = {
    "shift": (window_model((16,), np.ones(16, np.int16), 32), "a shift of 32"),
    "negative shift": (window_model((16,), np.ones(16, np.int16), -1), "a shift of -1"),
    "weights": (window_model((16,), np.ones(5, np.int16), 1), "no multiple of 5 weights"),
    "no weights": (window_model((16,), np.ones(0, np.int16), 1), "expected a vector of weights"),
    "weights of int32": (window_model((16,), np.ones(4, np.int32), 1), "expected i16 as samples"),
    "frames to scale": (
        signal_model(
            "SignalFftAutoScale",
            [Tensor((2, 8), "int16")],
            [Tensor((2, 8), "int16"), Tensor((), "int32")],
            {},
        ),
        "expected a vector, got",
    ),
    "end": (energy_model(16, 0, 9), "pairs 0 to 9 of 8"),
    "start": (energy_model(16, -1, 3), "pairs -1 to 3 of 8"),
    "order": (energy_model(16, 4, 3), "pairs 4 to 3 of 8"),
    "odd": (
        signal_model("SignalEnergy", [Tensor((15,), "int16")], [Tensor((7,), "uint32")],
                     {"start_index": 0, "end_index": 7}),
        "a vector of pairs",
    ),
    "signed energies": (
        signal_model("SignalEnergy", [SAMPLES], [Tensor((8,), "int32")],
                     {"start_index": 0, "end_index": 8}),
        "expected ui32 as spectrum and result",
    ),
    "operands": (
        signal_model("SignalWindow", [SAMPLES], [SAMPLES], {"shift": 1}),
        "1 operands and 1 results; expected 2 and 1",
    ),
    "results": (
        signal_model("SignalFftAutoScale", [SAMPLES], [SAMPLES], {}),
        "1 operands and 1 results; expected 1 and 2",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("data", "words"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(GlowmcuError, match=words) as caught:
        read_tflite(data, "m.tflite")
    assert caught.value.code == "GM106"
