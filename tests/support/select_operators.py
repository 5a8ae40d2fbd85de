"""Options of select TensorFlow operators, as TensorFlow's converter writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flatbuffers import flexbuffers

Attribute = str | bool | int | Sequence[int]


def text_vector(texts: Sequence[bytes]) -> bytes:
    """A FlexBuffer vector of texts."""
    builder = flexbuffers.Builder()
    with builder.Vector():
        for text in texts:
            builder.Blob(text)
    return bytes(builder.Finish())


def select_options(name: str, attributes: Mapping[str, Attribute]) -> bytes:
    """`[name, NodeDef]`; whole numbers of an attribute are a list, packed."""
    node = _text(1, b"node") + _text(2, name.encode())
    for key, value in attributes.items():
        node += _text(5, _text(1, key.encode()) + _text(2, _value(value)))
    return text_vector([name.encode(), node])


def _value(value: Attribute) -> bytes:
    if isinstance(value, str):
        return _text(2, value.encode())
    if isinstance(value, int):
        return _number(5 if isinstance(value, bool) else 3, int(value))
    return _text(1, _text(3, b"".join(map(_varint, value))))


def _text(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _varint(value: int) -> bytes:
    found = bytearray()
    while value >= 128:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])
