"""Trains the gestures network and writes the files of this folder anew.

    pip install -e '.[dev]' onnxruntime onnxscript
    pip install --no-deps sktime
    python -m examples.gestures.train

Takes less than a minute; deterministic, so that a second run on the same machine leaves no diff.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from examples.artifacts import Models, Samples, choose, count_parameters, report, save
from examples.gestures.network import (
    CLASSES,
    INTERFACE,
    RECIPE,
    STEPS,
    train,
    with_scores,
    write_tflite,
)
from examples.onnx_export import export_onnx
from examples.timeseries import Recording, load_recordings

TRAIN_HOP = 2
TEST_HOP = 5
CALIBRATION_SAMPLES = 200


def windows(recordings: list[Recording], hop: int) -> Samples:
    """Windows of STEPS steps, one every `hop` steps: N x 6 x 25 x 1."""
    inputs, labels, origins = [], [], []
    for number, recording in enumerate(recordings):
        for start in range(0, len(recording.steps) - STEPS + 1, hop):
            inputs.append(recording.steps[start : start + STEPS].T[:, :, np.newaxis])
            labels.append(CLASSES.index(recording.label))
            origins.append(number)
    return Samples(np.stack(inputs), np.array(labels), np.array(origins))


def main() -> None:
    """Everything, in order."""
    training = windows(load_recordings("BasicMotions", "TRAIN"), TRAIN_HOP)
    held_out = windows(load_recordings("BasicMotions", "TEST"), TEST_HOP)
    net = train(training.inputs, training.labels)
    counts = {
        "parameters": count_parameters(net),
        "train_recordings": len(np.unique(training.recordings)),
        "train_samples": len(training.inputs),
    }
    models = Models(export_onnx(with_scores(net), INTERFACE), write_tflite(net))
    calibration = choose(training.inputs, CALIBRATION_SAMPLES, RECIPE.seed)
    report(save(Path(__file__).resolve().parent, models, calibration, held_out, counts))


if __name__ == "__main__":
    main()
