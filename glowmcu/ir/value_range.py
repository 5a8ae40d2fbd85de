"""The values that a tensor can hold: one interval per channel, in stored units.

An operator's `output_ranges` maps the intervals of its operands to those of its results; the
intervals must hold for every input, so a kernel may rely on them and a pass may act on them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from glowmcu.ir.types import TensorType
from glowmcu.lazy_dataclass import dataclass

Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ValueRange:
    """Least and greatest stored value of each channel: the last axis, length 1 for a scalar."""

    low: Int64Array
    high: Int64Array

    def __post_init__(self) -> None:
        assert self.low.shape == self.high.shape
        assert self.low.ndim == 1
        assert bool((self.low <= self.high).all())
        self.low.flags.writeable = False
        self.high.flags.writeable = False

    @property
    def is_constant(self) -> npt.NDArray[np.bool_]:
        """Which channels hold one value whatever the input is."""
        same: npt.NDArray[np.bool_] = self.low == self.high
        return same


def full_range(type_: TensorType) -> ValueRange | None:
    """All that the element type can store; None for types that are not integers of 32 bits."""
    if type_.element.is_float or type_.element.size_bytes > 4:
        return None
    lowest, highest = type_.element.limits
    channels = type_.shape[-1] if type_.shape else 1
    return ValueRange(np.full(channels, lowest, np.int64), np.full(channels, highest, np.int64))


def range_of_data(data: npt.NDArray[Any]) -> ValueRange:
    """The range of a tensor of integers that is known and not empty."""
    rows = data.reshape(-1, data.shape[-1] if data.ndim else 1)
    return ValueRange(rows.min(axis=0).astype(np.int64), rows.max(axis=0).astype(np.int64))
