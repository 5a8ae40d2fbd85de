"""A digest of data: what two computations must have in common to have the same outcome."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from enum import Enum
from functools import cache
from pathlib import Path

import numpy as np

from glowmcu.resources import resource_dir
from glowmcu.version import __version__


def content_digest(*values: object) -> str:
    """Of dataclasses, arrays, numbers, texts, enums and collections of these, by content."""
    digest = hashlib.sha256()
    for value in values:
        _update(digest, value)
    return digest.hexdigest()


def _update(digest: hashlib._Hash, value: object) -> None:
    if isinstance(value, np.ndarray):
        digest.update(f"array {value.dtype} {value.shape} ".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, Enum):
        digest.update(f"{type(value).__qualname__}.{value.name} ".encode())
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        digest.update(f"{type(value).__qualname__}(".encode())
        for item in dataclasses.fields(value):
            digest.update(f"{item.name}=".encode())
            _update(digest, getattr(value, item.name))
        digest.update(b")")
    elif isinstance(value, Mapping):
        _update(digest, sorted(value.items(), key=repr))
    elif isinstance(value, (tuple, list)):
        digest.update(f"[{len(value)} ".encode())
        for item in value:
            _update(digest, item)
    else:
        assert value is None or isinstance(value, (bool, int, float, str, bytes)), type(value)
        digest.update(f"{type(value).__name__} {value!r} ".encode())


#: Where code comes from and what counts its cycles, below the package.
_SOURCES = ("emit_c", "kernels", "lowering", "memplan", "ops", "verify")


@cache
def tool_digest() -> str:
    """The version, and everything that decides which code is written and how it is measured."""
    folders = [Path(__file__).resolve().parents[1] / name for name in _SOURCES]
    folders += [resource_dir("libjit"), resource_dir("templates")]
    digest = hashlib.sha256(__version__.encode())
    for folder in folders:
        for file in sorted(folder.rglob("*")):
            if file.is_file() and file.suffix in (".py", ".json", ".h", ".j2"):
                digest.update(f"{file.relative_to(folder)} ".encode())
                digest.update(file.read_bytes())
    return digest.hexdigest()
