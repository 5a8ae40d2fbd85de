"""The folder `serial/` of a bundle: its test firmware in source, for this board or an application.

A board whose file describes no UART gets all but the driver, which its user brings.
"""

from __future__ import annotations

from glowmcu.board import Board, find_board
from glowmcu.cores import core
from glowmcu.errors import error
from glowmcu.lazy_dataclass import dataclass
from glowmcu.manifest import Manifest
from glowmcu.verify import toolchain
from glowmcu.verify.firmware import Port, firmware_files, firmware_view, serial_port
from glowmcu.verify.firmware.makefile import MakefileView, makefile_view
from glowmcu.verify.firmware.templates import render

_NO_DRIVER = Port(("port_serial.c", "measure_cycles.c"), serves=True)


@dataclass(frozen=True)
class ShippedView:
    """What `templates/serial/Makefile.j2` reads; `driver` is empty if the user brings it."""

    build: MakefileView
    driver: str
    gcc: str


def shipped_files(manifest: Manifest, board: Board) -> dict[str, str]:
    """The files by name relative to the bundle's folder. A board without a memory map gets the one
    of the machine that stands in for it. Raises GM187 if there is none.
    """
    hardware = board
    if board.placement is None and board.qemu is not None:
        hardware = find_board(board.qemu.machine)
    if hardware.placement is None:
        hint = "compile for a board, or for a file of your own: boards/README.md"
        raise error("GM187", f"{board.name} has no memory map for a firmware", hint=hint)
    port = _NO_DRIVER if hardware.serial is None else serial_port(hardware.serial)
    target = core(board.core)
    view = firmware_view(manifest, hardware, target, is_shipped=True, port=port)
    files = firmware_files(view, port)
    sources = [file for file in files if file.endswith(".c") and not file.startswith("uart_")]
    driver = next((file for file in files if file.startswith("uart_")), "")
    made = makefile_view(manifest, view, port, target, sources)
    gcc = toolchain.RISCV_GCC if target.is_riscv else toolchain.DEFAULT_GCC
    makefile = render("serial/Makefile.j2", ShippedView(made, driver, gcc))
    files |= {"Makefile": makefile, ".gitignore": f"{manifest.name}.elf\n"}
    return {f"serial/{file}": text for file, text in files.items()}
