"""Memory between two pages that nobody may touch, and calls that may die of touching them."""

from __future__ import annotations

import ctypes
import faulthandler
import mmap
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class GuardedMemory:
    """Room for arrays that begin right behind a forbidden page or end right before one."""

    def __init__(self, most_bytes: int) -> None:
        page = mmap.PAGESIZE
        self._size = -(-max(most_bytes, 1) // page) * page
        self._map = mmap.mmap(-1, self._size + 2 * page)
        base = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        protect = ctypes.CDLL(None, use_errno=True).mprotect
        for forbidden in (base, base + page + self._size):
            failed = protect(ctypes.c_void_p(forbidden), ctypes.c_size_t(page), 0)
            assert not failed, os.strerror(ctypes.get_errno())

    def copy(self, values: Array, at_end: bool) -> Array:
        """`values` at one of the ends; the next copy overwrites it."""
        assert values.nbytes <= self._size
        start = mmap.PAGESIZE + (self._size - values.nbytes if at_end else 0)
        room = np.frombuffer(self._map, np.uint8, values.nbytes, start)
        placed: Array = room.view(values.dtype).reshape(values.shape)
        placed[...] = values
        return placed


def survives(action: Callable[[], None]) -> bool:
    """Whether `action` comes to its end, in a process of its own."""
    child = os.fork()
    if child == 0:
        faulthandler.disable()
        try:
            action()
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    return status == 0
