"""`run --stream FILE.npz`: the inputs of many invocations, and what came of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from glowmcu.array_files import ArrayFileError, load_npz
from glowmcu.errors import error
from glowmcu.manifest import Manifest
from glowmcu.verify.measurement import Array, Measurement

#: What the only input may be called whatever the model calls it.
_INPUTS = "inputs"


def read_stream(path: Path, manifest: Manifest) -> list[list[Array]]:
    """Inputs of each invocation, from arrays of T[invocations, *shape] named as inputs are.

    Raises GM730 for a file that has no such arrays.
    """
    try:
        arrays = load_npz(path)
    except (OSError, ArrayFileError) as cause:
        reason = cause.strerror if isinstance(cause, OSError) else str(cause)
        raise _unfit(path, manifest, f"cannot be read: {reason}") from cause
    found = [_array(arrays, entry.name, manifest) for entry in manifest.inputs]
    lacking = [e.name for e, array in zip(manifest.inputs, found, strict=True) if array is None]
    if lacking:
        held = ", ".join(arrays) or "nothing"
        raise _unfit(path, manifest, f"holds {held}, and no array {lacking[0]!r}")
    columns = [array for array in found if array is not None]
    for entry, array in zip(manifest.inputs, columns, strict=True):
        if array.shape[1:] != entry.shape or str(array.dtype) != entry.dtype:
            got = f"{array.dtype}[{'x'.join(map(str, array.shape))}]"
            raise _unfit(path, manifest, f"has {got} for input {entry.name!r}")
    lengths = {len(array) for array in columns}
    if len(lengths) != 1 or 0 in lengths:
        raise _unfit(path, manifest, f"has inputs of {sorted(lengths)} invocations")
    return [[array[step] for array in columns] for step in range(lengths.pop())]


def _array(arrays: dict[str, Array], name: str, manifest: Manifest) -> Array | None:
    if name in arrays or len(manifest.inputs) > 1:
        return arrays.get(name)
    if len(arrays) == 1:
        return next(iter(arrays.values()))
    return arrays.get(_INPUTS)


def _unfit(path: Path, manifest: Manifest, what: str) -> Exception:
    wanted = ", ".join(
        f"{entry.name} as {entry.dtype}[{'x'.join(map(str, ('N', *entry.shape)))}]"
        for entry in manifest.inputs
    )
    return error(
        "GM730",
        f"the stream {what}; expected {wanted}",
        str(path),
        "numpy.savez(file, NAME=array) with the inputs of N invocations one behind the other",
    )


def joined(measured: Sequence[Measurement]) -> Measurement:
    """All outputs, T[invocations, *shape] each, and what the dearest invocation cost."""
    columns = zip(*(one.outputs for one in measured), strict=True)
    outputs = tuple(np.stack(column) for column in columns)
    dearest = max(measured, key=lambda one: (one.cycles or 0, one.instructions or 0))
    stacks = [one.stack_bytes for one in measured if one.stack_bytes is not None]
    return Measurement(
        outputs, dearest.instructions, dearest.cycles, max(stacks, default=None), dearest.layers
    )
