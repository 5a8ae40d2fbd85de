"""Bytes at an address as a text that Renode loads, Intel HEX.

A line is `:` length, address, type, data, checksum.
"""

from __future__ import annotations

from collections.abc import Iterator

_DATA, _END, _UPPER_ADDRESS = 0, 1, 4
_BYTES_PER_LINE = 32


def intel_hex(origin: int, data: bytes) -> str:
    """`data` from `origin`, a multiple of a line's bytes: no line crosses 64 KiB."""
    assert origin % _BYTES_PER_LINE == 0
    return "".join(f"{line}\n" for line in _lines(origin, data))


def _lines(origin: int, data: bytes) -> Iterator[str]:
    upper = None
    for at in range(0, len(data), _BYTES_PER_LINE):
        address = origin + at
        if address >> 16 != upper:
            upper = address >> 16
            yield _record(_UPPER_ADDRESS, 0, upper.to_bytes(2, "big"))
        yield _record(_DATA, address & 0xFFFF, data[at : at + _BYTES_PER_LINE])
    yield _record(_END, 0, b"")


def _record(kind: int, address: int, data: bytes) -> str:
    body = bytes([len(data), *address.to_bytes(2, "big"), kind]) + data
    return f":{body.hex()}{-sum(body) & 0xFF:02x}".upper()
