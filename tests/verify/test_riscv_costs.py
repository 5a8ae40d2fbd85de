"""Cycles and instructions of small functions on RISC-V, counted by hand from what is published."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from glowmcu.cores import core
from glowmcu.verify import toolchain
from glowmcu.verify.cortex_m.attribution import Account
from glowmcu.verify.cortex_m.counting import EdgeCounter
from glowmcu.verify.cortex_m.elf import read_program
from glowmcu.verify.riscv.costs import pipeline
from glowmcu.verify.riscv.executor import RiscvAccountant
from glowmcu.verify.riscv.machine import RiscvMachine

pytest.importorskip("unicorn")
pytest.importorskip("capstone")
pytest.importorskip("elftools")
_ABSENT = toolchain.missing(core("hazard3").flags)
pytestmark = [pytest.mark.riscv, pytest.mark.skipif(_ABSENT is not None, reason=str(_ABSENT))]

_SCRIPT = """
SECTIONS { . = 0x08000000; .text : { *(.text .text.*) } }
ENTRY(f)
"""
_HEAD = "    .text\n    .global f\n    .type f, @function\nf:\n"


@dataclass(frozen=True)
class Case:
    """Body of `f(a0 = arena)`, instructions it executes, cycles by core.

    Hazard3's are from its documentation, Instruction Cycle Counts: a return takes 2, a load 1 and
    one more where the next instruction needs it, a mispredicted branch 2, a division 18, a jump to
    unaligned 32 bits one more.
    """

    name: str
    body: str
    instructions: int
    cycles: dict[str, int]


CASES = [
    Case("a return", "ret", 1, {"hazard3": 2, "rv32imc": 3, "rv32imac": 3}),
    Case(
        "arithmetic of 16 and 32 bits",
        "li a1, 3\n add a2, a0, a1\n slli a2, a2, 7\n sub a2, a2, a0\n lui a3, 0x12345\n ret",
        6,
        {"hazard3": 5 + 2, "rv32imc": 5 + 3},
    ),
    Case(
        "a load that the next instruction uses",
        "lw a1, 0(a0)\n addi a1, a1, 1\n ret",
        3,
        {"hazard3": 2 + 1 + 2, "rv32imc": 2 + 1 + 3, "rv32imac": 2 + 1 + 3},
    ),
    Case(
        "a load that the one after the next uses",
        "lw a1, 0(a0)\n li a2, 1\n addi a1, a1, 1\n ret",
        4,
        {"hazard3": 1 + 1 + 1 + 2, "rv32imc": 3 + 3},
    ),
    Case(
        "a load whose result is stored: Hazard3 needs it late",
        "lw a1, 0(a0)\n sw a1, 4(a0)\n ret",
        3,
        {"hazard3": 1 + 1 + 2, "rv32imc": 2 + 1 + 3},
    ),
    Case(
        "a load whose result is the address of a store",
        "sw a0, 0(a0)\n lw a1, 0(a0)\n sw a1, 4(a1)\n ret",
        4,
        {"hazard3": 1 + 2 + 1 + 2},
    ),
    Case(
        "products, all of one cycle",
        "mul a1, a0, a0\n mul a1, a1, a1\n mulhu a1, a1, a1\n ret",
        4,
        {"hazard3": 3 + 2, "rv32imc": 3 + 3},
    ),
    Case("a division", "divu a1, a0, a0\n ret", 2, {"hazard3": 18 + 2, "rv32imc": 33 + 3}),
    Case(
        "a forward branch, not taken and taken",
        "beqz a0, 1f\n bnez a0, 1f\n nop\n .balign 4\n 1: ret",
        3,
        {"hazard3": 1 + 2 + 2, "rv32imc": 1 + 3 + 3, "rv32imac": 1 + 3 + 3},
    ),
    Case(
        "ten turns: the first is not foreseen and neither is the end",
        "li a1, 10\n 1: addi a1, a1, -1\n nop\n bnez a1, 1b\n ret",
        32,
        # Hazard3: (1 + 1 + 1) a turn, 1 for the first time back, 1 for the end.
        {"hazard3": 1 + 10 * 3 + 2 + 2, "rv32imc": 1 + 10 * 3 + 9 * 2 + 3,
         "rv32imac": 1 + 10 * 3 + 9 + 2 + 3},
    ),
    Case(
        "three turns of a loop around four: the inner one makes the predictor forget the outer",
        """
        li a1, 3
    2:  li a2, 4
    1:  addi a2, a2, -1
        bnez a2, 1b
        addi a1, a1, -1
        bnez a1, 2b
        ret
        """,
        1 + 3 * (1 + 8 + 2) + 1,
        # inner: 8 and 2 for each of three entries; outer: taken twice, 1 each.
        {"hazard3": 1 + 3 * (1 + 8 + 2 + 2) + 2 + 2},
    ),
    Case(
        "a jump to 32 bits of code that lie in two words",
        "j 1f\n .balign 4\n nop\n 1: .option norvc\n lui a1, 0x12345\n ret",
        3,
        {"hazard3": 2 + 1 + 1 + 2, "rv32imc": 2 + 1 + 3},
    ),
    Case(
        "a call and its return",
        "mv t0, ra\n call 1f\n mv ra, t0\n ret\n 1: ret",
        5,
        {"hazard3": 1 + 2 + 2 + 1 + 2},
    ),
    Case(
        "bit manipulation, which costs what arithmetic does",
        "sh2add a1, a0, a0\n min a1, a1, a0\n sext.b a1, a1\n ret",
        4,
        {"hazard3": 3 + 2},
    ),
]  # fmt: skip


def run(folder: Path, core_name: str, body: str, arena_bytes: int = 64) -> tuple[Account, int]:
    """Assemble and run `f`; its costs and result."""
    source, script = folder / "f.s", folder / "f.ld"
    source.write_text(f"{_HEAD}{body}\n    .size f, . - f\n", encoding="utf-8")
    script.write_text(_SCRIPT, encoding="utf-8")
    target = core(core_name)
    elf = toolchain.build_elf([source], (), target.flags, folder / "f.elf", script)
    program = read_program(elf)
    machine = RiscvMachine(program, target, arena_bytes)
    counter = EdgeCounter(machine)
    machine.reset()
    counts = counter.begin()
    result = machine.call("f", [machine.arena_address], timeout_seconds=10)
    counter.end()
    accountant = RiscvAccountant(program, pipeline(core_name), machine.read_code)
    return accountant.settle(counts), result


@pytest.mark.parametrize(
    ("case", "core_name"),
    [pytest.param(c, n, id=f"{c.name}, {n}") for c in CASES for n in c.cycles],
)
def test_a_function_costs_what_is_published(tmp_path: Path, case: Case, core_name: str) -> None:
    account, _ = run(tmp_path, core_name, case.body)
    assert account.total.instructions == case.instructions
    assert account.total.cycles == case.cycles[core_name]
    assert sum(block.cost.cycles for block in account.blocks) == account.total.cycles


#: Of 0x8000F183 and 0x00000904, or of the first alone.
BITS = {
    "sh1add a0, a1, a2": 0x0001EC0A, "sh2add a0, a1, a2": 0x0003CF10,
    "sh3add a0, a1, a2": 0x0007951C, "andn a0, a1, a2": 0x8000F083, "orn a0, a1, a2": 0xFFFFF7FB,
    "xnor a0, a1, a2": 0x7FFF0778, "min a0, a1, a2": 0x8000F183, "minu a0, a1, a2": 0x00000904,
    "max a0, a1, a2": 0x00000904, "maxu a0, a1, a2": 0x8000F183, "rol a0, a1, a2": 0x000F1838,
    "ror a0, a1, a2": 0x38000F18, "rori a0, a1, 8": 0x838000F1, "clz a0, a1": 0,
    "clz a0, a2": 20, "ctz a0, a2": 2, "cpop a0, a1": 9, "ctz a0, zero": 32,
    "sext.b a0, a1": 0xFFFFFF83, "sext.h a0, a1": 0xFFFFF183, "zext.h a0, a1": 0x0000F183,
    "orc.b a0, a1": 0xFF00FFFF, "rev8 a0, a1": 0x83F10080, "pack a0, a1, a2": 0x0904F183,
    "packh a0, a1, a2": 0x00000483, "brev8 a0, a2": 0x00009020,
}  # fmt: skip


@pytest.mark.parametrize("statement", BITS)
def test_bit_manipulation_means_what_its_specification_says(tmp_path: Path, statement: str) -> None:
    body = f"li a1, 0x8000F183\n li a2, 0x904\n {statement}\n ret"
    _, result = run(tmp_path, "hazard3", body)
    assert result == BITS[statement]
    _, as_its_operand = run(
        tmp_path, "hazard3", body.replace("a0", "a1").replace("ret", "mv a0, a1\n ret")
    )
    assert as_its_operand == BITS[statement]


def test_zip_and_unzip_undo_each_other(tmp_path: Path) -> None:
    _, zipped = run(tmp_path, "hazard3", "li a1, 0x0000FFFF\n zip a0, a1\n ret")
    assert zipped == 0x55555555
    _, back = run(tmp_path, "hazard3", "li a1, 0x55555555\n unzip a0, a1\n ret")
    assert back == 0x0000FFFF
