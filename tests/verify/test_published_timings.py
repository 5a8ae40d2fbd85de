"""Short sequences take the cycles that others measured on silicon, or that Arm's manuals state.

[jnk0le]: github.com/jnk0le/random, "pipeline cycle test", doc/cortex_*.md, the section in each
case's source. TRM: the core's Technical Reference Manual.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from glowmcu.verify.cortex_m import CortexM
from tests.verify.assembled import run

_ABSENT = CortexM("cortex-m4").missing()
pytestmark = [pytest.mark.arm, pytest.mark.skipif(_ABSENT is not None, reason=str(_ABSENT))]


@dataclass(frozen=True)
class Timing:
    """A sequence, its cycles, who says so. `setup` runs before; r0 is an address in RAM."""

    name: str
    code: str
    cycles: int
    source: str
    setup: str = ""


#: r1 = how often a loop runs.
_TURNS = "movs r1, #5"


def _loop(code: str) -> str:
    return f"1: {code}\n subs r1, #1\n bne 1b"


#: r2 = an address in flash.
_FLASH = "adr r2, 9f"
_M3_AND_M4 = (
    Timing("two loads", "ldr r1, [r0]\n ldr r3, [r0, #4]", 3, "TRM, load/store timings"),
    Timing(
        "three loads",
        "ldr r1, [r0, r5]\n ldr r3, [r0]\n ldr r4, [r0, #4]",
        4,
        "TRM, load/store timings",
        "movs r5, #8",
    ),
    Timing("a load and a NOP", "ldr r1, [r0]\n nop", 2, "loads: eats the NOP"),
    Timing("a load and a comparison", "ldr r1, [r0]\n cmp r4, r5", 3, "loads: CMP does not work"),
    Timing(
        "loads from two memories", "ldr r1, [r0]\n ldr r3, [r2]", 4, "loads: same block", _FLASH
    ),
    Timing(
        "loads from two memories in turn",
        "ldr r1, [r0]\n ldr r3, [r2]\n ldr r4, [r0, #4]\n ldr r5, [r2, #4]",
        8,
        "loads: same block",
        _FLASH,
    ),
    Timing("a computed address", "adds r0, #4\n ldr r1, [r0]", 4, "loads: a cycle earlier"),
    Timing("a computed offset", "movs r1, #4\n ldr r1, [r0, r1]", 4, "loads: a cycle earlier"),
    Timing(
        "updates of one base",
        "ldr r1, [r0], #4\n ldr r3, [r0], #4",
        4,
        "loads: not back to back on the same base",
    ),
    Timing("two stores", "str r1, [r0]\n str r3, [r0, #4]", 2, "stores: 1 cycle"),
    Timing("a store that updates", "str r1, [r0], #4", 1, "stores: 1 cycle"),
    Timing("a store behind a load", "ldr r1, [r0]\n str r1, [r0, #4]", 2, "stores: no stall"),
    Timing(
        "a store with an offset in a register behind a load",
        "ldr r1, [r0]\n str r1, [r0, r5]",
        3,
        "TRM, load/store timings",
        "movs r5, #8",
    ),
    Timing("a store with an offset in a register", "str r1, [r0, r5]", 2, "stores", "movs r5, #8"),
    Timing(
        "a store with an offset in a register and a NOP",
        "str r1, [r0, r5]\n nop",
        2,
        "stores: eats the NOP",
        "movs r5, #8",
    ),
    Timing("a load behind a store", "str r1, [r0]\n ldr r3, [r0, #4]", 4, "stores: extra cycle"),
    Timing(
        "several loads behind a store", "str r1, [r0]\n ldmia r0, {r3, r4}", 5, "stores: not LDM"
    ),
    Timing(
        "several stores behind a store", "str r1, [r0]\n stmia r0!, {r3, r4}", 4, "stores: but STM"
    ),
    Timing(
        "stores that update one base",
        "str r1, [r0], #4\n str r1, [r0], #4",
        3,
        "stores: not back to back on the same base",
    ),
    Timing("two words", "ldrd r3, r4, [r0]", 3, "TRM, load/store timings"),
    Timing("a word at a half-word's address", "ldr r1, [r0, #2]", 3, "TRM, load/store timings"),
    Timing("a word at an odd address", "ldr.w r1, [r0, #1]", 4, "TRM, load/store timings"),
    Timing("a half-word at an odd address", "ldrh.w r1, [r0, #1]", 3, "TRM, load/store timings"),
    Timing(
        "three wide instructions in two words each",
        "mov r8, r8\n add.w r1, #1\n add.w r1, #1\n add.w r1, #1\n mov r8, r8",
        6,
        "compendium.i-0.nl, alignment rules",
    ),
    Timing(
        "two wide instructions in two words each",
        "mov r8, r8\n add.w r1, #1\n add.w r1, #1\n mov r8, r8",
        4,
        "compendium.i-0.nl, alignment rules",
    ),
    Timing(
        "a loop of five turns",
        "1: .rept 17\n nop.w\n .endr\n subs.w r1, #1\n bne.w 1b",
        5 * 20 - 1,
        "the template CM3_pipetest_tmpl.S: 20 cycles a turn; 1 for the branch at the end",
        "movs.w r1, #5\n nop.w\n 1:",
    ),
)
_M3 = (
    Timing("updates of two bases", "ldr r1, [r0], #4\n ldr r3, [r2], #4", 4, "loads", "mov r2, r0"),
    Timing(
        "an update in front", "ldr r1, [r0], #4\n ldr r3, [r2]", 3, "loads: the first", "mov r2, r0"
    ),
    Timing("a load and a store that updates", "ldr r1, [r0]\n str r1, [r2], #4", 3, "stores",
           "mov r2, r0"),
    Timing("a sum of products", "mla r1, r3, r4, r1", 2, "TRM, table 3-1"),
)  # fmt: skip
_M4 = (
    Timing("updates of two bases", "ldr r1, [r0], #4\n ldr r3, [r2], #4", 3, "loads", "mov r2, r0"),
    Timing("a load and a store that updates", "ldr r1, [r0]\n str r1, [r2], #4", 2, "stores",
           "mov r2, r0"),
    Timing("a sum of products", "mla r1, r3, r4, r1", 1, "TRM, table 3-1"),
    Timing("two products at once", "smlad r1, r3, r4, r1\n smlad r5, r3, r4, r5", 2, "TRM"),
)  # fmt: skip
_M33 = (
    Timing("a shifted operand, used", "add.w r1, r2, r3, lsl #2\n add r4, r1", 3, "overall"),
    Timing(
        "a shifted operand, added products to",
        "add.w r1, r2, r3, lsl #2\n mla r4, r2, r3, r1",
        2,
        "overall: chained from operand2",
    ),
    Timing("a shifted constant, used", "add.w r1, r2, #0x1fc0\n add r4, r1", 3, "overall"),
    Timing("a constant of a pattern, used", "eor r1, r2, #0x1b1b1b1b\n add r4, r1", 2, "overall"),
    Timing("sums in a chain", "\n".join(["smlad r1, r2, r3, r1"] * 4), 4, "overall: chained"),
    Timing("a product, multiplied", "mul r1, r2, r3\n mla r4, r1, r2, r4", 3, "overall"),
    Timing("a sum of products, added", "mla r1, r2, r3, r1\n add r4, r1", 3, "overall"),
    Timing("a sum of products, stored", "mla r1, r2, r3, r1\n str r1, [r0]", 2, "load/store"),
    Timing(
        "extended sums in a chain", "uxtab r1, r1, r2\n uxtab r1, r1, r3", 2, "overall: chained"
    ),
    Timing("an extended sum, used", "uxtab r1, r1, r2\n add r4, r1", 3, "overall"),
    Timing("a field put in, used", "bfi r1, r2, #3, #4\n add r4, r1", 2, "overall: bfi"),
    Timing("a saturated sum, used", "qsub r1, r2, r3\n add r4, r1", 3, "overall: DSP and SIMD"),
    Timing("four sums, used", "uadd8 r1, r2, r3\n add r4, r1", 3, "overall: DSP and SIMD"),
    Timing("packed halves, used", "pkhbt r1, r2, r3, lsl #16\n add r4, r1", 3, "overall"),
    Timing("MULS", "muls r1, r2, r1", 2, "overall: two stages and flags"),
    Timing("a shifted constant and flags", "eors r1, r2, #0x1fc0", 2, "overall: two stages, flags"),
    Timing("a shifted constant moved with flags", "movs.w r1, #0x1fc0", 1, "overall: unaffected"),
    Timing("a load, used", "ldr r1, [r0]\n add r4, r1", 3, "load/store: load to use"),
    Timing("a load, added products to", "ldr r1, [r0]\n mla r4, r2, r3, r1", 2, "load/store"),
    Timing("a load, extended and added", "ldr r1, [r0]\n uxtab r4, r1, r3", 3, "load/store"),
    Timing("a load, stored", "ldr r1, [r0]\n str r1, [r0, #4]", 2, "load/store"),
    Timing("four loads", "ldmia r0, {r1, r2, r3, r4}", 4, "load/store: exactly x"),
    Timing("four stores", "stmia r0!, {r1, r2, r3, r4}", 4, "load/store: exactly x"),
    Timing("two words", "ldrd r1, r2, [r0]", 2, "load/store: double"),
    Timing("a NOP behind arithmetic", "mov r8, r8\n nop", 1, "limited dual issue"),
    Timing("arithmetic with arithmetic", "adds r1, #1\n adds r2, #1", 2, "limited dual issue"),
    Timing("IT behind a comparison", "cmp r1, r2\n it eq\n moveq r1, r2", 2, "limited dual issue"),
    Timing("a branch not taken", "adds r1, #1\n beq 2f\n2:", 1, "not taken: 0", "movs r1, #1"),
    Timing("a branch taken", "adds r1, #1\n bne 2f\n nop\n2:", 3, "taken: 2", "movs r1, #1"),
    Timing(
        "a branch taken, decided before",
        "mov r8, r8\n bne 2f\n nop\n2:",
        2,
        "taken: 1 behind what sets no flags",
        "movs r1, #1",
    ),
    Timing(
        "several loads and a branch",
        "ldmia r0!, {r1, r2, r3, r4}\n bne 2f\n nop\n2:",
        5,
        "branch with load multiple",
        "movs r1, #1",
    ),
    Timing("float sums of products in a chain", "vfma.f32 s0, s1, s2\n vfma.f32 s0, s1, s2", 4,
           "fpu: 3 into the sum"),
    Timing("float sums, used", "vadd.f32 s0, s1, s2\n vadd.f32 s3, s0, s2", 3, "fpu: 2"),
    Timing("float products apart", "vmul.f32 s0, s1, s2\n vmul.f32 s4, s5, s6", 2, "fpu"),
    Timing(
        "a loop of five turns",
        "1: .rept 17\n mov r8, r8\n .endr\n subs.w r1, #1\n mov r8, r8\n bne 1b",
        5 * 20 - 1,
        "the template CM33_pipetest_tmpl.S: 20 cycles a turn, the last branch 0",
        "movs.w r1, #5\n nop.w\n 1:",
    ),
)  # fmt: skip
_M7 = (
    Timing("four simple instructions", ".rept 4\n nop.w\n .endr", 2, "overall"),
    Timing(
        "the snippet that does not stall",
        "add.w r5, r2\n eor.w r6, r5, r6, ror #22\n ldr.w r4, [r0, r5]\n ldr.w r3, [r0, r1]",
        2,
        "overall: AGU and early ALU",
        "movs r5, #0\n movs r2, #0\n movs r1, #4\n dsb",
    ),
    Timing("MOVW and MOVT", "movw r1, #1\n movt r1, #2", 1, "overall"),
    Timing("logic, shifted next", "eor.w r1, r2, r3\n add.w r4, r5, r1, lsl #2", 3, "operand2"),
    Timing("two extensions", "uxtb.w r1, r2\n uxtb.w r3, r4", 2, "bitfield and DSP"),
    Timing("an extension and a sum", "uxtb.w r1, r2\n add.w r3, r4", 1, "bitfield and DSP"),
    Timing("an extension, addressed with", "uxtb.w r1, r2\n ldr.w r3, [r0, r1]", 3,
           "bitfield and DSP: 1 extra", "movs r2, #0\n dsb"),
    Timing("a packing and a shifted operand", "pkhbt r1, r2, r3\n add.w r4, r5, r6, lsl #2", 2,
           "bitfield and DSP"),
    Timing("two shifted operands", "add.w r1, r2, r3, lsl #2\n add.w r4, r5, r6, lsl #2", 2,
           "operand2, matrix"),
    Timing("two shifted constants", "add.w r1, r2, #0x1fc0\n add.w r4, r5, #0x1fc0", 2,
           "operand2, matrix"),
    Timing("a shifted operand behind a simple one", "add.w r1, r2, #1\n add.w r4, r5, r6, lsl #2",
           1, "operand2, matrix"),
    Timing("a shift behind a shifted operand", "add.w r1, r2, r3, lsl #2\n lsr.w r4, r5, #12", 1,
           "operand2, matrix"),
    Timing("two products", "mul r1, r2, r3\n mul r4, r5, r6", 2, "multiplication, MAC"),
    Timing("sums in a chain", "\n".join(["smlad r1, r2, r3, r1"] * 4), 4, "multiplication, MAC"),
    Timing("a product and a store", "mul r1, r2, r3\n str r4, [r0]", 2, "multiplication, MAC"),
    Timing("a product, used", "mul r1, r2, r3\n add.w r4, r1", 3, "multiplication, MAC: 1 more"),
    Timing("a product and an extension", "uxtb.w r4, r5\n smlad r1, r2, r3, r1", 1,
           "multiplication, MAC"),
    Timing("a load, multiplied", "ldr.w r1, [r0]\n mul r2, r1, r3", 3, "multiplication, MAC"),
    Timing("a byte, added products to", "ldrb.w r1, [r0]\n mla r4, r2, r3, r1", 2,
           "multiplication, MAC"),
    Timing("a load, used", "ldr.w r1, [r0]\n and.w r4, r1", 2, "loads"),
    Timing("a load, shifted", "ldr.w r1, [r0]\n add.w r4, r5, r1, lsl #2", 3, "loads"),
    Timing("a byte, used", "ldrb.w r1, [r0]\n and.w r4, r1", 3, "loads: 1 extra"),
    Timing("a byte, shifted", "ldrb.w r1, [r0]\n add.w r4, r5, r1, lsl #2", 4, "loads: third"),
    Timing("loads from two banks", "ldr.w r1, [r0]\n ldr.w r3, [r0, #4]", 1, "loads: banks"),
    Timing("loads from one bank", "ldr.w r1, [r0]\n ldr.w r3, [r0, #8]", 2, "loads: banks"),
    Timing("updates from two banks", "ldr r1, [r0], #4\n ldr r3, [r2], #4", 1, "loads: banks",
           "add.w r2, r0, #4\n dsb"),
    Timing("a word across two", "ldr.w r1, [r0, #1]", 4, "loads: unaligned +3"),
    Timing("two stores", "str.w r1, [r0]\n str.w r3, [r0, #4]", 2, "stores"),
    Timing("a load, stored", "ldr.w r1, [r0]\n str.w r1, [r0, #4]", 1, "stores: any result"),
    Timing("a loop of ten bytes in a row, five turns",
           _loop("\n".join(f"strb.w r2, [r0, #{number}]" for number in range(10))),
           13 + 4 * 24 + 8, "stores: 2.4 each once the buffer is full; prediction 8", _TURNS),
    Timing("a loop of ten half-words in a row, five turns",
           _loop("\n".join(f"strh.w r2, [r0, #{number}]" for number in range(0, 20, 2))),
           11 + 4 * 20 + 8, "stores: 2 each once the buffer is full; prediction 8", _TURNS),
    Timing("four loads", "ldmia.w r0, {r1, r2, r3, r4}", 2, "load/store multiple: half"),
    Timing("five loads", "ldmia.w r0, {r1, r2, r3, r4, r5}", 3, "load/store multiple: half"),
    Timing("two words and a sum", "ldrd r1, r2, [r0]\n add.w r4, r5", 2, "load/store multiple"),
    Timing("float sums, used", "vadd.f32 s0, s1, s2\n vadd.f32 s3, s0, s2", 4, "fpu: 3"),
    Timing("float sums of products in a chain", "vfma.f32 s0, s1, s2\n vfma.f32 s0, s1, s2", 4,
           "fpu: 3"),
    Timing(
        "a loop of five turns",
        "1: .rept 33\n nop.w\n .endr\n subs.w r1, #1\n nop.w\n nop.w\n uxtb.w r0, r0\n nop.w\n"
        " nop.w\n bne.w 1b",
        5 * 20 + 6,
        "the template CM7_pipetest_tmpl.S: 40 instructions in 20 cycles; a late prediction is 6",
        "movs.w r1, #5\n dsb\n 1:",
    ),
    Timing(
        "a loop whose flags are young",
        "1: .rept 5\n nop.w\n .endr\n subs.w r1, #1\n nop.w\n bne.w 1b",
        5 * 4 + 8,
        "branching/cmp: 8",
        "movs.w r1, #5\n dsb\n 1:",
    ),
)  # fmt: skip


def _manual(taken: int, linked: int, returned: int) -> tuple[Timing, ...]:
    """The M0's and the M0+'s manuals, which differ in branches only."""
    table = "TRM, table 3-1"
    return (
        Timing("arithmetic", "adds r1, #1\n lsls r1, r1, #2\n uxtb r1, r1\n rev r1, r1", 4, table),
        Timing("a product", "muls r1, r2, r1", 1, table),
        Timing("a load", "ldr r1, [r0]", 2, table),
        Timing("a byte", "ldrb r1, [r0, #1]", 2, table),
        Timing("a load, used", "ldr r1, [r0]\n adds r1, #1", 3, "[jnk0le]: no load to use latency"),
        Timing("a literal", "ldr r1, 9f", 2, table),
        Timing("a store", "str r1, [r0]", 2, table),
        Timing("three loads", "ldmia r0!, {r1, r2, r3}", 4, table),
        Timing("three stores", "stmia r0!, {r1, r2, r3}", 4, table),
        Timing("pushed and popped", "push {r4, r5}\n pop {r4, r5}", 6, table),
        Timing("a branch", "b 2f\n nop\n 2:", taken, table),
        Timing("a branch not taken", "beq 2f\n nop\n 2:", 2, table, "movs r1, #1"),
        Timing("a call and its return", "mov r7, lr\n bl 3f\n b 2f\n nop\n3: bx lr\n 2: mov lr, r7",
               2 + linked + 2 * taken, table),
        Timing("a call and its return from the stack",
               "mov r7, lr\n bl 3f\n b 2f\n nop\n3: push {lr}\n pop {pc}\n 2: mov lr, r7",
               2 + linked + 2 + returned + taken, table),
        Timing("a loop of five turns", "1: .rept 16\n nop\n .endr\n subs r1, #1\n bne 1b",
               5 * (17 + taken) - taken + 1, table, "movs r1, #5\n 1:"),
    )  # fmt: skip


TIMINGS = {
    "cortex-m0": _manual(taken=3, linked=4, returned=4),
    "cortex-m0plus": _manual(taken=2, linked=3, returned=3),
    "cortex-m3": _M3_AND_M4 + _M3,
    "cortex-m4": _M3_AND_M4 + _M4,
    "cortex-m33": _M33,
    "cortex-m7": _M7,
}
#: What stands around a sequence: nothing overlaps with it.
_AROUND = {"cortex-m7": "dsb", "cortex-m0": "mov r12, r12", "cortex-m0plus": "mov r12, r12"}


def measured(folder: Path, core_name: str, timing: Timing) -> int:
    """Cycles of the sequence alone; what follows it waits for the end."""
    around = _AROUND.get(core_name, "mov.w r12, r12")
    body = f"""
        .balign 8
        {timing.setup}
        .balign 4
        {around}
    glowmcu_step_0_1:
        {timing.code}
    glowmcu_step_1_2:
        {around}
        bx lr
        .balign 8
    9:  .word 1, 2, 3, 4
    """
    account, _ = run(folder, core_name, body)
    return account.steps[0].cycles


@pytest.mark.parametrize(
    ("core_name", "timing"),
    [pytest.param(core, t, id=f"{core}, {t.name}") for core, all_ in TIMINGS.items() for t in all_],
)
def test_a_sequence_takes_the_published_cycles(
    tmp_path: Path, core_name: str, timing: Timing
) -> None:
    assert measured(tmp_path, core_name, timing) == timing.cycles, timing.source
