"""Histograms that grow and merge without loss: bins of width 2^k whose edges are multiples of it.

Bin i counts values in [i * 2^k, (i + 1) * 2^k). A range that no longer fits into `BIN_COUNT` bins
doubles their width, and two bins become one exactly. So the order of samples does not matter, and
merging two histograms gives what one over all their samples would have given. (Equal bins between
minimum and maximum have to be interpolated when the range grows.)
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
import numpy.typing as npt

from glowmcu.ir.operation import Array
from glowmcu.lazy_dataclass import dataclass

#: Most bins of a histogram; at least half of them lie within the range.
BIN_COUNT = 2048
#: Widths below this are not told apart: float32's smallest normal number.
_LEAST_EXPONENT = -126

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Histogram:
    """`counts[i]` values lie in bin `first + i`; bins are 2^`exponent` wide."""

    exponent: int
    first: int
    counts: Counts

    def __post_init__(self) -> None:
        self.counts.flags.writeable = False

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Histogram)
            and (self.exponent, self.first) == (other.exponent, other.first)
            and np.array_equal(self.counts, other.counts)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def width(self) -> float:
        return math.ldexp(1.0, self.exponent)

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    @cached_property
    def edges(self) -> Array:
        """Ends of the bins, one more than there are bins."""
        return (self.first + np.arange(len(self.counts) + 1)) * self.width

    @cached_property
    def centres(self) -> Array:
        """Middles of the bins."""
        return (self.first + np.arange(len(self.counts)) + 0.5) * self.width


def histogram_of(values: Array, low: float, high: float) -> Histogram:
    """Of float32 `values` (any shape, not empty) whose least and greatest are `low` and `high`."""
    exponent = _exponent_for(low, high)
    first, last = _bin_of(low, exponent), _bin_of(high, exponent)
    # A power of two: the product is exact, so that every value meets its bin.
    scaled = values.reshape(-1) * np.float32(math.ldexp(1.0, -exponent))
    bins = np.floor(scaled, out=scaled).astype(np.int64) - first
    size = last - first + 1
    counts = np.bincount(bins, minlength=size)
    # Where the processor flushes denormal products to 0, a tiny negative number has left its bin.
    counts[size - 1] += counts[size:].sum()
    return Histogram(exponent, first, counts[:size])


def merge_histograms(a: Histogram, b: Histogram) -> Histogram:
    """The histogram of both sets of values; the same in either order."""
    exponent = max(a.exponent, b.exponent)
    while True:
        parts = [coarsened(part, exponent) for part in (a, b)]
        first = min(part.first for part in parts)
        size = max(part.first + len(part.counts) for part in parts) - first
        if size <= BIN_COUNT:
            break
        exponent += 1
    counts = np.zeros(size, np.int64)
    for part in parts:
        start = part.first - first
        counts[start : start + len(part.counts)] += part.counts
    return Histogram(exponent, first, counts)


def coarsened(histogram: Histogram, exponent: int) -> Histogram:
    """The same values in bins that are 2^`exponent` wide, no narrower than before."""
    steps = exponent - histogram.exponent
    if steps == 0:
        return histogram
    places = (histogram.first + np.arange(len(histogram.counts))) >> min(steps, 62)
    first = int(places[0])
    counts = np.zeros(int(places[-1]) - first + 1, np.int64)
    np.add.at(counts, places - first, histogram.counts)
    return Histogram(exponent, first, counts)


def _bin_of(value: float, exponent: int) -> int:
    return math.floor(math.ldexp(value, -exponent))


def _exponent_for(low: float, high: float) -> int:
    """The least width at which `low` to `high` take `BIN_COUNT` bins at most."""
    spread = max(high - low, max(abs(low), abs(high)) * 2.0**-20)
    exponent = max(math.frexp(spread)[1] - BIN_COUNT.bit_length() - 1, _LEAST_EXPONENT)
    while _bin_of(high, exponent) - _bin_of(low, exponent) >= BIN_COUNT:
        exponent += 1
    return exponent
