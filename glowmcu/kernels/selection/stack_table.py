"""Bytes of stack that functions take: `stack_tables`, which `benchmarks.stack_table` makes.

For every kernel the greatest of what was measured in programs of its own; what its text tells of
(frames of assembly, local arrays) is taken off and added again for a bundle. A compilation wants
one core's table; all of them are megabytes when they are read.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from glowmcu.goals import Goal
from glowmcu.stack_use import CoreStacks, FrameStacks, KernelStack, KernelUse

TABLES = Path(__file__).with_name("stack_tables")
#: Compilers, and of which kernels all tables are.
MEASURED_FILE = TABLES / "measured.json"


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
    measured = SAME_CODE.get(core, core)
    if not table_file(measured).is_file():
        return None
    row, by = read_table(table_file(measured))[optimization(goal)], read_table(MEASURED_FILE)
    compiler = by["compilers"].get(measured, by["compiler"])
    kernels = {
        variant: {kind: KernelUse(*map(_stack, uses)) for kind, uses in kinds.items()}
        for variant, kinds in row["kernels"].items()
    }
    return CoreStacks(compiler, FrameStacks(**row["frames"]), kernels)


def table_file(core: str) -> Path:
    """Where the core's table is, by optimization."""
    return TABLES / f"{core}.json"


def measured_cores() -> tuple[str, ...]:
    """Names of the cores that have a table, sorted."""
    return tuple(sorted(path.stem for path in TABLES.glob("*.json") if path != MEASURED_FILE))


def measured_sources() -> str:
    """A digest of the kernels' C when they were measured: `benchmarks.kernel_sources` makes it."""
    return str(read_table(MEASURED_FILE)["sources"])


def _stack(sizes: list[int] | None) -> KernelStack | None:
    return None if sizes is None else KernelStack(*sizes)


def read_table(path: Path) -> dict[str, Any]:
    """What such a file holds."""
    stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return stored
