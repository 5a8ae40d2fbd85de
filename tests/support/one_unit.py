"""A bundle as one file of C, for tests of what it computes: starting a compiler for each of three
files, and linking the C library that this process has already, takes longer than a small layer.

That a bundle's files compile apart is what `tests/bundle` and `tests/conformance` see to.
"""

from __future__ import annotations

import ctypes
import dataclasses
import sys
from pathlib import Path

from glowmcu.compilation import Compilation
from glowmcu.manifest import FILE_NAME


def _has_math() -> bool:
    """Whether a library that names no other finds the C and mathematical functions here."""
    return sys.platform == "linux" and hasattr(ctypes.CDLL(None), "tgammaf")


#: For `Host`, which loads what it compiles into this process. A function that is nowhere is missed
#: at once: names are looked up when a library is loaded.
QUICK_LINK = ("-nostdlib",) if _has_math() else ()


def write_unit(compilation: Compilation, folder: Path) -> Path:
    """What an executor reads of the bundle, with its sources in one, in `folder`."""
    files, manifest = compilation.files, compilation.manifest
    unit = f"{manifest.name}_unit.c"
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(files[name] for name in manifest.sources)
    (folder / unit).write_text(text, encoding="utf-8")
    for name in manifest.headers:
        (folder / name).write_text(files[name], encoding="utf-8")
    one = dataclasses.replace(manifest, sources=(unit,))
    (folder / FILE_NAME).write_text(one.to_json(), encoding="utf-8")
    return folder
