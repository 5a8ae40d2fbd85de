"""How `conv_2d.chunks_dsp` walks over int8 values where they are: sizes and distances, no numbers.

Under a pixel lie runs of values, one a kernel row. A chunk, read in fours without a branch, is a run
or a part of it; ways lead from chunk to chunk. Parts overlap where they do not add up: what was read
before meets weights of 0. Where runs would be too short, all is gathered: one run a pixel.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from glowmcu.ir.operation import Signature
from glowmcu.ir.value_range import Int64Array
from glowmcu.ops.convolution import Conv2D

#: Fours of values in a chunk.
_MOST_FOURS = 12
#: Runs of less values are not worth a turn each.
_LEAST_RUN = 8
#: Largest offset of a load.
_MOST_OFFSET = 4095
#: What follows the last chunk in place of a way.
_END = -1


@dataclass(frozen=True)
class ChunkWalk:
    """One convolution's walk. All is counted in int8 values, which are bytes."""

    channels: int
    kernel: tuple[int, int]
    dilations: tuple[int, int]
    strides: tuple[int, int]
    in_columns: int
    out_columns: int
    padded: bool

    @property
    def gathers_all(self) -> bool:
        """Whether no values are read where they are."""
        return self.dilations[1] > 1 or self.kernel[1] * self.channels < _LEAST_RUN

    @property
    def runs(self) -> int:
        return 1 if self.gathers_all else self.kernel[0]

    @property
    def run_values(self) -> int:
        values = self.kernel[1] * self.channels
        return max(4, self.kernel[0] * values) if self.gathers_all else values

    @property
    def distance(self) -> int:
        """From the first pixel of a pair to the second; 0: a single one is its own neighbour."""
        if self.out_columns == 1:
            return 0
        return -(-self.run_values // 4) * 4 if self.gathers_all else self.step

    @property
    def step(self) -> int:
        """From pixel to pixel in the image."""
        return self.strides[1] * self.channels

    @property
    def columns(self) -> int:
        """Columns of the image that are gathered together."""
        both = not self.gathers_all and self.out_columns > 1
        return self.kernel[1] + (self.strides[1] if both else 0)

    @property
    def patch_bytes(self) -> int:
        """Of what is gathered, 0 where nothing ever is."""
        if self.gathers_all:
            return self.distance + -(-self.run_values // 4) * 4
        return self.kernel[0] * self.columns * self.channels if self.padded else 0

    @property
    def chunks(self) -> int:
        """In a run."""
        return -(-self.run_values // (4 * _MOST_FOURS))

    @property
    def chunk_values(self) -> int:
        if self.chunks == 1:
            return self.run_values
        return 4 * -(-self.run_values // (4 * self.chunks))

    @property
    def offsets(self) -> tuple[int, ...]:
        """Of the fours in a chunk."""
        return tuple(min(at, self.chunk_values - 4) for at in range(0, self.chunk_values, 4))

    @property
    def starts(self) -> tuple[int, ...]:
        """Of the chunks in a run."""
        last = self.run_values - self.chunk_values
        return tuple(min(i * self.chunk_values, last) for i in range(self.chunks))

    @property
    def fits(self) -> bool:
        """Whether loads reach both pixels."""
        return self.distance + self.chunk_values <= _MOST_OFFSET

    @property
    def image_ways(self) -> tuple[int, ...]:
        return self._ways(self.dilations[0] * self.in_columns * self.channels)

    @property
    def patch_ways(self) -> tuple[int, ...]:
        return self._ways(self.columns * self.channels)

    def _ways(self, pitch: int) -> tuple[int, ...]:
        """From chunk to chunk where runs are `pitch` apart."""
        places = np.add.outer(pitch * np.arange(self.runs), self.starts).ravel()
        return (*np.diff(places).tolist(), _END)

    @cached_property
    def _order(self) -> Int64Array:
        """Which value of a run each weight of its chunks is for, -1 where it was there before."""
        places = np.add.outer(np.add.outer(self.starts, self.offsets), np.arange(4)).ravel()
        is_first = np.zeros(len(places), bool)
        is_first[np.unique(places, return_index=True)[1]] = True
        return np.where(is_first, places, -1)

    def weights(self, weights: Int64Array) -> Int64Array:
        """OHWI as (channels, inputs) in the order of the chunks' values."""
        runs = weights.reshape(len(weights), self.runs, -1)
        filled = np.pad(runs, ((0, 0), (0, 0), (0, self.run_values - runs.shape[2])))
        chosen = np.where(self._order >= 0, filled[:, :, self._order], 0)
        return chosen.reshape(len(weights), -1)


def chunk_walk(op: Conv2D, signature: Signature, padded: bool) -> ChunkWalk:
    """The walk of an ungrouped convolution; `padded`: some windows reach outside the image."""
    x, weights = signature.inputs[:2]
    return ChunkWalk(
        channels=x.shape[3],
        kernel=(weights.shape[1], weights.shape[2]),
        dilations=op.dilations,
        strides=op.strides,
        in_columns=x.shape[2],
        out_columns=signature.output.shape[2],
        padded=padded,
    )
