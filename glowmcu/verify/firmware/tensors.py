"""Input arrays -> the bytes a firmware reads; the bytes it writes -> output arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.manifest import Manifest
from glowmcu.verify.host import check_inputs, size_given
from glowmcu.verify.measurement import Array


def pack_inputs(manifest: Manifest, inputs: Sequence[Sequence[Array]]) -> bytes:
    """All inferences' inputs, one behind the other, each behind its size where a run is given one.

    A byte that nobody reads stands for each inference of a model without inputs: they are counted;
    zeros fill up inputs that are not of the largest size. Raises GM604 (count, shape or type).
    """
    parts: list[bytes] = []
    for arrays in inputs:
        given = size_given(manifest, arrays)
        check_inputs(manifest, arrays)
        parts += [np.int32(size).tobytes() for size in given]
        parts += [
            np.ascontiguousarray(array).tobytes().ljust(entry.bytes, b"\0")
            for array, entry in zip(arrays, manifest.inputs, strict=True)
        ] or [b"\0"]
    return b"".join(parts)


def unpack_outputs(
    manifest: Manifest, data: bytes, inputs: Sequence[Sequence[Array]]
) -> list[tuple[Array, ...]]:
    """Outputs of the inferences for `inputs` from the bytes written, in model order."""
    results: list[tuple[Array, ...]] = []
    at = 0
    for given in inputs:
        size = size_given(manifest, given)
        arrays = []
        for whole in manifest.outputs:
            entry = whole.at(*size) if size else whole
            part = np.frombuffer(data, np.uint8, entry.bytes, at)
            arrays.append(part.view(np.dtype(entry.dtype)).reshape(entry.shape).copy())
            at += whole.bytes
        results.append(tuple(arrays))
    assert at == len(data), f"{len(data)} bytes of outputs, {at} expected"
    return results
