"""How windows lie that Helium's kernels take two by four channels, and what is a turn of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from glowmcu.kernels.common.layer_fields import is_padded
from glowmcu.kernels.helium.convolution import geometry_of, matrix_of, pixels_of
from glowmcu.kernels.helium.matrix import BLOCK, TILE
from glowmcu.kernels.helium.straight_assembly import fits, is_paired
from glowmcu.kernels.kernel import Site, once_a_site
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.matmul import FullyConnected

#: Blocks of a window that are one turn.
_MOST_AT_ONCE = 4
#: Blocks of a turn where there are more, the first that divides those of a row.
_TURNS = (3, 4, 2, 5, 7, 1)
#: Channels from which on a turn of eight may have only half of them.
_LEAST_HALVES = 24


@dataclass(frozen=True)
class Layout:
    """How windows lie: `row_blocks` vectors in each of `rows` rows that are `line_bytes` apart.

    `blocks` of them are a turn. `row_bytes` of a row in scratch, 0 where the image is read as it
    is, but for `copied` windows at its end whose last vectors reach beyond it. `is_straight`: code
    without turns, for windows `apart` if that is not 0.
    """

    rows: int
    row_blocks: int
    line_bytes: int
    row_bytes: int
    is_one_row: bool
    blocks: int
    copied: int = 0
    is_straight: bool = False
    apart: int = 0

    @property
    def turns(self) -> int:
        """Of a window."""
        return self.rows * self.row_blocks // self.blocks

    @property
    def ahead(self) -> int:
        """Fours of channels a turn of straight code has, else 0: see glowmcu_direct_rows_mve.h."""
        return self.is_straight * (1 + is_paired(self.rows, self.row_blocks))

    @property
    def channels(self) -> int:
        """Of a turn."""
        return TILE * max(self.ahead, 1)

    def steps(self) -> npt.NDArray[np.int32]:
        """Twice the bytes from each turn to the next one, odd from the last one back."""
        each = self.row_blocks // self.blocks
        starts = [
            row * self.line_bytes + turn * self.blocks * BLOCK
            for row in range(self.rows)
            for turn in range(each)
        ]
        return np.array([*(2 * np.diff(starts)), 1 - 2 * starts[-1]], np.int32)


def padded_row(site: Site) -> int:
    """Bytes under the windows of a row."""
    geometry = geometry_of(site)
    return (geometry["out_width"] - 1) * geometry["step_bytes"] + geometry["part_bytes"]


@once_a_site
def direct_layout(site: Site) -> Layout:
    geometry = geometry_of(site)
    line, rows = geometry["line_bytes"], geometry["kernel_height"]
    step, part = geometry["step_bytes"], geometry["part_bytes"]
    row_blocks = -(-part // BLOCK)
    beyond = row_blocks * BLOCK - part
    is_one_row = geometry["out_width"] * step == geometry["stride_y"] * line
    is_dense = isinstance(site.node.op, FullyConnected)
    blocks = _turn(rows, row_blocks)
    if is_dense or not is_padded(site):
        if not beyond:
            return Layout(rows, row_blocks, line, 0, is_one_row, blocks)
        if rows == 1 and part == step and is_one_row:
            copied = _copied(site, -(-beyond // part))
            return Layout(1, row_blocks, line, 0, True, blocks, copied)
    row = padded_row(site)
    return Layout(rows, row_blocks, row, row, False, blocks)


def straight_layout(site: Site, layout: Layout) -> Layout:
    """The same as straight code where that can be."""
    geometry = geometry_of(site)
    apart = geometry["step_bytes"] if layout.rows > 1 else 0
    in_pairs = layout.rows == 1 or geometry["out_width"] % 2 == 0
    if not in_pairs or not fits(layout.rows, layout.row_blocks, apart):
        return layout
    straight = replace(layout, blocks=layout.row_blocks, is_straight=True, apart=apart)
    channels = len(matrix_of(site))
    is_wasted = -channels % straight.channels >= TILE and channels < _LEAST_HALVES
    return layout if is_wasted else straight


def _turn(rows: int, row_blocks: int) -> int:
    """Blocks of a turn: all of a short window, else some of a row."""
    if rows == 1 and row_blocks <= _MOST_AT_ONCE:
        return row_blocks
    return next(blocks for blocks in _TURNS if row_blocks % blocks == 0)


def _copied(site: Site, least: int) -> int:
    """Windows at the end, at least so many, that leave pairs."""
    windows = pixels_of(site)
    if not isinstance(site.node.op, FullyConnected):
        windows //= site.signature.output.shape[0]
    return min(windows, least + (windows - least) % 2)


@once_a_site
def narrow_layout(site: Site) -> Layout:
    """Of gathered windows."""
    row, blocks = padded_row(site), -(-matrix_of(site).shape[1] // BLOCK)
    return Layout(1, blocks, row, row, False, _turn(1, blocks))
