"""Where the files that ship beside the Python code are: `templates/`, `libjit/`, `boards/`,
`examples/` (of these what `examples/examples.toml` names).

In a checkout they are top-level folders; in an installed wheel they sit inside the package, under
`glowmcu/_resources/`. Other packages add folders by entry points in `glowmcu.<kind>`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

from glowmcu.discovery import plugins

Kind = Literal["templates", "libjit", "boards", "examples"]

_PACKAGE = Path(__file__).resolve().parent


def resource_dir(name: Kind) -> Path:
    """The project's own folder of one kind of resource."""
    installed = _PACKAGE / "_resources" / name
    return installed if installed.is_dir() else _PACKAGE.parent / name


def resource_dirs(name: Kind) -> tuple[Path, ...]:
    """The project's own folder, then those of plug-ins in the order of their entry points' names.

    An entry point in `glowmcu.<name>` loads to a folder (`str` or `Path`) or to a module whose own
    folder it is.
    """
    folders = [resource_dir(name)]
    for plugin in plugins(f"glowmcu.{name}"):
        place = plugin.load()
        folders.append(
            Path(place) if isinstance(place, (str, Path)) else Path(place.__file__).parent
        )
    return tuple(folders)


def find_resource(kind: Kind, name: str) -> Path:
    """The file `name` in the first folder that has it; a plug-in cannot replace the project's.

    Headers of libjit are found by their names alone, whichever room they are in: no two are alike,
    since a bundle has them in one folder.
    """
    folders = resource_dirs(kind)
    if kind == "libjit":
        found = (headers_in(folder).get(name) for folder in folders)
        return next((path for path in found if path), folders[0] / name)
    return next((f / name for f in folders if (f / name).is_file()), folders[0] / name)


@cache
def headers_in(folder: Path) -> dict[str, Path]:
    """The headers in `folder` and in its folders, by name, in order."""
    return {path.name: path for path in sorted(folder.rglob("*.h"), key=lambda path: path.name)}
