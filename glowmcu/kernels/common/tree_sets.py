"""Sets of trees as bytes: the code of the least member, how many bytes of bits follow, and these.

Bytes are codes by themselves. Of other features a category has the code of its distance from the
least that any set of the feature has, and one more; 0 is what is not a number, and the code behind
the largest category is everything else.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from glowmcu.kernels.common.stored_sets import StoredSet
from glowmcu.kernels.common.stored_trees import BYTES, StoredTrees
from glowmcu.kernels.common.tree_rows import narrowest, unsigned
from glowmcu.kernels.kernel import ConstantArray
from glowmcu.lazy_dataclass import dataclass

_WORD_BITS = 32


@dataclass(frozen=True, eq=False)
class CodeSet:
    """A set of codes: those from `first` on that have a bit of `bits`; it begins at `place` of the
    data, if it is there.
    """

    first: int
    bits: int
    place: int = -1

    @property
    def count(self) -> int:
        """Of codes from the least member to the largest."""
        return self.bits.bit_length()

    @property
    def is_run(self) -> bool:
        """Whether all codes between its ends are members."""
        return self.bits + 1 == 1 << self.count

    @property
    def is_word(self) -> bool:
        """Whether code needs no more of it than a word."""
        return self.is_run or self.count <= _WORD_BITS


@dataclass(frozen=True, eq=False)
class TreeSets:
    """`of_node[n]` is what node n asks for. Key k's categories are `counts[k]` from `firsts[k]` on,
    k counted among the keys of sets; `code_bytes`: 1 or 2. `data` are the sets, equal ones once.
    """

    of_node: dict[int, CodeSet]
    features: ConstantArray
    firsts: ConstantArray
    counts: ConstantArray
    data: ConstantArray
    code_bytes: int

    @property
    def place_bytes(self) -> int:
        """Of where a set begins."""
        return next(size for size in (1, 2, 3) if self.data.data.size <= 1 << (8 * size))

    @property
    def category_bytes(self) -> int:
        """Of what codes are found by."""
        return sum(item.data.nbytes for item in (self.features, self.firsts, self.counts))


def tree_sets(trees: StoredTrees, has_words: bool = False, sign: int = 0) -> TreeSets:
    """Of trees of which some nodes ask for sets. If it `has_words`, sets that are words are left
    out of the data; `sign` is added to bytes that are read.
    """
    keys = trees.keys[trees.compared :]
    asking = np.flatnonzero(trees.asks).tolist()
    ranges = [(0, 0)] * len(keys)
    for number in range(len(keys)):
        sets = [trees.sets[trees.thresholds[n]] for n in asking if _key(trees, n) == number]
        first = min(item.first for item in sets)
        ranges[number] = first, max(item.last for item in sets) - first + 1
    code_bytes = 1 if max((count for _, count in ranges), default=0) < 0xFF else 2
    is_coded = trees.element not in BYTES
    if not is_coded:
        code_bytes = 1
    data, places = bytearray(), dict[bytes, int]()
    of_node: dict[int, CodeSet] = {}
    for node in asking:
        asked = trees.sets[trees.thresholds[node]]
        first, bits = (asked.first + sign) & 0xFF, asked.bits
        if is_coded:
            first, bits = _codes(asked, ranges[_key(trees, node)][0])
        item = CodeSet(first, bits)
        if not (has_words and item.is_word):
            record = _record(first, bits, code_bytes)
            if record not in places:
                places[record] = len(data)
                data += record
            item = replace(item, place=places[record])
        of_node[node] = item
    firsts, counts = (np.array(numbers, np.int64) for numbers in zip(*ranges, strict=True))
    return TreeSets(
        of_node,
        ConstantArray(
            "set_features", unsigned(np.array([key.feature for key in keys])), "of codes"
        ),
        ConstantArray("firsts", narrowest(firsts, np.int8, np.int16, np.int32), "of categories"),
        ConstantArray("counts", narrowest(counts, np.uint8, np.int32), "of categories"),
        ConstantArray(
            "sets",
            np.frombuffer(bytes(data), np.uint8),
            "each a first code, how many bytes of bits follow, and these",
        ),
        code_bytes,
    )


def _key(trees: StoredTrees, node: int) -> int:
    """The number of its key among those of sets."""
    return int(trees.key[node]) - trees.compared


def _record(first: int, bits: int, code_bytes: int) -> bytes:
    size = (bits.bit_length() + 7) // 8
    return first.to_bytes(code_bytes, "little") + bytes([size]) + bits.to_bytes(size, "little")


def _codes(item: StoredSet, least: int) -> tuple[int, int]:
    """The first code and bits."""
    first = item.first - least + 1
    return (0, item.bits << first | 1) if item.low else (first, item.bits)
