"""Bytes by prefix codes of their order-0 statistics, decoded by tables of halfwords.

A class is a range of 2**x bytes; its canonical Huffman code, at most T bits, is followed by x bits
that tell which byte of the range it is. A table has an entry for each T bits that may come next:
(base << 8) | (32 - n), where n is the bits of code and rest together, and the byte is those n bits
+ base, modulo 256. Words are of one kind or, by a period, of two (`kinds.py`), each with a code and
a table of its own. The stream is

    T of kind 0 | T of kind 1 << 8 | runs << 16
    words of each run less 1, kinds in turns, after the last the first again: halfwords
    2**T entries for kind 0, then for kind 1          none for kind 1 without runs
    the codes, first bit highest, in halfwords that are stored low byte first

A code of bytes without classes needs 256 codes, some of them long; arithmetic coding needs tables
of as many states. Weights are smooth: within a class all bytes are about as frequent.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from functools import lru_cache
from itertools import count

import numpy as np

from glowmcu.ir.coding.kinds import ONE_KIND, Kinds, entropy_bits, kinds_of
from glowmcu.ir.operation import Array
from glowmcu.lazy_dataclass import dataclass

#: Widths of the table's index that are tried: 2**7 entries take 256 B.
TABLE_BITS = (3, 4, 5, 6, 7)
#: Shares of the whole above which a class is halved, relative to what a code of T bits stands for.
_SHARES = (0.35, 0.7, 1.0, 1.4, 2.0, 4.0)
_WORD_BYTES = 4
#: Bytes of codes that the decoder reads before it writes the first byte.
_FIRST_BYTES = 4


@dataclass(frozen=True)
class _Class:
    """Bytes `first` to `first + 2**bits - 1`, which occur `weight` times."""

    first: int
    bits: int
    weight: int


@dataclass(frozen=True)
class _Code:
    """Classes with the lengths of their codes, the shortest first; bytes of table and codes."""

    table_bits: int
    classes: tuple[_Class, ...]
    lengths: tuple[int, ...]
    size_bytes: int


@lru_cache(maxsize=32)  # the sets of kernels that are tried share most of their constants
def encode(data: bytes) -> bytes:
    """The stream, a multiple of four bytes; so is the length of `data`."""
    kinds = kinds_of(data)
    tried = (ONE_KIND,) if kinds is ONE_KIND else (ONE_KIND, kinds)
    return min((stream(data, each) for each in tried), key=len)


def stream(data: bytes, kinds: Kinds) -> bytes:
    """The stream with a code for each kind of words."""
    found = np.frombuffer(data, np.uint8)
    of_bytes = np.repeat(kinds.of_words(len(data) // _WORD_BYTES), _WORD_BYTES)
    runs = kinds.run_lengths if kinds.phases.size else []
    values, sizes = np.zeros((2, 256), np.uint32), np.zeros((2, 256), np.int64)
    bits, tables = [0, 0], b""
    for kind in range(2 if runs else 1):
        code = _best_code(np.bincount(found[of_bytes == kind], minlength=256))
        bits[kind] = code.table_bits
        tables += _table(code, values[kind], sizes[kind]).astype("<u2").tobytes()
    head = np.array([bits[0] | bits[1] << 8 | len(runs) << 16], "<u4").tobytes()
    lengths = (np.array(runs, np.int64) - 1).astype("<u2").tobytes()
    head += lengths + bytes(-len(lengths) % _WORD_BYTES) + tables
    made = head + _bits(values[of_bytes, found], sizes[of_bytes, found])
    made += bytes(max(len(head) + _FIRST_BYTES - len(made), 0))
    return made + bytes(-len(made) % _WORD_BYTES)


def _best_code(histogram: Array) -> _Code:
    """The one of fewest bytes; tables that are too long for any code are not tried."""
    least = entropy_bits(histogram) / 8
    best: _Code | None = None
    for bits in TABLE_BITS:
        if best is not None and (2 << bits) + least >= best.size_bytes:
            break
        codes = [_code(histogram, bits, share) for share in _SHARES]
        best = min([*codes, *filter(None, (best,))], key=lambda item: item.size_bytes)
    assert best is not None
    return best


def _table(code: _Code, values: Array, sizes: Array) -> Array:
    """Entries of the decoder; `values` and `sizes` of all bytes become those of their codes."""
    table = np.zeros(1 << code.table_bits, np.uint16)
    for (first, bits), length, word in _words(code):
        size = length + bits
        values[first : first + (1 << bits)] = (word << bits) + np.arange(1 << bits)
        sizes[first : first + (1 << bits)] = size
        start = word << (code.table_bits - length)
        end = start + (1 << (code.table_bits - length))
        table[start:end] = ((first - (word << bits)) & 0xFF) << 8 | (32 - size)
    return table


def decode(stream: bytes, size_bytes: int) -> bytes:
    """The bytes again, in the way of the C."""
    head = int.from_bytes(stream[:_WORD_BYTES], "little")
    bits, runs = (head & 0xFF, head >> 8 & 0xFF), head >> 16
    end = _WORD_BYTES + -(-runs // 2) * _WORD_BYTES
    words = size_bytes // _WORD_BYTES
    lengths = np.frombuffer(stream[_WORD_BYTES : _WORD_BYTES + 2 * runs], "<u2").astype(int) + 1
    period = np.repeat(np.arange(runs) & 1, lengths) if runs else np.zeros(1, int)
    tables = []
    for kind in range(2 if runs else 1):
        start, end = end, end + (2 << bits[kind])
        tables.append(np.frombuffer(stream[start:end], "<u2").tolist())
    halves = np.frombuffer(stream[end : end + (len(stream) - end) // 2 * 2], "<u2").tolist()
    coming = iter(halves)
    window, spare = next(coming, 0) << 16 | next(coming, 0), 16
    found = bytearray()
    for kind in np.resize(period, words).tolist():
        for _ in range(_WORD_BYTES):
            entry = tables[kind][window >> (32 - bits[kind])]
            size = 32 - (entry & 31)
            found.append(((window >> (32 - size)) + (entry >> 8)) & 0xFF)
            window = window << size & 0xFFFFFFFF
            spare -= size
            if spare < 0:
                window |= next(coming, 0) << -spare
                spare += 16
    return bytes(found)


def _code(histogram: Array, table_bits: int, share: float) -> _Code:
    """Classes that are halved while they are frequent, and their codes."""
    upto = [0, *np.cumsum(histogram).tolist()]
    least = share * upto[-1] / (1 << table_bits)
    todo, classes = [(0, 8)], list[_Class]()
    while todo:
        first, bits = todo.pop()
        weight = upto[first + (1 << bits)] - upto[first]
        half = 1 << bits >> 1
        lower = upto[first + half] - upto[first]
        if weight == 0:
            continue
        if bits and (weight > least or lower in (0, weight)):
            todo += [(first, bits - 1), (first + half, bits - 1)]
        else:
            classes.append(_Class(first, bits, weight))
    most = 1 << table_bits
    while len(classes) > most:  # the rarest halves go together again
        classes = _merged(classes, upto)
    lengths = _lengths([item.weight for item in classes], table_bits)
    order = sorted(range(len(classes)), key=lambda at: (lengths[at], classes[at].first))
    sizes = zip(classes, lengths, strict=True)
    total = sum(item.weight * (item.bits + size) for item, size in sizes)
    size_bytes = _WORD_BYTES + 2 * most + 2 * -(-total // 16)
    return _Code(
        table_bits,
        tuple(classes[at] for at in order),
        tuple(lengths[at] for at in order),
        size_bytes,
    )


def _merged(classes: list[_Class], upto: Sequence[int]) -> list[_Class]:
    """With the rarest of the smallest classes' parents in place of what it holds; `upto` counts the
    bytes below each.
    """
    parents = {(item.first >> item.bits + 1 << item.bits + 1, item.bits + 1) for item in classes}
    weight, first, bits = min(
        (upto[first + (1 << bits)] - upto[first], first, bits) for first, bits in parents
    )
    rest = [item for item in classes if not first <= item.first < first + (1 << bits)]
    return [*rest, _Class(first, bits, weight)]


def _lengths(weights: list[int], most: int) -> list[int]:
    """Lengths of codes of at most `most` bits with the least sum: package-merge.

    Source: Larmore and Hirschberg 1990, A fast algorithm for optimal length-limited Huffman codes.
    """
    if len(weights) == 1:
        return [1]
    order = count()
    coins: list[tuple[int, int, tuple[int, ...]]] = sorted(
        (weight, next(order), (at,)) for at, weight in enumerate(weights)
    )
    row = coins
    for _ in range(most - 1):
        pairs = zip(row[::2], row[1::2], strict=False)
        packages = [(a[0] + b[0], next(order), a[2] + b[2]) for a, b in pairs]
        row = list(heapq.merge(coins, packages))
    lengths = [0] * len(weights)
    for _, _, members in row[: 2 * len(weights) - 2]:
        for at in members:
            lengths[at] += 1
    return lengths


def _words(code: _Code) -> list[tuple[tuple[int, int], int, int]]:
    """Classes with their canonical codes."""
    found, word, last = [], 0, code.lengths[0]
    for item, length in zip(code.classes, code.lengths, strict=True):
        word <<= length - last
        found.append(((item.first, item.bits), length, word))
        word, last = word + 1, length
    return found


def _bits(each: Array, long: Array) -> bytes:
    """Codes one after the other, each of `long` bits, in halfwords."""
    longest = int(long.max())
    places = np.arange(longest)
    # Bit `place` from the top of each code, which has `long` bits.
    shifts = np.maximum(long[:, None] - 1 - places[None, :], 0).astype(np.uint32)
    bits = (each[:, None] >> shifts) & 1
    flat = bits[places[None, :] < long[:, None]].astype(np.uint8)
    packed = np.packbits(np.concatenate([flat, np.zeros(-flat.size % 16, np.uint8)]))
    return packed.view(">u2").astype("<u2").tobytes()
