"""Examples that ship with the package: which there are, and their files written beside the user.

`examples/examples.toml` says what belongs to each. A file that differs from ours is somebody's
work: it is replaced only when asked, and nothing is written before all of them were looked at.
"""

from __future__ import annotations

import difflib
import importlib
import sys
from pathlib import Path
from typing import Any

from glowmcu.errors import GlowmcuError, error
from glowmcu.file_writing import write_file
from glowmcu.lazy_dataclass import dataclass
from glowmcu.resources import resource_dir

# The standard library has the TOML reader since Python 3.11; `tomli` is the same code before that.
_TOML = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")


@dataclass(frozen=True)
class Example:
    """`files` lie in `examples/NAME/`; `commands` are what to type beside them."""

    name: str
    title: str
    files: tuple[str, ...]
    commands: tuple[str, ...]

    def contents(self) -> dict[str, bytes]:
        """What is written: the files, and the licences of what is in them."""
        top = resource_dir("examples")
        contents = {name: (top / self.name / name).read_bytes() for name in self.files}
        return {**contents, "LICENSES.txt": (top / "LICENSES.txt").read_bytes()}


def examples() -> dict[str, Example]:
    """By name, simplest first."""
    text = (resource_dir("examples") / "examples.toml").read_text(encoding="utf-8")
    tables: dict[str, Any] = _TOML.loads(text)
    return {
        name: Example(name, table["title"], tuple(table["files"]), tuple(table["commands"]))
        for name, table in tables.items()
    }


def find_example(name: str) -> Example:
    """Raises GM160."""
    known = examples()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
    raise error("GM160", f"there is no example {name!r}", hint=hint)


def write_example(example: Example, folder: Path, force: bool = False) -> list[Path]:
    """The files written or found as they should be. Raises GM161 if one would replace another
    file and not `force`, GM162 if the folder cannot be written.
    """
    contents = {folder / name: content for name, content in example.contents().items()}
    place = folder
    try:
        foreign = [path for path, content in contents.items() if _differs(path, content)]
        if foreign and not force:
            raise _foreign(foreign, folder)
        for place, content in contents.items():
            write_file(place, content)
    except OSError as cause:
        hint = "choose a folder that you may write with -o"
        message = f"cannot write the example: {cause.strerror}"
        raise error("GM162", message, str(place), hint) from cause
    return list(contents)


def _differs(path: Path, content: bytes) -> bool:
    return (path.exists() or path.is_symlink()) and (
        not path.is_file() or path.read_bytes() != content
    )


def _foreign(paths: list[Path], folder: Path) -> GlowmcuError:
    names = ", ".join(path.name for path in paths)
    return error(
        "GM161",
        f"the folder has other files of these names: {names}; nothing was written",
        str(folder),
        "choose another folder with -o, or replace them with --force",
    )
