"""Cycles of short pieces of Helium code, as SLOTHY's models of the Cortex-M55 and M85 have them."""

from __future__ import annotations

import pytest

from glowmcu.verify.helium.costs import CORTEX_M55, CORTEX_M85, HeliumCosts, least, most
from glowmcu.verify.helium.instructions import Instruction, Kind, read_line
from glowmcu.verify.helium.timing import START, Timing


def piece(*texts: str) -> list[Instruction]:
    """Instructions as objdump shows them, four bytes each."""
    found = []
    for index, text in enumerate(texts):
        name, _, operands = text.partition(" ")
        instruction = read_line(f" {4 * index:x}:\tabcd ef01 \t{name}\t{operands}")
        assert instruction is not None, text
        found.append(instruction)
    return found


def steady(*texts: str, costs: HeliumCosts = CORTEX_M55, ends: bool = False) -> float:
    """Cycles of one more time through the piece, once it has run often; where it `ends` with a
    jump back, that is taken.
    """
    timing, state, code = Timing(costs), START, piece(*texts)
    spent = []
    for _ in range(24):
        cycles, state = timing.cycles(state, code, ends)
        spent.append(cycles)
    return sum(spent[12:]) / 12


@pytest.mark.parametrize(
    ("texts", "cycles"),
    [
        # A vector takes two cycles of its unit; another unit's goes beside it.
        (("vldrb.u8 q0, [r1], #16", "vmlava.s8 r0, q2, q3"), 2),
        (("vldrb.u8 q0, [r1], #16", "vldrb.u8 q1, [r1], #16"), 4),
        (("vmlava.s8 r0, q0, q1", "vmlava.s8 r2, q0, q1"), 4),
        (("vadd.i32 q0, q0, q1", "vmul.i32 q2, q3, q4"), 2),
        (("vadd.i32 q0, q0, q1", "vmax.s32 q2, q3, q4"), 4),
        # Scalars go between the beats.
        (("vadd.i32 q0, q1, q2", "add r0, r1", "vmul.i32 q3, q4, q5", "add r2, r3"), 4),
        # A result of one cycle is chained, beat by beat.
        (("vldrw.u32 q0, [r1], #16", "vadd.i32 q1, q0, q2"), 2),
        # A product is one cycle later, but not for a store.
        (("vmul.i32 q0, q1, q2", "vadd.i32 q3, q0, q4", "add r0, r0, #1"), 4),
        (("vmul.i32 q0, q1, q2", "vstrw.32 q0, [r1], #16"), 2),
        # Loads of bytes are there a cycle later than words.
        (("ldr r0, [r1, #0]", "add r2, r0"), 2),
        (("ldrb r0, [r1, #0]", "add r2, r0"), 3),
        (("add.w r0, r1, r2, lsl #2", "add r3, r0"), 3),
        # Two words a cycle.
        (("ldmia.w r1!, {r2, r3, r4, r5}",), 2),
        (("udiv r0, r1, r2",), 6),
    ],
)  # fmt: skip
def test_a_cortex_m55_takes_so_long(texts: tuple[str, ...], cycles: int) -> None:
    assert steady(*texts) == cycles


def test_a_load_two_cycles_behind_a_vector_store_waits() -> None:
    texts = ("vstrw.32 q0, [r1], #16", "add r2, r3", "vldrw.u32 q4, [r4], #16", "add r5, r6")
    assert steady(*texts) == 5
    assert steady(*texts, costs=CORTEX_M85) == 4


@pytest.mark.parametrize(
    ("text", "few", "assumed", "many"),
    [
        ("vldrw.u32 q0, [r1, q2]", 2, 4, 8),
        ("vldrw.u32 q0, [q1, #16]!", 2, 4, 8),
        ("vldrb.u16 q0, [r1, q2]", 4, 8, 16),
        ("vldrb.u8 q0, [r1, q2]", 8, 16, 32),
        ("vstrb.32 q0, [r1, q2]", 2, 4, 8),
        ("vldrd.u64 q0, [r1, q2]", 2, 2, 4),
        ("vst41.8 {q0, q1, q2, q3}, [r0]", 2, 2, 4),
        ("vld20.32 {q0, q1}, [r0]!", 2, 2, 4),
    ],
)
def test_elements_with_addresses_of_their_own_are_charged_one_by_one(
    text: str, few: int, assumed: int, many: int
) -> None:
    for costs in (CORTEX_M55, CORTEX_M85):
        found = [steady(text, costs=one) for one in (least(costs), costs, most(costs))]
        assert found == [few, assumed, many]


def test_what_was_gathered_is_there_when_its_last_element_is() -> None:
    texts = ("vldrw.u32 q0, [r1, q2]", "vadd.i32 q1, q0, q3", "add r0, r1, r2")
    timing, (gather, use, _) = Timing(CORTEX_M55), piece(*texts)
    _, state = timing.cycles(START, [gather], jumps=False)
    cycles, _ = timing.cycles(state, [use], jumps=False)
    assert cycles == 3


def test_what_is_interleaved_is_read_early() -> None:
    plain = ("vadd.i32 q3, q4, q5", "vstrw.32 q3, [r0]")
    assert steady("vadd.i32 q3, q4, q5", "vst40.8 {q0, q1, q2, q3}, [r0]") > steady(*plain)


def test_a_cortex_m85_loads_and_stores_at_the_same_time() -> None:
    texts = ("vldrw.u32 q0, [r1], #16", "vstrw.32 q4, [r2], #16")
    assert steady(*texts) == 4 + 1  # the next load is two cycles behind the store
    assert steady(*texts, costs=CORTEX_M85) == 2


def test_a_cortex_m85_does_bits_where_a_unit_is_free() -> None:
    texts = ("vorr q0, q1, q2", "vand q3, q4, q5")
    assert steady(*texts) == 4
    assert steady(*texts, costs=CORTEX_M85) == 2


def test_a_cortex_m85_needs_a_shifted_operand_earlier() -> None:
    texts = ("add r0, r1", "add.w r2, r3, r0, lsl #2")
    assert steady(*texts) == 2
    assert steady(*texts, costs=CORTEX_M85) == 3


def test_a_low_overhead_loop_is_free_once_it_is_known() -> None:
    body = ("vldrb.u8 q0, [r1], #16", "vmlava.s8 r0, q2, q3")
    assert steady(*body, "le lr, 0", ends=True) == steady(*body)
    timing, code = Timing(CORTEX_M55), piece("add r0, r1", "le lr, 0")
    first, state = timing.cycles(START, code, jumps=True)
    second, _ = timing.cycles(state, code, jumps=True)
    assert (first, second) == (2 + CORTEX_M55.taken, 1)


def test_another_loop_has_to_become_known_again() -> None:
    timing = Timing(CORTEX_M55)
    code = piece("add r0, r1", "le lr, 0")
    _, state = timing.cycles(START, code, jumps=True)
    _, left = timing.cycles(state, code, jumps=False)
    again, _ = timing.cycles(left, code, jumps=True)
    assert again == 2 + CORTEX_M55.taken


def test_a_jump_costs_what_the_table_says() -> None:
    assert steady("add r0, r1", "bne.n 0", ends=True) == 2 + CORTEX_M55.taken
    assert steady("add r0, r1", "bne.n 0") == 2


def test_what_is_under_way_counts_in_the_next_piece() -> None:
    timing = Timing(CORTEX_M55)
    _, state = timing.cycles(START, piece("vldrb.u8 q0, [r1]"), jumps=False)
    (load,) = piece("vldrb.u8 q1, [r2]")
    cycles, _ = timing.cycles(state, [load], jumps=True)
    alone, _ = timing.cycles(START, [load], jumps=True)
    assert cycles == alone + 1


@pytest.mark.parametrize(
    ("text", "kind", "reads", "writes"),
    [
        ("vmlava.s8 r8, q1, q2", Kind.VECTOR_SUM, "r8 q1 q2", "r8"),
        ("vmlav.s8 r8, q1, q2", Kind.VECTOR_SUM, "q1 q2", "r8"),
        ("vldrb.u8 q0, [r1], #16", Kind.VECTOR_LOAD, "r1", "q0 r1"),
        ("vldrb.u8 q0, [r1, q2]", Kind.GATHER, "r1 q2", "q0"),
        ("vldrw.u32 q0, [q1, #16]!", Kind.GATHER, "q1", "q0 q1"),
        ("vstrb.32 q0, [r1, q2]", Kind.SCATTER, "q0 r1 q2", ""),
        ("vld43.8 {q0, q1, q2, q3}, [r0]!", Kind.DEINTERLEAVE, "q0 q1 q2 q3 r0", "q0 q1 q2 q3 r0"),
        ("vst43.8 {q0, q1, q2, q3}, [r0]!", Kind.INTERLEAVE, "q0 q1 q2 q3 r0", "r0"),
        ("vstrb.8 q0, [r1], #16", Kind.VECTOR_STORE, "q0 r1", "r1"),
        ("str r0, [sp, #4]", Kind.STORE, "r0 r13", ""),
        ("vmovnt.i32 q0, q1", Kind.VECTOR_SHIFT, "q0 q1", "q0"),
        ("vmov q2[2], q2[0], r1, r2", Kind.VECTOR_MOVE, "q2 r1 r2", "q2"),
        ("vmov r1, r2, d5", Kind.FLOAT, "q2", "r1 r2"),
        ("ldrd r2, r6, [r0, #12]", Kind.LOAD_SEVERAL, "r0", "r2 r6"),
        ("ldmia.w sp!, {r4, r5, pc}", Kind.LOAD_SEVERAL, "r13", "r4 r5 r15 r13"),
        ("smlal r2, r3, r4, r5", Kind.MULTIPLY, "r2 r3 r4 r5", "r2 r3"),
        ("smull r2, r3, r4, r5", Kind.MULTIPLY, "r4 r5", "r2 r3"),
        ("asrl r2, r3, r5", Kind.SCALAR, "r2 r3 r5", "r2 r3"),
        ("vshl.s32 q0, r10", Kind.VECTOR_SHIFT, "q0 r10", "q0"),
        ("vpstt", Kind.SCALAR, "", ""),
        ("vctp.32 r3", Kind.SCALAR, "r3", ""),
        ("cmp r3, r4", Kind.SCALAR, "r3 r4", ""),
        ("bics r3, r4", Kind.SCALAR, "r3 r4", "r3"),
        ("mvns r3, r4", Kind.SCALAR, "r4", "r3"),
        ("letp lr, 70", Kind.LOOP_END, "r14", "r14"),
        ("bl 70", Kind.BRANCH, "", ""),
        ("vfma.f32 q0, q1, q2", Kind.VECTOR_FLOAT, "q0 q1 q2", "q0"),
        ("vfma.f32 s0, s4, s8", Kind.FLOAT_MULTIPLY_ADD, "q0 q1 q2", "q0"),
        ("vmla.s32 q0, q1, r2", Kind.VECTOR_MULTIPLY, "q0 q1 r2", "q0"),
        ("vpop {d8, d9}", Kind.LOAD_SEVERAL, "r13", "q4 r13"),
    ],
)
def test_registers_and_kinds_are_read_off(text: str, kind: Kind, reads: str, writes: str) -> None:
    (found,) = piece(text)
    assert (found.kind, found.reads, found.writes) == (
        kind, frozenset(reads.split()), frozenset(writes.split())
    )  # fmt: skip


def test_what_is_no_instruction_is_left_out() -> None:
    for line in ("", "00000d20 <kws_run>:", " 8c:\t0000 0001 \t.word\t0x00000001", "   ..."):
        assert read_line(line) is None
