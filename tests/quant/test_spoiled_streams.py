"""Of a model with states, layers, remedies, demands and trials are measured along its sequences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.errors import GlowmcuError
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import Session
from glowmcu.pipeline import float_graph
from glowmcu.quant import spoiled_streams
from glowmcu.quant.profiling import profile_graph
from glowmcu.quant.quantizer import quantize
from glowmcu.quant.sample_source import SampleSource
from glowmcu.quant.side_by_side import SideBySide, real_values, stored_values
from glowmcu.quant.spoiled_streams import spoiled_runs

pytest.importorskip("onnx")
from tests.quant.test_trajectories import leaky_sum
from tests.support.recurrent_models import recurrent_step, smooth


def sequences(folder: Path) -> tuple[Path, list[Path]]:
    """The leaky sum of a few large steps among small ones, which int8 takes for nothing."""
    (folder / "m.onnx").write_bytes(leaky_sum())
    random = np.random.default_rng(0)
    for number in range(2):
        x = random.uniform(0.3, 0.6, (1, 1, 3)) * np.ones((400, 1, 1))
        x[50:70] += 200
        x[70:90] -= 200
        np.savez(folder / f"{number}.npz", x=x.astype(np.float32))
    return folder / "m.onnx", sorted(folder.glob("*.npz"))


def side_by_side(graph: Graph, data: object) -> tuple[SideBySide, SampleSource]:
    source = SampleSource(data)  # type: ignore[arg-type]
    samples = source.read(graph)
    made = quantize(graph, profile_graph(graph, samples), samples=samples)
    return SideBySide(made.reference, made.graph), source


def test_a_lane_is_the_float_stream_with_one_tensor_stored(tmp_path: Path) -> None:
    model, files = sequences(tmp_path)
    both, source = side_by_side(float_graph(model.read_bytes(), "m.onnx"), files)
    given = source.read(both.reference).sequences
    (stored,) = both.quantized.arguments
    session, runs = Session(both.reference), 0
    for sequence in given:
        session.reset()
        exact = Session(both.reference)
        for sample, run in zip(sequence, list(spoiled_runs(both, [sequence], 30)), strict=False):
            x = real_values(stored_values(sample[0], stored.type), stored.type)
            np.testing.assert_allclose(run.spoiled[0][0], session.run([x])[0], rtol=1e-5)
            np.testing.assert_array_equal(run.wanted[0], exact.run(sample)[0])
            runs += 1
    assert runs == 60


@pytest.mark.parametrize("kind", ["GRU", "LSTM"])
def test_lanes_at_once_are_what_lanes_by_themselves_are(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    both, source = side_by_side(
        float_graph(recurrent_step(kind, 8), "m.onnx"), {"x": smooth(20, 8, 1)}
    )
    given = source.read(both.reference).sequences
    together = list(spoiled_runs(both, given, 12))
    monkeypatch.setattr(spoiled_streams, "batches_agree", lambda *_: False)
    alone = list(spoiled_runs(both, given, 12))
    assert len(together) == len(alone) == 12
    for one, other in zip(together, alone, strict=True):
        assert len(one.spoiled) == len(other.spoiled) > 5
        for left, right in zip(one.spoiled, other.spoiled, strict=True):
            np.testing.assert_allclose(left[0], right[0], atol=2e-3)


def test_remedies_and_demands_go_by_whole_sequences(tmp_path: Path) -> None:
    model, files = sequences(tmp_path)
    bundle = glowmcu.compile(model, output=tmp_path / "net", samples=files)
    (entry,) = bundle.manifest.quality
    assert entry.streamed is not None
    assert (entry.figures.sqnr_db or 0) > 25 > (entry.streamed.sqnr_db or 0)
    assert [text.split(" SQNR")[0] for text in entry.shortfalls] == ["along whole sequences"]
    (remedy,) = entry.remedies
    assert remedy.arguments == "--io float"
    assert (remedy.figures.sqnr_db or 0) > 40
    with pytest.raises(GlowmcuError, match="along whole sequences SQNR is") as caught:
        glowmcu.compile(model, output=tmp_path / "no", samples=files, require_sqnr=25)
    assert caught.value.code == "GM323"


def test_tuning_and_the_comparison_with_float_go_by_whole_sequences(tmp_path: Path) -> None:
    model, files = sequences(tmp_path)
    bundle = glowmcu.compile(model, output=tmp_path / "net", samples=files)
    streamed = bundle.manifest.quality[0].held.sqnr_db
    tuned = glowmcu.tune(model, files, trials=2)
    assert tuned.plain.sqnr_db == pytest.approx(streamed, abs=0.5)
    found = glowmcu.compare(model, files)
    assert found.plain.sqnr_db == pytest.approx(streamed, abs=0.5)
    assert found.comparison.output_db == pytest.approx(found.plain.sqnr_db)
    assert list(found.comparison.outputs) == ["y"]
    assert found.remedies[0].arguments == "--io float"
    worst = found.comparison.layers[0]
    assert worst.operator == "quantize"
    assert worst.share > 0.9
    assert worst.alone_db < 40
