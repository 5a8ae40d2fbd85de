"""This computer's C compiler, and shared libraries that it makes."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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


def host_command() -> list[str]:
    """The C compiler, and what is to stand before its options: $CC, which may have both (`ccache
    gcc`), else cc, gcc or clang on PATH; empty if there is none, or none that $CC names.
    """
    chosen = os.environ.get("CC", "").strip()
    for name in [chosen] if chosen else ["cc", "gcc", "clang"]:
        if found := shutil.which(name):
            return [found]
    try:
        words = shlex.split(chosen, posix=os.name != "nt")
    except ValueError:  # a quotation mark is not closed
        return []
    return words if words and shutil.which(words[0]) else []


def host_compiler() -> str | None:
    """The program of `host_command`."""
    return next(iter(host_command()), None)


def missing_compiler() -> str | None:
    """What to do before C can be compiled for this computer, or None."""
    return None if host_command() else ": ".join(_lack())


def _lack() -> tuple[str, str]:
    """What is missing, and what to do."""
    if chosen := os.environ.get("CC", "").strip():
        return (
            f"CC names {chosen}, which is not a program that can be run",
            "unset it, or set another",
        )
    return "no C compiler on PATH", f"{installation.HOST_COMPILER.advice}, or set CC"


def question_about_cc() -> str:
    """What to ask where something does not compile, if CC says by what; else nothing."""
    chosen = os.environ.get("CC", "").strip()
    return f"is CC, {chosen}, this computer's compiler? " if chosen else ""


def expect_compiler() -> list[str]:
    """`host_command`. Raises GM602 if there is none."""
    command = host_command()
    if not command:
        what, hint = _lack()
        raise error("GM602", what, hint=hint)
    return command


def library_command(flags: Sequence[str]) -> list[str]:
    """What compiles sources to a shared library, strictly. Raises GM602."""
    return [*expect_compiler(), *STRICT_FLAGS, LEVEL, "-fPIC", "-shared", *flags]


def loaded(ffi: Any, library: SharedLibrary) -> Any:  # noqa: ANN401 - cffi has no types
    """The library, to call its functions through `ffi`. Raises GM602 if it is not for here: where
    firmware is built CC may name a cross compiler, and an old gcc on Windows makes 32 bits.
    """
    try:
        return ffi.dlopen(str(library.path))
    except OSError as problem:
        command, path = " ".join(host_command()), str(library.path)
        reason = str(problem).partition(".  Additionally")[0].rpartition(path)[2].strip("': ")
        hint = (
            "CC=gcc, or another compiler for this computer and this Python's "
            f"{8 * ffi.sizeof('void *')} bits; GLOWMCU_ARM_GCC names that for Arm"
        )
        if "failed to map segment" in reason:  # Linux, of a file system mounted with noexec
            where = library.path.parents[1]
            hint = f"TMPDIR=DIR, a folder that programs may run from: {where} is none"
        message = f"this computer cannot load what {command} makes: {reason}"
        raise error("GM602", message, hint=hint) from problem


def complaint(command: Sequence[str], library: SharedLibrary) -> str:
    """Compile to `library`; what the compiler says where it refuses, else nothing."""
    done = subprocess.run(
        [*command, "-o", str(library.path)],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    return "" if done.returncode == 0 else done.stderr[:2000] or "it gives no reason"
