"""The executors by name, for `run`, `verify`, `measure` and `bench`."""

from __future__ import annotations

from glowmcu.board import Board
from glowmcu.errors import error
from glowmcu.verify.measurement import Executor

EXECUTOR_NAMES = ("host", "cortex-m", "qemu", "renode")
#: As help and errors list them.
EXECUTORS_SHOWN = ", ".join((*EXECUTOR_NAMES, "serial:PORT[:BAUD]"))


#: For a core other than the board's own: the QEMU machine that has it.
_QEMU_MACHINES = {
    "cortex-m0": "microbit",
    "cortex-m3": "mps2-an385",
    "cortex-m4": "mps2-an386",
    "cortex-m7": "mps2-an500",
    "cortex-m33": "mps2-an505",
    "cortex-m55": "mps3-an547",
    "rv32imac": "virt",
}


def executor(
    name: str, board: Board, core: str | None = None, wait_states: int = 0, count: bool = True
) -> Executor:
    """The executor `name` set up for `board`; `core` replaces the board's, `wait_states` are the
    flash's in the cycle model, where other regions have their own. Without `count` only outputs
    are asked for, which a modelled core finds several times faster. Raises GM606.

    Modules are imported here, since Unicorn and its friends are extras.
    """
    core_name = core or board.core
    if name == "host":
        from glowmcu.verify.host import Host

        return Host()
    if name == "cortex-m":
        from glowmcu.verify.cortex_m.executor import CortexM

        waits = board.wait_states_by_region(wait_states)
        return CortexM(core_name, count, wait_states=wait_states, region_waits=waits)
    if name == "qemu":
        from glowmcu.verify.qemu import Qemu

        return Qemu(board=board if core is None else None, machine=_QEMU_MACHINES.get(core or ""))
    if name == "renode":
        from glowmcu.verify.renode import Renode

        return Renode(board=board)
    if name.startswith("serial:"):
        from glowmcu.verify.serial import SerialBoard, serial_place

        baud = board.serial.baud if board.serial is not None else None
        return SerialBoard(serial_place(name, baud), board)
    raise error("GM606", f"unknown executor {name!r}", hint=f"choose from {EXECUTORS_SHOWN}")
