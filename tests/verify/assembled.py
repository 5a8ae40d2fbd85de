"""Small functions in assembly on a modelled core."""

from __future__ import annotations

from pathlib import Path

from glowmcu.cores import core
from glowmcu.verify import toolchain
from glowmcu.verify.cortex_m.attribution import Account, Accountant
from glowmcu.verify.cortex_m.cost_model import Places
from glowmcu.verify.cortex_m.costs import Flash, cost_table
from glowmcu.verify.cortex_m.counting import Counts, EdgeCounter
from glowmcu.verify.cortex_m.decode import Instruction
from glowmcu.verify.cortex_m.elf import read_program
from glowmcu.verify.cortex_m.machine import Machine
from glowmcu.verify.cortex_m.places import PlaceLearner

ARENA_BYTES = 64
_SCRIPT = """
SECTIONS { . = 0x08000000; .text : { *(.text .text.*) } }
ENTRY(f)
"""
_HEAD = """
    .syntax unified
    .thumb
    .text
    .global f
    .type f, %function
f:
"""


def run(
    folder: Path, core_name: str, body: str, flash: Flash | None = None
) -> tuple[Account, Machine]:
    """Assemble and run `f(r0 = arena)`."""
    machine, accountant, counts = _count(folder, core_name, body, flash)
    return accountant.settle(counts), machine


def _count(
    folder: Path, core_name: str, body: str, flash: Flash | None
) -> tuple[Machine, Accountant, Counts]:
    source, script = folder / "f.s", folder / "f.ld"
    source.write_text(f"{_HEAD}{body}\n    .size f, . - f\n", encoding="utf-8")
    script.write_text(_SCRIPT, encoding="utf-8")
    flags = core(core_name).flags
    program = read_program(toolchain.build_elf([source], (), flags, folder / "f.elf", script))
    machine = Machine(program, core(core_name), ARENA_BYTES)
    accountant = Accountant(program, cost_table(core_name), machine.read_code, flash)
    counter = EdgeCounter(machine, flash, PlaceLearner(machine, accountant.decode))
    machine.reset()
    counts = counter.begin()
    machine.call("f", [machine.arena_address], timeout_seconds=10)
    counter.end()
    return machine, accountant, counts


def learnt(folder: Path, body: str) -> list[tuple[tuple[Instruction, ...], Places]]:
    """Blocks of `f` on an M4 as they were looked at, with the places of their accesses."""
    _, accountant, counts = _count(folder, "cortex-m4", body, None)
    return [
        (accountant.decode(edge[1], counts.sizes[edge[1]]), places)
        for (_, edge), looks in counts.places.items()
        for places in looks
    ]
