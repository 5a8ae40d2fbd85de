"""A bundle as a shared library of this computer, compiled once for as long as it stays the same."""

from __future__ import annotations

import hashlib
import os
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from glowmcu.errors import error
from glowmcu.given_paths import as_argument
from glowmcu.host_compiler import (
    STRICT_FLAGS,
    SharedLibrary,
    complaint,
    host_compiler,
    library_command,
    loaded,
    missing_compiler,
    question_about_cc,
)
from glowmcu.manifest import Manifest
from glowmcu.temporary_files import advice_on_room

__all__ = ["STRICT_FLAGS", "host_compiler", "host_library", "loaded", "missing_compiler"]

#: Libraries that are kept; whoever runs a bundle again and again alternates between few.
_KEPT = 8
_libraries: OrderedDict[str, SharedLibrary] = OrderedDict()


def host_library(bundle_dir: Path, manifest: Manifest, extra: Sequence[str]) -> SharedLibrary:
    """The bundle, compiled with the strict flags and `extra`.

    A library of the same text, compiler and flags is used again. Raises GM602, GM603.
    """
    sources = [as_argument(bundle_dir / name) for name in manifest.sources]
    command = [*library_command(extra), f"-I{bundle_dir}", *sources]
    key = _digest(command, [bundle_dir / name for name in (*manifest.sources, *manifest.headers)])
    library = _libraries.get(key)
    if library is None:
        library = SharedLibrary()
        refused = complaint(command, library)
        if refused:
            raise error(
                "GM603",
                f"the bundle does not compile on this computer:\n{refused}",
                str(bundle_dir),
                advice_on_room(refused)
                or f"{question_about_cc()}were its files edited, or are they being written? "
                "compile the model again",
            )
        _libraries[key] = library
    _libraries.move_to_end(key)
    while len(_libraries) > _KEPT:
        _libraries.popitem(last=False)
    return library


def _digest(command: Sequence[str], files: Sequence[Path]) -> str:
    """Of the command and of what is in the files; one that is missing is the compiler's to say."""
    digest = hashlib.sha256(os.fsencode("\0".join(command)))
    for path in files:
        text = path.read_bytes() if path.is_file() else b""
        digest.update(len(text).to_bytes(8, "little") + text)
    return digest.hexdigest()
