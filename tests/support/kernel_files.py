"""The C of kernels where it stands: libjit's headers, and templates of functions."""

from __future__ import annotations

from pathlib import Path

from glowmcu.resources import headers_in, resource_dir


def header_paths() -> dict[str, Path]:
    """The project's headers by name."""
    return headers_in(resource_dir("libjit"))


def template_paths() -> list[Path]:
    """The kernels' templates, by name."""
    found = (resource_dir("templates") / "kernels").rglob("*.j2")
    return sorted(found, key=lambda path: path.name)


def include_flags() -> list[str]:
    """What a compiler needs to find all headers where they stand."""
    return [f"-I{folder}" for folder in sorted({path.parent for path in header_paths().values()})]
