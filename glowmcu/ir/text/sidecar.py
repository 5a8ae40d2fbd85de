"""Where arrays go that are too large to read in a dump: their keys stand in the text instead.

A key is the value's name and the start of the SHA-256 of its content, so that two dumps differ in
it where the numbers differ.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping, MutableMapping
from pathlib import Path

import numpy as np

from glowmcu.array_files import ArrayFileError, load_npz
from glowmcu.errors import error
from glowmcu.file_writing import write_file
from glowmcu.ir.operation import Array

#: Arrays up to this size stay in the text.
INLINE_BYTES = 64

Sidecar = MutableMapping[str, Array]


def store(sidecar: Sidecar, name: str, data: Array) -> str:
    """Put `data` into the sidecar; its key."""
    content = f"{data.dtype.str}{data.shape}".encode() + np.ascontiguousarray(data).tobytes()
    key = f"{name}_{hashlib.sha256(content).hexdigest()[:12]}"
    sidecar[key] = data
    return key


def write_sidecar(path: Path, sidecar: Mapping[str, Array]) -> None:
    """All arrays in one `.npz`, byte-identical for the same content."""
    content = io.BytesIO()
    np.savez(content, **{key: sidecar[key] for key in sorted(sidecar)})  # type: ignore[arg-type]
    write_file(path, content.getvalue())


def read_sidecar(path: Path) -> dict[str, Array]:
    """The arrays of a `.npz`. Raises GM219 when it cannot be read."""
    try:
        return load_npz(path)
    except (OSError, ArrayFileError) as cause:
        raise error(
            "GM219",
            f"cannot read the constants: {cause}",
            str(path),
            "it is written beside the dump: constants.npz",
        ) from cause
