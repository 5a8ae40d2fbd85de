"""Whether an installed package may add to this one, without `importlib.metadata`.

That module brings those for mail and archives along and parses what every package says of itself:
a twentieth of what compiling a small model takes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.machinery import PathFinder
from pathlib import Path

_ENDINGS = (".dist-info", ".egg-info", "egg-info")
_FILE = "entry_points.txt"


def may_add_to(package: str, search_path: Iterable[str]) -> bool:
    """Whether entry points of a package on the path have a group `package.…`; also where packages
    are found in other ways than in folders.
    """
    if any(
        hasattr(finder, "find_distributions") for finder in sys.meta_path if finder != PathFinder
    ):
        return True
    group = f"[{package}."
    for folder in map(Path, search_path):
        if not folder.is_dir() and folder.exists():
            return True  # an archive
        if any(group in text for text in _declared(folder)):
            return True
    return False


def _declared(folder: Path) -> Iterator[str]:
    """What each package in the folder says of its entry points."""
    names: list[str] = []
    with suppress(OSError):
        names = [path.name for path in folder.iterdir()]
    for name in names:
        if name.lower().endswith(_ENDINGS):
            with suppress(OSError):
                yield Path(folder, name, _FILE).read_text(encoding="utf-8", errors="replace")
