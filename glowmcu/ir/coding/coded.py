"""A constant array as a coding stores it: with the same element type, so that the same members of
structs point to it.
"""

from __future__ import annotations

import numpy as np

from glowmcu.ir.coding import entropy, nibbles
from glowmcu.ir.kernel_code import Coding
from glowmcu.ir.operation import Array
from glowmcu.lazy_dataclass import dataclass

_WORD_BYTES = 4


@dataclass(frozen=True, eq=False)
class Coded:
    """`data` is what flash holds; decoded it has `size_bytes`, the array's own, then zeros."""

    coding: Coding
    data: Array
    size_bytes: int


def encoded(coding: Coding, array: Array) -> Coded | None:
    """The array by this coding; None for elements that are no bytes, halves or words."""
    if array.dtype.itemsize > _WORD_BYTES or array.size == 0:
        return None
    little = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False))
    data = little.tobytes()
    data += bytes(-len(data) % _WORD_BYTES)
    if coding is Coding.COPY:
        stored = data
    elif coding is Coding.NIBBLES:
        stored = nibbles.encode(np.frombuffer(data, "<u4")).astype("<u4").tobytes()
    else:
        stored = entropy.encode(data)
    return Coded(coding, np.frombuffer(stored, little.dtype), len(data))


def decoded(coded: Coded) -> bytes:
    """The bytes that the C decodes to its scratch."""
    stored = coded.data.tobytes()
    if coded.coding is Coding.COPY:
        return stored
    if coded.coding is Coding.NIBBLES:
        words = nibbles.decode(np.frombuffer(stored, "<u4"), coded.size_bytes // _WORD_BYTES)
        return words.astype("<u4").tobytes()
    return entropy.decode(stored, coded.size_bytes)
