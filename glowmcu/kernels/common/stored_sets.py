"""Sets of values on what features are stored as: bits from the smallest member on, or runs.

A node that asks for a set is one node where that has few enough bits for its members; other sets
(of categories of nine digits, of fractions) are asked run by run, from the largest down: a feature
above one is in none of the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from glowmcu.ir.operation import Array
from glowmcu.ir.types import TensorType
from glowmcu.kernels.common.stored_thresholds import stored_thresholds
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.trees import TreeEnsemble

#: Bytes of bits that a run of members is worth, two comparisons; and most that a set may have.
_RUN_BYTES, _MOST_BYTES = 8, 255
#: Of float32 that are whole numbers, each by itself.
_MOST_WHOLE = 2**24
#: Between the least and the largest category of a feature: two more codes have 16 bits, too; and
#: of one whose bits begin at the code of what is not a number.
_MOST_CODES, _MOST_CODES_FROM_0 = 2**16 - 2, 8 * _MOST_BYTES - 1


@dataclass(frozen=True)
class StoredSet:
    """Values from `first` on, of which `bits` has one for each, the lowest first. What is not a
    number is in it if it is `low`.
    """

    first: int
    bits: int
    low: bool = False

    @property
    def count(self) -> int:
        """Of values from the least member to the largest."""
        return self.bits.bit_length()

    @property
    def last(self) -> int:
        """The largest member."""
        return self.first + self.count - 1


@dataclass(frozen=True)
class Runs:
    """A set as runs of stored values, first and last, descending; and as bits, if they are few."""

    runs: tuple[tuple[int, int], ...]
    bits: StoredSet | None


def stored_sets(op: TreeEnsemble, type_: TensorType) -> tuple[Runs, ...]:
    """All sets of an ensemble."""
    members = op.members
    lasts = stored_thresholds(members, type_).tolist()
    firsts = stored_thresholds(np.nextafter(members, np.float32(-np.inf)), type_).tolist()
    starts = op.set_starts.tolist()
    return tuple(
        _runs(members[start:end], firsts[start:end], lasts[start:end], type_)
        for start, end in pairwise(starts)
    )


def _runs(members: Array, firsts: list[int], lasts: list[int], type_: TensorType) -> Runs:
    """Of one set; `firsts` are one less than the first stored value that is a member."""
    runs: list[tuple[int, int]] = []
    for before, last in zip(firsts, lasts, strict=True):
        if last == before:
            continue
        if runs and runs[-1][1] == before:
            runs[-1] = runs[-1][0], last
        else:
            runs.append((before + 1, last))
    ranges = runs
    if type_.element.is_float:
        if (members != np.rint(members)).any() or (np.abs(members) >= _MOST_WHOLE).any():
            return Runs(tuple(runs[::-1]), None)
        ranges = [(int(member), int(member)) for member in members]
    return Runs(tuple(runs[::-1]), _bits(ranges, len(runs)))


def _bits(ranges: list[tuple[int, int]], runs: int) -> StoredSet | None:
    if not ranges:
        return None
    first, last = ranges[0][0], ranges[-1][1]
    size = (last - first + 8) // 8
    if size > min(_RUN_BYTES * runs, _MOST_BYTES):
        return None
    bits = sum(((1 << (end - begin + 1)) - 1) << (begin - first) for begin, end in ranges)
    return StoredSet(first, bits)


def in_reach(op: TreeEnsemble, bits: Sequence[StoredSet | None]) -> list[bool]:
    """Which nodes have bits whose codes are of 16 bits, counted from the least member of all nodes
    of their feature; 0 is what is not a number, from which the bits begin where that is a member.
    """
    least: dict[int, int] = {}
    nodes = list(zip(op.features.tolist(), op.missing_left.tolist(), bits, strict=True))
    for feature, _, item in nodes:
        if item is not None:
            least[feature] = min(item.first, least.get(feature, item.first))
    return [
        item is not None
        and item.last - least[feature] < (_MOST_CODES_FROM_0 if is_low else _MOST_CODES)
        for feature, is_low, item in nodes
    ]
