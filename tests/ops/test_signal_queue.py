"""Operators that remember samples equal TensorFlow Lite Micro over many invocations in a row."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.reader import read_tflite
from glowmcu.ir.interpreter import Session
from glowmcu.pipeline import compile_model
from glowmcu.verify.host import Host
from tests.support.check_model import write_bundle
from tests.support.oracle import open_tflm
from tests.support.signal_models import expect_as_tflm, extremes, signal_model
from tests.support.single_op import Tensor

Array = np.ndarray[Any, Any]


def samples(shape: Sequence[int], count: int, seed: int = 0) -> list[list[Array]]:
    return [[x] for x in islice(extremes(np.random.default_rng(seed), shape, "int16"), count)]


def delay_model(shape: tuple[int, ...], length: int) -> bytes:
    x = Tensor(shape, "int16")
    return signal_model("SignalDelay", [x], [x], {"delay_length": length})


@pytest.mark.parametrize("length", [0, 1, 3, 8, 21])
@pytest.mark.parametrize("shape", [(8,), (2, 3, 5)], ids=str)
def test_delayed_samples_equal_tflm(shape: tuple[int, ...], length: int) -> None:
    expect_as_tflm(delay_model(shape, length), samples(shape, 20))


def overlap_add_model(dtype: str, shape: tuple[int, ...], step: int) -> bytes:
    out = (*shape[:-2], shape[-2] * step)
    options = {"T": {"int16": 7, "float32": 0}[dtype], "frame_step": step}
    return signal_model("SignalOverlapAdd", [Tensor(shape, dtype)], [Tensor(out, dtype)], options)


@pytest.mark.parametrize("dtype", ["int16", "float32"])
@pytest.mark.parametrize(
    ("shape", "step"),
    [((1, 8), 4), ((3, 8), 3), ((2, 4, 9), 2), ((2, 1, 5), 1), ((5, 6), 5), ((2, 6), 6)],
    ids=str,
)
def test_samples_from_overlapping_frames_equal_tflm(
    dtype: str, shape: tuple[int, ...], step: int
) -> None:
    frames = samples(shape, 20)
    if dtype == "float32":
        generator = np.random.default_rng(0)
        frames = [[generator.normal(0, 10, shape).astype(np.float32)] for _ in range(20)]
    expect_as_tflm(overlap_add_model(dtype, shape, step), frames)


def framer_model(shape: tuple[int, ...], size: int, step: int, prefill: bool) -> bytes:
    out = (*shape[:-1], shape[-1] // step, size)
    return signal_model(
        "SignalFramer",
        [Tensor(shape, "int16")],
        [Tensor(out, "int16"), Tensor((), "bool")],
        {"frame_size": size, "frame_step": step, "prefill": prefill},
    )


def stacker_model(channels: int, left: int, right: int, step: int) -> bytes:
    return signal_model(
        "SignalStacker",
        [Tensor((channels,), "int16")],
        [Tensor((channels * (left + right + 1),), "int16"), Tensor((), "bool")],
        {
            "num_channels": channels,
            "stacker_left_context": left,
            "stacker_right_context": right,
            "stacker_step": step,
        },
    )


def expect_valid_as_tflm(data: bytes, inputs: list[list[Array]]) -> list[bool]:
    """What is valid, in the graph, in C and in TFLM, and equal where it is."""
    session, oracle = Session(read_tflite(data, "m.tflite")), open_tflm(data)
    with tempfile.TemporaryDirectory() as folder:
        bundle = write_bundle(compile_model(data, "m.tflite", Options("m")), Path(folder))
        in_c = [done.outputs for done in Host(("-O1",)).run(bundle, inputs)]
    valid = []
    for step, arrays in enumerate(inputs):
        wanted, is_valid = oracle(arrays)
        valid.append(bool(is_valid))
        for got in (session.run(arrays), in_c[step]):
            assert bool(got[1]) == valid[-1], f"step {step}"
            assert not valid[-1] or got[0].tolist() == wanted.tolist(), f"step {step}"
    return valid


@pytest.mark.parametrize("prefill", [False, True], ids=["empty", "zeros in front"])
@pytest.mark.parametrize(
    ("shape", "size", "step"),
    [
        ((4,), 4, 4), ((4,), 12, 4), ((4,), 10, 4), ((12,), 6, 4), ((12,), 5, 3), ((2, 8), 9, 2),
        ((2, 2, 6), 7, 6),
    ],
    ids=str,
)  # fmt: skip
def test_frames_equal_tflm(shape: tuple[int, ...], size: int, step: int, prefill: bool) -> None:
    valid = expect_valid_as_tflm(framer_model(shape, size, step, prefill), samples(shape, 15))
    assert valid[-1]
    assert valid[0] or not prefill


def test_frames_shorter_than_their_step_equal_tflm() -> None:
    assert all(expect_valid_as_tflm(framer_model((8,), 3, 4, False), samples((8,), 5)))


@pytest.mark.parametrize(
    ("left", "right", "step"),
    [(0, 0, 1), (1, 0, 1), (0, 1, 1), (2, 2, 2), (1, 1, 3), (3, 0, 2), (0, 3, 4), (2, 1, 1)],
    ids=str,
)
def test_stacked_frames_equal_tflm(left: int, right: int, step: int) -> None:
    valid = expect_valid_as_tflm(stacker_model(5, left, right, step), samples((5,), 20))
    assert any(valid)
    assert valid[0] == (right == 0)


def test_a_stream_that_is_reset_begins_as_the_first_did() -> None:
    data, inputs = framer_model((4,), 12, 4, False), samples((4,), 8)
    with tempfile.TemporaryDirectory() as folder:
        bundle = write_bundle(compile_model(data, "m.tflite", Options("m")), Path(folder))
        with Host().session(bundle) as session:
            first = [session.measure(arrays).outputs for arrays in inputs]
            session.reset()
            again = [session.measure(arrays).outputs for arrays in inputs]
    for one, other in zip(first, again, strict=True):
        assert [array.tolist() for array in one] == [array.tolist() for array in other]


REFUSED = {
    "delay": (delay_model((4,), -1), "a delay of -1 samples"),
    "real samples": (
        signal_model("SignalDelay", [Tensor((4,), "float32")], [Tensor((4,), "float32")],
                     {"delay_length": 2}),
        "expected samples of int16",
    ),
    "no samples": (delay_model((0,), 2), "expected samples of int16"),
    "steps that do not fit": (framer_model((10,), 8, 4, False), "10 samples by 4"),
    "no step": (
        signal_model("SignalFramer", [Tensor((8,), "int16")],
                     [Tensor((1, 8), "int16"), Tensor((), "bool")],
                     {"frame_size": 8, "frame_step": 0, "prefill": False}),
        "8 samples by 0",
    ),
    "zeros that cannot be": (framer_model((8,), 3, 4, True), "frames of 3 samples by 4"),
    "declared frames": (
        signal_model("SignalFramer", [Tensor((8,), "int16")],
                     [Tensor((1, 8), "int16"), Tensor((), "bool")],
                     {"frame_size": 8, "frame_step": 4, "prefill": False}),
        "result 0 is",
    ),
    "channels": (
        signal_model("SignalStacker", [Tensor((4,), "int16")],
                     [Tensor((10,), "int16"), Tensor((), "bool")],
                     {"num_channels": 5, "stacker_left_context": 1, "stacker_right_context": 0,
                      "stacker_step": 1}),
        "no frame of 5 channels",
    ),
    "context": (stacker_model(2, 3, -1, 1), "contexts of 3 and -1"),
    "step of stacks": (stacker_model(2, 1, 1, 4), "a step of 4 for 3 frames"),
    "long step": (overlap_add_model("int16", (2, 6), 7), "a step of 7 for frames of 6"),
    "no step of sums": (overlap_add_model("int16", (2, 6), 0), "a step of 0"),
}  # fmt: skip


@pytest.mark.parametrize(("data", "words"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(GlowmcuError, match=words) as caught:
        read_tflite(data, "m.tflite")
    assert caught.value.code == "GM106"


def test_a_delay_larger_than_any_memory_is_refused_before_it_is_made() -> None:
    with pytest.raises(GlowmcuError, match="GM114"):
        read_tflite(delay_model((4,), 2**31 - 1), "m.tflite")
