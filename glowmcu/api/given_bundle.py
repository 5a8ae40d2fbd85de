"""A bundle as Python programs have it: compiled just now, or a folder."""

from __future__ import annotations

import os
from typing import TypeAlias

from glowmcu.bundle import Bundle, load

BundleGiven: TypeAlias = Bundle | str | os.PathLike[str]


def loaded_bundle(bundle: BundleGiven, board: str | None = None) -> Bundle:
    """`board` replaces the one that it was compiled for. Raises GM601."""
    if not isinstance(bundle, Bundle):
        return load(os.fspath(bundle), board)
    return bundle if board is None else load(bundle.path, board)
