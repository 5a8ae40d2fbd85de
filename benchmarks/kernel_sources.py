"""A digest of the kernels' C: what was measured with another one may be stale."""

from __future__ import annotations

import hashlib
import re
from functools import cache

from glowmcu.resources import resource_dir

_UNSEEN = re.compile(r"/\*.*?\*/|\{#.*?#\}|\s+", re.DOTALL)


@cache
def kernel_sources_digest() -> str:
    """Of libjit and the kernels' templates, comments and blanks apart."""
    folders = (resource_dir("libjit"), resource_dir("templates") / "kernels")
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*.[hj]*")):
            text = visible(path.read_text(encoding="utf-8"))
            digest.update(f"{path.name}\0{text}\0".encode())
    return digest.hexdigest()[:12]


def visible(text: str) -> str:
    """C or a template without comments and blanks."""
    return _UNSEEN.sub("", text)
