"""The one byte array that a planned program is executed in, and its buffers read and written.

What nobody may rely on is filled with garbage.
"""

from __future__ import annotations

import numpy as np

from glowmcu.ir.operation import Array
from glowmcu.ir.program import Buffer, Program

GARBAGE = 0x5A


class ByteArena:
    """`size_bytes` of garbage; a touch beyond them is an AssertionError.

    `pushed` holds the rows that the application hands over, which are no part of it.
    """

    def __init__(self, program: Program, size_bytes: int) -> None:
        self.program = program
        self.pushed = b""
        self._bytes = bytearray([GARBAGE]) * size_bytes

    def load(self, start: int, size_bytes: int) -> bytes:
        """What lies there."""
        assert 0 <= start <= start + size_bytes <= len(self._bytes), "a read beyond the arena"
        return bytes(self._bytes[start : start + size_bytes])

    def store(self, start: int, data: bytes) -> None:
        """Put `data` there."""
        end = start + len(data)
        assert 0 <= start <= end <= len(self._bytes), f"{end} is beyond the arena"
        self._bytes[start:end] = data

    def spoil_bytes(self, start: int, size_bytes: int) -> None:
        """Fill with garbage."""
        self.store(start, bytes([GARBAGE]) * size_bytes)

    def start(self, buffer: Buffer) -> int:
        """The first byte of a buffer in the arena."""
        return self.program.offset(buffer)

    def is_constant(self, buffer: Buffer) -> bool:
        """Whether the buffer, or what it is a view of, lies in flash."""
        return self.program.root(buffer)[0].data is not None

    def read(self, buffer: Buffer) -> Array:
        """The tensor in a buffer, constants included."""
        root, inner = self.program.root(buffer)
        if root.data is None:
            data = self.load(self.start(buffer), buffer.size_bytes)
        else:
            data = root.data.tobytes()[inner : inner + buffer.size_bytes]
        return np.frombuffer(data, buffer.type.element.numpy).reshape(buffer.type.shape)

    def write(self, buffer: Buffer, array: Array) -> None:
        """Put a tensor into its buffer."""
        data = array.tobytes()
        assert len(data) == buffer.size_bytes, f"{buffer.name!r} is no place for {array.shape}"
        self.store(self.start(buffer), data)

    def spoil(self, buffer: Buffer) -> None:
        """Fill a buffer with garbage."""
        self.spoil_bytes(self.start(buffer), buffer.size_bytes)
