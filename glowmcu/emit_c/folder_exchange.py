"""Exchange some files of a folder: all of them, or none.

Everything happens in `.glowmcu-new` inside the folder, so that only the folder itself has to be
writable and every step is a rename on one file system:

    new/     the files to come, written before anything is touched
    journal  what will be renamed, written before the first rename
    old/     the files that go

Whoever finds a journal undoes what it names: this run after an error or an interrupt, the next run
after a kill. Undoing looks at what lies where, never at what should have happened, so that it can
itself be cut short and begun again. Removing the journal makes the exchange final.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

from glowmcu.emit_c.bundle_folder import holds, is_safe_name, passes_a_link
from glowmcu.emit_c.texts import pieces_of
from glowmcu.errors import GlowmcuError, error
from glowmcu.lazy_dataclass import dataclass
from glowmcu.manifest import STAGING

_NEW, _OLD, _JOURNAL = "new", "old", "journal.json"


@dataclass(frozen=True)
class Exchange:
    """`removed` goes first, `placed` (name to SHA-256) comes last; both in this order.

    `kept` are files that go, but are nobody's to throw away: to the name that they get beside.
    """

    removed: tuple[str, ...]
    kept: Mapping[str, str]
    placed: Mapping[str, str]


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Wait until no other process writes into `folder`, and keep it so.

    The kernel ends the lock with the process. Where there are no such locks (Windows, some network
    file systems) two runs at once are not kept apart.
    """
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):
        yield
        return
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def stage(folder: Path, files: Mapping[str, str]) -> dict[str, str]:
    """Write the files that are to come, beside what is there. Returns their SHA-256 by name."""
    digests = {}
    for name in files:
        path, digest = folder / STAGING / _NEW / name, hashlib.sha256()
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as stream:
            for piece in pieces_of(files, name):
                stream.write(piece)
                digest.update(piece)
        digests[name] = digest.hexdigest()
    return digests


def exchange(folder: Path, change: Exchange) -> None:
    """Do it, of files that are staged. After any error `recover` has to be called."""
    staging = folder / STAGING
    draft = staging / f"{_JOURNAL}.part"
    draft.write_text(json.dumps(asdict(change)), encoding="utf-8")
    draft.rename(staging / _JOURNAL)
    for name in change.removed:
        _move(folder / name, staging / _OLD / name)
    for name, beside in change.kept.items():
        _move(folder / name, folder / beside)
    for name in change.placed:
        _move(staging / _NEW / name, folder / name)
    (staging / _JOURNAL).unlink()


def recover(folder: Path) -> None:
    """Undo an exchange that was cut short and take away what is left of it.

    Raises GM524 if that is impossible; then everything is still there.
    """
    staging = folder / STAGING
    if not os.path.lexists(staging):
        return
    if staging.is_symlink():
        raise _stuck(folder, f"{STAGING} is a link")
    try:
        if (staging / _JOURNAL).exists():
            _undo(folder, _journal(folder))
            (staging / _JOURNAL).unlink()
    except OSError as cause:
        raise _stuck(folder, os.strerror(cause.errno) if cause.errno else str(cause)) from cause
    with suppress(OSError):  # what is left is nobody's; the next run tries again
        shutil.rmtree(staging)


def free_name(path: Path) -> Path:
    """`path` with an ending that is not taken: `kws.c.orig`, `kws.c.orig2` …"""
    number, found = 1, path.with_name(f"{path.name}.orig")
    while os.path.lexists(found):
        number += 1
        found = path.with_name(f"{path.name}.orig{number}")
    return found


def _undo(folder: Path, change: Exchange) -> None:
    staging = folder / STAGING
    for name, sha256 in reversed(list(change.placed.items())):
        source, target = staging / _NEW / name, folder / name
        if os.path.lexists(source) or not os.path.lexists(target):
            continue
        # Whoever wrote into it since must find it again.
        _move(target, source if holds(target, sha256) else free_name(target))
        _remove_if_empty(folder, name)
    for name, beside in reversed(list(change.kept.items())):
        if os.path.lexists(folder / beside) and not os.path.lexists(folder / name):
            _move(folder / beside, folder / name)
    for name in reversed(change.removed):
        target = folder / name
        if os.path.lexists(staging / _OLD / name):
            if os.path.lexists(target):
                target = free_name(target)
            _move(staging / _OLD / name, target)


def _remove_if_empty(folder: Path, name: str) -> None:
    for parent in Path(name).parents[:-1]:
        with suppress(OSError):
            (folder / parent).rmdir()


def _move(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if os.path.lexists(target):
        raise FileExistsError(17, "somebody put a file there meanwhile", str(target))
    source.rename(target)


def _journal(folder: Path) -> Exchange:
    try:
        body = json.loads((folder / STAGING / _JOURNAL).read_text(encoding="utf-8"))
        change = Exchange(tuple(body["removed"]), dict(body["kept"]), dict(body["placed"]))
        names = [*change.removed, *change.kept, *change.kept.values(), *change.placed]
        if not all(map(is_safe_name, names)):
            raise ValueError("it names files outside of the folder")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as cause:
        raise _stuck(folder, f"its journal is damaged: {cause}") from cause
    within = [f"{STAGING}/{part}/{name}" for part in (_NEW, _OLD) for name in names]
    if any(passes_a_link(folder, name) for name in [*names, *within]):
        raise _stuck(folder, "a folder in it is a link")
    return change


def _stuck(folder: Path, reason: str) -> GlowmcuError:
    return error(
        "GM524",
        f"an earlier run was cut short here, and it cannot be undone: {reason}",
        str(folder),
        f"what it took away is in {STAGING}/{_OLD}: move it back by hand, then remove {STAGING}",
    )
