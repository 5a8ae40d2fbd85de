"""Put a bundle on disk: all of it or nothing, in place of an earlier one, and beside any file of
the user's.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from glowmcu.emit_c.bundle_folder import (
    ExistingBundle,
    check_folder,
    check_room,
    holds_text,
    is_safe_name,
    passes_a_link,
)
from glowmcu.emit_c.folder_exchange import (
    Exchange,
    exchange,
    free_name,
    locked,
    recover,
    stage,
)
from glowmcu.errors import GlowmcuError, error
from glowmcu.given_paths import is_file, is_there
from glowmcu.manifest import FILE_NAME as MANIFEST
from glowmcu.manifest import STAGING
from glowmcu.temporary_files import other_place


def write_bundle(files: Mapping[str, str], folder: Path, name: str) -> tuple[str, ...]:
    """Write the bundle `name` into `folder`, replacing the files of an older one that has the same
    name, and no others. A link is followed. Returns what the user should know.

    A file of the older bundle that was changed since is kept beside as `FILE.orig`. A run that
    fails or is interrupted leaves everything as it was; after one that was killed, the next undoes
    what it did. Raises GM504 if the folder cannot be written or holds something else, GM522
    where files of others are in the way, GM523 if another bundle is there, GM524 (`recover`).
    """
    try:
        return _written(files, folder, name)
    except OSError as cause:
        raise _not_writable(folder, cause) from cause


@contextmanager
def temporary_bundle(files: Mapping[str, str], name: str) -> Iterator[Path]:
    """The folder of a bundle that is measured or run, and gone afterwards. Raises GM723."""
    with tempfile.TemporaryDirectory(prefix="glowmcu-") as work:
        folder = Path(work) / "bundle"
        try:
            _written(files, folder, name)
        except OSError as cause:
            raise error(
                "GM723", f"cannot write a temporary copy of the bundle: {_reason(cause)}",
                str(folder), other_place(Path(work).parent),
            ) from cause  # fmt: skip
        yield folder


def _written(files: Mapping[str, str], shown: Path, name: str) -> tuple[str, ...]:
    """`write_bundle`, raising OSError as it comes."""
    assert all(map(is_safe_name, files)), sorted(files)
    assert len({file.casefold() for file in files}) == len(files), "names that differ in case only"
    folder = Path(os.path.realpath(shown))
    with _made(folder), locked(folder):
        recover(folder)
        existing = check_folder(folder, name, shown)
        check_room(folder, files, existing, shown)
        return _replace(files, folder, existing)


def check_output(folder: Path, name: str) -> None:
    """That a bundle `name` may be written into `folder`, as far as that can be told before there is
    one. Raises GM504, GM523.
    """
    shown, folder = folder, Path(os.path.realpath(folder))
    if not os.path.lexists(folder / STAGING):
        check_folder(folder, name, shown)


@contextmanager
def _made(folder: Path) -> Iterator[None]:
    """Make the folder and its parents; after an error they are taken away again."""
    missing = [path for path in (folder, *folder.parents) if not is_there(path)]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for path in missing:
            with suppress(OSError):
                path.rmdir()
        raise


def _replace(
    files: Mapping[str, str], folder: Path, existing: ExistingBundle | None
) -> tuple[str, ...]:
    old = _still_there(folder, existing)
    try:
        change = _change(stage(folder, files), folder, old)
        exchange(folder, change)
    finally:
        recover(folder)
    _remove_empty_folders(folder, old)
    return tuple(
        f"{name} was changed since glowmcu wrote it: your file is now {beside}"
        for name, beside in change.kept.items()
    )


def _still_there(folder: Path, existing: ExistingBundle | None) -> dict[str, str]:
    """The older bundle's files, the manifest first. A folder in the place of one is somebody's, and
    what lies behind a link is not in this folder.
    """
    if existing is None:
        return {}
    return {
        name: sha256
        for name, sha256 in sorted(existing.files.items(), key=lambda item: item[0] != MANIFEST)
        if ((folder / name).is_symlink() or (folder / name).is_file())
        and not passes_a_link(folder, name)
    }


def _change(staged: Mapping[str, str], folder: Path, old: Mapping[str, str]) -> Exchange:
    placed = {name: sha256 for name, sha256 in staged.items() if name != MANIFEST}
    if MANIFEST in staged:
        placed[MANIFEST] = staged[MANIFEST]  # no manifest, no bundle: it comes last
    as_written = [name for name, known in old.items() if _is_known(folder, name, known, placed)]
    changed = [name for name in old if name not in as_written]
    kept = {name: free_name(folder / name).relative_to(folder).as_posix() for name in changed}
    return Exchange(tuple(as_written), kept, placed)


def _is_known(folder: Path, name: str, sha256: str, placed: Mapping[str, str]) -> bool:
    """Whether the older bundle's file is as it was written, or as it will be."""
    texts = [known for known in (sha256, placed.get(name, "")) if known]
    same = any(holds_text(folder / name, known) for known in texts)
    return same or name == MANIFEST


def _remove_empty_folders(folder: Path, old: Mapping[str, str]) -> None:
    """Folders that only files of the older bundle were in."""
    parents = {parent for name in old for parent in Path(name).parents if str(parent) != "."}
    for parent in sorted(parents, key=lambda path: -len(path.parts)):
        with suppress(OSError):
            (folder / parent).rmdir()


def _not_writable(folder: Path, cause: OSError) -> GlowmcuError:
    reason = _reason(cause)
    files = [str(parent) for parent in folder.parents if is_file(parent)]
    if files:
        reason = f"{files[0]} is a file, not a folder"
    hint = "choose another folder with -o"
    if os.name == "nt" and isinstance(cause, PermissionError):
        hint = f"close the program that has a file of it open, if one has, or {hint}"
    return error("GM504", f"cannot write the bundle: {reason}", str(folder), hint)


def _reason(cause: OSError) -> str:
    return os.strerror(cause.errno) if cause.errno else str(cause)
