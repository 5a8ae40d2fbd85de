"""int4 constants, two to a byte."""

from __future__ import annotations

from typing import Any

import numpy as np

from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.operation import Array


def unpack_int4(data: memoryview | bytes, count: int) -> Array:
    """Two elements a byte, low nibble first, sign extended."""
    if len(data) != (count + 1) // 2:
        raise Unsupported(
            "GM105", f"{count} int4 elements need {(count + 1) // 2} bytes, got {len(data)}"
        )
    packed: Any = np.frombuffer(data, np.int8)
    nibbles = np.stack([np.left_shift(packed, 4) >> 4, packed >> 4], axis=-1)
    return nibbles.reshape(-1)[:count].astype(np.int8)
