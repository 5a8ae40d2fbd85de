"""Quantization of models with states: calibrated on whole sequences, one scale from run to run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import Session, run_graph
from glowmcu.pipeline import float_graph
from glowmcu.quant.sample_source import SampleSource
from glowmcu.quant.samples import Sample

pytest.importorskip("onnx")
from tests.support.recurrent_models import recurrent_step, smooth

FEATURES, STEPS = 8, 30


def graph_of(kind: str) -> Graph:
    return float_graph(recurrent_step(kind, FEATURES), "m.onnx")


def read(graph: Graph, source: object) -> list[Sample]:
    return list(SampleSource(source).read(graph))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["GRU", "LSTM"])
def test_each_sample_goes_with_what_the_runs_before_left(kind: str) -> None:
    graph, xs = graph_of(kind), smooth(STEPS, FEATURES, 1)
    samples = read(graph, {"x": xs})
    assert len(samples) == STEPS
    states = [state.initial for state in graph.states]
    for sample, x in zip(samples, xs, strict=True):
        assert np.array_equal(sample[0], x)
        for got, want in zip(sample[1:], states, strict=True):
            assert np.array_equal(got, want)
        states = run_graph(graph, sample)[1:]
    assert np.abs(samples[-1][1]).max() > 0


def test_every_file_is_a_sequence_of_its_own(tmp_path: Path) -> None:
    graph = graph_of("GRU")
    for number in range(3):
        np.savez(tmp_path / f"{number}.npz", x=smooth(5 + number, FEATURES, number))
    for source in (tmp_path, sorted(tmp_path.iterdir())):
        samples = read(graph, source)
        assert len(samples) == 5 + 6 + 7
        begins = [index for index, sample in enumerate(samples) if not sample[1].any()]
        assert begins == [0, 5, 11]


def test_files_of_single_samples_are_one_sequence(tmp_path: Path) -> None:
    graph, xs = graph_of("GRU"), smooth(4, FEATURES, 1)
    for number, x in enumerate(xs):
        np.save(tmp_path / f"{number}.npy", x)
    samples = read(graph, tmp_path)
    assert [bool(sample[1].any()) for sample in samples] == [False, True, True, True]


def sqnr(kind: str, folder: Path, hidden: int) -> float:
    """Of the bundle's stream against the float graph's, in dB; on a sequence that is new to it."""
    data = recurrent_step(kind, 32, hidden)
    (folder / "m.onnx").write_bytes(data)
    for number in range(6):
        np.savez(folder / f"{number}.npz", x=smooth(60, 32, 10 + number))
    files = sorted(folder.glob("*.npz"))
    bundle = glowmcu.compile(folder / "m.onnx", output=folder / "net", samples=files)
    xs = smooth(100, 32, 1)
    session = Session(float_graph(data, "m.onnx"))
    want = np.stack([session.run([x])[0] for x in xs]).astype(np.float64)
    (entry,), (out,) = bundle.manifest.inputs, bundle.manifest.outputs
    stored = np.clip(np.round(xs / entry.scale) + entry.zero_point, -128, 127).astype(np.int8)
    got = np.stack([one.outputs[0] for one in bundle.measure_all([[x] for x in stored], on="host")])
    real = (got.astype(np.float64) - out.zero_point) * out.scale
    # What accumulates element by element is kept in 16 bits; the mark comes first.
    widths = {"GRU": ["int16"], "LSTM": ["int8", "int16"]}[kind]
    assert [entry.dtype for entry in bundle.manifest.states[1:]] == widths
    return float(10 * np.log10((want**2).sum() / ((real - want) ** 2).sum()))


@pytest.mark.parametrize(("kind", "least"), [("GRU", 34.0), ("LSTM", 30.5)])
def test_quantized_states_lose_little_in_a_hundred_steps(
    kind: str, least: float, tmp_path: Path
) -> None:
    assert sqnr(kind, tmp_path, 64) >= least
