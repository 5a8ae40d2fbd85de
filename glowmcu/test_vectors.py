"""Made-up inputs that Python and C compute alike, so that golden vectors need not store them.

h(i) = mix(((i + seed) >> run) * 0x9E3779B1), and the element is taken from the top bits of h. The
seed says in its bits 28 to 31 how many bits quieter than full range the pattern is, and in bits 24
to 27 that 2^run elements in a row are alike, as neighbours in a picture are.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from glowmcu.lazy_dataclass import dataclass

#: How far two computations of a float output may be apart, relative to its largest magnitude.
FLOAT_TOLERANCE = 1e-5
#: Outputs of a vector that are stored whole; of more, digests and samples are.
STORED_BYTES = 64 * 1024
#: numpy dtype to the C expression that makes element `i`.
PATTERN_EXPRESSIONS = {
    "int8": "(int8_t)(((int32_t)(pattern(i, seed) >> 24) - 128) >> (seed >> 28))",
    "uint8": "(uint8_t)(128 + (((int32_t)(pattern(i, seed) >> 24) - 128) >> (seed >> 28)))",
    "int16": "(int16_t)(((int32_t)(pattern(i, seed) >> 16) - 32768) >> (seed >> 28))",
    "int32": "(int32_t)(pattern(i, seed) >> 28)",
    "uint32": "(uint32_t)(pattern(i, seed) >> (seed >> 28))",
    "int64": "(int64_t)(pattern(i, seed) >> 28)",
    "uint64": "(uint64_t)(pattern(i, seed) >> (seed >> 28)) << 20",
    "float32": "(float)(((int32_t)(pattern(i, seed) >> 24) - 128) >> (seed >> 28)) * step",
    "bool": "(uint8_t)(pattern(i, seed) >> 31)",
}


def vector_seed(seed: int, quiet_bits: int, run_bits: int) -> int:
    """A seed whose pattern is `quiet_bits` quieter than full range, in runs of 2^`run_bits`."""
    assert 0 <= seed < 1 << 24
    assert 0 <= quiet_bits < 16
    assert 0 <= run_bits < 16
    return quiet_bits << 28 | run_bits << 24 | seed


def pattern(count: int, seed: int) -> npt.NDArray[np.uint32]:
    """The hash of indices 0 to count - 1."""
    run = np.uint32(seed >> 24 & 15)
    h = ((np.arange(count, dtype=np.uint32) + np.uint32(seed)) >> run) * np.uint32(0x9E3779B1)
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
    if dtype in ("uint32", "uint64"):
        return ((bits >> quieter) << (20 if dtype == "uint64" else 0)).astype(dtype)
    if dtype == "int16":
        return (((bits >> 16) - 32768) >> quieter).astype(np.int16)
    level = ((bits >> 24) - 128) >> quieter
    if dtype == "float32":
        return np.asarray(level * 0.0625, np.float32)
    assert dtype in ("int8", "uint8"), dtype
    return (level + 128 if dtype == "uint8" else level).astype(dtype)


@dataclass(frozen=True)
class Digest:
    """The CRC-32 of an output's bytes, low byte first."""

    crc32: int


@dataclass(frozen=True)
class Sample:
    """Elements 0, `every`, 2 `every`, … of an output: T[n]."""

    every: int
    elements: npt.NDArray[Any]


#: What a self test knows of an output: all of it, or what is left of one too large to be stored.
Expected = npt.NDArray[Any] | Digest | Sample


def expected_outputs(
    outputs: Sequence[npt.NDArray[Any]], exact: Sequence[bool]
) -> tuple[Expected, ...]:
    """What to store of a vector's outputs: of more than `STORED_BYTES` in all the digest, and of
    those whose last bits are not defined (not `exact`) as many elements as there is room for.
    """
    total = sum(array.nbytes for array in outputs)
    if total <= STORED_BYTES:
        return tuple(outputs)
    every = -(-total // STORED_BYTES)
    return tuple(
        Digest(crc32_of(array)) if whole else Sample(every, array.reshape(-1)[::every])
        for array, whole in zip(outputs, exact, strict=True)
    )


def crc32_of(array: npt.NDArray[Any]) -> int:
    """Of the elements, low byte first."""
    return zlib.crc32(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes())
