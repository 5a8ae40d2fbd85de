"""UNIDIRECTIONAL_SEQUENCE_LSTM equals TensorFlow Lite Micro, run after run, and so does its C."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.ir.interpreter import Session
from glowmcu.ir.operation import Array
from glowmcu.pipeline import reference_graph
from tests.support.check_model import expect_close
from tests.support.lstm_models import LstmCase, lstm_model
from tests.support.oracle import open_tflm

CASES = {
    "one step": LstmCase(steps=1, depth=9, units=7),
    "many steps": LstmCase(steps=40),
    "one unit, one input": LstmCase(depth=1, units=1),
    "batch of three": LstmCase(batches=3, steps=4, units=5),
    "batch of three, time first": LstmCase(batches=3, steps=4, units=5, time_major=True),
    "cell state clipped": LstmCase(cell_clip=0.25, steps=12),
    "clipped to nothing": LstmCase(cell_clip=1e-6, steps=2),
    "clipped beyond the type": LstmCase(cell_clip=1e6, cell_power=-15, steps=12),
    "cell state of Q3.12": LstmCase(cell_power=-12, units=8),
    "cell state of Q0.15": LstmCase(cell_power=-15, units=9),
    "cell state of 2^-9": LstmCase(cell_power=-9, steps=12),
    "cell state of no power of two": LstmCase(cell_scale=0.0003, steps=12),
    "all gates saturate": LstmCase(weight_scale=0.5, steps=8, depth=16, units=16),
    "largest weights": LstmCase(weight_scale=0.1, steps=4, depth=33, units=17, extreme=True),
    "gates that hardly move": LstmCase(weight_scale=2e-5, steps=8, units=12),
    "hidden state at its zero point": LstmCase(hidden_zero_point=-128, hidden_scale=1 / 256),
    "coarse hidden state": LstmCase(hidden_scale=0.05, hidden_zero_point=0),
    "int16": LstmCase(dtype="int16", steps=9, depth=11, units=6),
    "int16, batch of two, time first": LstmCase(dtype="int16", batches=2, units=5, time_major=True),
    "int16, clipped": LstmCase(dtype="int16", cell_clip=0.2, weight_scale=0.1),
    "int16, all gates saturate": LstmCase(dtype="int16", weight_scale=0.9, depth=40, units=20),
}
REAL = {
    "real numbers": LstmCase(dtype="float32", units=6, weight_scale=0.01),
    "real numbers, clipped": LstmCase(
        dtype="float32", batches=2, cell_clip=0.3, time_major=True, weight_scale=0.01
    ),
}
RUNS = 25


def stream(data: bytes, runs: int, seed: int) -> list[Array]:
    """Inputs of `runs` runs."""
    (x,) = reference_graph(data, "m.tflite").arguments
    random = np.random.default_rng(seed)
    if x.type.element.is_float:
        return [random.normal(0, 1, x.type.shape).astype(np.float32) for _ in range(runs)]
    low, high = x.type.element.limits
    shape, dtype = x.type.shape, x.type.element.numpy
    inputs = [random.integers(low, high + 1, shape).astype(dtype) for _ in range(runs - 2)]
    return [*inputs, np.full(shape, low, dtype), np.full(shape, high, dtype)]


@pytest.mark.parametrize("name", CASES)
def test_every_run_is_that_of_tflm(name: str) -> None:
    data = lstm_model(CASES[name])
    session, oracle = Session(reference_graph(data, "m.tflite")), open_tflm(data)
    for x in stream(data, RUNS, 0):
        assert np.array_equal(session.run([x])[0], oracle([x])[0])


@pytest.mark.parametrize("seed", range(40))
def test_every_run_of_a_random_layer_is_that_of_tflm(seed: int) -> None:
    data = lstm_model(random_case(seed), seed)
    session, oracle = Session(reference_graph(data, "m.tflite")), open_tflm(data)
    inputs = stream(data, 12, seed)
    first = [oracle([x])[0] for x in inputs]
    for _ in range(2):
        session.reset()
        for x, want in zip(inputs, first, strict=True):
            assert np.array_equal(session.run([x])[0], want)


def random_case(seed: int) -> LstmCase:
    """Anything that a file may hold."""
    random = np.random.default_rng([5, seed])
    return LstmCase(
        batches=int(random.integers(1, 4)),
        steps=int(random.integers(1, 10)),
        depth=int(random.integers(1, 40)),
        units=int(random.integers(1, 30)),
        dtype="int16" if seed % 4 == 3 else "int8",
        time_major=bool(random.integers(2)),
        cell_clip=float(random.choice([0.0, 0.0, 0.5, 3.0])),
        cell_power=int(random.integers(-15, -8)),
        x_zero_point=int(random.integers(-128, 128)),
        hidden_scale=float(random.choice([1 / 128, 1 / 256, 0.0071])),
        hidden_zero_point=int(random.integers(-128, 128)),
        weight_scale=float(10.0 ** random.uniform(-4, 0)),
    )


@pytest.mark.parametrize("name", REAL)
def test_real_numbers_are_near_those_of_tflm(name: str, tmp_path: Path) -> None:
    data = lstm_model(REAL[name])
    session, oracle = Session(reference_graph(data, "m.tflite")), open_tflm(data)
    compiled = bundle_of(data, tmp_path).session()
    for x in stream(data, RUNS, 0):
        (want,) = oracle([x])
        expect_close(session.run([x])[0], want, "meaning", atol=1e-5)
        expect_close(compiled.run([x])[0], want, "C", atol=1e-5)


def bundle_of(data: bytes, folder: Path, **options: object) -> glowmcu.Bundle:
    """Compiled, for a board with a Cortex-M4 unless the options say otherwise."""
    (folder / "m.tflite").write_bytes(data)
    arguments = {"board": "nrf52", "output": folder / "net", **options}
    return glowmcu.compile(folder / "m.tflite", **arguments)  # type: ignore[arg-type]


GOALS = ("balanced", "ram", "speed", "size")


@pytest.mark.parametrize("board", ["nrf52", "rp2040"])
@pytest.mark.parametrize("name", CASES)
def test_the_c_is_the_meaning(name: str, board: str, tmp_path: Path) -> None:
    data = lstm_model(CASES[name])
    goal = GOALS[list(CASES).index(name) % 4]
    compiled = bundle_of(data, tmp_path, board=board, optimize=goal).session()
    session = Session(reference_graph(data, "m.tflite"))
    inputs = stream(data, 6, 3)
    for x in inputs:
        assert np.array_equal(compiled.run([x])[0], session.run([x])[0])
    compiled.reset()
    session.reset()
    assert np.array_equal(compiled.run([inputs[0]])[0], session.run([inputs[0]])[0])


def test_neither_code_nor_constants_grow_with_the_steps(tmp_path: Path) -> None:
    # From eight steps on both products have a function of their own.
    sizes = list[tuple[int, int]]()
    for steps in (8, 300):
        (tmp_path / str(steps)).mkdir()
        bundle = bundle_of(lstm_model(LstmCase(steps=steps)), tmp_path / str(steps))
        sizes.append((bundle.report.weights_bytes, bundle.report.code_bytes))
    (weights, code), (many_weights, many_code) = sizes
    assert weights == many_weights
    assert abs(code - many_code) < 64
