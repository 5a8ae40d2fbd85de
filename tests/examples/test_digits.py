"""The committed digits model is what its README says it is."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
import tflite

from tests.support.oracle import open_litert_reference, open_tflm

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits"
MODEL = (DIGITS / "digits_int8.tflite").read_bytes()
RESULTS = json.loads((DIGITS / "results.json").read_text())


@pytest.fixture(scope="module")
def samples() -> dict:
    with np.load(DIGITS / "test_samples.npz") as stored:
        return {name: stored[name] for name in stored.files}


def predictions(session, inputs: np.ndarray) -> np.ndarray:
    return np.array([session([image[np.newaxis]])[0].argmax() for image in inputs])


def test_the_int8_model_reaches_its_committed_accuracy(samples) -> None:
    predicted = predictions(open_tflm(MODEL), samples["inputs"])
    assert int((predicted == samples["labels"]).sum()) == RESULTS["int8_correct"]
    assert int((predicted == samples["float_predictions"]).sum()) == RESULTS["same_prediction"]


def test_a_second_interpreter_recognizes_the_same_digits(samples) -> None:
    predicted = predictions(open_litert_reference(MODEL), samples["inputs"])
    correct = int((predicted == samples["labels"]).sum())
    assert abs(correct - RESULTS["int8_correct"]) <= 1


def test_the_float_model_gives_the_stored_predictions(samples) -> None:
    model = (DIGITS / "digits_float.tflite").read_bytes()
    pixels = (samples["inputs"].astype(np.float32) + 128) / np.float32(255)
    predicted = predictions(open_tflm(model), pixels)
    np.testing.assert_array_equal(predicted, samples["float_predictions"])
    assert int((predicted == samples["labels"]).sum()) == RESULTS["float_correct"]


def test_at_least_97_of_100_held_out_digits_are_read_by_either_model() -> None:
    assert RESULTS["float_correct"] >= 0.97 * RESULTS["test_samples"]
    assert RESULTS["int8_correct"] >= 0.97 * RESULTS["test_samples"]


def test_the_sample_for_the_command_line_is_a_seven() -> None:
    (scores,) = open_tflm(MODEL)([np.load(DIGITS / "seven.npy")])
    assert scores.argmax() == 7
    assert scores[0, 7] == 127


def test_held_out_samples_hold_every_digit_equally_often(samples) -> None:
    counts = np.bincount(samples["labels"], minlength=10)
    assert counts.sum() == RESULTS["test_samples"]
    assert counts.min() >= 34
    assert counts.max() <= 38


def test_every_activation_of_the_int8_model_is_int8() -> None:
    graph = tflite.Model.GetRootAs(MODEL).Subgraphs(0)
    outputs = [graph.Operators(index).Outputs(0) for index in range(graph.OperatorsLength())]
    assert {graph.Tensors(index).Type() for index in outputs} == {tflite.TensorType.INT8}


def test_the_readme_states_the_measured_figures() -> None:
    text = (DIGITS / "README.md").read_text()
    for kind, row in (("float", "float32"), ("int8", "int8")):
        correct = RESULTS[f"{kind}_correct"]
        percent = 100 * correct / RESULTS["test_samples"]
        assert f"| {row} | {percent:.2f} % | {correct} |" in text
    assert f"{RESULTS['parameters']} parameters" in text
    assert re.search(rf"agree on {RESULTS['same_prediction']} of the 360", text)


def test_the_committed_files_stay_small() -> None:
    assert sum(path.stat().st_size for path in DIGITS.iterdir() if path.is_file()) < 200_000


@pytest.fixture
def scripts() -> tuple:
    """The example's modules `network` and `convert`."""
    pytest.importorskip("torch", reason="pip install '.[examples]'")
    return tuple(
        importlib.import_module(f"examples.digits.{name}") for name in ("network", "convert")
    )


@pytest.mark.slow
def test_training_twice_gives_the_same_models(monkeypatch, scripts) -> None:
    datasets = pytest.importorskip("sklearn.datasets", reason="pip install '.[examples]'")
    network, convert = scripts
    monkeypatch.setattr(network, "EPOCHS", 1)
    images, labels = datasets.load_digits(return_X_y=True)
    images = (images[:320] / 16).astype(np.float32).reshape(-1, 8, 8, 1)

    def models() -> tuple[bytes, bytes]:
        layers = network.fold(network.train(images, labels[:320]))
        int8_model = convert.write_int8(layers, convert.calibrate(layers, images))
        return convert.write_float(layers), int8_model

    assert models() == models()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 6.0), (-1.0, 1.0), (-3.0, 0.0), (2.0, 5.0), (-0.1, 7.3)]
)
def test_zero_is_a_whole_number_of_steps_and_both_ends_are_reached(scripts, low, high) -> None:
    quantization = scripts[1].Quantization.of_range(low, high)
    values = quantization.quantize(np.array([0.0, low, high], np.float32)).astype(float)
    back = (values - quantization.zero_point) * quantization.scale
    assert back[0] == 0.0
    np.testing.assert_allclose(back[1:], [low, high], atol=quantization.scale)
