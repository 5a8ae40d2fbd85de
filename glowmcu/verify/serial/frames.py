"""Frames of the link to a board, as `templates/firmware/port_serial.c` says: byte stuffing between
flags (as in RFC 1662), CRC-32 over kind, sequence number and payload.
"""

from __future__ import annotations

import zlib
from dataclasses import field

from glowmcu.lazy_dataclass import dataclass

_FLAG, _ESCAPE, _FLIP = 0x7E, 0x7D, 0x20
_HEAD_BYTES, _CHECK_BYTES = 2, 4
#: Longer than any frame: what has no flag for so long is no frame.
_MOST_BYTES = 1024


@dataclass(frozen=True)
class Frame:
    """`kind` is a letter, `number` 0 to 255: an answer has that of its request."""

    kind: str
    number: int
    payload: bytes = b""

    def encoded(self) -> bytes:
        """What goes over the line, flags included."""
        body = bytes([ord(self.kind), self.number]) + self.payload
        body += zlib.crc32(body).to_bytes(_CHECK_BYTES, "little")
        stuffed = bytearray([_FLAG])
        for byte in body:
            stuffed += bytes([_ESCAPE, byte ^ _FLIP]) if byte in (_FLAG, _ESCAPE) else bytes([byte])
        return bytes(stuffed) + bytes([_FLAG])


@dataclass
class Decoder:
    """Bytes as they come -> the frames that are whole; `passed_over` counts bytes of no frame."""

    passed_over: int = 0
    _body: bytearray = field(default_factory=bytearray)
    _is_escaped: bool = False

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that end in `data`, in order."""
        frames = []
        for byte in data:
            if byte == _FLAG:
                found = None if self._is_escaped else _frame(bytes(self._body))
                if found is None:
                    self.passed_over += len(self._body)
                else:
                    frames.append(found)
                self._body.clear()
                self._is_escaped = False
            elif byte == _ESCAPE:
                self._is_escaped = True
            else:
                self._body.append(byte ^ _FLIP if self._is_escaped else byte)
                self._is_escaped = False
                if len(self._body) > _MOST_BYTES:
                    self.passed_over += len(self._body)
                    self._body.clear()
        return frames

    @property
    def bytes_of_no_frame(self) -> int:
        """Those of a frame that has not ended included."""
        return self.passed_over + len(self._body)


def _frame(body: bytes) -> Frame | None:
    if len(body) < _HEAD_BYTES + _CHECK_BYTES:
        return None
    content, check = body[:-_CHECK_BYTES], body[-_CHECK_BYTES:]
    if zlib.crc32(content).to_bytes(_CHECK_BYTES, "little") != check:
        return None
    return Frame(chr(content[0]), content[1], content[_HEAD_BYTES:])
