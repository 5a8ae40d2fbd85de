"""Bytes of stack that functions take: `stack_table.json`, which `benchmarks.stack_table` makes.

For every kernel the greatest of what was measured in programs of its own; what its text tells of
(frames of assembly, local arrays) is taken off and added again for a bundle.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from glowmcu.goals import Goal
from glowmcu.stack_use import CoreStacks, FrameStacks, KernelStack, KernelUse

TABLE_FILE = Path(__file__).with_name("stack_table.json")


def optimization(goal: Goal) -> str:
    """How a bundle's C is compiled: `-Os` by a pragma where little code was asked for."""
    return "-Os" if goal.optimizes_size else "-O2"


#: Cores of which gcc makes the same machine code as of another one that was measured.
SAME_CODE = {
    "cortex-m0": "cortex-m0plus", "cortex-m85": "cortex-m55", "rv32imc": "rv32imac",
}  # fmt: skip


@cache
def core_stacks(core: str, goal: Goal) -> CoreStacks | None:
    """Stacks measured on the core; None for one on which none were."""
    table = _table()
    measured = SAME_CODE.get(core, core)
    row = table["cores"].get(measured, {}).get(optimization(goal))
    if row is None:
        return None
    compiler = table["compilers"].get(measured, table["compiler"])
    kernels = {
        variant: {kind: KernelUse(*map(_stack, uses)) for kind, uses in kinds.items()}
        for variant, kinds in row["kernels"].items()
    }
    return CoreStacks(compiler, FrameStacks(**row["frames"]), kernels)


def measured_cores() -> tuple[str, ...]:
    """Names of the cores that the table has, sorted."""
    return tuple(sorted(_table()["cores"]))


def measured_sources() -> str:
    """A digest of the kernels' C when they were measured: `benchmarks.kernel_sources` makes it."""
    return str(_table()["sources"])


def _stack(sizes: list[int] | None) -> KernelStack | None:
    return None if sizes is None else KernelStack(*sizes)


def _table() -> dict[str, Any]:
    """All cores': megabytes, of which a compilation wants the row of one."""
    stored: dict[str, Any] = json.loads(TABLE_FILE.read_text(encoding="utf-8"))
    return stored
