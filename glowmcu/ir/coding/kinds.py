"""Which words of an array are of which kind: kernels store weights and, after each few results'
weights, what else they read next: biases, multipliers, offsets. Bytes of the two are distributed
differently, so that a code for each is shorter than one for both.

    word i is of the kind that phase i mod period has

The period is the one by which the words' lengths in a common code repeat best; then each phase goes
to the kind whose code is shorter for it, again and again, as k-means does with distances.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from glowmcu.ir.operation import Array
from glowmcu.lazy_dataclass import dataclass

#: Longest period in words, and how many words are looked at for it.
MOST_PERIOD = 1023
_MOST_WORDS = 1 << 15
#: How often a period has to be seen, periods that are tried, and rounds that find their kinds.
_LEAST_TIMES, _TRIED, _ROUNDS = 4, 3, 16
#: What a byte that a kind never has counts as, so that its code has a length.
_NEVER_SEEN = 0.02
#: Bits that two codes have to save by their entropies: their second table takes 128 at least.
_LEAST_SAVED = 512.0
#: What the length of a run takes.
_RUN_BITS = 16


@dataclass(frozen=True, eq=False)
class Kinds:
    """`phases` holds 0 or 1 for each word of a period, 0 for the first; empty where all words are
    of one kind.
    """

    phases: npt.NDArray[np.uint8]

    @property
    def run_lengths(self) -> list[int]:
        """Words of one kind in a row, kind 0 and kind 1 in turns, over the period."""
        ends = np.flatnonzero(np.diff(self.phases)) + 1
        edges = [0, *ends.tolist(), len(self.phases)]
        return [end - start for start, end in pairwise(edges)]

    def of_words(self, count: int) -> npt.NDArray[np.uint8]:
        """The kind of each of `count` words."""
        if not self.phases.size:
            return np.zeros(count, np.uint8)
        return np.resize(self.phases, count)


ONE_KIND = Kinds(np.zeros(0, np.uint8))


def kinds_of(data: bytes) -> Kinds:
    """Of the words of `data`, whose length is a multiple of four; `ONE_KIND` where two save less
    than they take.
    """
    words = np.frombuffer(data, np.uint8).reshape(-1, 4)
    single = np.bincount(words.reshape(-1), minlength=256).astype(np.float64)
    best, least_bits = ONE_KIND, entropy_bits(single) - _LEAST_SAVED
    for period in _periods(_code_lengths(single)[words[:_MOST_WORDS]].sum(axis=1)):
        kinds, bits = _two_kinds(words, period)
        bits += _RUN_BITS * len(kinds.run_lengths)
        if bits < least_bits:
            best, least_bits = kinds, bits
    return best


def _periods(lengths: Array) -> list[int]:
    """Those that explain most of the lengths' variance beyond what chance does."""
    count = len(lengths)
    off = lengths - lengths.mean()
    variance = float((off * off).mean())
    scores = {}
    for period in range(2, min(MOST_PERIOD, count // _LEAST_TIMES) + 1):
        rows, rest = divmod(count, period)
        sums = off[: rows * period].reshape(rows, period).sum(axis=0)
        sums[:rest] += off[rows * period :]
        sizes = np.full(period, rows)
        sizes[:rest] += 1
        scores[period] = float((sums * sums / sizes).sum()) - (period - 1) * variance
    return sorted((p for p in scores if scores[p] > 0), key=lambda p: (-scores[p], p))[:_TRIED]


def _two_kinds(words: Array, period: int) -> tuple[Kinds, float]:
    """Kinds of a period's phases, and the bits of all bytes by the entropy of their kind."""
    phase = np.arange(len(words)) % period
    places = (phase[:, np.newaxis] * 256 + words).reshape(-1)
    histograms = np.bincount(places, minlength=period * 256).reshape(period, 256)
    sizes = np.abs(np.arange(256, dtype=np.uint8).view(np.int8).astype(np.float64))
    mean = (histograms @ sizes) / histograms.sum(axis=1)
    kinds = (mean > np.median(mean)).astype(np.uint8)
    for _ in range(_ROUNDS):
        lengths = [_code_lengths(histograms[kinds == kind].sum(axis=0)) for kind in (0, 1)]
        now = (histograms @ lengths[1] < histograms @ lengths[0]).astype(np.uint8)
        if (now == kinds).all():
            break
        kinds = now
    bits = sum(entropy_bits(histograms[kinds == kind].sum(axis=0)) for kind in (0, 1))
    return Kinds(kinds ^ kinds[0]), bits


def _code_lengths(histogram: Array) -> npt.NDArray[np.float64]:
    """Bits of each byte in a code for these counts."""
    seen = histogram + _NEVER_SEEN
    lengths: npt.NDArray[np.float64] = -np.log2(seen / seen.sum())
    return lengths


def entropy_bits(histogram: Array) -> float:
    """Bits of all that was counted, in an ideal code."""
    seen = histogram[histogram > 0]
    return float(-(seen * np.log2(seen / seen.sum())).sum()) if seen.size else 0.0
