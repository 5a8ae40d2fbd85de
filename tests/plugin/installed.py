"""Packages as pip leaves them in a folder on the path: the code, and its `.dist-info`."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
_TOML = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")

EntryPoints = Mapping[str, Mapping[str, str]]


def write_package(
    site: Path,
    name: str,
    entry_points: EntryPoints,
    files: Mapping[str, str],
    version: str = "1.0",
) -> Path:
    """A package of these files and entry points; returns the folder that it lies in."""
    for file, text in files.items():
        path = site / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = []
    for group, entries in entry_points.items():
        lines += [f"[{group}]", *(f"{key} = {value}" for key, value in entries.items()), ""]
    (info / "entry_points.txt").write_text("\n".join(lines))
    return site


def install(source: Path, site: Path) -> Path:
    """The project in the folder `source`, by its pyproject.toml."""
    project = _TOML.loads((source / "pyproject.toml").read_text(encoding="utf-8"))
    about = project["project"]
    for package in project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source / package, site / package, ignore=ignored)
    return write_package(site, about["name"], about["entry-points"], {}, about["version"])


def run(
    site: Path | None, *arguments: object, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Python with what lies in `site`: `run(site, "-m", "glowmcu", "plugins")`."""
    paths = [str(REPO), *([str(site)] if site else [])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, env=environment, cwd=folder, check=False
    )


def glowmcu(
    site: Path | None, *arguments: object, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """The command line."""
    return run(site, "-m", "glowmcu", *arguments, folder=folder)
