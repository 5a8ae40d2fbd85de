"""Trains the vowels network and writes the files of this folder anew.

    pip install -e '.[dev]' onnxruntime
    pip install --no-deps sktime
    python -m examples.vowels.train

Takes less than a minute; deterministic, so that a second run on the same machine leaves no diff.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from examples.artifacts import Models, Samples, choose, count_parameters, report, save
from examples.onnx_export import export_onnx
from examples.timeseries import Floats, Recording, load_recordings
from examples.vowels.network import FRAMES, INTERFACE, RECIPE, train, write_tflite

CALIBRATION_SAMPLES = 120


def fixed_length(steps: Floats) -> Floats:
    """The middle FRAMES frames; a shorter utterance in the middle of zeros."""
    excess = len(steps) - FRAMES
    if excess >= 0:
        return steps[excess // 2 : excess // 2 + FRAMES]
    before = -excess // 2
    return np.pad(steps, ((before, -excess - before), (0, 0)))


def utterances(recordings: list[Recording]) -> Samples:
    """One sample a recording: N x 12 x 16."""
    inputs = np.stack([fixed_length(recording.steps).T for recording in recordings])
    labels = np.array([int(recording.label) - 1 for recording in recordings])
    return Samples(inputs, labels, np.arange(len(recordings)))


def main() -> None:
    """Everything, in order."""
    training = utterances(load_recordings("JapaneseVowels", "TRAIN"))
    held_out = utterances(load_recordings("JapaneseVowels", "TEST"))
    net = train(training.inputs, training.labels)
    counts = {
        "parameters": count_parameters(net),
        "train_recordings": len(training.inputs),
        "train_samples": len(training.inputs),
    }
    models = Models(export_onnx(net, INTERFACE, dynamo=False), write_tflite(net))
    calibration = choose(training.inputs, CALIBRATION_SAMPLES, RECIPE.seed)
    report(save(Path(__file__).resolve().parent, models, calibration, held_out, counts))


if __name__ == "__main__":
    main()
