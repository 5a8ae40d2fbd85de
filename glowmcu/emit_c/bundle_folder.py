"""What a folder holds of an earlier bundle: the files that its manifest lists, and no others.

Read from the manifest's text alone: a bundle of another version is a bundle, too, and a manifest
that came with somebody's archive may say anything.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from glowmcu.errors import error
from glowmcu.given_paths import is_there
from glowmcu.lazy_dataclass import dataclass
from glowmcu.manifest import FILE_NAME as MANIFEST

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,47}")
_PART = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.+ -]*")
_MOST_NAMED = 5
#: Bytes of a file that are read together.
_AT_ONCE = 1 << 18

#: Bundles of 0.1.0 list neither these nor digests. `{name}` is the bundle's.
_UNLISTED = (
    MANIFEST, "README.md", "CMakeLists.txt", "selftest/{name}_selftest.[ch]",
    "selftest/golden.json", "placement/{name}.ld", "placement/{name}_load.[ch]",
)  # fmt: skip
#: What else they hold for a build system.
_UNLISTED_OF_PACKAGE = {
    "arduino": (
        "examples/{name}_selftest/{name}_selftest.ino", "library.properties", "src/{name}.[ch]",
        "src/{name}_(model|selftest|weights).[ch]",
    ),
    "cmsis-pack": ("GlowMCU.{name}.pdsc",),
    "csolution": ("{name}(_selftest)?.clayer.yml",),
    "esp-idf": ("idf_component.yml",),
    "make": ("{name}.mk",),
    "platformio": ("library.json",),
    "renode": (
        "renode/(Makefile|.gitignore|inputs.hex|link.ld|main.c|startup.c|measure_marks.c)",
        "renode/{name}.(repl|resc|robot)", "renode/(port|uart)_[a-z0-9_-]+.c",
        "renode/(calibrate|measure|port|stack|text|uart).h", "renode/text.c",
    ),
    "rust": ("Cargo.toml", "build.rs", "src/lib.rs"),
    "zephyr": ("zephyr/(CMakeLists.txt|Kconfig|module.yml)",),
}  # fmt: skip


@dataclass(frozen=True)
class ExistingBundle:
    """A bundle in a folder: its name, and its files with their SHA-256 ("" if nobody knows)."""

    name: str
    files: Mapping[str, str]


def is_safe_name(name: object) -> bool:
    """Whether `name` is a path below the folder it is taken from: `src/lib.rs`, not `../x`."""
    if not isinstance(name, str):
        return False
    parts = name.split("/")
    return not parts[0].startswith(".") and all(
        _PART.fullmatch(part) and part.strip(". ") for part in parts
    )


def passes_a_link(folder: Path, name: str) -> bool:
    """Whether `name` below `folder` lies in a folder that is a link to somewhere else."""
    between = Path(name).parents
    return any((folder / parent).is_symlink() for parent in between if str(parent) != ".")


def holds(path: Path, sha256: str) -> bool:
    """Whether `path` is a file, no link, with this content."""
    return path.is_file() and not path.is_symlink() and _digest(path) == sha256


def holds_text(path: Path, sha256: str) -> bool:
    """`holds`, whatever ends the lines: version control on Windows makes CR LF of them."""
    if not path.is_file() or path.is_symlink():
        return False
    return _digest(path) == sha256 or _digest_of_lines(path) == sha256


def _digest_of_lines(path: Path) -> str:
    digest, begun = hashlib.sha256(), b""
    with path.open("rb") as stream:
        while piece := stream.read(_AT_ONCE):
            piece, begun = begun + piece, b""
            if piece.endswith(b"\r"):
                piece, begun = piece[:-1], b"\r"
            digest.update(piece.replace(b"\r\n", b"\n"))
    digest.update(begun)
    return digest.hexdigest()


def _digest(path: Path) -> str:
    """SHA-256 as manifests state it."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while piece := stream.read(_AT_ONCE):
            digest.update(piece)
    return digest.hexdigest()


def existing_bundle(folder: Path) -> ExistingBundle | None:
    """The bundle in `folder`; None if its `manifest.json` is none of ours, or not there."""
    try:
        body = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    if not _is_ours(body):
        return None
    name, listed = body["name"], body.get("files")
    if listed is None:
        unlisted = _unlisted_files(folder, name, body.get("packages", ()))
        return ExistingBundle(
            name, dict.fromkeys([*body["sources"], *body["headers"], *unlisted], "")
        )
    return ExistingBundle(name, {**listed, MANIFEST: ""})


def _is_ours(body: object) -> bool:
    if not isinstance(body, dict) or not isinstance(body.get("format"), int):
        return False
    texts = ("name", "tool_version", "model_sha256", "board")
    if not all(isinstance(body.get(key), str) for key in texts):
        return False
    if not _NAME.fullmatch(body["name"]) or not re.fullmatch("[0-9a-f]{64}", body["model_sha256"]):
        return False
    files = body.get("files", {})
    if not isinstance(files, dict) or not all(isinstance(value, str) for value in files.values()):
        return False
    lists = [body.get("sources"), body.get("headers"), body.get("packages", [])]
    if not all(isinstance(names, list) for names in lists):
        return False
    return all(map(is_safe_name, [*files, *(name for names in lists for name in names)]))


def _unlisted_files(folder: Path, name: str, packages: Iterable[str]) -> list[str]:
    patterns = [*_UNLISTED]
    for package in packages:
        patterns += _UNLISTED_OF_PACKAGE.get(package, ())
    known = re.compile("|".join(text.format(name=name).replace(".", r"\.") for text in patterns))
    tops = ["", "examples", f"examples/{name}_selftest", "placement", "renode", "selftest", "src"]
    found = []
    for top in (*tops, "zephyr"):
        if (folder / top).is_dir():
            entries = (path.relative_to(folder).as_posix() for path in (folder / top).iterdir())
            found += sorted(filter(known.fullmatch, entries))
    return found


#: What programs that write a single file are given.
_FILE_SUFFIXES = (".a", ".c", ".cc", ".cpp", ".h", ".hpp", ".o", ".zip")


def check_folder(folder: Path, name: str, shown: Path) -> ExistingBundle | None:
    """The bundle in `folder` that a bundle `name` may replace; None if there is none yet.
    `shown` is how the user calls the folder.

    Raises GM504 for a folder of something else, GM523 for another bundle's.
    """
    if not is_there(folder):
        if shown.suffix.lower() in _FILE_SUFFIXES:
            raise error(
                "GM504", "a bundle is a folder, and this would name a file", str(shown),
                f"name the folder, such as -o {shown.with_suffix('')}: C, header and weights are "
                "files in it",
            )  # fmt: skip
        return None
    if not folder.is_dir():
        raise error(
            "GM504", "a file is where the output folder should be", str(shown),
            "choose another folder with -o, or move this one",
        )  # fmt: skip
    existing = existing_bundle(folder)
    if existing is None:
        if any(not entry.name.startswith(".") for entry in folder.iterdir()):
            raise error(
                "GM504", "the output folder holds files, and no bundle of glowmcu", str(shown),
                f"choose a new folder, such as -o {shown / name}: nothing here is touched",
            )  # fmt: skip
        return None
    if existing.name != name:
        beside = shown.with_name(name) if shown.name else shown / name
        raise error(
            "GM523",
            f"the output folder holds the bundle {existing.name!r}, and a folder holds one",
            str(shown),
            f"choose another folder, such as -o {beside}; or remove this one; "
            f"or --name {existing.name} to replace it",
        )
    return existing


def check_room(
    folder: Path, files: Iterable[str], existing: ExistingBundle | None, shown: Path
) -> None:
    """That nothing but the standing bundle is where `files` will be. Raises GM522."""
    ours: Mapping[str, str] = existing.files if existing else {}
    taken = [name for name in files if _is_taken(folder, name, name in ours)]
    if taken:
        named = ", ".join(taken[:_MOST_NAMED]) + (" …" if len(taken) > _MOST_NAMED else "")
        raise error(
            "GM522",
            f"files that are not of this bundle are where its files go: {named}",
            str(shown),
            "move or remove them, or choose another folder with -o",
        )


def _is_taken(folder: Path, name: str, is_ours: bool) -> bool:
    for parent in Path(name).parents:
        place = folder / parent
        if str(parent) != "." and os.path.lexists(place) and (
            place.is_symlink() or not place.is_dir()
        ):  # fmt: skip
            return True
    place = folder / name
    return os.path.lexists(place) and (not is_ours or (place.is_dir() and not place.is_symlink()))
