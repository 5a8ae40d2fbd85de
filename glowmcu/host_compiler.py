"""This computer's C compiler, and shared libraries that it makes."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from glowmcu import installation
from glowmcu.errors import error

STRICT_FLAGS = (
    "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror",
    "-Wconversion", "-Wshadow", "-Wcast-qual",
)  # fmt: skip

#: How far libraries are optimized.
LEVEL = "-O2"


class SharedLibrary:
    """A shared library in a folder of its own, which is removed with it."""

    def __init__(self) -> None:
        from multiprocessing.util import Finalize

        folder = tempfile.mkdtemp(prefix="glowmcu-")
        self.path = Path(folder) / "bundle.so"
        # Runs in workers of pools, too, which end without what `atexit` would do.
        Finalize(self, shutil.rmtree, (folder, True), exitpriority=0)


def host_compiler() -> str | None:
    """The C compiler: $CC, else cc, gcc or clang on PATH."""
    candidates = (os.environ.get("CC", ""), "cc", "gcc", "clang")
    return next((found for name in candidates if name and (found := shutil.which(name))), None)


def library_command(flags: Sequence[str]) -> list[str]:
    """What compiles sources to a shared library, strictly. Raises GM602."""
    compiler = host_compiler()
    if compiler is None:
        hint = f"{installation.HOST_COMPILER.advice}, or set CC"
        raise error("GM602", "no C compiler found", hint=hint)
    return [compiler, *STRICT_FLAGS, LEVEL, "-fPIC", "-shared", *flags]


def complaint(command: Sequence[str], library: SharedLibrary) -> str:
    """Compile to `library`; what the compiler says where it refuses, else nothing."""
    done = subprocess.run(
        [*command, "-o", str(library.path)], capture_output=True, text=True, check=False
    )
    return "" if done.returncode == 0 else done.stderr[:2000] or "it gives no reason"
