"""The committed float models reach their committed accuracy, from ONNX and from TFLite alike."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.support.oracle import open_litert_reference, open_tflm

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@dataclass(frozen=True)
class Example:
    """`to_tflite` moves the axes of the ONNX model's input to those of the TFLite model's."""

    folder: str
    onnx: str
    tflite: str
    to_tflite: tuple[int, ...]

    @property
    def path(self) -> Path:
        return EXAMPLES / self.folder

    @cached_property
    def results(self) -> dict[str, int]:
        return json.loads((self.path / "results.json").read_text())

    @cached_property
    def samples(self) -> dict[str, np.ndarray]:
        with np.load(self.path / "test_samples.npz") as stored:
            return {name: stored[name] for name in stored.files}

    @cached_property
    def inputs(self) -> np.ndarray:
        """Held-out inputs for the ONNX model."""
        stored = self.samples["inputs"]
        if stored.dtype == np.int8:  # digits, kept as the int8 model takes them
            return ((stored.astype(np.float32) + 128) / np.float32(255)).transpose(0, 3, 1, 2)
        return stored

    @cached_property
    def calibration(self) -> np.ndarray:
        with np.load(self.path / "calibration.npz") as stored:
            assert stored.files == ["inputs"]
            return stored["inputs"]


DIGITS = Example("digits", "digits.onnx", "digits_float.tflite", (0, 2, 3, 1))
GESTURES = Example("gestures", "model.onnx", "model_float.tflite", (0, 2, 3, 1))
VOWELS = Example("vowels", "model.onnx", "model_float.tflite", (0, 2, 1))
TIME_SERIES = [GESTURES, VOWELS]
every_example = pytest.mark.parametrize(
    "example", [DIGITS, *TIME_SERIES], ids=lambda example: example.folder
)
every_time_series = pytest.mark.parametrize(
    "example", TIME_SERIES, ids=lambda example: example.folder
)


def onnx_outputs(example: Example) -> np.ndarray:
    runtime = pytest.importorskip("onnxruntime", reason="pip install onnxruntime")
    session = runtime.InferenceSession(
        str(example.path / example.onnx), providers=["CPUExecutionProvider"]
    )
    name = session.get_inputs()[0].name
    return np.concatenate([session.run(None, {name: x[np.newaxis]})[0] for x in example.inputs])


def tflite_outputs(example: Example, open_model) -> np.ndarray:
    session = open_model((example.path / example.tflite).read_bytes())
    inputs = np.ascontiguousarray(example.inputs.transpose(example.to_tflite))
    return np.concatenate([session([x[np.newaxis]])[0].copy() for x in inputs])


@every_example
def test_the_onnx_model_reaches_its_committed_accuracy(example: Example) -> None:
    predicted = onnx_outputs(example).argmax(1)
    np.testing.assert_array_equal(predicted, example.samples["float_predictions"])
    correct = int((predicted == example.samples["labels"]).sum())
    assert correct == example.results["float_correct"]
    assert correct >= 0.97 * len(predicted)
    assert len(predicted) == example.results["test_samples"]


@every_example
@pytest.mark.parametrize("open_model", [open_litert_reference, open_tflm])
def test_the_tflite_model_computes_what_the_onnx_model_does(example: Example, open_model) -> None:
    expected = onnx_outputs(example)
    outputs = tflite_outputs(example, open_model)
    np.testing.assert_allclose(outputs, expected, rtol=1e-4, atol=2e-5)
    np.testing.assert_array_equal(outputs.argmax(1), example.samples["float_predictions"])


@every_example
def test_the_onnx_file_is_valid_and_tells_nothing_of_the_machine(example: Example) -> None:
    data = (example.path / example.onnx).read_bytes()
    onnx.checker.check_model(onnx.load_from_string(data), full_check=True)
    assert not re.search(rb"/home/|/work/|/root/|/usr/|site-packages|\.py\b", data)


@every_example
def test_calibration_samples_are_inputs_of_the_onnx_model(example: Example) -> None:
    model = onnx.load(example.path / example.onnx)
    dims = model.graph.input[0].type.tensor_type.shape.dim
    assert example.calibration.dtype == np.float32
    assert example.calibration.shape[1:] == tuple(dim.dim_value for dim in dims)[1:]
    assert example.inputs.shape[1:] == example.calibration.shape[1:]
    assert dims[0].dim_value == 1


@every_example
def test_no_calibration_sample_is_a_held_out_one(example: Example) -> None:
    calibration = example.calibration.reshape(len(example.calibration), -1)
    held_out = example.inputs.reshape(len(example.inputs), -1)
    for sample in calibration:
        assert np.abs(held_out - sample).max(axis=1).min() > 1 / 64


@every_time_series
def test_the_readme_states_the_measured_float_figures(example: Example) -> None:
    text = (example.path / "README.md").read_text()
    results = example.results
    percent = 100 * results["float_correct"] / results["test_samples"]
    assert f"| float32 | {percent:.2f} % | {results['float_correct']} |" in text
    assert f"correct of {results['test_samples']} " in text
    assert f"{results['parameters']} parameters" in text
    assert f"`inputs`: {results['calibration_samples']} " in text


@every_example
def test_the_overview_states_the_measured_figures(example: Example) -> None:
    results = example.results
    (row,) = [
        line
        for line in (EXAMPLES / "README.md").read_text().splitlines()
        if line.startswith(f"| [`{example.folder}`]")
    ]
    correct = f"{results['float_correct']} of {results['test_samples']}"
    assert row.endswith(f"| {results['parameters']} | {correct} |")


@every_time_series
def test_an_example_stays_below_300_kb(example: Example) -> None:
    files = [path for path in example.path.iterdir() if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 300_000


def test_held_out_gestures_are_whole_recordings_with_equally_many_of_a_class() -> None:
    samples = GESTURES.samples
    assert np.bincount(samples["recordings"]).tolist() == [16] * 40
    assert np.bincount(samples["labels"]).tolist() == [160] * 4
    for number in range(40):
        assert len(set(samples["labels"][samples["recordings"] == number])) == 1


def test_held_out_vowels_are_one_sample_a_recording_and_of_all_speakers() -> None:
    counts = np.bincount(VOWELS.samples["labels"])
    assert len(counts) == 9
    assert (counts.min(), counts.max()) == (24, 88)
    assert len(set(VOWELS.samples["recordings"])) == len(VOWELS.inputs)
