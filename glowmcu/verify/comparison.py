"""When two outputs are equal: in every byte, or within what float arithmetic leaves open.

Outputs that are computed in float may differ in their last bits: |got - want| <= 1e-5 of the
tensor's largest magnitude + its leeway, what rounding does to an output in which larger numbers
cancel (`ir/leeway.py`); and by a step where they were rounded to an integer. What was chosen, a
class or a place, may not differ (`ir/exactness.py`). NaN equals NaN, and an infinity only itself.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from glowmcu.manifest import TensorEntry
from glowmcu.test_vectors import FLOAT_TOLERANCE, Digest, Expected, Sample, crc32_of
from glowmcu.verify.measurement import Array


def wrong_elements(
    got: Array,
    want: Array,
    exact: bool,
    relative: float = FLOAT_TOLERANCE,
    absolute: float = 0.0,
) -> npt.NDArray[np.bool_]:
    """Where `got` is not `want`. Both have one shape and dtype."""
    if want.dtype == np.float32 and not exact:
        return _wrong_floats(got, want, relative, absolute)
    if want.dtype == np.float32:
        return np.asarray(got.view(np.uint32) != want.view(np.uint32))
    if exact or want.dtype == np.bool_:
        return np.asarray(got != want)
    return np.asarray(np.abs(got.astype(np.int64) - want.astype(np.int64)) > 1)


def _wrong_floats(
    got: Array, want: Array, relative: float, absolute: float
) -> npt.NDArray[np.bool_]:
    finite = np.abs(want[np.isfinite(want)], dtype=np.float64)
    limit = absolute + relative * float(finite.max(initial=0.0))
    with np.errstate(invalid="ignore"):
        near = np.abs(got.astype(np.float64) - want.astype(np.float64)) <= limit
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    return np.asarray(~(near | same))


def difference(got: Array, want: Expected, entry: TensorEntry, leeway: float = 0.0) -> str:
    """Where an output differs in words, or an empty text; one of real numbers may by `leeway`."""
    if isinstance(want, Digest):
        found = crc32_of(got)
        if found == want.crc32:
            return ""
        return f"output {entry.name!r}: its CRC-32 is {found:#010x}, expected {want.crc32:#010x}"
    if isinstance(want, Sample):
        got, want = got.reshape(-1)[:: want.every], want.elements
    arrays = np.atleast_1d(got), np.atleast_1d(want)
    wrong = wrong_elements(*arrays, entry.is_strict, absolute=leeway)
    if not wrong.any():
        return ""
    places = np.argwhere(wrong)
    first = tuple(int(index) for index in places[0])
    return (
        f"output {entry.name!r}: {len(places)} of {got.size} elements differ, first at {first}: "
        f"got {np.atleast_1d(got)[first]}, expected {np.atleast_1d(want)[first]}"
    )
