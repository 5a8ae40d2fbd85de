"""What works on this computer: for each use of the tools, what is there or what to install.

The executors say themselves what they lack, so that this is what `verify` will meet.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
import importlib.util
import shutil
import subprocess
from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from glowmcu import installation
from glowmcu.board import find_board
from glowmcu.cores import core
from glowmcu.lazy_dataclass import dataclass
from glowmcu.report.tables import plain_table
from glowmcu.verify import flash, toolchain
from glowmcu.verify.executors import executor
from glowmcu.verify.host_library import host_compiler
from glowmcu.verify.serial import line as serial_line

_SECONDS = 20


@dataclass(frozen=True)
class Use:
    """Something that some `commands` need tools for: `found` are versions that are there, `missing`
    says what to install, None if nothing is.
    """

    name: str
    commands: tuple[str, ...]
    found: tuple[str, ...]
    missing: str | None


def uses() -> tuple[Use, ...]:
    """Everything that needs more than the package itself."""
    arm, riscv = toolchain.find_gcc(), toolchain.find_gcc(core("rv32imac").flags)
    host = host_compiler()
    return (
        _executor("run on this computer", ("run", "verify"), "host", "generic", [host or ""]),
        _executor(
            "cycles on the modelled core", ("bench", "run", "tune", "verify"), "cortex-m", "nrf52",
            [str(arm or "")], ("unicorn", "capstone", "pyelftools"),
        ),
        _executor(
            "cycles on a modelled RISC-V", ("run", "verify"), "riscv", "esp32c3",
            [str(riscv or "")], ("unicorn", "capstone", "pyelftools"),
        ),
        _executor(
            "run in QEMU, Arm", ("run", "verify"), "qemu", "nrf52",
            [str(arm or ""), "qemu-system-arm"],
        ),
        _executor(
            "run in QEMU, RISC-V", ("run", "verify"), "qemu", "esp32c3",
            [str(riscv or ""), "qemu-system-riscv32"],
        ),
        _executor("run in Renode", ("run", "verify"), "renode", "nrf52", ["renode-test"]),
        _serial(),
        Use(
            "build for a board", ("flash",), tuple(filter(None, [_version(str(arm or ""))])),
            toolchain.missing(),
        ),
        Use(
            "write a board's flash", ("flash",),
            tuple(_version(tool) or tool for tool in flash.found_tools()), flash.missing(),
        ),
        _package("models in ONNX", ("compile", "export", "profile", "tune"), "onnx", "onnx"),
        _package("regions for an Ethos-U", ("compile",), "ethosu", "ethos-u", "ethos-u-vela"),
        _package("images as samples", ("profile", "tune"), "PIL", "images", "pillow"),
        _package("pictures of plans", ("compile", "tune", "verify"), "matplotlib", "plots"),
    )  # fmt: skip


def _executor(
    name: str,
    commands: tuple[str, ...],
    where: str,
    board: str,
    tools: Sequence[str],
    packages: Sequence[str] = (),
) -> Use:
    lacking = executor(where, find_board(board)).missing()
    found = [*map(_version, tools), *map(_package_version, packages)]
    return Use(f"{name} (--on {where})", commands, tuple(filter(None, found)), lacking)


def _serial() -> Use:
    """Ports are shown as they are now: a board that is not plugged in is nothing to install."""
    lacking = serial_line.missing()
    found = () if lacking else (_package_version("pyserial"), *serial_line.known_ports())
    return Use("a board (--on serial:PORT)", ("bench", "run", "verify"), found, lacking)


def _package(
    name: str, commands: tuple[str, ...], module: str, extra: str, package: str = ""
) -> Use:
    there = importlib.util.find_spec(module) is not None
    found = (_package_version(package or module),) if there else ()
    return Use(name, commands, found, None if there else installation.extra(extra))


def _package_version(name: str) -> str:
    try:
        return f"{name} {importlib.metadata.version(name)}"
    except importlib.metadata.PackageNotFoundError:
        return ""


def _version(tool: str) -> str:
    """The first line of what a tool says of itself (OpenOCD: as an error); nothing if it is not
    there.
    """
    if not tool or shutil.which(tool) is None:
        return ""
    try:
        ended = subprocess.run(
            [tool, "--version"], capture_output=True, text=True, errors="replace",
            timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError, ValueError):
        return ""
    if ended.returncode != 0:
        return ""
    return next(iter((ended.stdout or ended.stderr).splitlines()), "")


def doctor_table(found: Sequence[Use]) -> Table:
    """A row a use: what is there, or what to install."""
    table = plain_table("", ("for", "t"), ("commands", "t"), ("", "t"))
    for use in found:
        there = escape(", ".join(use.found)) or "there"
        state = f"[green]ready[/]: {there}" if use.missing is None else escape(use.missing)
        table.add_row(use.name, ", ".join(use.commands), state)
    return table


def doctor_json(found: Sequence[Use]) -> list[dict[str, object]]:
    """The same as data."""
    return [{**dataclasses.asdict(use), "works": use.missing is None} for use in found]
