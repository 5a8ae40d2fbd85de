"""Broken variants of a good model file, the same ones in every run.

Random bytes rarely get past a reader's first check; a valid file with one wrong word reaches the
checks behind it. Flatbuffers consist of 32-bit offsets and lengths, so overwriting aligned words
with extreme values is where most of the harm is.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

EXTREME_WORDS = (
    *(0, 1, 4, 0xFF, 0xFFFF, 0x10000, 0x100_0000),
    *(0x3FFF_FFFF, 0x4000_0000, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFC, 0xFFFF_FFFF),
)
"""Nothing, a little, lengths that overflow when multiplied by 4, INT_MAX, INT_MIN, -4, -1."""

Mutator = Callable[[bytearray, random.Random], None]


def mutations(data: bytes, count: int, seed: int) -> Iterator[bytes]:
    """`count` variants of `data`, each different from it; one to three mutations a variant.

    The kinds take turns, so that a small count has them all. Deterministic in all arguments.
    """
    assert len(data) >= 8, "too short to be mutated in interesting ways"
    for index in range(count):
        rng = random.Random(f"{seed}/{index}")
        yield _mutate_until_different(data, MUTATORS[index % len(MUTATORS)], rng)


def _mutate_until_different(data: bytes, first: Mutator, rng: random.Random) -> bytes:
    while True:
        mutant = bytearray(data)
        first(mutant, rng)
        for mutator in rng.sample(_IN_PLACE, rng.choice((0, 0, 0, 1, 2))):
            mutator(mutant, rng)
        if mutant != data:
            return bytes(mutant)


def flip_bits(data: bytearray, rng: random.Random) -> None:
    """One to eight single bits."""
    for _ in range(rng.randint(1, 8)):
        if data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def replace_bytes(data: bytearray, rng: random.Random) -> None:
    """A short run of random bytes."""
    if data:
        start = rng.randrange(len(data))
        length = min(rng.randint(1, 16), len(data) - start)
        data[start : start + length] = rng.randbytes(length)


def overwrite_word(data: bytearray, rng: random.Random) -> None:
    """An aligned 32-bit word becomes an extreme value."""
    if len(data) >= 4:
        _put_word(data, rng.randrange(len(data) // 4), rng.choice(EXTREME_WORDS))


def overwrite_structure_word(data: bytearray, rng: random.Random) -> None:
    """As `overwrite_word`, in a word that looks like an offset or a length: small, not zero.

    Big constants hold few such words and tables many: mutations gather where the structure is.
    """
    words = _structure_words(data)
    if words:
        _put_word(data, rng.choice(words), rng.choice(EXTREME_WORDS))


def nudge_structure_word(data: bytearray, rng: random.Random) -> None:
    """An offset or a length becomes a little larger or smaller: plausible, but wrong."""
    words = _structure_words(data)
    if words:
        index = rng.choice(words)
        _put_word(data, index, _word(data, index) + rng.choice((-8, -4, -2, -1, 1, 2, 4, 8)))


def swap_structure_words(data: bytearray, rng: random.Random) -> None:
    """Two offsets or lengths change places: a tensor's table where an operator's should be."""
    words = _structure_words(data)
    if len(words) >= 2:
        first, second = rng.sample(words, 2)
        values = _word(data, first), _word(data, second)
        _put_word(data, first, values[1])
        _put_word(data, second, values[0])


def truncate(data: bytearray, rng: random.Random) -> None:
    """Only a beginning, often nearly nothing or nearly all."""
    length = rng.choice(
        (rng.randrange(len(data)), rng.randrange(16), len(data) - rng.randint(1, 8))
    )
    del data[max(0, min(length, len(data))) :]


def splice(data: bytearray, rng: random.Random) -> None:
    """A piece of the file is copied over, inserted at, or cut from another place."""
    start, target = rng.randrange(len(data)), rng.randrange(len(data))
    piece = bytes(data[start : start + rng.randint(1, 64)])
    match rng.randrange(3):
        case 0:
            data[target : target + len(piece)] = piece
        case 1:
            data[target:target] = piece
        case _:
            del data[start : start + len(piece)]


MUTATORS: tuple[Mutator, ...] = (
    overwrite_structure_word,
    flip_bits,
    nudge_structure_word,
    truncate,
    overwrite_word,
    swap_structure_words,
    splice,
    replace_bytes,
)

_IN_PLACE = [flip_bits, overwrite_word, overwrite_structure_word, replace_bytes]


def _word(data: bytearray, index: int) -> int:
    return int.from_bytes(data[4 * index : 4 * index + 4], "little")


def _put_word(data: bytearray, index: int, value: int) -> None:
    data[4 * index : 4 * index + 4] = (value & 0xFFFF_FFFF).to_bytes(4, "little")


def _structure_words(data: bytearray) -> list[int]:
    """Numbers of the words whose value, read as an offset, stays within the file.

    Large files are sampled at their beginning and their end, where writers put the tables.
    """
    words = range(len(data) // 4)
    near_ends = [*words[:2048], *words[2048:][-2048:]]
    return [index for index in near_ends if 0 < _word(data, index) < len(data)]
