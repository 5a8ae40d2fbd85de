"""Kernels of signals on cores: the same bits as their meaning, and what a front end takes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from glowmcu.compilation import Compilation, Options
from glowmcu.goals import Goal
from glowmcu.ir.interpreter import Session
from glowmcu.ir.operation import Array
from glowmcu.pipeline import compile_model
from glowmcu.verify.cortex_m.executor import CortexM
from glowmcu.verify.host import Host
from glowmcu.verify.measurement import Measurement
from glowmcu.verify.qemu import Qemu
from tests.ops import (
    test_signal_fft,
    test_signal_filter_bank,
    test_signal_frame,
    test_signal_queue,
)
from tests.support.check_model import expect_equal, write_bundle
from tests.support.oracle import open_tflm
from tests.support.signal_models import extremes, front_end

CORES = ("cortex-m4", "cortex-m0plus")
LEAST = -(2**15)


def sets_for(compilation: Compilation, count: int) -> list[list[Array]]:
    """Uniform, quiet and extreme values; shifts stay small."""
    generator = np.random.default_rng(1)
    streams = [
        (np.array(k % 16, np.int32) for k in range(count))
        if value.type.shape == ()
        else islice(extremes(generator, value.type.shape, str(value.type.element.numpy)), count)
        for value in compilation.imported.arguments
    ]
    return [list(arrays) for arrays in zip(*streams, strict=True)]


def run_on(
    core: str, compilation: Compilation, sets: Sequence[Sequence[Array]], folder: Path
) -> list[Measurement]:
    """A stream on the modelled core, which must be the graph's."""
    session = Session(compilation.imported)
    done = CortexM(core).run(write_bundle(compilation, folder), sets)
    for arrays, got in zip(sets, done, strict=True):
        for index, want in enumerate(session.run(list(arrays))):
            expect_equal(got.outputs[index], want, f"output {index} on {core}")
    return done


MODELS = {
    "front end": front_end(),
    "windows that saturate": test_signal_frame.window_model((2, 7), np.full(7, LEAST, np.int16), 0),
    "windows by shifts": test_signal_frame.window_model((3, 16), np.arange(16, dtype=np.int16), 9),
    "an odd number to scale": test_signal_frame.auto_scale_model(7),
    "energies": test_signal_frame.energy_model(60, 4, 21),
    "radices 2 and 5": test_signal_fft.fft_model("SignalRfft", "int16", 100, (2,)),
    "radix 3, samples that lack": test_signal_fft.fft_model("SignalRfft", "int16", 36, (), 31),
    "and back": test_signal_fft.fft_model("SignalIrfft", "int16", 60),
    "int32": test_signal_fft.fft_model("SignalRfft", "int32", 96),
    "int32 and back": test_signal_fft.fft_model("SignalIrfft", "int32", 60),
    "float32": test_signal_fft.fft_model("SignalRfft", "float32", 60),
    "float32 and back": test_signal_fft.fft_model("SignalIrfft", "float32", 30),
    "roots": test_signal_filter_bank.sums_model(9, np.arange(1, 10).astype(np.int16) * 3000, 9),
    "weights with signs": test_signal_filter_bank.sums_model(9, np.full(9, -7, np.int16), 9),
    "noise": test_signal_filter_bank.subtraction_model(
        test_signal_filter_bank.VARIANTS["clamping"], 7
    ),
    "gains": test_signal_filter_bank.pcan_model(
        np.random.default_rng(0).integers(LEAST, -LEAST, 125).astype(np.int16), 9, 6
    ),
    "logarithms": test_signal_filter_bank.log_model(9, 1600, 2),
    "overlapping frames": test_signal_queue.overlap_add_model("int16", (3, 8), 3),
}  # fmt: skip


@pytest.mark.arm
@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("data", MODELS.values(), ids=MODELS)
def test_kernels_of_signals_give_the_same_bits_on_cores(
    data: bytes, core: str, tmp_path: Path
) -> None:
    compilation = compile_model(data, "m.tflite", Options("m", core=core))
    type_ = compilation.imported.arguments[0].type
    if type_.element.is_float:
        sets = [[np.random.default_rng(0).normal(0, 3, type_.shape).astype(np.float32)]]
    else:
        sets = sets_for(compilation, 12)
    run_on(core, compilation, sets, tmp_path)


@pytest.mark.arm
@pytest.mark.parametrize("core", CORES)
def test_the_least_sample_is_scaled_as_in_tflm_on_cores(core: str, tmp_path: Path) -> None:
    """With DSP instructions two samples are looked at together, unless there is a -2^15."""
    compilation = compile_model(
        test_signal_frame.auto_scale_model(4), "m.tflite", Options("m", core=core)
    )
    endings = [[9, LEAST, -7, -3], [9, LEAST, -3, -7], [LEAST, 5, 0, 1], [1, 2, 3, LEAST]]
    run_on(core, compilation, [[np.array(x, np.int16)] for x in endings], tmp_path)


@pytest.mark.parametrize("goal", list(Goal))
def test_a_front_end_gives_tflms_bits_for_every_goal(goal: Goal, tmp_path: Path) -> None:
    data = front_end()
    compilation = compile_model(data, "m.tflite", Options("m", goal=goal))
    oracle, sets = open_tflm(data), sets_for(compilation, 40)
    for arrays, got in zip(
        sets, Host().run(write_bundle(compilation, tmp_path), sets), strict=True
    ):
        for index, want in enumerate(oracle(arrays)):
            expect_equal(got.outputs[index], want, f"output {index}")


@pytest.mark.qemu
def test_a_front_end_gives_the_same_bits_on_a_cortex_m55(tmp_path: Path) -> None:
    compilation = compile_model(front_end(), "m.tflite", Options("m", core="cortex-m55"))
    session, sets = Session(compilation.imported), sets_for(compilation, 4)
    qemu = Qemu(machine="mps3-an547")
    for arrays, got in zip(sets, qemu.run(write_bundle(compilation, tmp_path), sets), strict=True):
        for index, want in enumerate(session.run(arrays)):
            expect_equal(got.outputs[index], want, f"output {index}")


@pytest.mark.arm
@pytest.mark.parametrize(
    ("core", "most_cycles"), [("cortex-m4", 70_000), ("cortex-m0plus", 215_000)]
)
def test_the_audio_preprocessor_takes_few_cycles_and_bytes_for_tflms_features(
    core: str, most_cycles: int, tmp_path: Path, shared_dir: Path
) -> None:
    """30 ms of sound to 40 features; TFLM takes 106,000 instructions and 8,448 bytes."""
    model = shared_dir / "streams" / "audio_preprocessor_int8.tflite"
    steps = np.load(model.with_suffix(".npz"))
    sets, wanted = [[x] for x in steps["inputs"]], steps["outputs"]
    compilation = compile_model(model.read_bytes(), "m.tflite", Options("m", core=core))
    assert compilation.plan.arena_bytes <= 3200
    bundle = write_bundle(compilation, tmp_path)
    for got, want in zip(Host().run(bundle, sets), wanted, strict=True):
        expect_equal(got.outputs[0], want, "on this computer")
    for got, want in zip(CortexM(core).run(bundle, sets[:20]), wanted[:20], strict=True):
        expect_equal(got.outputs[0], want, f"on {core}")
        assert got.cycles is not None
        assert got.cycles <= most_cycles
