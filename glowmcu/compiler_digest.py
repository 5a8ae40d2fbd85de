"""Which state of the compiler made a bundle, or something that is kept for the next compilation.

A version number names many states of a checkout. The digest names one, and every machine that has
the same package says the same.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from glowmcu.resources import resource_dir
from glowmcu.user_cache import user_cache

_SOURCE_SUFFIXES = (".py", ".h", ".c", ".j2")
_NO_SOURCES = ("__pycache__", "_resources")


@cache
def compiler_digest() -> str:
    """32 bits over all that decides what a bundle says: the package's Python, templates, libjit.

    Files are read anew if a name, a size or a time of change is another one, as Python does for its
    bytecode.
    """
    folders = {
        "glowmcu": Path(__file__).resolve().parent,
        "templates": resource_dir("templates"),
        "libjit": resource_dir("libjit"),
    }
    found = (item for kind, folder in folders.items() for item in _files(str(folder), f"{kind}/"))
    files = sorted(found, key=lambda item: item[0])
    states = hashlib.sha256(repr([(path, _state(entry)) for path, entry in files]).encode())
    kept = user_cache("compiler", "")
    known = kept.load(states.hexdigest()) if kept is not None else None
    if known is not None:
        return known.decode()
    digest = short_digest(_separated(files))
    if kept is not None:
        kept.store(states.hexdigest(), digest.encode())
    return digest


def short_digest(pieces: Iterable[bytes]) -> str:
    """32 bits; never 0, which an undefined or empty guard of a header would equal."""
    whole = hashlib.sha256()
    for piece in pieces:
        whole.update(piece)
    digest = whole.hexdigest()[:8]
    return digest if int(digest, 16) else "00000001"


def _files(folder: str, inside: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Paths with `/` between their parts, and where the files are on this machine."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                if entry.name not in _NO_SOURCES:
                    yield from _files(entry.path, f"{inside}{entry.name}/")
            elif entry.name.endswith(_SOURCE_SUFFIXES):
                yield inside + entry.name, entry


def _state(entry: os.DirEntry[str]) -> tuple[int, ...]:
    status = entry.stat()
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _separated(files: Iterable[tuple[str, os.DirEntry[str]]]) -> Iterator[bytes]:
    """Names and contents, the same whatever ends their lines."""
    for number, (path, entry) in enumerate(files):
        yield f"{chr(0) if number else ''}{path}\0".encode()
        yield Path(entry.path).read_bytes().replace(b"\r\n", b"\n")
