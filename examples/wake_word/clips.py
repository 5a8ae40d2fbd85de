"""Clips for training, cut out of the features of scenes.

A clip is as long as the network's window and some steps more. In one with the wake word, its steps
begin about when the word ends; the others lie anywhere, but not where a word has just ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from examples.training import Floats, Indices, Labels
from examples.wake_word.decision import STRIDE
from examples.wake_word.front_end import FRAME, HOP
from examples.wake_word.network import FRAMES

Features = npt.NDArray[np.int8]

#: Answers that a clip has: 0.36 s of them.
ANSWERS = 12
LENGTH = FRAMES + (ANSWERS - 1) * STRIDE
#: Frames by which a clip with the wake word may begin earlier or later.
JITTER = 6
#: Frames around the end of a wake word in which no clip without it has answers.
_BEFORE, _AFTER = 30, 90
#: A feature of a band in which nothing is heard.
_SILENCE = -110


def frame_of(sample: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The first frame that ends at or behind a sample."""
    return np.maximum(0, -(-(sample - FRAME) // HOP))


@dataclass(frozen=True)
class Clips:
    """Where clips are cut; those up to `words` hold the wake word, the others do not.

    Of `hard` places (frames of an answer that was wrong) there is a clip each; of the rest, as many
    as asked for, drawn anew in every epoch. `varies`: no clip is the same twice.
    """

    features: Features
    ends: npt.NDArray[np.int64]
    hard: npt.NDArray[np.int64]
    others: int
    varies: bool = False

    @property
    def labels(self) -> Labels:
        """1 for the wake word."""
        return np.repeat([1, 0], [len(self.ends), len(self.hard) + self.others])

    def is_free(self) -> npt.NDArray[np.bool_]:
        """For each frame, whether a clip whose first answer it is may be one without the word."""
        free = np.ones(len(self.features), bool)
        for end in frame_of(self.ends):
            free[max(0, end - _BEFORE - ANSWERS * STRIDE) : end + _AFTER] = False
        free[: FRAMES + JITTER] = False
        free[-(LENGTH - FRAMES + JITTER) :] = False
        return free

    def batch(self, indices: Indices, rng: np.random.Generator) -> Tensor:
        """Clips as float32, N x LENGTH x bands."""
        first_answers = np.empty(len(indices), np.int64)
        words, hard = len(self.ends), len(self.hard)
        is_word, is_other = indices < words, indices >= words + hard
        is_hard = ~is_word & ~is_other
        first_answers[is_word] = frame_of(self.ends[indices[is_word]])
        first_answers[is_hard] = self.hard[indices[is_hard] - words] - ANSWERS * STRIDE // 2
        first_answers[is_other] = rng.choice(self._free_frames, is_other.sum())
        first_answers += rng.integers(-JITTER, JITTER + 1, len(indices))
        starts = first_answers - FRAMES + 1
        rows = starts[:, None] + np.arange(LENGTH)
        clips = self.features[rows].astype(np.float32)
        return torch.from_numpy(_varied(clips, rng) if self.varies else clips)

    @cached_property
    def _free_frames(self) -> npt.NDArray[np.int64]:
        return np.flatnonzero(self.is_free())


def _varied(clips: Floats, rng: np.random.Generator) -> Floats:
    """Louder or softer, noisier, without some bands and some frames."""
    count, frames, bands = clips.shape
    clips += rng.uniform(-12, 12, (count, 1, 1)).astype(np.float32)
    clips += rng.normal(0, 5, clips.shape).astype(np.float32)
    for axis, size, most in ((2, bands, 7), (1, frames, 10)):
        first = rng.integers(0, size, (count, 1))
        places = np.arange(size)
        lost = (places >= first) & (places < first + rng.integers(0, most, (count, 1)))
        clips[lost[:, None, :].repeat(frames, 1) if axis == 2 else lost] = _SILENCE
    return np.clip(clips, -128, 127)
