"""Trains the wake word network on synthetic speech and writes the files of this folder anew.

    pip install -e '.[dev]'
    apt-get install espeak-ng
    python -m examples.wake_word.train

Learns from voices of training, chooses the decision by other voices, and at its end, once, listens
to the voices of the test (`measure.py`). A second run on the same machine leaves no diff.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import numpy.typing as npt

import glowmcu
from examples.artifacts import count_parameters
from examples.training import Floats
from examples.wake_word import front_end, measure, sounds
from examples.wake_word.clips import Clips, Features, frame_of
from examples.wake_word.decision import STRIDE, Decision, detections, judge, lowest_threshold
from examples.wake_word.learning import RECIPE, train
from examples.wake_word.network import FRAMES, write_tflite
from examples.wake_word.results import (
    FLOAT_MODEL,
    FRONT_END,
    INT8_MODEL,
    features_of,
    update,
    write_pipeline,
)
from examples.wake_word.scenes import Cast, scenes

#: Scenes of a minute.
TRAINING = Cast(seed=1, group="training", wake=0.4, near=0.2, silent=0.1)
TRAINING_MINUTES = 240
#: False accepts that the decision may make in the choosing voices' minutes without the word.
MOST_FALSE = 1
#: Answers in a mean, of which the choosing voices tell the best.
AVERAGES = (4, 5, 6, 8)
#: Windows from which ranges are measured.
CALIBRATION_WINDOWS = 400


def calibration_windows(features: Features, ends: npt.NDArray[np.int64]) -> Floats:
    """N x FRAMES x 1 x bands: half of them end with a word. The first holds both ends of int8, so
    that features go into the network as they are, with scale 1 and zero point 0.
    """
    rng = np.random.default_rng(RECIPE.seed)
    half = CALIBRATION_WINDOWS // 2
    frames = np.concatenate([
        frame_of(rng.choice(ends, half, replace=False)) + STRIDE,
        rng.integers(FRAMES, len(features), half),
    ])  # fmt: skip
    windows = features[frames[:, None] + np.arange(1 - FRAMES, 1)][:, :, np.newaxis]
    windows[0, 0, 0, :2] = -128, 127
    return windows.astype(np.float32)


def choose(heard: measure.Heard) -> Decision:
    """The decision by which most words are heard, of those that are wrong MOST_FALSE times."""
    ends, nothing = np.array([one.end for one in heard.words]), np.zeros(0, np.int64)
    decisions = [
        lowest_threshold(heard.others_scores, nothing, averaged, MOST_FALSE)
        for averaged in AVERAGES
    ]
    return max(
        decisions,
        key=lambda one: int(judge(detections(heard.scores, one), ends).heard.sum()),
    )


def main() -> None:
    """Everything, in order."""
    start = time.monotonic()

    def tell(what: str) -> None:
        print(f"{(time.monotonic() - start) / 60:5.1f} min: {what}", flush=True)

    FRONT_END.write_bytes(front_end.write())
    said = scenes(TRAINING, TRAINING_MINUTES)
    features = features_of(said.samples)
    tell(f"heard {TRAINING_MINUTES} minutes of training voices")
    net = train(Clips(features, said.ends), RECIPE)
    FLOAT_MODEL.write_bytes(write_tflite(net))
    windows = Path("build") / "wake_word" / "calibration.npz"
    np.savez(windows, features=calibration_windows(features, said.ends))
    glowmcu.export(FLOAT_MODEL, INT8_MODEL, samples=windows)
    tell("trained and quantized")
    choosing = measure.listen("choosing")
    decision = choose(choosing)
    write_pipeline(decision)
    update(
        parameters=count_parameters(net), training_minutes=TRAINING_MINUTES,
        training_words=len(said.ends), averaged=decision.averaged, threshold=decision.threshold,
        choosing=measure.figures(choosing, decision),
    )  # fmt: skip
    tell(f"chose {decision}")
    sounds.main()
    measure.main()
    tell("listened to the test")


if __name__ == "__main__":
    main()
