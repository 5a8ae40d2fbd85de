"""Where the files that ship beside the Python code are: `templates/`, `libjit/`, `boards/`,
`examples/` (of these what `examples/examples.toml` names).

In a checkout they are top-level folders; in an installed wheel they sit inside the package, under
`glowmcu/_resources/`. Other packages add folders by entry points in `glowmcu.<kind>`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Literal, TypeGuard

from glowmcu.discovery import Plugin, load_plugins, name_taken
from glowmcu.errors import GlowmcuError, error

Kind = Literal["templates", "libjit", "boards", "examples"]
#: What only this package has.
_OWN = ("examples",)

_PACKAGE = Path(__file__).resolve().parent


def resource_dir(name: Kind) -> Path:
    """The project's own folder of one kind of resource."""
    installed = _PACKAGE / "_resources" / name
    return installed if installed.is_dir() else _PACKAGE.parent / name


def resource_dirs(name: Kind) -> tuple[Path, ...]:
    """The project's own folder, then those of plug-ins in the order of their entry points' names.

    An entry point in `glowmcu.<name>` loads to a folder (`str` or `Path`) or to a module whose own
    folder it is. Raises GM750 to GM752.
    """
    return (resource_dir(name), *(folder for _, folder in plugin_dirs(name)))


def plugin_dirs(name: Kind) -> list[tuple[Plugin, Path]]:
    """Folders of plug-ins, and whose they are. Raises as `resource_dirs`."""
    if name in _OWN:
        return []
    expected = "a folder that is there, or a module whose own folder it is"
    given = load_plugins(f"glowmcu.{name}", _is_place, expected)
    return [(plugin, _folder(place)) for plugin, place in given]


def _is_place(given: object) -> TypeGuard[str | Path | ModuleType]:
    return isinstance(given, (str, Path, ModuleType)) and _folder(given).is_dir()


def _folder(place: str | Path | ModuleType) -> Path:
    if isinstance(place, ModuleType):
        return Path(place.__file__ or "/no/file").parent
    return Path(place)


def find_resource(kind: Kind, name: str) -> Path:
    """The file `name` in the first folder that has it; a plug-in cannot replace the project's.

    Headers of libjit are found by their names alone, whichever room they are in: no two are alike,
    since a bundle has them in one folder. Raises GM753 for one that is there twice, GM755 for one
    that is nowhere.
    """
    folders = resource_dirs(kind)
    if kind == "libjit":
        return _header(name)
    return next((f / name for f in folders if (f / name).is_file()), folders[0] / name)


def _header(name: str) -> Path:
    found = headers_in(resource_dir("libjit")).get(name)
    for plugin, folder in plugin_dirs("libjit"):
        other = headers_in(folder).get(name)
        if other is not None and found is not None:
            raise GlowmcuError([name_taken(plugin, f"there are two headers {name}")])
        found = found or other
    if found is None:
        raise error(
            "GM755",
            f"a kernel needs the header {name}, which no folder of headers has",
            hint="a package names its folders in entry points of glowmcu.libjit",
        )
    return found


def all_headers() -> list[str]:
    """The names of all headers. Raises GM750 to GM753."""
    own = headers_in(resource_dir("libjit"))
    added = [headers_in(folder) for _, folder in plugin_dirs("libjit")]
    names = sorted({name for headers in (own, *added) for name in headers})
    for name in names:
        _header(name)
    return names


@cache
def headers_in(folder: Path) -> dict[str, Path]:
    """The headers in `folder` and in its folders, by name, in order."""
    return {path.name: path for path in sorted(folder.rglob("*.h"), key=lambda path: path.name)}
