"""How `conv_2d.chunks_dsp` walks over int8 values where they are: sizes and distances, no numbers.

Under a pixel lie runs of values: kernel rows, or taps where padding would take too much scratch.
A chunk, read in fours without a branch, is a run or a part of it. Parts overlap if they do not
add up: what was read before meets weights of 0. Where runs would be too short, all is gathered and
a window is one run.
"""

from __future__ import annotations

from enum import Enum
from functools import cached_property

import numpy as np

from glowmcu.ir.operation import Array, Signature
from glowmcu.ir.value_range import Int64Array
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.convolution import Conv2D

#: Fours of values in a chunk.
_MOST_FOURS = 16
#: Runs of fewer values are not worth a turn each.
_LEAST_RUN = 8
#: Taps of this many are, where rows would have to be gathered.
_LEAST_TAP = 32
#: Largest offset of a load.
_MOST_OFFSET = 4095
#: What follows the last place.
_END = -1


class RunKind(Enum):
    """What a run is."""

    ROW = "row"
    TAP = "tap"
    #: The whole window, gathered.
    WINDOW = "window"


@dataclass(frozen=True)
class ChunkWalk:
    """One convolution's walk. Values are bytes. `padding`: rows above, columns to the left."""

    channels: int
    kernel: tuple[int, int]
    dilations: tuple[int, int]
    strides: tuple[int, int]
    padding: tuple[int, int]
    in_size: tuple[int, int]
    out_size: tuple[int, int]
    padded: bool

    @cached_property
    def kind(self) -> RunKind:
        row = self.kernel[1] * self.channels
        if self.dilations[1] == 1:
            if self.padded and self.kernel[1] > 1 and self.channels >= _LEAST_TAP:
                return RunKind.TAP
            return RunKind.ROW if row >= _LEAST_RUN else RunKind.WINDOW
        return RunKind.TAP if self.channels >= _LEAST_RUN else RunKind.WINDOW

    @property
    def _is_single(self) -> bool:
        """Whether there are no pairs: a pixel is its own neighbour."""
        return self.out_size[1] == 1

    @property
    def runs_across(self) -> int:
        """Runs of a kernel row."""
        return self.kernel[1] if self.kind is RunKind.TAP else 1

    @property
    def runs(self) -> int:
        return 1 if self.kind is RunKind.WINDOW else self.kernel[0] * self.runs_across

    @cached_property
    def run_values(self) -> int:
        values = self.kernel[1] * self.channels // self.runs_across
        return max(4, self.kernel[0] * values) if self.kind is RunKind.WINDOW else values

    @property
    def distance(self) -> int:
        """From the first pixel of a pair to the second."""
        if self._is_single:
            return 0
        if self.kind is RunKind.WINDOW:
            return self._window_bytes
        return self.strides[1] * self.channels

    @property
    def _window_bytes(self) -> int:
        return -(-self.run_values // 4) * 4

    @property
    def run_columns(self) -> int:
        """Columns of the image under a run of both pixels, or under a kernel row of a window."""
        own = 1 if self.kind is RunKind.TAP else self.kernel[1]
        alone = self._is_single or self.kind is RunKind.WINDOW
        return own + (0 if alone else self.strides[1])

    @property
    def reach(self) -> int:
        """Columns of the image from the first to the last under a kernel row of both pixels."""
        own = (self.kernel[1] - 1) * self.dilations[1] + 1
        return own + (0 if self._is_single else self.strides[1])

    @property
    def places_bytes(self) -> int:
        """Of scratch that a list of places takes."""
        is_listed = self.padded and self.kind is not RunKind.WINDOW
        return 4 * (self.runs * self.chunks + 1) if is_listed else 0

    @cached_property
    def patch_bytes(self) -> int:
        """Of what is gathered for a pair at most."""
        if self.kind is RunKind.WINDOW:
            return self.distance + self._window_bytes
        if not self.padded:
            return 0
        rows = {int(inside.sum()) for inside in self._row_is_inside}
        pieces = max(
            count * mixed + (outside or count < self.kernel[0])
            for count in rows
            for mixed, outside in self._pieces
        )
        return pieces * self.run_columns * self.channels

    @cached_property
    def _row_is_inside(self) -> Int64Array:
        """(output rows, kernel rows)."""
        tops = np.arange(self.out_size[0]) * self.strides[0] - self.padding[0]
        rows = np.add.outer(tops, np.arange(self.kernel[0]) * self.dilations[0])
        return ((rows >= 0) & (rows < self.in_size[0])).astype(np.int64)

    @cached_property
    def _lefts(self) -> Int64Array:
        """The first column under each pair."""
        columns = np.arange(0, self.out_size[1], 2)
        places = np.minimum(columns, max(self.out_size[1] - 2, 0))
        return places * self.strides[1] - self.padding[1]

    @property
    def _pieces(self) -> set[tuple[int, bool]]:
        """Of a row of each pair: runs partly inside the image, and whether some are outside."""
        begins = np.add.outer(self._lefts, np.arange(self.runs_across) * self.dilations[1])
        ends = begins + self.run_columns
        outside = (ends <= 0) | (begins >= self.in_size[1])
        inside = (begins >= 0) & (ends <= self.in_size[1])
        mixed = np.sum(~outside & ~inside, axis=1)
        return {(int(m), bool(o)) for m, o in zip(mixed, np.any(outside, axis=1), strict=True)}

    @property
    def gathered_pairs(self) -> int:
        """Pairs of pixels of an image that need the patch."""
        count = self.out_size[0] * len(self._lefts)
        if self.kind is RunKind.WINDOW:
            return count
        rows = int(self._row_is_inside.all(axis=1).sum())
        pairs = (self._lefts >= 0) & (self._lefts + self.reach <= self.in_size[1])
        return count - rows * int(pairs.sum())

    @cached_property
    def chunks(self) -> int:
        """In a run."""
        return -(-self.run_values // (4 * _MOST_FOURS))

    @cached_property
    def chunk_values(self) -> int:
        if self.chunks == 1:
            return self.run_values
        return 4 * -(-self.run_values // (4 * self.chunks))

    @property
    def offsets(self) -> tuple[int, ...]:
        """Byte offset of each 4-byte group in a chunk."""
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
    def places(self) -> tuple[int, ...]:
        """Of chunks in the image or, odd numbers, of windows in the patch."""
        if self.kind is RunKind.WINDOW:
            return (*(2 * start + 1 for start in self.starts), _END)
        row = self.dilations[0] * self.in_size[1] * self.channels
        taps = self.dilations[1] * self.channels * np.arange(self.runs_across)
        runs = np.add.outer(row * np.arange(self.kernel[0]), taps).ravel()
        return (*(2 * np.add.outer(runs, self.starts).ravel()).tolist(), _END)

    @cached_property
    def _order(self) -> Int64Array:
        """Which value of a run each weight of its chunks is for, -1 if it was there before."""
        values = np.add.outer(np.add.outer(self.starts, self.offsets), np.arange(4)).ravel()
        is_first = np.zeros(len(values), bool)
        is_first[np.unique(values, return_index=True)[1]] = True
        return np.where(is_first, values, -1)

    def weights(self, weights: Array) -> Array:
        """OHWI as (channels, inputs) in the order of the chunks' values."""
        runs = weights.reshape(len(weights), self.runs, -1)
        filled = np.pad(runs, ((0, 0), (0, 0), (0, self.run_values - runs.shape[2])))
        chosen = np.where(self._order >= 0, filled[:, :, self._order], 0)
        return chosen.reshape(len(weights), -1)


def chunk_walk(op: Conv2D, signature: Signature, padded: bool) -> ChunkWalk:
    """The walk of an ungrouped convolution; `padded`: some windows reach outside the image."""
    x, weights = signature.inputs[:2]
    out = signature.output
    return ChunkWalk(
        channels=x.shape[3],
        kernel=(weights.shape[1], weights.shape[2]),
        dilations=op.dilations,
        strides=op.strides,
        padding=(op.padding[0], op.padding[1]),
        in_size=(x.shape[1], x.shape[2]),
        out_size=(out.shape[1], out.shape[2]),
        padded=padded,
    )
