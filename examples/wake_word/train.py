"""Trains the wake word network on synthetic speech and writes the models of this folder anew.

    pip install -e '.[dev]'
    apt-get install espeak-ng
    python -m examples.wake_word.train
    python -m examples.wake_word.measure

Takes a quarter of an hour on two cores; a second run on the same machine leaves no diff.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

import glowmcu
from examples.artifacts import count_parameters
from examples.training import Floats
from examples.wake_word import front_end
from examples.wake_word.clips import ANSWERS, Clips, Features, frame_of
from examples.wake_word.decision import AVERAGED, STRIDE, Scores, lowest_threshold
from examples.wake_word.network import FRAMES, RECIPE, STEPS, WakeWordNet, write_tflite
from examples.wake_word.network import train as fit_network
from examples.wake_word.results import (
    FLOAT_MODEL,
    FRONT_END,
    HERE,
    INT8_MODEL,
    features_of,
    scores_of,
    update,
    write_pipeline,
)
from examples.wake_word.scenes import Cast, scenes

#: Scenes of a minute for training and for the choice of the threshold; voices are the same.
TRAINING = Cast(seed=1, is_held_out=False, wake=0.4, near=0.2, silent=0.1)
TRAINING_MINUTES = 280
QUIET = Cast(seed=2, is_held_out=False, wake=0.0, near=0.15, silent=0.2)
QUIET_MINUTES = 60
#: Training first goes for the highest of single answers, a while; then, from the beginning and with
#: what that got wrong, for the highest mean. Clips without the word for each one with it, by round.
FIRST_EPOCHS, FIRST_OTHERS, OTHERS = 6, 4, 6
#: How many wrong answers are learned from at most, and which are wrong enough.
MOST_HARD, HARD_SCORE = 4000, -100
#: Windows from which ranges are measured.
CALIBRATION_WINDOWS = 400


def score_all(net: WakeWordNet, features: Features) -> Scores:
    """What the float network answers along a stream, as int8; one answer for STRIDE frames."""
    with torch.no_grad():
        x = torch.from_numpy(features.astype(np.float32)[np.newaxis])
        chances = torch.sigmoid(net.steps(x))[0].numpy()
    steps = np.clip(np.rint(chances * 256 - 128), -128, 127).astype(np.int8)
    return np.concatenate([np.full(STEPS - 1, -128, np.int8), steps])


def wrong_answers(net: WakeWordNet, clips: Clips) -> npt.NDArray[np.int64]:
    """Frames at which the network is most sure of a word that nobody said, the worst first taken
    of those that are near one another.
    """
    scores, free = score_all(net, clips.features), clips.is_free()
    seen, found = np.zeros(len(scores), bool), list[int]()
    for answer in np.argsort(-scores.astype(np.int64), kind="stable"):
        if scores[answer] < HARD_SCORE or len(found) == MOST_HARD:
            break
        frame = STRIDE * int(answer) + STRIDE - 1
        if free[frame - ANSWERS * STRIDE // 2] and free[frame] and not seen[answer]:
            found.append(frame)
            seen[max(0, answer - ANSWERS) : answer + ANSWERS] = True
    return np.sort(np.array(found, np.int64))


def train(features: Features, ends: npt.NDArray[np.int64]) -> WakeWordNet:
    """Twice: the second time also on what the first got wrong."""
    clips = Clips(features, ends, np.zeros(0, np.int64), FIRST_OTHERS * len(ends))
    brief = dataclasses.replace(RECIPE, epochs=FIRST_EPOCHS)
    first = fit_network(clips.labels, clips.batch, brief, averaged=1)
    hard = wrong_answers(first, clips)
    print(f"{len(ends)} words, {len(hard)} wrong answers to learn from", flush=True)
    clips = Clips(features, ends, hard, OTHERS * len(ends), varies=True)
    return fit_network(clips.labels, clips.batch, RECIPE, AVERAGED)


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


def main() -> None:
    """Everything, in order."""
    FRONT_END.write_bytes(front_end.write())
    said = scenes(TRAINING, TRAINING_MINUTES)
    features = features_of(said.samples)
    net = train(features, said.ends)
    FLOAT_MODEL.write_bytes(write_tflite(net))
    windows = Path("build") / "wake_word" / "calibration.npz"
    np.savez(windows, features=calibration_windows(features, said.ends))
    glowmcu.export(FLOAT_MODEL, INT8_MODEL, samples=windows)
    quiet = scenes(QUIET, QUIET_MINUTES)
    threshold = choose_threshold(features_of(quiet.samples))
    write_pipeline(threshold)
    update(
        parameters=count_parameters(net), training_minutes=TRAINING_MINUTES,
        training_words=len(said.ends), threshold=threshold,
    )  # fmt: skip
    print(f"{count_parameters(net)} parameters, threshold {threshold}; files are in {HERE}")


def choose_threshold(features: Features) -> int:
    """The lowest at which the int8 network is wrong once in an hour of scenes without the word."""
    return lowest_threshold(scores_of(features), np.zeros(0, np.int64), most=1)


if __name__ == "__main__":
    main()
