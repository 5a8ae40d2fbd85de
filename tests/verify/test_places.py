"""Where the accesses of a block go is learnt from registers at its entry."""

from __future__ import annotations

from pathlib import Path

import pytest

from glowmcu.verify.cortex_m import CortexM
from glowmcu.verify.cortex_m.cost_model import Place
from glowmcu.verify.cortex_m.decode import Decoder
from glowmcu.verify.cortex_m.machine import ARENA_BASE, CODE_BASE, PLACED_BASE, memory_at
from tests.verify.assembled import learnt

_ABSENT = CortexM("cortex-m4").missing()
pytestmark = [pytest.mark.arm, pytest.mark.skipif(_ABSENT is not None, reason=str(_ABSENT))]

RAM, FLASH = 0, 1
_TABLE = "\n .balign 8\n9: .word 1, 2, 9b, 4"
#: Body of `f(r0 = arena)`; memory and lowest bits of every access of its first block.
CASES = {
    "offsets from the arena": ("ldr r1, [r0]\n ldrb r1, [r0, #7]\n bx lr", [(RAM, 0), (RAM, 7)]),
    "a table in flash": ("adr r1, 9f\n ldr r2, [r1, #4]\n bx lr" + _TABLE, [(FLASH, 4)]),
    "a pointer that a literal gives": (
        "ldr r1, 9f + 8\n ldr r2, [r1, #4]\n bx lr" + _TABLE,
        [(FLASH, 0), (FLASH, 4)],
    ),
    "a base that accesses update": (
        "ldr r1, [r0], #4\n ldr r2, [r0, #2]!\n str r1, [r0]\n bx lr",
        [(RAM, 0), (RAM, 6), (RAM, 6)],
    ),
    "sums, copies and a shifted index": (
        "movs r1, #3\n mov r2, r0\n adds r2, #1\n sub.w r2, r2, #3\n ldrb.w r3, [r2, r1, lsl #1]\n"
        " add.w r2, r2, r1, lsl #2\n ldrb r3, [r2]\n bx lr",
        [(RAM, 4), (RAM, 2)],
    ),
    "the stack": ("push {r4, lr}\n ldr r1, [sp, #4]\n pop {r4, pc}", [None]),
    "a pointer that was stored in the block": (
        "str r0, [r0]\n ldr r1, [r0]\n ldr r2, [r1]\n bx lr",
        [(RAM, 0), (RAM, 0), None],
    ),
    "a pointer that was multiplied": (
        "movs r2, #1\n mul r1, r0, r2\n ldr r1, [r1]\n bx lr",
        [None],
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_places_follow_the_sums_of_the_block(
    tmp_path: Path, case: tuple[str, list[tuple[int, int] | None]]
) -> None:
    body, expected = case
    (block, places), *_ = learnt(tmp_path, body)
    found = [place for instruction, place in zip(block, places, strict=True) if instruction.place]
    assert found == [None if one is None else Place(*one) for one in expected]


def test_a_loop_is_looked_at_more_than_once(tmp_path: Path) -> None:
    body = "movs r1, #60\n 1: ldrb r2, [r0], #1\n subs r1, #1\n bne 1b\n bx lr"
    loop = [found for found in learnt(tmp_path, body) if len(found[0]) == 3]
    addresses = [places[0].address for _, places in loop if places[0] is not None]
    # Turn 1 is in the block before. Turn 2 is entered from there, turns 3, 8 and 50 from itself.
    assert addresses == [1 % 8, 2 % 8, 7 % 8, 49 % 8]


def test_placed_regions_are_memories_of_their_own() -> None:
    memories = [memory_at(a) for a in (CODE_BASE, ARENA_BASE, PLACED_BASE, PLACED_BASE + (1 << 24))]
    assert memories[:2] == [FLASH, RAM]
    assert len(set(memories)) == 4


@pytest.mark.parametrize(
    ("code", "reads"),
    [
        ("61ea0210", "r1 r2"),  # not a packing, an OR: two sources
        ("c1ea0240", "r1 r2"),  # pkhbt r0, r1, r2, lsl #16
        ("21fa92f0", "r1 r2"),  # sxtab16 r0, r1, r2, ror #8
        ("01f30700", "r1"),  # ssat r0, #8, r1
        ("c2fb0301", "r0 r1 r2 r3"),  # smlal r0, r1, r2, r3
        ("82fb0301", "r2 r3"),  # smull r0, r1, r2, r3
    ],
)
def test_every_source_of_an_instruction_is_known(code: str, reads: str) -> None:
    from capstone import arm

    (found,) = Decoder().block(bytes.fromhex(code), 0)
    expected = {getattr(arm, f"ARM_REG_{name.upper()}") for name in reads.split()}
    assert found.reads == expected, found.text
