"""Constants of 2 and 4 bits, several to a byte."""

from __future__ import annotations

from typing import Any

import numpy as np

from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.operation import Array

#: By TensorFlow Lite's names of types.
BITS = {"INT2": 2, "INT4": 4}


def unpack(data: memoryview | bytes, count: int, bits: int) -> Array:
    """int8[count], the lowest bits of a byte first, sign extended. Raises Unsupported GM105."""
    needed = -(-count * bits // 8)
    if len(data) != needed:
        raise Unsupported(
            "GM105", f"{count} int{bits} elements need {needed} bytes, got {len(data)}"
        )
    packed: Any = np.frombuffer(data, np.int8)
    shifts = range(8 - bits, -1, -bits)
    elements = np.stack([np.left_shift(packed, shift) >> (8 - bits) for shift in shifts], axis=-1)
    return elements.reshape(-1)[:count].astype(np.int8)
