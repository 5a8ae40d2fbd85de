"""Things that can be made again, kept from one run to the next below the user's cache folder.

A file counts only if it is the user's own, nobody else can write it or its folder, and its digest
is right; whatever else is wrong with the cache, the thing is made again. Where Python writes no
bytecode, nothing is kept.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import platformdirs

from glowmcu.lazy_dataclass import dataclass

_DIGEST_BYTES = hashlib.sha256().digest_size


def cache_folder(kind: str) -> Path:
    """`glowmcu/KIND` where this system keeps caches. Raises RuntimeError for a user without a home,
    and where a relative path was named, which would mean another folder at each call.
    """
    folder = platformdirs.user_cache_path("glowmcu", appauthor=False)
    if not folder.is_absolute():
        raise RuntimeError(f"{folder} is no place for a cache")
    return folder / kind


def user_cache(kind: str, made_by: str) -> UserCache | None:
    """None if it cannot be told whose a file is, or the user has no home."""
    if not hasattr(os, "getuid"):
        return None
    try:
        return UserCache(cache_folder(kind), made_by)
    except RuntimeError:
        return None


@dataclass(frozen=True)
class UserCache:
    """Files by key: a digest of `made_by` and the content, then the content.

    `folder` is made when something is kept; what other versions made counts as missing.
    """

    folder: Path
    made_by: str

    def load(self, key: str) -> bytes | None:
        """None for what is missing, damaged, or may have been written by somebody else."""
        with suppress(OSError):
            stored = self._read(key)
            content = stored[_DIGEST_BYTES:]
            if stored[:_DIGEST_BYTES] == self._digest(content):
                return content
        return None

    def store(self, key: str, content: bytes) -> None:
        """Whole or not at all; nothing if that is impossible."""
        if sys.dont_write_bytecode:
            return
        with suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _check_own(self.folder.lstat())
            with tempfile.NamedTemporaryFile(dir=self.folder, delete=False) as stream:
                try:
                    stream.write(self._digest(content) + content)
                    stream.flush()
                    Path(stream.name).replace(self.folder / key)
                except OSError:
                    Path(stream.name).unlink()
                    raise

    def _read(self, key: str) -> bytes:
        """Raises OSError also for what somebody else may have written."""
        _check_own(self.folder.lstat())
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        with os.fdopen(os.open(self.folder / key, flags), "rb") as stream:
            status = os.fstat(stream.fileno())
            _check_own(status)
            if not stat.S_ISREG(status.st_mode):
                raise PermissionError
            return stream.read()

    def _digest(self, content: bytes) -> bytes:
        return hashlib.sha256(f"{self.made_by}\n".encode() + content).digest()


def _check_own(status: os.stat_result) -> None:
    """Raises PermissionError where others can write, or a link leads elsewhere."""
    others_write = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if status.st_uid != os.getuid() or others_write or stat.S_ISLNK(status.st_mode):
        raise PermissionError
