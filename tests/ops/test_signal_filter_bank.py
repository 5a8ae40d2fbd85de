"""From energies to features: every operator equals TensorFlow Lite Micro in every bit."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.reader import read_tflite
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.operation import Operation, OperationError, Rounding, Signature
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.signal_filter_bank import FilterBankSpectralSubtraction, FilterBankSquareRoot
from tests.support.signal_models import expect_as_tflm, extremes, flexbuffer, signal_model
from tests.support.single_op import Tensor

Tables = tuple[np.ndarray, np.ndarray, np.ndarray]


def filter_bank_model(
    energies: int, weights: np.ndarray, unweights: np.ndarray, tables: Tables, channels: int
) -> bytes:
    return signal_model(
        "SignalFilterBank",
        [Tensor((energies,), "uint32"), weights, unweights, *tables],
        [Tensor((channels,), "uint64")],
        {"num_channels": channels},
    )


def sums_model(energies: int, weights: np.ndarray, channels: int) -> bytes:
    """A filter bank of one weight a channel, then the root of its sums: roots of what we want."""
    model = ModelBuilder()
    x = model.input("x", (energies,), "int32")
    bits = model.input("bits", (), "int32")
    unsigned = model.tensor("u", (energies,), "uint32")
    model.op("CAST", [x], [unsigned])
    starts = np.arange(channels + 1, dtype=np.int16) - 1
    starts[0] = 0
    widths = np.ones(channels + 1, np.int16)
    widths[0] = 0
    tables = [model.constant(f"t{i}", t) for i, t in enumerate((starts, starts, widths))]
    w = model.constant("w", weights)
    zeros = model.constant("z", np.zeros_like(weights))
    sums = model.tensor("sums", (channels,), "uint64")
    model.custom_op("SignalFilterBank", [unsigned, w, zeros, *tables], [sums],
                    flexbuffer({"num_channels": channels}))  # fmt: skip
    root = model.tensor("root", (channels,), "uint32")
    signed = model.tensor("signed", (channels,), "int32")
    model.custom_op("SignalFilterBankSquareRoot", [sums, bits], [root], flexbuffer({}))
    model.op("CAST", [root], [signed])
    model.output(signed)
    return model.finish()


@pytest.mark.parametrize("seed", range(6))
def test_channels_of_a_filter_bank_equal_tflm(seed: int) -> None:
    """Weights have signs, and sums wrap around 64 bits."""
    generator = np.random.default_rng(seed)
    energies, channels = 90, int(generator.integers(1, 20))
    widths = generator.integers(-1, 9, channels + 1)
    starts = generator.integers(0, energies - 8, channels + 1)
    weight_starts = generator.integers(0, 200 - 8, channels + 1)
    tables = tuple(table.astype(np.int16) for table in (starts, weight_starts, widths))
    weights, unweights = islice(extremes(generator, (200,), "int16"), 2)
    data = filter_bank_model(energies, weights, unweights, tables, channels)
    expect_as_tflm(data, ([x] for x in islice(extremes(generator, (energies,), "int32"), 40)))


def test_roots_equal_tflm_for_numbers_of_all_lengths_and_shifts() -> None:
    generator, channels = np.random.default_rng(0), 64
    for weights in (
        np.ones(channels, np.int16),
        generator.integers(1, 2**15, channels).astype(np.int16),
        generator.integers(-(2**15), 2**15, channels).astype(np.int16),
    ):
        data = sums_model(channels, weights, channels)
        sets = islice(extremes(generator, (channels,), "int32"), 60)
        expect_as_tflm(data, ([x, np.array(k % 32, np.int32)] for k, x in enumerate(sets)))


def test_roots_around_squares_and_halves_equal_tflm() -> None:
    """Where r^2 + r ends, and at the ends of 32 bits."""
    roots = [
        1,
        2,
        3,
        255,
        256,
        46340,
        65534,
        65535,
        *np.random.default_rng(1).integers(1, 65536, 90),
    ]
    wanted = sorted({int(r) * int(r) + d for r in roots for d in (-1, 0, 1, int(r), int(r) + 1)})
    wanted += [0, 2**31 - 1, 2**31, 2**32 - 1, 2**32 - 2, 2**32 - 65536, 2**32 - 65535]
    x = np.array(wanted, np.int64).astype(np.uint32).astype(np.int32)
    data = sums_model(x.size, np.ones(x.size, np.int16), x.size)
    expect_as_tflm(data, [[x, np.array(0, np.int32)]])


def test_a_shift_that_c_leaves_open_gives_zero() -> None:
    types = TensorType((1,), ElementType.UI64), TensorType((), ElementType.I32)
    signature = Signature(types, (TensorType((1,), ElementType.UI32),))
    for bits in (-1, 32, 64):
        inputs = [np.array([2**64 - 1], np.uint64), np.array(bits, np.int32)]
        (root,) = FilterBankSquareRoot().evaluate(inputs, signature, Rounding.DOUBLE)
        assert root.tolist() == [0]


SUBTRACTION = FilterBankSpectralSubtraction(
    smoothing=409, one_minus_smoothing=15975, alternate_smoothing=983,
    alternate_one_minus_smoothing=15401, min_signal_remaining=819, smoothing_bits=10,
    spectral_subtraction_bits=14,
)  # fmt: skip
VARIANTS = {
    "of the micro frontend": SUBTRACTION,
    "clamping": replace(SUBTRACTION, clamping=True),
    "no extra bits": replace(SUBTRACTION, smoothing_bits=0, clamping=True),
    "products that wrap": replace(
        SUBTRACTION, smoothing=-1, one_minus_smoothing=-1, alternate_smoothing=2**31 - 1
    ),
    "largest shifts": replace(SUBTRACTION, smoothing_bits=31, spectral_subtraction_bits=63),
    "no shift": replace(SUBTRACTION, spectral_subtraction_bits=0),
}


def subtraction_model(op: FilterBankSpectralSubtraction, channels: int) -> bytes:
    x = Tensor((channels,), "uint32")
    return signal_model("SignalFilterBankSpectralSubtraction", [x], [x, x], {
        "smoothing": op.smoothing, "one_minus_smoothing": op.one_minus_smoothing,
        "alternate_smoothing": op.alternate_smoothing, "clamping": op.clamping,
        "alternate_one_minus_smoothing": op.alternate_one_minus_smoothing,
        "min_signal_remaining": op.min_signal_remaining, "num_channels": channels,
        "smoothing_bits": op.smoothing_bits,
        "spectral_subtraction_bits": op.spectral_subtraction_bits,
    })  # fmt: skip


@pytest.mark.parametrize("op", VARIANTS.values(), ids=VARIANTS)
@pytest.mark.parametrize("channels", [1, 40])
def test_noise_estimated_over_many_invocations_equals_tflm(
    op: FilterBankSpectralSubtraction, channels: int
) -> None:
    sets = islice(extremes(np.random.default_rng(3), (channels,), "int32"), 200)
    expect_as_tflm(subtraction_model(op, channels), ([x] for x in sets))


def pcan_model(gains: np.ndarray, channels: int, shift: int) -> bytes:
    x = Tensor((channels,), "uint32")
    return signal_model("SignalPCAN", [x, x, gains], [x], {"snr_shift": shift})


@pytest.mark.parametrize("shift", [0, 6, 20, 31, 32, 63])
@pytest.mark.parametrize("kind", range(3), ids=["uniform", "quieter", "extreme"])
def test_normalized_amplitudes_equal_tflm(kind: int, shift: int) -> None:
    generator = np.random.default_rng(shift)
    gains = list(islice(extremes(generator, (125,), "int16"), 3))[kind]
    noise = np.resize([0, 1, 2, 3, 4, 5, 7, 8, -1, *(1 << np.arange(31))], 64).astype(np.int32)
    values = [*islice(extremes(generator, (64,), "int32"), 40), noise]
    sets = [[x, generator.permutation(y)] for x in values[::3] for y in (*values[:12], noise)]
    expect_as_tflm(pcan_model(gains, 64, shift), sets)


def log_model(channels: int, scale: int, bits: int) -> bytes:
    options = {"output_scale": scale, "input_correction_bits": bits}
    ends = [Tensor((channels,), "uint32")], [Tensor((channels,), "int16")]
    return signal_model("SignalFilterBankLog", *ends, options)


@pytest.mark.parametrize(
    ("scale", "bits"),
    [(64, 3), (1600, 0), (1, 31), (2**31 - 1, 5), (-(2**31), 1), (-1, 0), (0, 0), (65536, 2)],
    ids=str,
)
def test_logarithms_equal_tflm(scale: int, bits: int) -> None:
    generator = np.random.default_rng(bits)
    powers = [2**k + d for k in range(32) for d in (-1, 0, 1)]
    small = np.resize([*range(600), *powers], 1024).astype(np.uint32).view(np.int32)
    sets = [small, *islice(extremes(generator, (1024,), "int32"), 12)]
    expect_as_tflm(log_model(1024, scale, bits), ([x] for x in sets))


def _refused_bank(widths: list[int], channels: int = 2, **changes: Any) -> bytes:
    given: dict[str, Any] = {"weights": np.ones(8, np.int16), "starts": [0, 4, 6], **changes}
    starts = np.array(given["starts"], given.get("dtype", np.int16))
    tables = starts, np.array([0, 2, 4], np.int16), np.array(widths, np.int16)
    return filter_bank_model(10, given["weights"], np.ones(8, np.int16), tables, channels)


ONES = np.ones(125, np.int16)
REFUSED = {
    "energies": (_refused_bank([1, 7, 4]), "channel 1 takes 7 energies from 4 on; there are 10"),
    "weights": (
        _refused_bank([1, 1, 5], starts=[0, 4, 0]),
        "channel 2 takes 5 weights from 4 on; there are 8",
    ),
    "negative start": (_refused_bank([1, 1, 1], starts=[0, -1, 0]), "1 energies from -1 on"),
    "few entries": (_refused_bank([1, 1, 1], channels=3), "num_channels \\+ 1 = 4 elements"),
    "no channels": (_refused_bank([1, 1, 1], channels=0), "num_channels \\+ 1 = 1 elements"),
    "table of int32": (_refused_bank([1, 1, 1], dtype=np.int32), "frequency starts are int32"),
    "weights of int32": (
        _refused_bank([1, 1, 1], weights=np.ones(8, np.int32)),
        "expected i16 as energies, weights and result",
    ),
    "gains": (pcan_model(np.ones(124, np.int16), 4, 6), "124 gains; expected 125"),
    "ratio's shift": (pcan_model(ONES, 4, 64), "snr_shift of 64; expected 0 to 63"),
    "log's shift": (log_model(4, 64, 32), "input_correction_bits of 32"),
    "log's scale": (log_model(4, 2**31, 3), "an output scale of 2147483648"),
}


@pytest.mark.parametrize(("data", "words"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(GlowmcuError, match=words) as caught:
        read_tflite(data, "m.tflite")
    assert caught.value.code == "GM106"


@pytest.mark.parametrize(
    ("op", "words"),
    [
        (replace(SUBTRACTION, smoothing_bits=32), "smoothing_bits of 32"),
        (replace(SUBTRACTION, spectral_subtraction_bits=64), "spectral_subtraction_bits of 64"),
        (replace(SUBTRACTION, smoothing=2**31), "a coefficient of 2147483648"),
    ],
    ids=["smoothing bits", "subtraction bits", "coefficient"],
)
def test_noise_with_options_that_c_leaves_open_is_refused(op: Operation, words: str) -> None:
    type_ = TensorType((4,), ElementType.UI32)
    with pytest.raises(OperationError, match=words):
        op.infer((type_, type_))


def test_the_nearest_root_is_never_off_by_one_from_the_real_one() -> None:
    for x in np.random.default_rng(2).integers(1, 2**62, 200):
        types = TensorType((1,), ElementType.UI64), TensorType((), ElementType.I32)
        signature = Signature(types, (TensorType((1,), ElementType.UI32),))
        inputs = [np.array([x], np.uint64), np.array(0, np.int32)]
        (root,) = FilterBankSquareRoot().evaluate(inputs, signature, Rounding.DOUBLE)
        assert int(root[0]) in (math.isqrt(int(x)), math.isqrt(int(x)) + 1)
