"""The choices of `glowmcu tune --kernels` as a file: which kernel computes which layer.

A file belongs to one model on one core: layers are known by their names.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from glowmcu.errors import error
from glowmcu.kernels.selection.choices import KernelChoices
from glowmcu.lazy_dataclass import dataclass

_FORMAT = "glowmcu-kernels-1"
_HINT = "make the choices again: glowmcu tune --kernels MODEL"


@dataclass(frozen=True)
class KernelFile:
    """`chosen`: kernel by layer; `cycles`: what was measured, by layer and kernel."""

    model_sha256: str
    core: str
    optimize: str
    tool_version: str
    chosen: Mapping[str, str]
    cycles: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


def kernel_file_text(stored: KernelFile) -> str:
    """Stable text: layers in the model's order."""
    layers = [
        {"layer": name, "kernel": kernel, "cycles": dict(stored.cycles.get(name, {}))}
        for name, kernel in stored.chosen.items()
    ]
    head = {
        "format": _FORMAT,
        "model_sha256": stored.model_sha256,
        "core": stored.core,
        "optimize": stored.optimize,
        "tool_version": stored.tool_version,
    }
    return json.dumps({**head, "layers": layers}, indent=1, ensure_ascii=False) + "\n"


def read_kernel_file(path: Path) -> KernelFile:
    """Raises GM508 for what is no such file."""
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(body, dict) or body.get("format") != _FORMAT:
            raise ValueError(f"format must be {_FORMAT!r}")
        return _from_json(body)
    except (
        OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError
    ) as cause:  # fmt: skip
        what = cause.strerror if isinstance(cause, OSError) else str(cause)
        raise error("GM508", f"cannot read the choices of kernels: {what}", str(path), _HINT) from (
            cause
        )


def _from_json(body: Mapping[str, Any]) -> KernelFile:
    layers = body["layers"]
    return KernelFile(
        str(body["model_sha256"]),
        str(body["core"]),
        str(body["optimize"]),
        str(body["tool_version"]),
        {str(row["layer"]): str(row["kernel"]) for row in layers},
        {
            str(row["layer"]): {str(name): float(value) for name, value in row["cycles"].items()}
            for row in layers
        },
    )


def choices_for(path: Path, model: bytes, core: str) -> KernelChoices:
    """The choices in the file. Raises GM509 if it was made for another model or core."""
    stored = read_kernel_file(path)
    if stored.model_sha256 != hashlib.sha256(model).hexdigest():
        raise error("GM509", "the kernels were chosen for another model", str(path), _HINT)
    if stored.core != core:
        raise error(
            "GM509", f"the kernels were chosen for {stored.core}, not for {core}", str(path),
            f"{_HINT} --board BOARD",
        )  # fmt: skip
    return KernelChoices(stored.chosen, cycles=stored.cycles, source=str(path))
