"""Kept inputs: what was written before a run is still there after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from glowmcu.errors import ExitCode, error
from glowmcu.manifest import Manifest
from glowmcu.verify.measurement import Array


def expect_kept(
    manifest: Manifest, arrays: Sequence[Array], read: Callable[[int, int], bytes]
) -> None:
    """Raise GM657 if a kept input changed; `read` takes offset and bytes of the arena."""
    for entry, array in zip(manifest.inputs, arrays, strict=True):
        if entry.kept and read(entry.start, entry.bytes) != np.ascontiguousarray(array).tobytes():
            raise error(
                "GM657",
                f"the run changed the input {entry.name!r}, which it promised to keep",
                manifest.name,
                "report this bug",
                ExitCode.MISMATCH,
            )
