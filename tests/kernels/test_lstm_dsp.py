"""lstm.dsp and svdf.dsp: sizes around words, blocks and parts, C and assembly, run after run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from glowmcu.ir.interpreter import Session
from glowmcu.ir.operation import Array
from glowmcu.kernels.dsp.lstm import sigmoid_lines
from glowmcu.ops.wide_sigmoid import logistic_at, tanh_at
from glowmcu.pipeline import reference_graph
from glowmcu.verify.executors import executor
from tests.ops.test_lstm import bundle_of, stream
from tests.support.lstm_models import LstmCase, SvdfCase, lstm_model, svdf_model

LSTM = {
    **{f"{n} inputs": LstmCase(depth=n, units=5, steps=2) for n in (1, 3, 4, 7, 31, 32, 33, 70)},
    **{f"{n} units": LstmCase(depth=5, units=n, steps=2) for n in (1, 2, 15, 16, 17, 32, 35)},
    "many steps": LstmCase(steps=20, units=9, depth=10),
    "many steps, shifts to the left": LstmCase(steps=9, units=9, depth=10, weight_scale=0.9),
    "shifts to the left": LstmCase(steps=2, units=9, depth=10, weight_scale=0.9),
    "shifts either way": LstmCase(steps=3, units=6, depth=10, weight_scale=0.014),
    "far shifts to the right": LstmCase(steps=3, units=6, depth=10, weight_scale=1e-5),
    "weights that do not pack": LstmCase(steps=3, units=18, depth=21, extreme=True),
    "many steps, weights that do not pack": LstmCase(steps=9, units=5, depth=21, extreme=True),
    "batch of three": LstmCase(batches=3, steps=3, units=7, cell_clip=0.5),
    "batch of three, time first": LstmCase(batches=3, steps=3, units=7, time_major=True),
    "cell state of Q0.15": LstmCase(cell_power=-15, units=9, steps=5),
    "cell state of 2^-9": LstmCase(cell_power=-9, units=9, steps=5),
    "cell state of 2^-2": LstmCase(cell_power=-2, units=3, steps=5, weight_scale=0.3),
    "clipped, units in pairs": LstmCase(units=6, steps=5, cell_clip=0.25, weight_scale=0.3),
    "clipped, a unit alone": LstmCase(units=3, steps=5, cell_clip=0.25, weight_scale=0.3),
    "clipped to one step": LstmCase(units=4, steps=5, cell_clip=0.0005, weight_scale=0.3),
    "long rounds": LstmCase(depth=128, units=128, steps=2),
    "long rounds entered inside, a unit alone": LstmCase(depth=151, units=133, steps=2),
    "long rounds, weights that do not pack": LstmCase(depth=129, units=128, extreme=True),
    "fine hidden state": LstmCase(hidden_scale=1 / 256, hidden_zero_point=-128, steps=5),
}
SVDF = {
    **{f"{n} inputs": SvdfCase(depth=n) for n in (1, 4, 5, 8, 11, 12, 15, 24, 33)},
    **{f"{n} units": SvdfCase(units=n, depth=9) for n in (1, 3, 4, 6, 17)},
    **{f"remembers {n} runs": SvdfCase(memory=n, units=9) for n in (8, 12, 16, 20, 36)},
    "rank 2": SvdfCase(rank=2, units=7, memory=8),
    "rank 3, batch of two": SvdfCase(rank=3, batches=2, memory=8),
    "products saturate": SvdfCase(narrow=0.05, state_zero_point=100, memory=8),
}
RUNS = 12


def test_lines_are_sigmoid_and_tanh_of_every_int16() -> None:
    intercepts, slopes = (each.astype(np.int64) for each in sigmoid_lines())
    slopes &= 0xFFFF

    def line(t: Array) -> Array:
        found: Array = intercepts[256 + (t >> 9)] + slopes[256 + (t >> 9)] * t
        return found

    x = np.arange(-(2**15), 2**15)
    top = (line(3 * x) & 0xFFFFFFFF).astype(np.uint32).view(np.int32) >> 16
    assert np.array_equal(top, logistic_at(3 * x))
    steps = np.arange(-(2**17), 2**17)
    twice = 2 * line(2 * np.clip(steps, -65536, 65535)) - 0x80008000
    assert np.array_equal(
        (twice & 0xFFFFFFFF).astype(np.uint32).view(np.int32) >> 16, tanh_at(steps)
    )


def check(data: bytes, kernel: str, on: str, folder: Path) -> None:
    """Every run of the kernel is what the graph means."""
    bundle = bundle_of(data, folder, optimize="speed")
    assert [layer.kernel for layer in bundle.manifest.layers] == [kernel]
    runner = executor(on, bundle.board, count=False)
    if (missing := runner.missing()) is not None:
        pytest.skip(missing)
    inputs = stream(data, RUNS, 4)
    session = Session(reference_graph(data, "m.tflite"))
    measured = runner.run(bundle.path, [[x] for x in inputs])
    for x, one in zip(inputs, measured, strict=True):
        assert np.array_equal(one.outputs[0], session.run([x])[0])


CORES = ["host", pytest.param("cortex-m", marks=pytest.mark.arm)]


@pytest.mark.parametrize("on", CORES)
@pytest.mark.parametrize("name", LSTM)
def test_lstm_is_what_it_means(name: str, on: str, tmp_path: Path) -> None:
    check(lstm_model(LSTM[name], 3), "lstm.dsp", on, tmp_path)


@pytest.mark.parametrize("on", CORES)
@pytest.mark.parametrize("name", SVDF)
def test_svdf_is_what_it_means(name: str, on: str, tmp_path: Path) -> None:
    check(svdf_model(SVDF[name], 3), "svdf.dsp", on, tmp_path)
