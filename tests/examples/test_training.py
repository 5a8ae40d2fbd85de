"""Training is repeatable, and both of torch's exporters write the same function."""

from __future__ import annotations

import dataclasses
import importlib

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="pip install '.[examples]'")

from examples import onnx_export  # noqa: E402  needs torch
from examples.digits import network as digits  # noqa: E402
from examples.gestures import network as gestures  # noqa: E402
from examples.vowels import network as vowels  # noqa: E402

pytestmark = pytest.mark.slow

NETWORKS = {
    "digits": (lambda: digits.with_scores(digits.DigitsNet()), digits.INTERFACE),
    "gestures": (lambda: gestures.with_scores(gestures.GesturesNet()), gestures.INTERFACE),
    "vowels": (vowels.VowelsNet, vowels.INTERFACE),
}


def test_training_twice_gives_the_same_onnx_and_tflite() -> None:
    rng = np.random.default_rng(5)
    inputs = rng.normal(size=(96, *gestures.INTERFACE.shape[1:])).astype(np.float32)
    labels = rng.integers(0, len(gestures.CLASSES), 96)
    recipe = dataclasses.replace(gestures.RECIPE, epochs=2)

    def models(recipe) -> tuple[bytes, bytes]:
        net = gestures.train(inputs, labels, recipe)
        exported = onnx_export.export_onnx(net, gestures.INTERFACE, dynamo=False)
        return exported, gestures.write_tflite(net)

    first = models(recipe)
    assert models(recipe) == first
    assert models(dataclasses.replace(recipe, seed=recipe.seed + 1)) != first


@pytest.mark.parametrize("example", NETWORKS)
@pytest.mark.parametrize("dynamo", [False, True], ids=["older exporter", "newer exporter"])
def test_the_exported_model_computes_what_torch_does(example: str, dynamo: bool) -> None:
    pytest.importorskip("onnxruntime", reason="pip install onnxruntime")
    if dynamo:
        pytest.importorskip("onnxscript", reason="pip install onnxscript")
    make_net, interface = NETWORKS[example]
    torch.manual_seed(1)
    net = make_net().eval()
    inputs = np.random.default_rng(2).normal(size=(4, *interface.shape[1:])).astype(np.float32)
    model = onnx_export.export_onnx(net, interface, dynamo=dynamo)
    with torch.no_grad():
        expected = net(torch.from_numpy(inputs)).numpy()
    scores = onnx_export.onnx_scores(model, inputs)
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("example", ["gestures", "vowels"])
def test_calibration_samples_are_cut_from_the_training_part(example: str) -> None:
    package = "seglearn" if example == "gestures" else "sktime"
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"pip install --no-deps {package}")
    train = importlib.import_module(f"examples.{example}.train")
    if example == "gestures":
        training = train.windows(train.parts()[0], train.TRAIN_HOP)
    else:
        timeseries = importlib.import_module("examples.timeseries")
        training = train.utterances(timeseries.load_recordings("JapaneseVowels", "TRAIN"))
    known = {sample.tobytes() for sample in training.inputs}
    folder = importlib.import_module(f"examples.{example}").__path__[0]
    with np.load(f"{folder}/calibration.npz") as stored:
        assert all(sample.tobytes() in known for sample in stored["inputs"])


def test_an_utterance_is_cut_or_padded_evenly_at_both_ends() -> None:
    fixed_length = importlib.import_module("examples.vowels.train").fixed_length
    for length in (1, 7, 15, 16, 17, 29):
        steps = np.ones((length, 12), np.float32) * np.arange(1, length + 1)[:, None]
        fixed = fixed_length(steps)[:, 0]
        kept = fixed[fixed > 0]
        assert len(fixed) == 16
        assert len(kept) == min(16, length)
        assert np.all(np.diff(kept) == 1)
        ends = np.flatnonzero(fixed)
        assert abs(ends[0] - (15 - ends[-1])) <= 1
        assert abs((kept[0] - 1) - (length - kept[-1])) <= 1
