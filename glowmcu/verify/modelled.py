"""The executor that models a core's cycles: `cortex-m`, by QEMU where Helium is, or `riscv`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from glowmcu import cores
from glowmcu.board import Board
from glowmcu.errors import ExitCode, error
from glowmcu.option_words import ModelName, PluginName
from glowmcu.verify.cortex_m.cost_model import Sureness
from glowmcu.verify.cortex_m.costs import cost_table
from glowmcu.verify.cortex_m.executor import CortexM, DetailedMeasurement
from glowmcu.verify.helium.costs import HELIUM_COSTS
from glowmcu.verify.measurement import Array, Executor
from glowmcu.verify.riscv.costs import pipeline
from glowmcu.verify.riscv.executor import RiscV

#: For a core other than the board's own: the QEMU machine that has it, or one like it.
QEMU_MACHINES = {
    "cortex-m0": "microbit",
    "cortex-m3": "mps2-an385",
    "cortex-m4": "mps2-an386",
    "cortex-m7": "mps2-an500",
    "cortex-m33": "mps2-an505",
    "cortex-m55": "mps3-an547",
    "cortex-m85": "mps3-an547",
    "rv32imc": "virt",
    "rv32imac": "virt",
    "hazard3": "virt",
}


def model_of(core_name: str) -> ModelName:
    """The name of that executor."""
    return "riscv" if cores.core(core_name).is_riscv else "cortex-m"


def modelled_on(core_name: str) -> ModelName | PluginName:
    """The same, or the executor that comes with a package's core. Raises GM757 if none does."""
    own = cores.core(core_name)
    if not own.is_foreign:
        return model_of(core_name)
    if not own.executor:
        raise error(
            "GM757",
            f"nothing models the cycles of {core_name}",
            hint="the package that adds the core names no executor; say one with --on",
        )
    return PluginName(own.executor)


def sureness_of(core_name: str) -> Sureness:
    """How far silicon may be from the modelled cycles of a core."""
    if cores.core(core_name).is_riscv:
        return pipeline(core_name).sureness
    helium = HELIUM_COSTS.get(core_name)
    return cost_table(core_name).sureness if helium is None else helium.sureness


def sureness_line(core_name: str) -> str:
    """The same for people."""
    if core_name == cores.GENERIC:
        return "the code for any processor, as a Cortex-M0+ counts it: another takes other cycles"
    return sureness_of(core_name).line()


class ModelledCore(Executor, Protocol):
    """An executor that says where the cycles went."""

    def measure(
        self, bundle_dir: Path, inputs: Sequence[Sequence[Array]]
    ) -> list[DetailedMeasurement]:
        """As `run`, with the costs of every step and block."""


def modelled_core(
    core_name: str,
    board: Board | None = None,
    count: bool = True,
    wait_states: int = 0,
    region_waits: Mapping[str, int] | None = None,
    debug_lines: bool = False,
    memory_of: Board | None = None,
) -> ModelledCore:
    """The model of `core_name`, by QEMU on the machine of `board` if that has the core; the rest
    as of `CortexM`. Raises GM618 for an unknown core, GM650 for wait states with Helium.
    """
    core = cores.core(core_name)
    if not core.has_mve:
        kind = RiscV if core.is_riscv else CortexM
        return kind(
            core_name,
            count,
            wait_states=wait_states,
            debug_lines=debug_lines,
            region_waits=region_waits,
            memory_of=memory_of,
        )
    if wait_states or any((region_waits or {}).values()):
        raise error(
            "GM650",
            f"the model of {core_name} knows no wait states, got {wait_states}",
            hint="measure without: --wait-states 0, which is right for tightly coupled memory",
            exit_code=ExitCode.USAGE,
        )
    from glowmcu.verify.helium import HeliumCore

    own = board is not None and board.core == core_name and board.qemu is not None
    machine = None if own else QEMU_MACHINES[core_name]
    return HeliumCore(core, board if own else None, machine, count, debug_lines)


def without_the_core(name: str, core_name: str) -> Executor:
    """The executor `name` for another one's core: whatever it runs raises GM650 and names that."""
    return RiscV(core_name) if name == "riscv" else CortexM(core_name)
