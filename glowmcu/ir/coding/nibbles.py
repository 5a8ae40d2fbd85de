"""Words whose bytes all come from weights in -8..7, two to one word; others stay as they are.

    K S (literals | pairs << 16) word ... (literals | pairs << 16) word ...

A packed word v holds 8 weights w as w + 8, a nibble each: two words of the array are
((v & 0x0F0F0F0F) + K) ^ S and the same of v >> 4. K = (S or 0x80808080) - 0x08080808: no sum of a
byte (of a half where S is 0x80008000) leaves it. Words are stored low byte first.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from glowmcu.ir.operation import Array

#: Signed bytes; bytes + 128; int16 of 256 * high + low, both of them weights: K and S of each.
FORMS = (
    (0x78787878, 0x80808080),
    (0x78787878, 0x00000000),
    (0x77F877F8, 0x80008000),
)
_NIBBLES = np.uint32(0x0F0F0F0F)
_HEADER_WORDS = 2
_MOST = 0xFFFF
#: Pairs that save more than the word which tells of them.
_LEAST_PAIRS = 2


def encode(words: Array) -> Array:
    """uint32 words to those of the shortest stream."""
    streams = [_encoded(words, plus, flip) for plus, flip in FORMS]
    return min(streams, key=lambda stream: stream.size)


def decode(stream: Array, count: int) -> Array:
    """The `count` words again."""
    plus, flip = stream[:_HEADER_WORDS]
    found: list[Array] = []
    place = _HEADER_WORDS
    while sum(map(len, found)) < count:
        literals, pairs = int(stream[place]) & _MOST, int(stream[place]) >> 16
        place += 1
        found.append(stream[place : place + literals])
        packed = stream[place + literals : place + literals + pairs]
        both = np.stack([packed & _NIBBLES, (packed >> np.uint32(4)) & _NIBBLES], axis=1)
        found.append(((both + plus) ^ flip).reshape(-1))
        place += literals + pairs
    return np.concatenate([*found, np.zeros(0, np.uint32)]).astype(np.uint32)


def _encoded(words: Array, plus: int, flip: int) -> Array:
    nibbles = (words ^ np.uint32(flip)) - np.uint32(plus)
    fits = (nibbles & ~_NIBBLES) == 0
    stream = [np.array([plus, flip], np.uint32)]
    for first, literals, pairs in _runs(fits):
        packed = nibbles[first + literals : first + literals + 2 * pairs].reshape(-1, 2)
        stream.append(np.array([literals | pairs << 16], np.uint32))
        stream.append(words[first : first + literals])
        stream.append(packed[:, 0] | packed[:, 1] << np.uint32(4))
    return np.concatenate(stream).astype(np.uint32)


def _runs(fits: Array) -> Iterator[tuple[int, int, int]]:
    """The first word, how many are literal, and how many pairs follow them; all words in order."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], fits, [False]]).astype(np.int8)))
    first = 0
    for start, end in edges.reshape(-1, 2).tolist():
        pairs = (end - start) // 2
        if pairs < _LEAST_PAIRS:
            continue
        while start - first > _MOST:
            yield first, _MOST, 0
            first += _MOST
        literals = start - first
        while pairs:
            some = min(pairs, _MOST)
            yield first, literals, some
            first, pairs, literals = first + literals + 2 * some, pairs - some, 0
    while first < fits.size:
        literals = min(_MOST, fits.size - first)
        yield first, literals, 0
        first += literals
