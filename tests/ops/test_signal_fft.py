"""Spectra equal TensorFlow Lite Micro's KISS FFT in every bit, for lengths of all radices."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.reader import read_tflite
from tests.support.signal_models import expect_as_tflm, extremes, signal_model
from tests.support.single_op import Tensor

TYPES = {"int16": 7, "int32": 2, "float32": 0}
POWERS = [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096]
MIXED = [6, 10, 12, 18, 20, 24, 30, 36, 40, 50, 90, 100, 150, 250, 400, 480, 640, 960]
#: Every radix first, last and in between.
IN_C = [4, 6, 8, 10, 12, 50, 64, 90, 128, 150, 480, 512, 2048]


def fft_model(code: str, dtype: str, length: int, outer: tuple[int, ...] = (), samples=0) -> bytes:
    real = Tensor((*outer, samples or length), dtype)
    pairs = Tensor((*outer, length + 2), dtype)
    ends = (real, pairs) if code == "SignalRfft" else (pairs, real)
    options = {"T": TYPES[dtype], "fft_length": length}
    return signal_model(code, ends[:1], ends[1:], options)


def signals(shape: tuple[int, ...], dtype: str, seed: int) -> Iterator[Any]:
    generator = np.random.default_rng(seed)
    if dtype != "float32":
        yield from extremes(generator, shape, dtype)
    while True:
        yield generator.normal(0, 10.0 ** generator.integers(-3, 5), shape).astype(np.float32)


def tones(length: int, dtype: str, count: int) -> Iterator[Any]:
    generator = np.random.default_rng(length)
    largest = 1.0 if dtype == "float32" else np.iinfo(dtype).max
    for _ in range(count):
        phase = np.arange(length) * generator.uniform(0, np.pi) + generator.uniform(0, 6)
        yield (largest * np.sin(phase)).astype(dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("length", [*POWERS, *MIXED])
def test_spectra_equal_tflm(dtype: str, length: int) -> None:
    data = fft_model("SignalRfft", dtype, length)
    count = 40 if length <= 512 else 10
    sets = [*islice(signals((length,), dtype, length), count), *tones(length, dtype, 5)]
    expect_as_tflm(data, ([x] for x in sets), with_c=length in IN_C)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("length", [*POWERS, *MIXED])
def test_samples_from_spectra_equal_tflm(dtype: str, length: int) -> None:
    data = fft_model("SignalIrfft", dtype, length)
    count = 40 if length <= 512 else 10
    sets = islice(signals((length + 2,), dtype, length), count)
    expect_as_tflm(data, ([x] for x in sets), with_c=length in IN_C)


@pytest.mark.parametrize("dtype", TYPES)
def test_samples_that_lack_are_zero_and_spectra_are_of_the_last_axis(dtype: str) -> None:
    data = fft_model("SignalRfft", dtype, 64, (2, 3), samples=50)
    expect_as_tflm(data, ([x] for x in islice(signals((2, 3, 50), dtype, 1), 10)))


@pytest.mark.parametrize("samples", [1, 2, 31, 47, 63], ids=str)
def test_any_number_of_samples_may_lack(samples: int) -> None:
    data = fft_model("SignalRfft", "int16", 64, samples=samples)
    expect_as_tflm(data, ([x] for x in islice(signals((samples,), "int16", 1), 10)))


@pytest.mark.parametrize("length", [0, 2, -512, 511, 14, 2**17], ids=str)
def test_lengths_that_end_tflm_are_refused(length: int) -> None:
    options = {"T": 7, "fft_length": length}
    data = signal_model("SignalRfft", [Tensor((4,), "int16")], [Tensor((6,), "int16")], options)
    with pytest.raises(GlowmcuError, match="an even number from 4 to 65536") as caught:
        read_tflite(data, "m.tflite")
    assert caught.value.code == "GM106"


@pytest.mark.parametrize(
    ("code", "ends", "words"),
    [
        ("SignalRfft", ((17,), (18,)), "no 1 to 16 samples"),
        ("SignalRfft", ((16,), (16,)), "its result is"),
        ("SignalRfft", ((), (18,)), "no 1 to 16 samples"),
        ("SignalIrfft", ((16,), (16,)), "no 9 pairs"),
        ("SignalIrfft", ((18,), (18,)), "its result is"),
    ],
    ids=["longer", "no room", "no axis", "too few pairs", "too many samples"],
)
def test_shapes_that_do_not_fit_are_refused(code: str, ends, words: str) -> None:
    data = signal_model(
        code,
        [Tensor(ends[0], "int16")],
        [Tensor(ends[1], "int16")],
        {"T": 7, "fft_length": 16},
    )
    with pytest.raises(GlowmcuError, match=words):
        read_tflite(data, "m.tflite")


def test_a_type_that_the_option_does_not_name_is_refused() -> None:
    data = signal_model(
        "SignalRfft", [Tensor((16,), "int32")], [Tensor((18,), "int32")], {"T": 7, "fft_length": 16}
    )
    with pytest.raises(GlowmcuError, match="T is tensor type 7") as caught:
        read_tflite(data, "m.tflite")
    assert caught.value.code == "GM128"


def test_a_result_of_another_type_is_refused() -> None:
    data = signal_model(
        "SignalRfft", [Tensor((16,), "int16")], [Tensor((18,), "int32")], {"T": 7, "fft_length": 16}
    )
    with pytest.raises(GlowmcuError, match="expected i16, i32 or f32 throughout"):
        read_tflite(data, "m.tflite")
