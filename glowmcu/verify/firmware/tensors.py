"""Input arrays -> the bytes a firmware reads; the bytes it writes -> output arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.manifest import Manifest
from glowmcu.verify.host import check_inputs
from glowmcu.verify.measurement import Array


def pack_inputs(manifest: Manifest, inputs: Sequence[Sequence[Array]]) -> bytes:
    """All inferences' inputs, one behind the other. Raises GM604 (count, shape or type).

    A byte that nobody reads stands for each inference of a model without inputs: they are counted.
    """
    parts: list[bytes] = []
    for arrays in inputs:
        check_inputs(manifest, arrays)
        parts += [np.ascontiguousarray(array).tobytes() for array in arrays] or [b"\0"]
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
