"""A bundle as its folder tells it, for comparing: the manifest, and what commands measured.

The folder may come from elsewhere (an artifact, another branch), so that every value is checked
against the type that the manifest's classes declare before anything is computed with it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from glowmcu.errors import error
from glowmcu.facts.document import FILE_NAME as FACTS
from glowmcu.facts.document import Facts, read_facts
from glowmcu.given_paths import is_there
from glowmcu.lazy_dataclass import dataclass
from glowmcu.manifest import FILE_NAME as MANIFEST
from glowmcu.manifest import Manifest, read_manifest

#: A hundred times the largest that is known; more is no bundle of ours.
MOST_BYTES = 64 << 20
_LARGEST = 2**63


@dataclass(frozen=True)
class KeptBundle:
    """`facts` by section. `is_stale` tells of a file of facts that is not of this compilation."""

    folder: Path
    manifest: Manifest
    facts: Facts
    is_stale: bool


def read_kept(path: Path) -> KeptBundle:
    """`path` is a bundle's folder, or the manifest.json or facts.json in it.

    Raises GM171 (another file), GM172 (values of wrong types, too large), GM601 (no bundle).
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
    wrong = next(_misfits(manifest, Manifest, ""), None)
    if wrong is not None:
        raise _damaged(folder / MANIFEST, f"the manifest's {wrong} is not of its type")
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


def _misfits(value: object, kind: Any, where: str) -> Iterator[str]:  # noqa: ANN401 - a type form
    """Where `value` is not what the annotation `kind` says."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        if all(any(_misfits(value, part, where)) for part in parts):
            yield where
    elif origin is tuple and isinstance(value, tuple | list):
        for index, item in enumerate(value):
            yield from _misfits(item, parts[0], f"{where}[{index}]")
    elif origin is dict and isinstance(value, dict):
        for key, item in value.items():
            yield from _misfits(item, parts[1], f"{where}.{key}")
    elif dataclasses.is_dataclass(kind) and isinstance(value, kind):  # type: ignore[arg-type]
        for name, hint in get_type_hints(kind).items():
            yield from _misfits(getattr(value, name), hint, f"{where}.{name}".lstrip("."))
    elif not _is_plain(value, kind):
        yield where


def _is_plain(value: object, kind: object) -> bool:
    if isinstance(value, bool):
        return kind is bool
    if isinstance(value, int):
        return kind in (int, float) and abs(value) < _LARGEST
    if isinstance(value, float):
        return kind is float and math.isfinite(value)
    # Python 3.10 takes tuple[int, ...] for a type, too.
    return get_origin(kind) is None and isinstance(kind, type) and isinstance(value, kind)
