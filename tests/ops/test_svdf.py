"""SVDF equals TensorFlow Lite Micro, run after run, and so does its C."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from glowmcu.ir.interpreter import Session
from glowmcu.pipeline import reference_graph
from tests.ops.test_lstm import GOALS, bundle_of, stream
from tests.support.check_model import expect_close
from tests.support.lstm_models import SvdfCase, svdf_model
from tests.support.oracle import open_tflm

CASES = {
    "plain": SvdfCase(),
    "rank 2": SvdfCase(rank=2, units=3),
    "remembers one run": SvdfCase(memory=1),
    "remembers seven runs": SvdfCase(memory=7, units=9, depth=13),
    "remembers thirty-two runs": SvdfCase(memory=32, units=6, rank=3),
    "batch of three": SvdfCase(batches=3, rank=2),
    "products saturate before the zero point": SvdfCase(narrow=0.05, state_zero_point=100),
    "state at its zero point": SvdfCase(state_zero_point=0, depth=33, units=17),
    "no activation": SvdfCase(activation="NONE", memory=9),
    "state of int16": SvdfCase(dtype="int16", state_zero_point=0, memory=8),
    "state of int16, rank 2, batch of two": SvdfCase(
        dtype="int16", state_zero_point=0, rank=2, batches=2, memory=5, narrow=0.1
    ),
}
REAL = {
    "real numbers": SvdfCase(dtype="float32", rank=2, activation="NONE"),
    "real numbers, clamped": SvdfCase(dtype="float32", batches=2, activation="RELU6"),
}
RUNS = 40


@pytest.mark.parametrize("name", CASES)
def test_every_run_is_that_of_tflm(name: str) -> None:
    data = svdf_model(CASES[name])
    session, oracle = Session(reference_graph(data, "m.tflite")), open_tflm(data)
    for x in stream(data, RUNS, 0):
        assert np.array_equal(session.run([x])[0], oracle([x])[0])


@pytest.mark.parametrize("seed", range(30))
def test_every_run_of_a_random_layer_is_that_of_tflm(seed: int) -> None:
    data = svdf_model(random_case(seed), seed)
    session, oracle = Session(reference_graph(data, "m.tflite")), open_tflm(data)
    inputs = stream(data, 25, seed)
    first = [oracle([x])[0] for x in inputs]
    for _ in range(2):
        session.reset()
        for x, want in zip(inputs, first, strict=True):
            assert np.array_equal(session.run([x])[0], want)


def random_case(seed: int) -> SvdfCase:
    """Anything that a file may hold."""
    random = np.random.default_rng([6, seed])
    wide = seed % 3 == 2
    return SvdfCase(
        batches=int(random.integers(1, 3)),
        depth=int(random.integers(1, 50)),
        units=int(random.integers(1, 20)),
        rank=int(random.integers(1, 4)),
        memory=int(random.integers(1, 20)),
        dtype="int16" if wide else "int8",
        x_zero_point=int(random.integers(-128, 128)),
        state_zero_point=0 if wide else int(random.integers(-128, 128)),
        narrow=float(random.uniform(0.02, 0.7)),
    )


@pytest.mark.parametrize("name", REAL)
def test_real_numbers_are_near_those_of_tflm(name: str, tmp_path: Path) -> None:
    data = svdf_model(REAL[name])
    session, oracle = Session(reference_graph(data, "m.tflite")), open_tflm(data)
    compiled = bundle_of(data, tmp_path).session()
    for x in stream(data, RUNS, 0):
        (want,) = oracle([x])
        expect_close(session.run([x])[0], want, "meaning", atol=1e-5)
        expect_close(compiled.run([x])[0], want, "C", atol=1e-5)


@pytest.mark.parametrize("board", ["nrf52", "rp2040"])
@pytest.mark.parametrize("name", CASES)
def test_the_c_is_the_meaning(name: str, board: str, tmp_path: Path) -> None:
    data = svdf_model(CASES[name])
    goal = GOALS[list(CASES).index(name) % 4]
    compiled = bundle_of(data, tmp_path, board=board, optimize=goal).session()
    session = Session(reference_graph(data, "m.tflite"))
    inputs = stream(data, 12, 3)
    for x in inputs:
        assert np.array_equal(compiled.run([x])[0], session.run([x])[0])
    compiled.reset()
    session.reset()
    assert np.array_equal(compiled.run([inputs[0]])[0], session.run([inputs[0]])[0])
