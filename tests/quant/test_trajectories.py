"""Quantization of models with states: calibrated on whole sequences, one scale from run to run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import Session, run_graph
from glowmcu.pipeline import float_graph
from glowmcu.quality_text import quality_sentences
from glowmcu.quant.sample_source import SampleSource
from glowmcu.quant.samples import Sample

pytest.importorskip("onnx")
from tests.support.onnx_models import finished
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


def leaky_sum() -> bytes:
    """A sum that keeps 99.95 % of itself in a run: what rounding takes of each adds up."""
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    node, value = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    numbers = {"keep": np.float32([[0.9995]]), "gain": np.float32([[0.01]])}
    nodes = [
        node("Mul", ["state_in", "keep"], ["kept"]),
        node("Mul", ["x", "gain"], ["added"]),
        node("Add", ["kept", "added"], ["state_out"]),
        node("Neg", ["state_out"], ["y"]),
    ]
    arrays = [onnx.numpy_helper.from_array(data, name) for name, data in numbers.items()]
    inputs, outputs = (
        [value(name, 1, (1, 3)) for name in names]
        for names in (("x", "state_in"), ("y", "state_out"))
    )
    return finished(onnx, nodes, inputs, outputs, arrays)


def test_errors_that_add_up_along_a_sequence_are_told(tmp_path: Path) -> None:
    """Small steps of a few large ones: each single run of int8 is right to 1 %."""
    (tmp_path / "m.onnx").write_bytes(leaky_sum())
    random = np.random.default_rng(0)
    for number in range(4):
        x = random.uniform(0.3, 0.6, (1, 1, 3)) * np.ones((400, 1, 1))
        x[50:70] += 200
        x[70:90] -= 200
        np.savez(tmp_path / f"{number}.npz", x=x.astype(np.float32))
    files = sorted(tmp_path.glob("*.npz"))
    bundle = glowmcu.compile(tmp_path / "m.onnx", output=tmp_path / "net", samples=files)
    (entry,) = bundle.manifest.quality
    single, streamed = entry.figures.sqnr_db, entry.held.sqnr_db
    assert single is not None
    assert streamed is not None
    assert single > 25
    assert streamed < 20
    assert entry.drifts
    assert any(note.startswith("errors of single steps add up") for note in bundle.notes)
    text = "\n".join(quality_sentences(entry))
    assert "of single steps, each from float's; along whole sequences" in text
    session, exact = bundle.session(), Session(float_graph(leaky_sum(), "m.onnx"))
    signal = noise = 0.0
    for file in files:
        session.reset()
        exact.reset()
        for x in np.load(file)["x"]:
            (want,), (got,) = exact.run([x]), session.run([x], real=True)
            signal += float(np.square(want, dtype=np.float64).sum())
            noise += float(np.square(got - want, dtype=np.float64).sum())
    assert 10 * np.log10(signal / noise) == pytest.approx(streamed, abs=1.5)


def test_a_model_without_states_has_no_sequences(tmp_path: Path) -> None:
    graph = float_graph(
        recurrent_step("GRU", FEATURES),
        "m.onnx",
        inputs=InputOptions(states={}, finds_states=False),
    )
    data = {value.name: np.zeros((4, *value.type.shape), np.float32) for value in graph.inputs}
    assert SampleSource(data).read(graph).sequences == ()
