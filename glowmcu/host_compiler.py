"""This computer's C compiler, and shared libraries that it makes."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from glowmcu import installation
from glowmcu.errors import GlowmcuError, error

STRICT_FLAGS = (
    "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror",
    "-Wconversion", "-Wshadow", "-Wcast-qual",
)  # fmt: skip

#: How far libraries are optimized.
LEVEL = "-O2"
#: Of a library's folder, and its name there.
_PREFIX, _FILE = "glowmcu-", "bundle.so"


class SharedLibrary:
    """A shared library that is compiled once and loaded as often as anybody likes. It has a file
    only while it is made and loaded, so that a process that is killed leaves none.
    """

    def __init__(self) -> None:
        self.content = b""

    @contextmanager
    def file(self) -> Iterator[Path]:
        """To load it from. On Windows, where what is loaded cannot go, it stays as long as this."""
        if os.name == "nt":
            yield self._kept_file
            return
        with tempfile.TemporaryDirectory(prefix=_PREFIX) as folder:
            yield self._written(Path(folder))

    @cached_property
    def _kept_file(self) -> Path:
        from multiprocessing.util import Finalize

        folder = tempfile.mkdtemp(prefix=_PREFIX)
        # Runs in workers of pools, too, which end without what `atexit` would do.
        Finalize(self, shutil.rmtree, (folder, True), exitpriority=0)
        return self._written(Path(folder))

    def _written(self, folder: Path) -> Path:
        path = folder / _FILE
        path.write_bytes(self.content)
        return path


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
    with library.file() as file:
        try:
            return ffi.dlopen(str(file))
        except OSError as problem:
            raise _not_loaded(ffi, file, str(problem)) from problem


def _not_loaded(ffi: Any, file: Path, said: str) -> GlowmcuError:  # noqa: ANN401 - cffi has no types
    command, path = " ".join(host_command()), str(file)
    reason = said.partition(".  Additionally")[0].rpartition(path)[2].strip("': ")
    hint = (
        "CC=gcc, or another compiler for this computer and this Python's "
        f"{8 * ffi.sizeof('void *')} bits; GLOWMCU_ARM_GCC names that for Arm"
    )
    if "failed to map segment" in reason:  # Linux, of a file system mounted with noexec
        hint = f"TMPDIR=DIR, a folder that programs may run from: {file.parents[1]} is none"
    return error("GM602", f"this computer cannot load what {command} makes: {reason}", hint=hint)


def complaint(command: Sequence[str], library: SharedLibrary) -> str:
    """Compile to `library`; what the compiler says where it refuses, else nothing."""
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as folder:
        path = Path(folder) / _FILE
        done = subprocess.run(
            [*command, "-o", str(path)],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode == 0:
            library.content = path.read_bytes()
            return ""
    return done.stderr[:2000] or "it gives no reason"
