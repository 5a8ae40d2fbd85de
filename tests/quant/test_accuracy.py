"""The user's way, end to end: float model and calibration samples in, accuracy of the C bundle out.

Every held-out sample goes through the generated C on this computer, with default settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import glowmcu
from glowmcu.bundle import Bundle
from tests.conftest import REPO

Array = npt.NDArray[Any]
#: Half a point.
LARGEST_LOSS = 0.005
MODELS = (
    "digits/digits.onnx",
    "gestures/model.onnx",
    "vowels/model.onnx",
    "digits/digits_float.tflite",
    "gestures/model_float.tflite",
    "vowels/model_float.tflite",
)


def held_out(model: Path) -> tuple[Array, Array]:
    """Real inputs in the layout of the ONNX model, and labels."""
    with np.load(model.parent / "test_samples.npz") as stored:
        inputs, labels = stored["inputs"], stored["labels"]
    if inputs.dtype == np.int8:  # those of the int8 digits: pixels of 0 to 1, scale 1/255
        inputs = np.moveaxis((inputs.astype(np.float32) + 128) / 255, -1, 1)
    return np.asarray(inputs, np.float32), labels


def in_layout_of(model: Path, batch: Array) -> Array:
    """TFLite models have channels last."""
    last = model.suffix == ".tflite"
    return np.ascontiguousarray(np.moveaxis(batch, 1, -1) if last else batch)


def calibration(model: Path) -> Array:
    with np.load(model.parent / "calibration.npz") as stored:
        return in_layout_of(model, stored["inputs"])


def scores(bundle: Bundle, batch: Array) -> Array:
    """The bundle's outputs for real inputs, by its C code."""
    (entry,) = bundle.manifest.inputs
    stored = batch.reshape(-1, *entry.shape)
    if entry.scale is not None:
        assert entry.zero_point is not None
        stored = np.rint(stored / np.float32(entry.scale)) + entry.zero_point
        stored = np.clip(stored, -128, 127)
    runs: Sequence[Sequence[Array]] = [[sample] for sample in stored.astype(entry.dtype)]
    return np.concatenate([run.outputs[0] for run in bundle.measure_all(runs, on="host")])


@pytest.mark.parametrize("name", MODELS)
def test_the_c_of_an_int8_bundle_is_within_half_a_point_of_float(name: str, tmp_path: Path) -> None:
    model = REPO / "examples" / name
    inputs, labels = held_out(model)
    inputs = in_layout_of(model, inputs)
    profile = glowmcu.profile(model, calibration(model), tmp_path / "m.profile.json")
    int8 = glowmcu.compile(model, profile=tmp_path / "m.profile.json", output=tmp_path / "int8")
    real = glowmcu.compile(model, output=tmp_path / "float")
    assert profile.sample_count == len(calibration(model))
    assert [entry.dtype for entry in int8.manifest.inputs] == ["int8"]
    assert not int8.notes, "nothing stays float"
    accuracy = [
        float((scores(bundle, inputs).argmax(axis=1) == labels).mean()) for bundle in (real, int8)
    ]
    assert accuracy[0] > 0.97
    assert accuracy[0] - accuracy[1] <= LARGEST_LOSS


@pytest.mark.parametrize("io", ["int8", "float"])
@pytest.mark.parametrize("name", [name for name in MODELS if name.endswith(".onnx")])
def test_the_c_with_int16_activations_is_within_a_tenth_of_a_point_of_float(
    name: str, io: str, tmp_path: Path
) -> None:
    model = REPO / "examples" / name
    inputs, labels = held_out(model)
    choices = glowmcu.Quantization(int16=["all"], io=io)
    wide = glowmcu.compile(
        model, samples=calibration(model), quantization=choices, output=tmp_path / "wide"
    )
    real = glowmcu.compile(model, output=tmp_path / "float")
    assert any("s16" in layer.kernel for layer in wide.manifest.layers)
    accuracy = [
        float((scores(bundle, inputs).argmax(axis=1) == labels).mean()) for bundle in (real, wide)
    ]
    assert accuracy[0] - accuracy[1] <= 0.001


def test_an_exported_int8_model_gives_the_bytes_of_the_bundle(tmp_path: Path) -> None:
    model = REPO / "examples/gestures/model.onnx"
    samples = calibration(model)
    exported = glowmcu.export(model, tmp_path / "int8.tflite", samples=samples)
    bundles = [
        glowmcu.compile(model, samples=samples, output=tmp_path / "a"),
        glowmcu.compile(exported.path, output=tmp_path / "b"),
    ]
    inputs = held_out(model)[0][:40]
    first, second = (scores(bundle, inputs) for bundle in bundles)
    assert first.dtype == np.int8
    assert np.array_equal(first, second)
