"""The executors by name, for `run`, `verify`, `measure` and `bench`."""

from __future__ import annotations

from glowmcu import cores
from glowmcu.board import Board
from glowmcu.errors import error
from glowmcu.verify.measurement import Executor

EXECUTOR_NAMES = ("host", "cortex-m", "riscv", "qemu", "renode")
#: As help and errors list them.
EXECUTORS_SHOWN = ", ".join((*EXECUTOR_NAMES, "serial:PORT[:BAUD]"))


def executor(
    name: str,
    board: Board,
    core: str | None = None,
    wait_states: int = 0,
    count: bool = True,
    board_memory: bool = False,
) -> Executor:
    """The executor `name` set up for `board`; `core` replaces the board's, `wait_states` are the
    flash's in the cycle model, where other regions have their own. Without `count` only outputs
    are asked for, which a modelled core finds several times faster. With `board_memory` a modelled
    core of the board's own kind replays its memories. Raises GM606.

    Modules are imported here, since Unicorn and its friends are extras.
    """
    core_name = core or board.core
    if name == "host":
        from glowmcu.verify.host import Host

        return Host()
    if name in ("cortex-m", "riscv"):
        from glowmcu.verify.modelled import modelled_core, without_the_core

        if cores.core(core_name).modelled_by != name:
            return without_the_core(name, core_name)
        waits = board.wait_states_by_region(wait_states)
        memory_of = board if board_memory and core_name == board.core else None
        return modelled_core(core_name, board, count, wait_states, waits, memory_of=memory_of)
    if name == "qemu":
        from glowmcu.verify.modelled import QEMU_MACHINES
        from glowmcu.verify.qemu import Qemu

        return Qemu(board=board if core is None else None, machine=QEMU_MACHINES.get(core or ""))
    if name == "renode":
        from glowmcu.verify.renode import Renode

        return Renode(board=board)
    if name.startswith("serial:"):
        from glowmcu.verify.serial import SerialBoard, serial_place

        baud = board.serial.baud if board.serial is not None else None
        return SerialBoard(serial_place(name, baud), board)
    raise error("GM606", f"unknown executor {name!r}", hint=f"choose from {EXECUTORS_SHOWN}")
