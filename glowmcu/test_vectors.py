"""Made-up inputs that Python and C compute alike, so that golden vectors need not store them.

h(i) = mix((i + seed) * 0x9E3779B1), and the element is taken from the top bits of h.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

#: How far two computations of a float output may be apart, relative to its largest magnitude.
FLOAT_TOLERANCE = 1e-5
#: numpy dtype to the C expression that makes element `i`. The top four bits of the seed say how
#: many bits quieter than full range the pattern is.
PATTERN_EXPRESSIONS = {
    "int8": "(int8_t)(((int32_t)(pattern(i, seed) >> 24) - 128) >> (seed >> 28))",
    "uint8": "(uint8_t)(128 + (((int32_t)(pattern(i, seed) >> 24) - 128) >> (seed >> 28)))",
    "int16": "(int16_t)(((int32_t)(pattern(i, seed) >> 16) - 32768) >> (seed >> 28))",
    "int32": "(int32_t)(pattern(i, seed) >> 28)",
    "int64": "(int64_t)(pattern(i, seed) >> 28)",
    "float32": "(float)(((int32_t)(pattern(i, seed) >> 24) - 128) >> (seed >> 28)) * 0.0625f",
    "bool": "(uint8_t)(pattern(i, seed) >> 31)",
}


def quiet_seed(seed: int, bits: int) -> int:
    """A seed whose pattern is `bits` (at most 15) bits quieter than full range."""
    assert 0 <= seed < 1 << 28
    assert 0 <= bits < 16
    return bits << 28 | seed


def pattern(count: int, seed: int) -> npt.NDArray[np.uint32]:
    """The hash of indices 0 to count - 1."""
    h = (np.arange(count, dtype=np.uint32) + np.uint32(seed)) * np.uint32(0x9E3779B1)
    h ^= h >> np.uint32(15)
    h *= np.uint32(0x85EBCA6B)
    result: npt.NDArray[np.uint32] = h ^ (h >> np.uint32(13))
    return result


def pattern_tensor(shape: Sequence[int], dtype: str, seed: int) -> npt.NDArray[Any]:
    """An array of `dtype` filled as `PATTERN_EXPRESSIONS` says."""
    bits = pattern(int(np.prod(shape, dtype=np.int64)), seed).astype(np.int64).reshape(shape)
    quieter = seed >> 28
    if dtype == "bool":
        return (bits >> 31).astype(np.bool_)
    if dtype in ("int32", "int64"):
        return (bits >> 28).astype(dtype)
    if dtype == "int16":
        return (((bits >> 16) - 32768) >> quieter).astype(np.int16)
    level = ((bits >> 24) - 128) >> quieter
    if dtype == "float32":
        return np.asarray(level * 0.0625, np.float32)
    assert dtype in ("int8", "uint8"), dtype
    return (level + 128 if dtype == "uint8" else level).astype(dtype)
