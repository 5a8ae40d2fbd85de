"""Bundles as small as `write_bundle` takes them, and faults at single operations on files."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

_WRITES = {
    "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate",
    "os.chmod", "os.utime", "shutil.rmtree",
}  # fmt: skip


def bundle(contents: Mapping[str, str], name: str = "net", lists: bool = True) -> dict[str, str]:
    """A bundle of these files and a manifest; one of 0.1.0 `lists` C files only, no digests."""
    body: dict[str, object] = {
        "format": 1, "name": name, "tool_version": "0.1.0", "model_sha256": "0" * 64,
        "board": "generic", "packages": ["zephyr"],
        "sources": [file for file in contents if "/" not in file and file.endswith(".c")],
        "headers": [file for file in contents if "/" not in file and file.endswith(".h")],
    }  # fmt: skip
    if lists:
        body["files"] = {
            file: hashlib.sha256(text.encode()).hexdigest() for file, text in contents.items()
        }
    return {**contents, "manifest.json": json.dumps(body)}


def put(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def contents(folder: Path) -> dict[str, str]:
    """Every file, as text; a link as where it points."""
    return {
        path.relative_to(folder).as_posix(): f"-> {path.readlink()}"
        if path.is_symlink()
        else path.read_text(encoding="utf-8")
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


class Killed(BaseException):
    """The process is no more: nothing that it would still do happens."""


class Faults:
    """What happens at the n-th operation that changes something on disk.

    Python's audit events tell of every one, whoever calls it and however; what raises there keeps
    it from happening.
    """

    def __init__(self) -> None:
        self._act: Callable[[int, tuple[object, ...]], None] | None = None
        self.seen = 0
        sys.addaudithook(self._hear)

    def _hear(self, event: str, details: tuple[object, ...]) -> None:
        if self._act is None or not (event in _WRITES or _opens_for_writing(event, details)):
            return
        self.seen += 1
        self._act(self.seen - 1, details)

    @contextmanager
    def __call__(self, act: Callable[[int, tuple[object, ...]], None]) -> Iterator[None]:
        self.seen, self._act = 0, act
        try:
            yield
        finally:
            self._act = None

    def killed_at(self, turn: int) -> Callable[[int, tuple[object, ...]], None]:
        def act(now: int, details: tuple[object, ...]) -> None:
            if now >= turn:
                raise Killed

        return act

    def raised_at(
        self, turn: int, fault: type[BaseException], times: int = 1
    ) -> Callable[[int, tuple[object, ...]], None]:
        def act(now: int, details: tuple[object, ...]) -> None:
            if turn <= now < turn + times:
                raise fault(errno.ENOSPC, os.strerror(errno.ENOSPC))

        return act


def _opens_for_writing(event: str, details: tuple[object, ...]) -> bool:
    if event != "open":
        return False
    flags = details[2]
    assert isinstance(flags, int)
    return bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


FAULTS = Faults()
