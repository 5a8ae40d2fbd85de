"""Input arrays -> the bytes a firmware reads; the bytes it writes -> output arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.errors import error
from glowmcu.manifest import Manifest
from glowmcu.verify.measurement import Array


def pack_inputs(manifest: Manifest, inputs: Sequence[Sequence[Array]]) -> bytes:
    """All inferences' inputs, one behind the other. Raises GM640 for a wrong count or size."""
    parts: list[bytes] = []
    for number, arrays in enumerate(inputs):
        where = f"inference {number} of {manifest.name}"
        if len(arrays) != len(manifest.inputs):
            message = f"{len(arrays)} inputs given, {manifest.name} has {len(manifest.inputs)}"
            raise error("GM640", message, where)
        for array, entry in zip(arrays, manifest.inputs, strict=True):
            wanted = f"{entry.dtype}{list(entry.shape)}"
            if array.dtype != np.dtype(entry.dtype) or array.nbytes != entry.bytes:
                given = f"{array.dtype}{list(array.shape)}"
                message = f"input {entry.name!r} is {given}; it must be {wanted}"
                raise error("GM640", message, where)
            parts.append(np.ascontiguousarray(array).tobytes())
    return b"".join(parts)


def unpack_outputs(manifest: Manifest, data: bytes, count: int) -> list[tuple[Array, ...]]:
    """Outputs of `count` inferences from the bytes written, in model order."""
    results: list[tuple[Array, ...]] = []
    at = 0
    for _ in range(count):
        arrays = []
        for entry in manifest.outputs:
            part = np.frombuffer(data, np.uint8, entry.bytes, at)
            arrays.append(part.view(np.dtype(entry.dtype)).reshape(entry.shape).copy())
            at += entry.bytes
        results.append(tuple(arrays))
    assert at == len(data), f"{len(data)} bytes of outputs, {at} expected"
    return results
