"""RNN, GRU and LSTM of many steps, quantized by profile: integers throughout, one loop, and C that
equals the meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glowmcu
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import Session, run_graph
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType
from glowmcu.pipeline import float_graph, reference_graph
from glowmcu.quant.profiling import profile_graph
from glowmcu.quant.quantizer import quantize_graph
from glowmcu.quant.sample_source import SampleSource

pytest.importorskip("onnx")
from tests.support.recurrent_models import recurrent_sequence, smooth, smooth_sequence

#: Kind, attributes, batch.
CASES: dict[str, tuple[str, dict[str, Any], int]] = {
    "lstm": ("LSTM", {}, 1),
    "lstm, both ways": ("LSTM", {"direction": "bidirectional"}, 1),
    "lstm, batch of two first": ("LSTM", {"layout": 1}, 2),
    "lstm, reverse, batch of three": ("LSTM", {"direction": "reverse"}, 3),
}
KINDS = ("LSTM",)
LEAST_DB = 30.0


def samples(steps: int, features: int, batch: int, attributes: Mapping[str, Any]) -> list[Array]:
    first = bool(attributes.get("layout"))
    return [smooth_sequence(steps, features, seed, batch, first) for seed in range(10, 16)]


@cache
def quantized(name: str, steps: int, features: int, hidden: int) -> tuple[bytes, Graph]:
    """The model of a case, and what it means in integers."""
    kind, attributes, batch = CASES[name]
    data = recurrent_sequence(kind, steps, features, hidden, batch, **attributes)
    graph = float_graph(data, "m.onnx")
    source = SampleSource({"x": np.stack(samples(steps, features, batch, attributes))})
    return data, quantize_graph(graph, profile_graph(graph, source.read(graph)))


def stored(x: Array, graph: Graph) -> Array:
    type_ = graph.inputs[0].type
    return np.clip(np.round(x / type_.scale) + type_.zero_point, -128, 127).astype(np.int8)


def sqnr_db(got: Array, want: Array) -> float:
    return float(10 * np.log10((want**2).sum() / ((got - want) ** 2).sum()))


@pytest.mark.parametrize("name", CASES)
def test_a_hundred_steps_lose_little(name: str) -> None:
    data, graph = quantized(name, 100, 32, 64)
    assert all(value.type.element is not ElementType.F32 for node in graph.nodes
               for value in (*node.inputs, *node.outputs))  # fmt: skip
    _, attributes, batch = CASES[name]
    x = smooth_sequence(100, 32, 1, batch, bool(attributes.get("layout")))
    wanted = run_graph(reference_graph(data, "m.onnx"), [x])
    results = run_graph(graph, [stored(x, graph)])
    for value, result, want in zip(graph.outputs, results, wanted, strict=True):
        real = (result.astype(np.float64) - value.type.zero_point) * value.type.scale
        assert sqnr_db(real, want.astype(np.float64)) >= LEAST_DB


PLACES = [
    pytest.param("nrf52", "host", id="host"),
    pytest.param("nrf52", "cortex-m", id="cortex-m4", marks=pytest.mark.arm),
    pytest.param("rp2040", "cortex-m", id="cortex-m0plus", marks=pytest.mark.arm),
    pytest.param("mps3-an547", "qemu", id="cortex-m55", marks=[pytest.mark.arm, pytest.mark.qemu]),
]


@pytest.mark.parametrize(("board", "on"), PLACES)
@pytest.mark.parametrize("name", CASES)
def test_the_c_is_the_meaning(name: str, board: str, on: str, tmp_path: Path) -> None:
    _, attributes, batch = CASES[name]
    data, graph = quantized(name, 9, 7, 5)
    (tmp_path / "m.onnx").write_bytes(data)
    calibration = {"x": np.stack(samples(9, 7, batch, attributes))}
    goal = ("balanced", "ram", "speed", "size")[list(CASES).index(name) % 4]
    bundle = glowmcu.compile(
        tmp_path / "m.onnx", board=board, output=tmp_path / "net", samples=calibration,
        optimize=goal,
    )  # fmt: skip
    shape = graph.inputs[0].type.shape
    random = np.random.default_rng(3)
    inputs = [random.integers(-128, 128, shape).astype(np.int8) for _ in range(3)]
    inputs += [np.full(shape, -128, np.int8), np.full(shape, 127, np.int8)]
    for x in inputs:
        measured = bundle.measure([x], on=on)
        for got, want in zip(measured.outputs, run_graph(graph, [x]), strict=True):
            assert np.array_equal(got, want)


@pytest.mark.arm
@pytest.mark.parametrize("kind", KINDS)
def test_neither_code_nor_constants_grow_with_the_steps(kind: str, tmp_path: Path) -> None:
    sizes = list[tuple[int, int]]()
    for steps in (8, 300):
        folder = tmp_path / str(steps)
        folder.mkdir()
        (folder / "m.onnx").write_bytes(recurrent_sequence(kind, steps, 8, 16))
        calibration = {"x": np.stack(samples(steps, 8, 1, {}))}
        bundle = glowmcu.compile(
            folder / "m.onnx", board="nrf52", output=folder / "net", samples=calibration
        )
        assert bundle.report.code_bytes is not None
        sizes.append((bundle.report.weights_bytes, bundle.report.code_bytes))
    assert sizes[0][0] == sizes[1][0]
    assert abs(sizes[0][1] - sizes[1][1]) < 64


@pytest.mark.parametrize("kind", KINDS)
def test_states_go_on_from_run_to_run(kind: str, tmp_path: Path) -> None:
    """Ten steps a run: what outlives a run has 16 bits where it accumulates."""
    data = recurrent_sequence(kind, 10, 32, 64, states=True)
    (tmp_path / "m.onnx").write_bytes(data)
    for number in range(6):
        xs = smooth(60, 32, 10 + number).reshape(6, 10, 1, 32)
        np.savez(tmp_path / f"{number}.npz", x=xs)
    files = sorted(tmp_path.glob("*.npz"))
    bundle = glowmcu.compile(tmp_path / "m.onnx", output=tmp_path / "net", samples=files)
    widths = {"LSTM": ["int8", "int16"]}.get(kind, ["int16"])
    assert [entry.dtype for entry in bundle.manifest.states[1:]] == widths
    session = Session(float_graph(data, "m.onnx"))
    compiled, (entry,), out = bundle.session(), bundle.manifest.inputs, bundle.manifest.outputs[0]
    wanted, results = [], []
    for x in smooth(100, 32, 1).reshape(10, 10, 1, 32):
        wanted.append(session.run([x])[0])
        given = np.clip(np.round(x / entry.scale) + entry.zero_point, -128, 127).astype(np.int8)
        results.append((compiled.run([given])[0].astype(np.float64) - out.zero_point) * out.scale)
    assert sqnr_db(np.stack(results), np.stack(wanted).astype(np.float64)) >= LEAST_DB
