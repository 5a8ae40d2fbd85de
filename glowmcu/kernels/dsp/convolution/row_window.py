"""How a convolution walks over a window of widened input rows: sizes and distances, no numbers.

Two output pixels are computed at a time. `distance` bytes lie between them in the window: half a
row of outputs or, where that wastes less, one row of outputs below the other. What the inner loop
does without a branch is a chunk: rows of segments of steps; a step is two neighbouring values.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from itertools import pairwise, product

from glowmcu.ir.operation import Signature
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.convolution import Conv2D

#: Largest offset of a load.
_MOST_OFFSET = 4095
#: Steps that are one straight line: as a whole layer's, and as what a loop repeats.
_MOST_ALONE, _MOST_LOOPED = 32, 24
#: The second pixel is looked for below the first when that saves this part of all pairs.
_WORTH_GOING_BELOW = 0.03


@dataclass(frozen=True)
class Chunk:
    """What is computed in a straight line: `rows` of `segments` of `values`, distances in bytes.

    A step is two neighbouring values. Where segments end in a single one, two of these make a step;
    a last single one takes what follows it along, with a weight of 0.
    """

    rows: int
    row_bytes: int
    segments: int
    segment_bytes: int
    values: int

    @property
    def offsets(self) -> tuple[tuple[int, int], ...]:
        """Of both values of each step from the chunk's first value."""
        starts = [
            row * self.row_bytes + segment * self.segment_bytes
            for row, segment in product(range(self.rows), range(self.segments))
        ]
        pairs = [(at + 4 * i, at + 4 * i + 2) for at in starts for i in range(self.values // 2)]
        if self.values % 2:
            ends = [at + 2 * self.values - 2 for at in starts]
            pairs += list(zip(ends[0::2], ends[1::2], strict=False))
            pairs += [(ends[-1], ends[-1] + 2)] * (len(ends) % 2)
        return tuple(pairs)

    @property
    def steps(self) -> int:
        return -(-self.rows * self.segments * self.values // 2)

    @property
    def joined_steps(self) -> int:
        """Steps of two values that are not neighbours."""
        return sum(second != first + 2 for first, second in self.offsets)

    @property
    def reach(self) -> int:
        """Bytes to the end of the last value."""
        return max(high for _, high in self.offsets) + 2

    @property
    def name(self) -> str:
        rows = f"{self.rows}x{self.row_bytes} of " if self.rows > 1 else ""
        segments = f"{self.segments}x{self.segment_bytes} of " if self.segments > 1 else ""
        return f"{rows}{segments}{self.values}"


@dataclass(frozen=True)
class RowWindow:
    """One convolution's walk. `values`, `pitch`, `left` and `pixel_values` count int16 values."""

    channels: int
    kernel: tuple[int, int]
    dilations: tuple[int, int]
    strides: tuple[int, int]
    in_rows: int
    in_columns: int
    out_rows: int
    out_columns: int
    left: int
    pitch: int
    across: int

    @property
    def shuffled(self) -> bool:
        """Whether the window holds values 0 2 1 3 of every four, which is cheaper to widen."""
        return self.channels % 4 == 0

    @property
    def pixel_values(self) -> int:
        return self.strides[1] * self.channels

    @property
    def distance(self) -> int:
        """Bytes from the first pixel of a pair to the second."""
        if self.across:
            return 2 * self.across * self.pixel_values
        return 2 * self.strides[0] * self.pitch

    @property
    def rows_at_once(self) -> int:
        return 1 if self.across else 2

    @property
    def kernel_rows(self) -> int:
        return (self.kernel[0] - 1) * self.dilations[0] + 1

    @property
    def least_rows(self) -> int:
        """Rows that the window must hold."""
        return self.kernel_rows + (self.rows_at_once - 1) * self.strides[0]

    @property
    def pairs(self) -> int:
        """Pairs of pixels that are computed, some half in vain."""
        if not self.across:
            return -(-self.out_rows // 2) * self.out_columns
        blocks, rest = divmod(self.out_columns, 2 * self.across)
        return self.out_rows * (blocks * self.across + min(rest, self.across))

    @property
    def segments(self) -> int:
        """Runs of neighbouring values in a kernel row."""
        return 1 if self.dilations[1] == 1 else self.kernel[1]

    @property
    def segment_values(self) -> int:
        return self.kernel[1] * self.channels // self.segments

    @property
    def parts(self) -> int:
        """Chunks that a segment is cut into."""
        if self.chunk.rows * self.chunk.segments > 1:
            return 1
        return -(-self.segment_values // self.chunk.values)

    @cached_property
    def chunk(self) -> Chunk:
        """The largest straight line that fits."""
        rows, segments, values = self.kernel[0], self.segments, self.segment_values
        row_bytes = 2 * self.dilations[0] * self.pitch
        segment_bytes = 2 * self.dilations[1] * self.channels
        whole = Chunk(rows, row_bytes, segments, segment_bytes, values)
        if whole.steps <= _MOST_ALONE and self._fits(whole):
            return whole
        row = Chunk(1, 0, segments, segment_bytes, values)
        if segments > 1 and row.steps <= _MOST_LOOPED and self._fits(row):
            return row
        parts = -(-values // (2 * _MOST_LOOPED))
        return Chunk(1, 0, 1, 0, 2 * -(-values // (2 * parts)))

    def _fits(self, chunk: Chunk) -> bool:
        return self.distance + chunk.reach <= _MOST_OFFSET

    @property
    def fits(self) -> bool:
        """Whether loads reach both pixels."""
        return self._fits(self.chunk)

    @property
    def chunk_places(self) -> tuple[int, ...]:
        """Bytes from a pixel to each chunk, in the order of the weights."""
        chunk = self.chunk
        rows = range(0, self.kernel[0], chunk.rows)
        segments = range(0, self.segments, chunk.segments)
        return tuple(
            2 * (row * self.dilations[0] * self.pitch + segment * self.dilations[1] * self.channels)
            + 2 * part * chunk.values
            for row, segment, part in product(rows, segments, range(self.parts))
        )

    @property
    def ways(self) -> tuple[int, ...]:
        """Bytes from chunk to chunk, all forward."""
        ways = tuple(after - before for before, after in pairwise(self.chunk_places))
        assert all(way >= 0 for way in ways)
        return ways

    @property
    def last_first_pixel(self) -> int:
        """The last column that is the first of a pair: one without a second reads beyond it."""
        rest = self.out_columns % (2 * self.across) if self.across else 1
        return self.out_columns - 1 - (self.across if rest == 0 else 0)

    def scratch_bytes(self, rows: int) -> int:
        """A window of `rows`, with room for what is read beyond it and not used."""
        last_pixel = 2 * self.last_first_pixel * self.pixel_values
        last_read = last_pixel + self.distance + self.chunk_places[-1] + self.chunk.reach
        lowest = 2 * (rows - self.least_rows) * self.pitch
        size = max(2 * rows * self.pitch, lowest + last_read)
        return -(-size // 4) * 4


def row_window(op: Conv2D, signature: Signature, by_rows: bool = False) -> RowWindow:
    """The walk of `op`; it may not fit. `by_rows`: not two rows at once."""
    x, weights, out = signature.inputs[0], signature.inputs[1], signature.output
    _, in_rows, in_columns, channels = x.shape
    _, kernel_y, kernel_x, _ = weights.shape
    reach = (out.shape[2] - 1) * op.strides[1] + (kernel_x - 1) * op.dilations[1] + 1
    columns = max(op.padding[1] + in_columns, reach)
    pitch = columns * channels
    sideways = RowWindow(
        channels=channels,
        kernel=(kernel_y, kernel_x),
        dilations=(op.dilations[0], op.dilations[1]),
        strides=(op.strides[0], op.strides[1]),
        in_rows=in_rows,
        in_columns=in_columns,
        out_rows=out.shape[1],
        out_columns=out.shape[2],
        left=op.padding[1] * channels,
        pitch=pitch + pitch % 2,
        across=_across(out.shape[2], 2 * op.strides[1] * channels),
    )
    below = replace(sideways, across=0)
    saved = 1 - below.pairs / sideways.pairs
    return below if not by_rows and below.fits and saved > _WORTH_GOING_BELOW else sideways


def _across(columns: int, pixel_bytes: int) -> int:
    """Half a row of outputs, or the like part of it that loads can reach over."""
    most = max(1, (_MOST_OFFSET - 4 * _MOST_ALONE) // pixel_bytes)
    blocks = -(-columns // (2 * most))
    return -(-columns // (2 * blocks))
