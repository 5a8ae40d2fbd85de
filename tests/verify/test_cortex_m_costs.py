"""Cycles and instructions of small functions, counted by hand from the cores' manuals."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from glowmcu.verify import toolchain
from tests.verify.assembled import run

pytest.importorskip("unicorn")
pytest.importorskip("capstone")
pytest.importorskip("elftools")
pytestmark = [
    pytest.mark.arm,
    pytest.mark.skipif(toolchain.missing() is not None, reason=str(toolchain.missing())),
]


@dataclass(frozen=True)
class Case:
    """Body of `f(r0 = arena)`, instructions it executes, cycles by core."""

    name: str
    body: str
    instructions: int
    cycles: dict[str, int]


CASES = [
    Case(
        "a loop of loads, an add and a store, three turns",
        """
        movs r1, #3
    1:  ldr r2, [r0]
        ldr r3, [r0, #4]
        adds r2, r3
        str r2, [r0, #8]
        subs r1, #1
        bne 1b
        bx lr
        """,
        20,
        # M3, M4: 1 + 3 * (2 + 1 + 1 + 1 + 1) + (2 + 2 + 1) + 3
        {
            "cortex-m0": 1 + 3 * 8 + (3 + 3 + 1) + 3,
            "cortex-m0plus": 1 + 3 * 8 + (2 + 2 + 1) + 2,
            "cortex-m3": 27,
            "cortex-m4": 27,
        },
    ),
    Case(
        "an address that the instruction before computed",
        "adds r0, #4\n ldr r1, [r0]\n bx lr",
        3,
        {"cortex-m0": 1 + 2 + 3, "cortex-m3": 1 + 3 + 3, "cortex-m4": 1 + 3 + 3},
    ),
    Case(
        "a load whose address is the load before",
        "str r0, [r0]\n ldr r1, [r0]\n ldr r2, [r1]\n bx lr",
        4,
        {"cortex-m0plus": 2 + 2 + 2 + 2, "cortex-m4": 2 + 2 + 2 + 3},
    ),
    Case(
        "registers pushed, and popped with the return address",
        "push {r4, r5, lr}\n pop {r4, r5, pc}",
        2,
        {"cortex-m0": 4 + 6, "cortex-m0plus": 4 + 5, "cortex-m3": 4 + 7, "cortex-m4": 4 + 7},
    ),
    Case(
        "a store with a register offset",
        "movs r2, #4\n nop\n str r1, [r0, r2]\n bx lr",
        4,
        {"cortex-m0": 1 + 1 + 2 + 3, "cortex-m4": 1 + 1 + 2 + 3},
    ),
    Case(
        "a call and its return",
        "push {lr}\n bl 2f\n pop {pc}\n 2: bx lr",
        4,
        {
            "cortex-m0": 2 + 4 + 3 + 4,
            "cortex-m0plus": 2 + 3 + 2 + 3,
            "cortex-m4": 2 + 2 + 3 + 5,
        },
    ),
    Case(
        "an if-then that is not executed still takes its slots",
        "cmp r0, #0\n it eq\n moveq r1, #1\n bx lr",
        4,
        {"cortex-m3": 1 + 0 + 1 + 3, "cortex-m4": 1 + 0 + 1 + 3},
    ),
    Case(
        "a conditional return, not taken and then taken",
        "cmp r0, #0\n it eq\n bxeq lr\n it ne\n bxne lr\n udf #0",
        5,
        # the second IT follows a 16-bit instruction, though in another block
        {"cortex-m4": 1 + 0 + 1 + 0 + 3},
    ),
    Case(
        "a long product",
        "smull r1, r2, r0, r0\n bx lr",
        2,
        {"cortex-m3": 4 + 3, "cortex-m4": 1 + 3},
    ),
    Case(
        "a dual multiply-accumulate of the DSP extension",
        "smlad r1, r0, r0, r1\n bx lr",
        2,
        {"cortex-m4": 1 + 3, "cortex-m33": 1 + 2, "cortex-m7": 1 + 1},
    ),
    Case(
        "a float result that the next instruction reads",
        "vldr s0, [r0]\n vadd.f32 s0, s0, s0\n vadd.f32 s1, s0, s0\n bx lr",
        4,
        {"cortex-m4": 2 + 1 + 2 + 3},
    ),
    Case(
        "several registers loaded and stored at once",
        "ldmia r0!, {r1, r2, r3}\n stmia r0!, {r1, r2, r3}\n bx lr",
        3,
        {"cortex-m0": 4 + 4 + 3, "cortex-m4": 4 + 4 + 3},
    ),
    Case(
        "doublewords",
        "ldrd r2, r3, [r0]\n strd r2, r3, [r0, #8]\n bx lr",
        3,
        {"cortex-m3": 3 + 3 + 3, "cortex-m4": 3 + 3 + 3},
    ),
    Case(
        "four independent additions, two at a time on the M7",
        "add.w r0, #1\n add.w r1, #1\n add.w r2, #1\n add.w r3, #1\n bx lr",
        5,
        {"cortex-m4": 4 + 3, "cortex-m33": 4 + 2, "cortex-m7": 2 + 2},
    ),
    Case(
        "four dependent additions, of which the M7 does the second a stage later",
        "add.w r0, #1\n add.w r0, #1\n add.w r0, #1\n add.w r0, #1\n bx lr",
        5,
        {"cortex-m4": 4 + 3, "cortex-m33": 4 + 2, "cortex-m7": 3 + 1},
    ),
    Case(
        "a loaded value used at once",
        "ldr r1, [r0]\n add.w r1, #1\n bx lr",
        3,
        {"cortex-m4": 2 + 1 + 3, "cortex-m33": 2 + 1 + 2, "cortex-m7": 1 + 1 + 1},
    ),
    Case(
        "a loaded value used behind a branch that is not taken, in the next block",
        "cmp r0, #0\n ldr.n r1, [r0]\n beq 1f\n add.w r1, #1\n 1: bx lr",
        5,
        # the M33's branch goes with the load; the sum waits a cycle, as it does without a branch
        {"cortex-m4": 1 + 2 + 1 + 1 + 3, "cortex-m33": 1 + 1 + 0 + 2 + 2},
    ),
]


@pytest.mark.parametrize(
    ("case", "core_name"),
    [pytest.param(c, n, id=f"{c.name}, {n}") for c in CASES for n in c.cycles],
)
def test_a_function_costs_what_the_manual_says(tmp_path: Path, case: Case, core_name: str) -> None:
    account, _ = run(tmp_path, core_name, case.body)
    assert account.total.instructions == case.instructions
    assert account.total.cycles == case.cycles[core_name]


def test_straight_line_code_is_cut_at_the_markers_inside_it(tmp_path: Path) -> None:
    body = """
        push {r4, lr}
    glowmcu_step_0_1:
        ldr r1, [r0]
        ldr r2, [r0, #4]
    glowmcu_step_1_2:
        adds r1, r2
    glowmcu_step_2_3:
        pop {r4, pc}
    """
    account, _ = run(tmp_path, "cortex-m4", body)
    split = {step: (cost.instructions, cost.cycles) for step, cost in account.steps.items()}
    assert split == {0: (2, 3), 1: (1, 1), 2: (1, 6)}
    assert (account.outside.instructions, account.outside.cycles) == (1, 3)


def test_the_penalty_of_a_taken_branch_belongs_to_the_step_that_branches(tmp_path: Path) -> None:
    body = """
    glowmcu_step_0_1:
        movs r1, #2
    1:  subs r1, #1
        bne 1b
        cmp r1, #0
        beq 2f
        nop
    2:
    glowmcu_step_1_2:
        bx lr
    """
    account, _ = run(tmp_path, "cortex-m4", body)
    # movs, two turns of subs and bne (taken once), cmp and the taken beq
    assert account.steps[0].cycles == 1 + (1 + 2) + (1 + 1) + (1 + 2)
    assert account.steps[1].cycles == 3


def test_a_step_that_the_compiler_duplicated_is_one_step(tmp_path: Path) -> None:
    body = """
        cmp r0, #0
        beq 1f
    glowmcu_step_0_1:
        nop
        b 2f
    1:
    glowmcu_step_0_2:
        nop
        nop
    2:  bx lr
    """
    account, _ = run(tmp_path, "cortex-m4", body)
    assert list(account.steps) == [0]
    assert account.steps[0].instructions == 3
    assert account.outside.instructions == 2


def test_the_cycles_of_all_blocks_add_up_to_the_total(tmp_path: Path) -> None:
    account, _ = run(tmp_path, "cortex-m4", CASES[0].body)
    assert sum(block.cost.cycles for block in account.blocks) == account.total.cycles == 27
    hottest = account.hottest(1)[0]
    assert (hottest.symbol, hottest.executions, hottest.cost.cycles) == ("f", 2, 15)
    assert hottest.text[0] == "ldr r2, [r0]"


@pytest.mark.parametrize(
    ("body", "stack_bytes"),
    [
        ("bx lr", 0),
        ("push {r4, lr}\n pop {r4, pc}", 8),
        ("sub sp, #100\n str r0, [sp]\n add sp, #100\n bx lr", 100),
    ],
)
def test_stack_is_known_by_what_was_written(tmp_path: Path, body: str, stack_bytes: int) -> None:
    _, machine = run(tmp_path, "cortex-m4", body)
    assert machine.stack_used_bytes() == stack_bytes
