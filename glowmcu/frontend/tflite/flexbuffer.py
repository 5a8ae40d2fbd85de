"""Numbers by name from a FlexBuffer map: how custom operators of `.tflite` files keep options.

The file is hostile: offsets are checked, and no more is read than a map of few numbers holds.
ValueError (a damaged file, for the reader) for anything else.
Source: FlexBuffers' description of its binary format (flatbuffers.dev, `flexbuffers.h`).
"""

from __future__ import annotations

import struct

_INT, _UINT, _FLOAT, _BOOL, _MAP = 1, 2, 3, 26, 9
_INDIRECT = {6: _INT, 7: _UINT, 8: _FLOAT}
_MOST_ENTRIES, _MOST_NAME_BYTES = 64, 256
_FLOATS = {4: "<f", 8: "<d"}

Number = int | float


def read_numbers(data: bytes) -> dict[str, Number]:
    """The map that `data` holds, in the order stored; nothing for no bytes at all."""
    if not data:
        return {}
    reader = _Reader(data)
    width, kind = reader.unsigned(len(data) - 1, 1), reader.unsigned(len(data) - 2, 1)
    _expect_width(width)
    if kind >> 2 != _MAP:
        raise ValueError(f"its options are of FlexBuffer type {kind >> 2}, not a map")
    return reader.map(reader.follow(len(data) - 2 - width, width), 1 << (kind & 3))


def _expect_width(width: int) -> None:
    if width not in (1, 2, 4, 8):
        raise ValueError(f"its options have numbers of {width} bytes")


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data

    def bytes(self, at: int, count: int) -> bytes:
        if at < 0 or at + count > len(self.data):
            raise ValueError(f"its options of {len(self.data)} bytes refer to byte {at}")
        return self.data[at : at + count]

    def unsigned(self, at: int, width: int) -> int:
        return int.from_bytes(self.bytes(at, width), "little")

    def follow(self, at: int, width: int) -> int:
        """Offsets go backwards from where they stand."""
        return at - self.unsigned(at, width)

    def map(self, at: int, width: int) -> dict[str, Number]:
        count = self.unsigned(at - width, width)
        if count > _MOST_ENTRIES:
            raise ValueError(f"it has {count} options")
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
        self.bytes(at, 1)
        end = self.data.find(b"\0", at, at + _MOST_NAME_BYTES)
        if end < 0:
            raise ValueError("the name of an option has no end")
        return self.data[at:end].decode("utf-8", "replace")

    def number(self, at: int, width: int, packed: int) -> Number:
        kind = packed >> 2
        if kind in _INDIRECT:
            at, width, kind = self.follow(at, width), 1 << (packed & 3), _INDIRECT[kind]
        raw = self.bytes(at, width)
        if kind in (_INT, _UINT, _BOOL):
            return int.from_bytes(raw, "little", signed=kind == _INT)
        if kind == _FLOAT and width in _FLOATS:
            return float(struct.unpack(_FLOATS[width], raw)[0])
        raise ValueError(f"an option of FlexBuffer type {kind} and {width} bytes is no number")
