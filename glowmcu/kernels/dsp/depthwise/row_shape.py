"""The shape that a function of `depthwise_conv_2d.row_dsp` and its like is made for."""

from __future__ import annotations

from glowmcu.kernels.requantization.forms import FormKind
from glowmcu.lazy_dataclass import dataclass


@dataclass(frozen=True)
class RowShape:
    """What the function is made for. `channels` are those of the result.

    `has_edges`: some rows of a window are outside the image. `is_far`: rows are too long for
    offsets; then r10 is their distance, r0 goes from column to column, the multiplier is in memory.
    """

    width: int
    out_width: int
    channels: int
    stride: int
    pad_left: int
    has_edges: bool
    kind: FormKind
    postshift: int
    clamped: bool
    is_far: bool = False
    multiplier: int = 1

    @property
    def in_channels(self) -> int:
        """Those of the image: each makes `multiplier` channels of the result."""
        return self.channels // self.multiplier

    @property
    def pitch(self) -> int:
        """Bytes from row to row."""
        return self.width * self.in_channels

    @property
    def keeps_words(self) -> bool:
        """Whether the first line of the epilogue needs no register: it goes between products."""
        return self.kind is FormKind.FLOOR and not self.is_far
