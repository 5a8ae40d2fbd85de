"""A bundle as a shared library of this computer, compiled once for as long as it stays the same."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections import OrderedDict
from collections.abc import Sequence
from multiprocessing.util import Finalize
from pathlib import Path

from glowmcu import installation
from glowmcu.errors import error
from glowmcu.manifest import Manifest

STRICT_FLAGS = (
    "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror",
    "-Wconversion", "-Wshadow", "-Wcast-qual",
)  # fmt: skip
#: Libraries that are kept; whoever runs a bundle again and again alternates between few.
_KEPT = 8
_libraries: OrderedDict[str, HostLibrary] = OrderedDict()


class HostLibrary:
    """A shared library in a folder of its own, which is removed with it."""

    def __init__(self) -> None:
        folder = tempfile.mkdtemp(prefix="glowmcu-")
        self.path = Path(folder) / "bundle.so"
        # Runs in workers of pools, too, which end without what `atexit` would do.
        Finalize(self, shutil.rmtree, (folder, True), exitpriority=0)


def host_compiler() -> str | None:
    """The C compiler: $CC, else cc, gcc or clang on PATH."""
    candidates = (os.environ.get("CC", ""), "cc", "gcc", "clang")
    return next((found for name in candidates if name and (found := shutil.which(name))), None)


def host_library(bundle_dir: Path, manifest: Manifest, extra: Sequence[str]) -> HostLibrary:
    """The bundle, compiled with the strict flags and `extra`.

    A library of the same text, compiler and flags is used again. Raises GM602, GM603.
    """
    compiler = host_compiler()
    if compiler is None:
        hint = f"{installation.HOST_COMPILER.advice}, or set CC"
        raise error("GM602", "no C compiler found", hint=hint)
    sources = [str(bundle_dir / name) for name in manifest.sources]
    command = [compiler, *STRICT_FLAGS, "-O2", "-fPIC", "-shared", *extra, f"-I{bundle_dir}"]
    command += sources
    key = _digest(command, [bundle_dir / name for name in (*manifest.sources, *manifest.headers)])
    library = _libraries.get(key)
    if library is None or not library.path.is_file():
        library = HostLibrary()
        _compile(command, library, bundle_dir)
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


def _compile(command: Sequence[str], library: HostLibrary, bundle_dir: Path) -> None:
    done = subprocess.run(
        [*command, "-o", str(library.path)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise error(
            "GM603",
            f"the bundle does not compile on this computer:\n{done.stderr[:2000]}",
            str(bundle_dir),
            "were its files edited? compile the model again",
        )
