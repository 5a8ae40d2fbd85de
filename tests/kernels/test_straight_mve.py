"""Helium's products of few vectors, written out: orders, offsets, cycles on the modelled cores."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.helium_schedule import turn_cycles
from glowmcu.ir.assembly_macros import plain
from glowmcu.kernels.helium.slots import Slot, ordered
from glowmcu.kernels.helium.straight_assembly import StraightCode, fits, straight_assembly
from glowmcu.verify.helium.costs import CORTEX_M55, CORTEX_M85, HeliumCosts

_LINES = (
    "vldrb.8 q2, [r5, #16]!", "vldrb.8 q0, [r1]", "vmladav.s8 r0, q0, q2", "add r1, r11",
    "vmov q4[2], q4[0], r0, r4", "vmladava.s8 r0, q0, q2", "vadd.i32 q4, q4, q6", "vctp.32 r9",
    "vmov q3[3], q3[1], r2, r6", "vshrnb.i32 q4, q3, #16", "vmovnt.i32 q3, q4",
    "vstrb.32 q4, [r7], #4", "vldrw.32 q6, [sp, #32]", "subs r9, #4", "str r3, [sp, #4]",
    "ldr r7, [sp, #4]",
)  # fmt: skip
#: Rows, vectors of a row, bytes between windows; cycles of a turn, floor and literal.
_CYCLES = {
    (1, 1, 0): (66, 83),
    (1, 2, 0): (97, 112),
    (1, 4, 0): (153, 166),
    (1, 8, 0): (140, 147),
    (3, 1, 6): (129, 145),
    (3, 3, 16): (155, 156),
    (3, 6, 64): (299, 300),
    (3, 12, 64): (587, 592),
}
#: Pre shift of the floor form, or that of none; whether there is a clamp.
_FORMS = ((11, False), (0, False), (-1, False), (-1, True))


@given(st.lists(st.tuples(st.sampled_from(_LINES), st.booleans()), max_size=160))
def test_an_order_keeps_what_each_instruction_reads(drawn: list[tuple[str, bool]]) -> None:
    slots = [Slot((line,), is_late) for line, is_late in drawn]
    places = {id(slot): number for number, slot in enumerate(ordered(slots))}
    assert len(places) == len(slots)
    for number, slot in enumerate(slots):
        reads, writes = slot.registers
        for before in slots[:number]:
            others_reads, others_writes = before.registers
            if others_writes & (reads | writes) or writes & others_reads:
                assert places[id(before)] < places[id(slot)]


@pytest.mark.parametrize("size", _CYCLES)
def test_offsets_are_those_that_instructions_hold(size: tuple[int, int, int]) -> None:
    for form in _FORMS:
        for is_partial in (False, True):
            text = "\n".join(plain(straight_assembly(StraightCode(*size, *form, is_partial))))
            offsets = {
                name: [int(offset) for offset in re.findall(rf"{name}.*#(-?\d+)\]", text)]
                for name in ("vldrb", "vldrw")
            }
            assert all(abs(offset) <= 127 for offset in offsets["vldrb"])
            assert all(abs(offset) <= 508 for offset in offsets["vldrw"])


@pytest.mark.parametrize("costs", [CORTEX_M55, CORTEX_M85], ids=["m55", "m85"])
@pytest.mark.parametrize("size", _CYCLES)
def test_a_turn_costs_hardly_more_than_its_products(
    size: tuple[int, int, int], costs: HeliumCosts
) -> None:
    for preshift, cycles in zip((11, -1), _CYCLES[size], strict=True):
        lines = list(plain(straight_assembly(StraightCode(*size, preshift, False, False))))
        start = next(n for n, line in enumerate(lines) if re.match("[13]: ", line)) + 1
        end = next(n for n, line in enumerate(lines) if line.startswith("le "))
        assert turn_cycles(lines[start : end + 1], costs) <= cycles


def test_channels_of_a_turn_alternate_where_it_has_eight() -> None:
    assert [StraightCode(*size, 0, False, False).channels for size in _CYCLES] == [
        8, 8, 8, 4, 8, 4, 4, 4,
    ]  # fmt: skip


def test_windows_of_many_vectors_have_turns() -> None:
    assert [fits(3, 12, 64), fits(1, 8, 0)] == [True, True]
    assert [fits(3, 13, 64), fits(1, 9, 0), fits(2, 2, 128)] == [False, False, False]
