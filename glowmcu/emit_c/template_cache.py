"""Templates as Python's bytecode, kept from one compilation to the next in the user's cache folder.

Parsing them costs more than anything else that emission does for a small model. A file counts only
if it is the user's own, nobody else can write it or its folder, and its digest is right; whatever
else is wrong with the cache, templates are parsed. Where Python writes no bytecode, nor do we.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import jinja2
from jinja2.bccache import Bucket

from glowmcu.emit_c.contract import compiler_digest
from glowmcu.user_cache import cache_folder

_DIGEST_BYTES = hashlib.sha256().digest_size


def template_cache() -> TemplateCache | None:
    """None where it cannot be told whose a file is, or the user has no home."""
    if not hasattr(os, "getuid"):
        return None
    try:
        folder = cache_folder("templates") / str(sys.implementation.cache_tag)
    except RuntimeError:
        return None
    return TemplateCache(folder)


class TemplateCache(jinja2.BytecodeCache):
    """A file a template: a digest of the rest and of what it was made by, then Jinja's own form,
    which names the template's text and Python's version. `folder` is made when something is kept.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            content = self._read(bucket.key)
            code = content[_DIGEST_BYTES:]
            if content[:_DIGEST_BYTES] == _digest(code):
                bucket.bytecode_from_string(code)

    def dump_bytecode(self, bucket: Bucket) -> None:
        if sys.dont_write_bytecode:
            return
        code = bucket.bytecode_to_string()
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _check_own(self._folder.lstat())
            with tempfile.NamedTemporaryFile(dir=self._folder, delete=False) as stream:
                try:
                    stream.write(_digest(code) + code)
                    stream.flush()
                    Path(stream.name).replace(self._folder / bucket.key)
                except OSError:
                    Path(stream.name).unlink()
                    raise

    def _read(self, key: str) -> bytes:
        """Raises OSError also for what somebody else may have written."""
        _check_own(self._folder.lstat())
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        with os.fdopen(os.open(self._folder / key, flags), "rb") as stream:
            status = os.fstat(stream.fileno())
            _check_own(status)
            if not stat.S_ISREG(status.st_mode):
                raise PermissionError
            return stream.read()


def _check_own(status: os.stat_result) -> None:
    """Raises PermissionError where others can write, or a link leads elsewhere."""
    others_write = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if status.st_uid != os.getuid() or others_write or stat.S_ISLNK(status.st_mode):
        raise PermissionError


def _digest(code: bytes) -> bytes:
    """Of code that these versions made: filters are computed while templates are parsed, too."""
    made_by = f"{jinja2.__version__} {compiler_digest()}\n"
    return hashlib.sha256(made_by.encode() + code).digest()
