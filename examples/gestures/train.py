"""Trains the gestures network and writes the files of this folder anew.

    pip install -e '.[dev]' onnxruntime onnxscript
    pip install --no-deps seglearn
    python -m examples.gestures.train

Takes about a minute; deterministic, so that a second run on the same machine leaves no diff.
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
from examples.watch import Recording, load_recordings

#: The watch measures 50 times a second; the network sees ten steps a second.
AVERAGED = 5
HELD_OUT_PERSONS = (7, 8, 9, 10)
TRAIN_HOP = 3
TEST_HOP = 5
#: Held-out windows of a recording, from its middle.
TEST_WINDOWS = 20
CALIBRATION_SAMPLES = 200


def parts() -> tuple[list[Recording], list[Recording]]:
    """Recordings to train on and to test on, of different persons, by class."""
    known = [found for found in load_recordings(AVERAGED) if found.label in CLASSES]
    known.sort(key=lambda found: CLASSES.index(found.label))
    training = [found for found in known if found.person not in HELD_OUT_PERSONS]
    return training, [found for found in known if found.person in HELD_OUT_PERSONS]


def windows(recordings: list[Recording], hop: int, most: int | None = None) -> Samples:
    """Windows of STEPS steps, one every `hop` steps, the middle `most`: N x 6 x 25 x 1."""
    inputs, labels, origins = [], [], []
    for number, recording in enumerate(recordings):
        starts = list(range(0, len(recording.steps) - STEPS + 1, hop))
        if most is not None:
            first = (len(starts) - most) // 2
            starts = starts[first : first + most]
        for start in starts:
            inputs.append(recording.steps[start : start + STEPS].T[:, :, np.newaxis])
            labels.append(CLASSES.index(recording.label))
            origins.append(number)
    return Samples(np.stack(inputs), np.array(labels), np.array(origins))


def main() -> None:
    """Everything, in order."""
    to_train, to_test = parts()
    training = windows(to_train, TRAIN_HOP)
    held_out = windows(to_test, TEST_HOP, TEST_WINDOWS)
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
