"""The executors by name, for `run`, `verify`, `measure` and `bench`.

A package adds one by an entry point in the group `glowmcu.executors`: its name is the executor's,
and it gives a function that makes an `Executor` for a board and a core's name.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeGuard

from glowmcu import cores
from glowmcu.board import Board
from glowmcu.discovery import Plugin, load_plugins, name_taken, plugins, wrong_type
from glowmcu.errors import GlowmcuError, error
from glowmcu.verify.measurement import Executor

#: Those of this package.
EXECUTOR_NAMES = ("host", "cortex-m", "riscv", "qemu", "renode")
_GROUP = "glowmcu.executors"
ExecutorFactory = Callable[[Board, str], Executor]


def executor_names() -> tuple[str, ...]:
    """Of this package, then those of others, which are not loaded for that."""
    return (*EXECUTOR_NAMES, *(plugin.name for plugin in plugins(_GROUP)))


def executors_shown() -> str:
    """As help and errors list them."""
    return ", ".join((*executor_names(), "serial:PORT[:BAUD]"))


@cache
def executor_factories() -> dict[str, tuple[Plugin, ExecutorFactory]]:
    """Those of packages by name. Raises GM750 to GM753."""
    factories: dict[str, tuple[Plugin, ExecutorFactory]] = {}
    expected = "a function that makes an Executor for a Board and a core's name"
    for plugin, factory in load_plugins(_GROUP, _is_factory, expected):
        if plugin.name in (*EXECUTOR_NAMES, *factories) or plugin.name.startswith("serial:"):
            message = f"there is another executor {plugin.name!r}"
            raise GlowmcuError([name_taken(plugin, message)])
        factories[plugin.name] = plugin, factory
    return factories


def _is_factory(given: object) -> TypeGuard[ExecutorFactory]:
    return callable(given)


def _of_package(name: str, board: Board, core_name: str) -> Executor:
    plugin, factory = executor_factories()[name]
    made = factory(board, core_name)
    if not all(hasattr(made, each) for each in ("name", "missing", "run")):
        raise GlowmcuError([wrong_type(plugin, made, "an Executor: name, missing() and run()")])
    return made


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
    core_name = board.core if core is None else core
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
    if name in executor_factories():
        return _of_package(name, board, core_name)
    raise error("GM606", f"unknown executor {name!r}", hint=f"choose from {executors_shown()}")
