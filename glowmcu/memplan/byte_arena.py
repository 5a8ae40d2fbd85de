"""The one byte array that a planned program is executed in, and its buffers read and written.

What nobody may rely on is filled with garbage. Inputs that stay outside lie behind the arena, where
nothing can be stored once they are there.
"""

from __future__ import annotations

import numpy as np

from glowmcu.ir.operation import Array
from glowmcu.ir.program import ARENA_ALIGN, Buffer, Program, aligned

GARBAGE = 0x5A


class ByteArena:
    """`size_bytes` of garbage; a touch beyond them is an AssertionError.

    `streamed_input` holds the rows that the application hands over, which are no part of it.
    """

    def __init__(self, program: Program, size_bytes: int) -> None:
        self.program = program
        self._size_bytes = size_bytes
        self._external: dict[Buffer, int] = {}
        end = size_bytes
        for buffer in program.inputs:
            if buffer.external:
                self._external[buffer] = end = aligned(end, ARENA_ALIGN)
                end += buffer.size_bytes
        self._bytes = bytearray([GARBAGE]) * end
        self.streamed_input = b""

    def load(self, start: int, size_bytes: int) -> bytes:
        """Bytes [start, start + size_bytes) of the arena and what is behind it."""
        assert 0 <= start <= start + size_bytes <= len(self._bytes), "a read beyond the arena"
        return bytes(self._bytes[start : start + size_bytes])

    def store(self, start: int, data: bytes) -> None:
        """Write `data` from byte `start` of the arena on."""
        end = start + len(data)
        assert 0 <= start <= end <= self._size_bytes, f"{end} is beyond the arena"
        self._bytes[start:end] = data

    def spoil_bytes(self, start: int, size_bytes: int) -> None:
        """Fill with garbage."""
        self.store(start, bytes([GARBAGE]) * size_bytes)

    def start(self, buffer: Buffer) -> int:
        """The first byte of a buffer."""
        root, inner = self.program.root(buffer)
        if root.external:
            return self._external[root] + inner
        return self.program.offset(buffer)

    def give(self, buffer: Buffer, array: Array) -> None:
        """Put a model input where the application has it."""
        if not buffer.external:
            self.write(buffer, array)
            return
        start = self._external[buffer]
        self._bytes[start : start + buffer.size_bytes] = array.tobytes()

    def is_constant(self, buffer: Buffer) -> bool:
        """Whether the buffer, or what it is a view of, lies in flash."""
        return self.program.root(buffer)[0].data is not None

    def is_inside(self, buffer: Buffer) -> bool:
        """Whether the arena has a place for it."""
        return self.program.root(buffer)[0].in_arena

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
