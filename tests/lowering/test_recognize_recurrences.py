"""Loops over steps that are recurrent layers: recognized for quantization, and written as loops."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.ir.interpreter import run_graph
from glowmcu.lowering import recognize_recurrences
from glowmcu.pipeline import reference_graph
from tests.support.check_model import check_model
from tests.support.oracle import run_litert_reference
from tests.support.step_loops import StepLoop

CASES = {
    "lstm": StepLoop("LSTM"),
    "lstm, the last state": StepLoop("LSTM", sequence=False, start=True),
    "lstm, slices": StepLoop("LSTM", swapped=True),
    "gru": StepLoop("GRU"),
    "gru, slices, states": StepLoop("GRU", swapped=True, start=True),
    "plain": StepLoop("RNN", start=True),
    "plain, the last state": StepLoop("RNN", sequence=False),
}


def given(case: StepLoop, seed: int = 1) -> list[np.ndarray]:
    shape = (case.steps, 1, case.depth)
    return [np.random.default_rng(seed).normal(0, 1, shape).astype(np.float32)]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_loop_over_steps_is_a_layer(case: StepLoop) -> None:
    graph = reference_graph(case.model(), "m.tflite")
    assert [node.op.name for node in graph.nodes if node.op.name == "loop"] == ["loop"]
    made = recognize_recurrences.run(graph)
    made.verify()
    names = [node.op.name for node in made.nodes]
    assert "loop" not in names
    assert names.count("recurrence") == 1
    assert [value.name for value in made.outputs] == [value.name for value in graph.outputs]
    pairs = zip(run_graph(graph, given(case)), run_graph(made, given(case)), strict=True)
    for expected, found in pairs:
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_its_c_is_a_loop_and_equals_litert(case: StepLoop) -> None:
    check_model(case.model(), [given(case), given(case, 2)], oracle=run_litert_reference)


@pytest.mark.parametrize(
    "case",
    [StepLoop("RNN", change="another function"), StepLoop("RNN", change="sums of sums"),
     StepLoop("RNN", change="a bound in the sum"),
     StepLoop("LSTM", change="fewer steps", sequence=False),
     StepLoop("LSTM", change="rows are added up"),
     StepLoop("GRU", change="two rows a step", steps=8, sequence=False)],
    ids=lambda case: case.change,
)  # fmt: skip
def test_another_loop_stays(case: StepLoop) -> None:
    graph = reference_graph(case.model(), "m.tflite")
    names = [node.op.name for node in recognize_recurrences.run(graph).nodes]
    assert names.count("loop") == 1
    assert "recurrence" not in names


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_it_is_quantized_by_samples(kind: str, tmp_path: Path) -> None:
    case = replace(CASES["lstm"], kind=kind)
    path = tmp_path / "m.tflite"
    path.write_bytes(case.model())
    samples = [given(case, seed)[0] for seed in range(12)]
    bundle = glowmcu.compile(
        path, samples={"x": np.array(samples)}, io="int8", board="nrf52", output=tmp_path / "out"
    )
    assert not {"loop", "dequantize"} & {layer.op for layer in bundle.report.layers}
    assert glowmcu.verify(bundle, ["host", "cortex-m"], samples=2).passed
    real = run_litert_reference(path.read_bytes(), [samples[0]])
    found = bundle.run([samples[0]], real=True)
    noise = sum(float(((a - b) ** 2).sum()) for a, b in zip(real, found, strict=True))
    assert 10 * np.log10(sum(float((a**2).sum()) for a in real) / noise) > 24
