"""Numbers by name from a FlexBuffer map, how custom operators of `.tflite` files keep options, and
texts from a vector, how select TensorFlow operators do.

The file is hostile: offsets are checked, and no more is read than a map of few numbers holds.
ValueError (a damaged file, for the reader) for anything else.
Source: FlexBuffers' description of its binary format (flatbuffers.dev, `flexbuffers.h`).
"""

from __future__ import annotations

import struct

_INT, _UINT, _FLOAT, _BOOL, _MAP, _VECTOR, _TEXTS = 1, 2, 3, 26, 9, 10, (5, 25)
_INDIRECT = {6: _INT, 7: _UINT, 8: _FLOAT}
_MOST_ENTRIES, _MOST_NAME_BYTES = 64, 256
_FLOATS = {4: "<f", 8: "<d"}

Number = int | float


def read_numbers(data: bytes) -> dict[str, Number]:
    """The map that `data` holds, in the order stored; nothing for no bytes at all."""
    if not data:
        return {}
    reader = _Reader(data)
    return reader.map(*reader.root(_MAP, "a map"))


def read_texts(data: bytes) -> list[bytes]:
    """The texts of the vector that `data` holds; none for no bytes at all."""
    if not data:
        return []
    reader = _Reader(data)
    return reader.texts(*reader.root(_VECTOR, "a vector"))


def _expect_width(width: int) -> None:
    if width not in (1, 2, 4, 8):
        raise ValueError(f"its options have numbers of {width} bytes")


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data

    def part(self, at: int, count: int) -> bytes:
        if at < 0 or at + count > len(self.data):
            raise ValueError(f"its options of {len(self.data)} bytes refer to byte {at}")
        return self.data[at : at + count]

    def unsigned(self, at: int, width: int) -> int:
        return int.from_bytes(self.part(at, width), "little")

    def follow(self, at: int, width: int) -> int:
        """Offsets go backwards from where they stand."""
        return at - self.unsigned(at, width)

    def root(self, wanted: int, what: str) -> tuple[int, int]:
        """Where the only value that the bytes hold is, and how wide its numbers are."""
        end = len(self.data)
        width, kind = self.unsigned(end - 1, 1), self.unsigned(end - 2, 1)
        _expect_width(width)
        if kind >> 2 != wanted:
            raise ValueError(f"its options are of FlexBuffer type {kind >> 2}, not {what}")
        return self.follow(end - 2 - width, width), 1 << (kind & 3)

    def texts(self, at: int, width: int) -> list[bytes]:
        found, count = [], self.count(at, width)
        for i in range(count):
            kind = self.unsigned(at + count * width + i, 1)
            if kind >> 2 not in _TEXTS:
                raise ValueError(f"an option is of FlexBuffer type {kind >> 2}, not a text")
            place, size_width = self.follow(at + i * width, width), 1 << (kind & 3)
            found.append(self.part(place, self.unsigned(place - size_width, size_width)))
        return found

    def count(self, at: int, width: int) -> int:
        """Elements of a vector or map."""
        count = self.unsigned(at - width, width)
        if count > _MOST_ENTRIES:
            raise ValueError(f"it has {count} options")
        return count

    def map(self, at: int, width: int) -> dict[str, Number]:
        count = self.count(at, width)
        keys = self.follow(at - 3 * width, width)
        key_width = self.unsigned(at - 2 * width, width)
        _expect_width(key_width)
        names = [self.name(self.follow(keys + i * key_width, key_width)) for i in range(count)]
        kinds = [self.unsigned(at + count * width + i, 1) for i in range(count)]
        values = [self.number(at + i * width, width, kinds[i]) for i in range(count)]
        if len(set(names)) != count:
            raise ValueError("an option is given twice")
        return dict(zip(names, values, strict=True))

    def name(self, at: int) -> str:
        self.part(at, 1)
        end = self.data.find(b"\0", at, at + _MOST_NAME_BYTES)
        if end < 0:
            raise ValueError("the name of an option has no end")
        return self.data[at:end].decode("utf-8", "replace")

    def number(self, at: int, width: int, packed: int) -> Number:
        kind = packed >> 2
        if kind in _INDIRECT:
            at, width, kind = self.follow(at, width), 1 << (packed & 3), _INDIRECT[kind]
        raw = self.part(at, width)
        if kind in (_INT, _UINT, _BOOL):
            return int.from_bytes(raw, "little", signed=kind == _INT)
        if kind == _FLOAT and width in _FLOATS:
            return float(struct.unpack(_FLOATS[width], raw)[0])
        raise ValueError(f"an option of FlexBuffer type {kind} and {width} bytes is no number")
