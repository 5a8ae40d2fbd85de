"""When the wake word was heard: a moving average over the newest answers reaches a threshold, and
none was heard for a while; and how often that is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from examples.wake_word.front_end import FRAME, HOP, SAMPLE_RATE

Scores = npt.NDArray[np.int8]

#: Frames that an answer of the network takes.
STRIDE = 3
#: So many answers after a detection have none: 1.2 s.
DISTANCE = 40
#: A detection counts from so long before a word's end to so long behind it.
_EARLY_SECONDS, _LATE_SECONDS = 0.4, 0.9


def sample_of(answer: int) -> int:
    """How many samples an answer has heard."""
    return ((answer + 1) * STRIDE - 1) * HOP + FRAME


@dataclass(frozen=True)
class Decision:
    """What training chooses: answers in an average, and what that must reach (0 to 255)."""

    averaged: int
    threshold: int


def sums(scores: Scores, averaged: int) -> npt.NDArray[np.int64]:
    """Of the newest answers (0 to 255 each); answers before the first are 0."""
    steps = np.concatenate([np.zeros(averaged - 1, np.int64), scores.astype(np.int64) + 128])
    return np.convolve(steps, np.ones(averaged, np.int64), "valid")


def detections(scores: Scores, decision: Decision) -> list[int]:
    """The answers at which the word was heard: their average is at least the threshold. The same
    as the decision of `wake_word.toml`.
    """
    found: list[int] = []
    enough = sums(scores, decision.averaged) >= decision.averaged * decision.threshold
    for answer in np.flatnonzero(enough):
        if not found or answer > found[-1] + DISTANCE:
            found.append(int(answer))
    return found


@dataclass(frozen=True)
class Judgement:
    """Which words were heard, when (seconds behind their ends), and detections without a word."""

    heard: npt.NDArray[np.bool_]
    delays: npt.NDArray[np.float64]
    false_accepts: int


def judge(found: Sequence[int], ends: npt.NDArray[np.int64]) -> Judgement:
    """Each detection belongs to one word, each word to one detection, or to none."""
    heard, delays, false_accepts = np.zeros(len(ends), bool), list[float](), 0
    for answer in found:
        seconds = (sample_of(answer) - ends) / SAMPLE_RATE
        near = (seconds >= -_EARLY_SECONDS) & (seconds <= _LATE_SECONDS) & ~heard
        if near.any():
            which = int(np.flatnonzero(near)[np.abs(seconds[near]).argmin()])
            heard[which] = True
            delays.append(float(seconds[which]))
        else:
            false_accepts += 1
    return Judgement(heard, np.array(delays), false_accepts)


def lowest_threshold(
    scores: Scores, ends: npt.NDArray[np.int64], averaged: int, most: int
) -> Decision:
    """The least threshold at which no more than `most` detections are false."""
    for threshold in range(64, 255):
        decision = Decision(averaged, threshold)
        if judge(detections(scores, decision), ends).false_accepts <= most:
            return decision
    return Decision(averaged, 255)
