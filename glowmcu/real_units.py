"""Real numbers to what a bundle's tensors store, and back: real = scale * (stored - zero_point).

As the bundle's own `NAME_input_quantize` does it, in float32 throughout: round(real / scale) +
zero_point with halves away from zero, saturated. NaN has no stored value: it is an error here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from glowmcu.errors import GlowmcuError, error
from glowmcu.manifest import TensorEntry

Array = npt.NDArray[Any]


def stored_values(entry: TensorEntry, real: npt.ArrayLike, where: str = "") -> Array:
    """`real` (numbers of any type) as `entry` stores it, of the same shape. Raises GM628 for what
    is no number, and for what a tensor without a scale cannot hold exactly.
    """
    given = _numbers(entry, real, where)
    dtype = np.dtype(entry.dtype)
    if entry.scale is not None:
        return _quantized(entry, given, where)
    if dtype.kind == "f":
        return _as_float(entry, given, where)
    if given.dtype == dtype:
        return given
    least, most = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    if given.dtype.kind == "f":
        _expect_whole(entry, given, where)
    # As Python's integers: no float holds the greatest of 64 bits.
    for end in (int(given.min()), int(given.max())) if given.size else ():
        if not least <= end <= most:
            raise _refused(entry, f"{end} is not within {least} to {most}", where)
    return given.astype(dtype)


def real_values(entry: TensorEntry, stored: Array) -> Array:
    """What an array of `entry` stands for: float32 if it is quantized, else itself."""
    if entry.scale is None:
        return stored
    steps = np.asarray(stored).astype(np.int32) - np.int32(entry.zero_point or 0)
    return np.asarray(np.float32(entry.scale) * steps.astype(np.float32))


def _numbers(entry: TensorEntry, real: npt.ArrayLike, where: str) -> Array:
    try:
        given = np.asarray(real)
    except (ValueError, TypeError, RuntimeError) as cause:  # ragged lists, tensors on a GPU
        raise _refused(entry, f"it is no array: {cause}", where) from cause
    if given.dtype.kind not in "biuf":
        raise _refused(entry, f"an array of {given.dtype} holds no real numbers", where)
    return given


def _quantized(entry: TensorEntry, given: Array, where: str) -> Array:
    assert entry.scale is not None
    if given.dtype.kind == "f" and np.isnan(given).any():
        raise _refused(entry, f"NaN at {_first(np.isnan(given))}", where)
    limits, zero_point = np.iinfo(entry.dtype), entry.zero_point or 0
    with np.errstate(over="ignore"):  # what is greater than float32 saturates
        scaled = given.astype(np.float32) / np.float32(entry.scale)
    whole = np.trunc(scaled)
    with np.errstate(invalid="ignore"):  # infinity less infinity: nothing is added to it
        rest = scaled - whole
    rounded = whole + (rest >= 0.5) - (rest <= -0.5)
    steps = np.clip(rounded, float(limits.min - zero_point), float(limits.max - zero_point))
    return np.asarray(steps.astype(np.int64) + zero_point).astype(entry.dtype)


def _as_float(entry: TensorEntry, given: Array, where: str) -> Array:
    with np.errstate(over="ignore"):
        made = given.astype(entry.dtype)
    lost = np.isinf(made) & np.isfinite(given)
    if lost.any():
        raise _refused(entry, f"{given[lost].flat[0]} is too large for {entry.dtype}", where)
    return made


def _expect_whole(entry: TensorEntry, given: Array, where: str) -> None:
    broken = ~np.isfinite(given) | (given != np.trunc(given))
    if broken.any():
        raise _refused(entry, f"{given[broken].flat[0]} is no whole number", where)


def _first(wrong: Array) -> str:
    return str([int(index) for index in np.argwhere(wrong)[0]])


def _refused(entry: TensorEntry, what: str, where: str) -> GlowmcuError:
    place = f"{where}, input {entry.name!r}" if where else f"input {entry.name!r}"
    held = f"{entry.dtype} with scale {np.float32(entry.scale)!s}" if entry.scale else entry.dtype
    return error("GM628", f"cannot be stored: {what}", place, f"the bundle stores {held}")
