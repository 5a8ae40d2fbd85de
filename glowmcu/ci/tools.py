"""Debian packages of the compilers and emulators that the job calls and this computer lacks."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from glowmcu import installation
from glowmcu.board import find_board
from glowmcu.bundle import load
from glowmcu.ci.settings import Settings
from glowmcu.errors import GlowmcuError

_RISCV = "rv"


def missing_packages(settings: Settings) -> list[str]:
    """In order, each once."""
    lacking = [tool.apt for program, tool in _wanted(settings) if shutil.which(program) is None]
    return [name for apt in dict.fromkeys(lacking) for name in apt.split()]


def _wanted(settings: Settings) -> Iterator[tuple[str, installation.Tool]]:
    is_riscv = _core(settings).startswith(_RISCV)
    on_qemu = "qemu" in settings.executors
    if "host" in settings.executors:
        yield "gcc", installation.HOST_COMPILER
    if is_riscv:
        yield "riscv64-unknown-elf-gcc", installation.RISCV_COMPILER
    elif on_qemu or settings.can_bench:
        yield "arm-none-eabi-gcc", installation.ARM_COMPILER
    if on_qemu:
        riscv = "qemu-system-riscv32", installation.QEMU_RISCV
        yield riscv if is_riscv else ("qemu-system-arm", installation.QEMU_ARM)


def _core(settings: Settings) -> str:
    """Of the board; "" where the job itself will say what is wrong with that."""
    try:
        if settings.bundle and not settings.board:
            return load(settings.bundle).board.core
        return find_board(settings.board).core if settings.board else ""
    except GlowmcuError:
        return ""
