"""A bundle as its folder tells it, for comparing: the manifest, and what commands measured."""

from __future__ import annotations

from pathlib import Path

from glowmcu.errors import error
from glowmcu.facts.document import FILE_NAME as FACTS
from glowmcu.facts.document import Facts, read_facts
from glowmcu.given_paths import is_there
from glowmcu.lazy_dataclass import dataclass
from glowmcu.manifest import FILE_NAME as MANIFEST
from glowmcu.manifest import Manifest, read_manifest

#: A hundred times the largest that is known; more is no bundle of ours.
MOST_BYTES = 64 << 20


@dataclass(frozen=True)
class KeptBundle:
    """`facts` by section. `is_stale` tells of a file of facts that is not of this compilation."""

    folder: Path
    manifest: Manifest
    facts: Facts
    is_stale: bool


def read_kept(path: Path) -> KeptBundle:
    """`path` is a bundle's folder, or the manifest.json or facts.json in it.

    Raises GM171 (another file), GM172 (a file that is too large), GM601 (no bundle).
    """
    folder = path
    if is_there(path) and not path.is_dir():
        if path.name not in (MANIFEST, FACTS):
            raise error(
                "GM171",
                f"{path.name} is no bundle: expected a folder with {MANIFEST}",
                str(path),
                "compile both models (`glowmcu compile MODEL -o FOLDER`) and name the folders",
            )
        folder = path.parent
    for name in (MANIFEST, FACTS):
        _refuse_unreadable(folder / name)
    manifest = read_manifest(folder)
    facts = read_facts(folder)
    return KeptBundle(folder, manifest, facts, not facts and (folder / FACTS).exists())


def _refuse_unreadable(file: Path) -> None:
    """A pipe would never end, and a file without end would take all memory."""
    if not is_there(file):
        return
    if not file.is_file():
        raise _damaged(file, f"{file.name} is not a file")
    if (size := file.stat().st_size) > MOST_BYTES:
        raise _damaged(file, f"{file.name} has {size} bytes, expected at most {MOST_BYTES}")


def _damaged(file: Path, message: str) -> Exception:
    return error("GM172", message, str(file), "compile the model again into this folder")
