"""Clips for training, cut out of the features of scenes: every answer of a stream is in one clip.

A clip gives MEANS means of the network's answers. Of each wake word, the highest mean about its
end is to be high; elsewhere, the highest of every SEGMENT is to be low. Between them, any is right.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from examples.training import Floats, Indices
from examples.wake_word.decision import STRIDE
from examples.wake_word.front_end import FRAME, HOP
from examples.wake_word.network import FRAMES, TRAINED_AVERAGE

Features = npt.NDArray[np.int8]

#: Means that a clip has, and how many of them, 0.39 s, are one case of "no word".
SEGMENT = 13
MEANS = 7 * SEGMENT
LENGTH = FRAMES + (MEANS + TRAINED_AVERAGE - 2) * STRIDE
#: The frames about a word's end in which it is to be heard, and in which it may be.
HEARD, ALLOWED = (-4, 36), (-45, 120)
#: What a mean is, beside the number of the word that it may belong to (from 1 on).
NO_WORD, ANYTHING = 0, -1
#: A feature of a band in which nothing is heard.
_SILENCE = -110


def frame_of(sample: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The first frame that ends at or behind a sample."""
    return np.maximum(0, -(-(sample - FRAME) // HOP))


@dataclass(frozen=True)
class Clips:
    """A stream, and the samples at which its wake words end."""

    features: Features
    ends: npt.NDArray[np.int64]

    @property
    def count(self) -> int:
        """Clips of an epoch."""
        return (len(self.features) - LENGTH) // (MEANS * STRIDE) - 1

    @cached_property
    def marks(self) -> npt.NDArray[np.int64]:
        """For each frame: NO_WORD, ANYTHING or a word's number."""
        marks = np.full(len(self.features), NO_WORD, np.int64)
        frames = frame_of(self.ends)
        for end in frames:
            marks[max(0, end + ALLOWED[0]) : end + ALLOWED[1]] = ANYTHING
        for number, end in enumerate(frames, 1):
            marks[max(0, end + HEARD[0]) : end + HEARD[1]] = number
        return marks

    def batch(self, clips: Indices, offset: int, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
        """Features, N x LENGTH x bands, no clip the same twice; and marks of their means. Words of
        which a clip lacks a part are ANYTHING. `offset`: frames before the first clip.
        """
        starts = offset + clips * (MEANS * STRIDE)
        features = self.features[starts[:, None] + np.arange(LENGTH)].astype(np.float32)
        newest = starts + FRAMES - 1 + (TRAINED_AVERAGE - 1) * STRIDE
        marks = self.marks[newest[:, None] + STRIDE * np.arange(MEANS)]
        for edge, beyond in ((0, newest - STRIDE), (-1, newest + MEANS * STRIDE)):
            cut = (marks[:, edge] > 0) & (marks[:, edge] == self.marks[beyond])
            marks[cut[:, None] & (marks == marks[:, edge][:, None])] = ANYTHING
        return torch.from_numpy(_varied(features, rng)), torch.from_numpy(marks)


def _varied(clips: Floats, rng: np.random.Generator) -> Floats:
    """Louder or softer, noisier, without some bands and some frames."""
    count, frames, bands = clips.shape
    clips += rng.uniform(-12, 12, (count, 1, 1)).astype(np.float32)
    clips += rng.uniform(1, 7) * rng.standard_normal(clips.shape, np.float32)
    for clip in clips:
        for _ in range(2):
            band, frame = rng.integers(0, [bands, frames])
            clip[:, band : band + rng.integers(0, 8)] = _SILENCE
            clip[frame : frame + rng.integers(0, 12)] = _SILENCE
    return np.clip(clips, -128, 127)
