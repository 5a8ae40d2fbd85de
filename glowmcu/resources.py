"""Where the files that ship beside the Python code are: `templates/`, `libjit/`, `boards/`.

In a checkout they are top-level folders; in an installed wheel they sit inside the package, under
`glowmcu/_resources/`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

_PACKAGE = Path(__file__).resolve().parent


def resource_dir(name: Literal["templates", "libjit", "boards"]) -> Path:
    """Folder of one kind of resource."""
    installed = _PACKAGE / "_resources" / name
    return installed if installed.is_dir() else _PACKAGE.parent / name
