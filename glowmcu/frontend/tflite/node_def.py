"""Attributes of a TensorFlow operator that a converter kept whole, as a NodeDef behind its name.

The file is hostile: lengths are checked, and what is no number or text is passed over. ValueError
(a damaged file, for the reader) where the bytes end early.
Source: `node_def.proto` and `attr_value.proto` of TensorFlow; Protocol Buffers' wire format.
"""

from __future__ import annotations

from collections.abc import Iterator

Attribute = int | bytes | tuple[int, ...]
_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5
_ATTRIBUTES, _KEY, _VALUE = 5, 1, 2
_LIST, _TEXT, _INT, _BOOL, _TYPE, _INTS = 1, 2, 3, 5, 6, 3
_MOST_NUMBERS = 64


def node_attributes(data: bytes) -> dict[str, Attribute]:
    """The attributes of a serialized NodeDef: numbers, texts and lists of whole numbers, by name.
    Types are their numbers in `types.proto`.
    """
    found: dict[str, Attribute] = {}
    for field, entry in _fields(data):
        if field == _ATTRIBUTES and isinstance(entry, bytes):
            parts = dict(_fields(entry))
            key, value = parts.get(_KEY, b""), parts.get(_VALUE, b"")
            if isinstance(key, bytes) and isinstance(value, bytes):
                found |= _attribute(key.decode("utf-8", "replace"), value)
    return found


def _attribute(name: str, data: bytes) -> dict[str, Attribute]:
    for field, value in _fields(data):
        if field in (_TEXT, _INT, _BOOL, _TYPE):
            return {name: value}
        if field == _LIST and isinstance(value, bytes):
            return {name: _whole_numbers(value)}
    return {}


def _whole_numbers(data: bytes) -> tuple[int, ...]:
    """The integers of a list, packed or one by one."""
    found: list[int] = []
    for field, value in _fields(data):
        if field == _INTS and isinstance(value, int):
            found.append(value)
        elif field == _INTS and isinstance(value, bytes):
            at = 0
            while at < len(value) and len(found) < _MOST_NUMBERS:
                number, at = _varint(value, at)
                found.append(number)
    return tuple(found[:_MOST_NUMBERS])


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Fields of a message, with what their wire type holds."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == _VARINT:
            value: int | bytes
            value, at = _varint(data, at)
        elif kind in (_FIXED_64, _FIXED_32, _BYTES):
            size, at = _varint(data, at) if kind == _BYTES else (8 if kind == _FIXED_64 else 4, at)
            value, at = _bytes(data, at, size), at + size
        else:
            raise ValueError(f"its NodeDef has wire type {kind}")
        yield tag >> 3, value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of up to 64 bits, and where it ends."""
    number = 0
    for place in range(10):
        (byte,) = _bytes(data, at + place, 1)
        number |= (byte & 127) << (7 * place)
        if byte < 128:
            return number & (2**64 - 1), at + place + 1
    raise ValueError("a number of its NodeDef has no end")


def _bytes(data: bytes, at: int, size: int) -> bytes:
    if at + size > len(data):
        raise ValueError(f"its NodeDef of {len(data)} bytes refers to byte {at + size}")
    return data[at : at + size]
