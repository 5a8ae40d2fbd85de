"""The executors by name, for `run`, `verify`, `measure` and `bench`."""

from __future__ import annotations

from glowmcu.board import Board
from glowmcu.errors import error
from glowmcu.verify.measurement import Executor

EXECUTOR_NAMES = ("host", "cortex-m", "qemu", "renode")


def executor(name: str, board: Board, core: str | None = None) -> Executor:
    """The executor `name` set up for `board`; `core` replaces the board's. Raises GM606.

    Modules are imported here, since Unicorn and its friends are extras.
    """
    core_name = core or board.core
    if name == "host":
        from glowmcu.verify.host import Host

        return Host()
    if name == "cortex-m":
        from glowmcu.verify.cortex_m.executor import CortexM

        return CortexM(core_name)
    if name == "qemu":
        from glowmcu.verify.qemu import Qemu

        return Qemu(board=board)
    if name == "renode":
        from glowmcu.verify.renode import Renode

        return Renode(board=board)
    raise error(
        "GM606", f"unknown executor {name!r}", hint=f"choose from {', '.join(EXECUTOR_NAMES)}"
    )
