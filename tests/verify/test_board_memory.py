"""A board's memories replayed while code runs: waits counted by hand, and in whole bundles."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from glowmcu.board import Board, CacheGeometry, MemoryTiming, SlowMemory, find_board
from glowmcu.cores import core
from glowmcu.manifest import PlacementEntry, read_manifest
from glowmcu.verify import toolchain
from glowmcu.verify.cortex_m.attribution import Accountant
from glowmcu.verify.cortex_m.board_memory import BoardMemory, board_layout
from glowmcu.verify.cortex_m.costs import cost_table
from glowmcu.verify.cortex_m.counting import EdgeCounter
from glowmcu.verify.cortex_m.elf import read_program
from glowmcu.verify.cortex_m.executor import CortexM
from glowmcu.verify.cortex_m.machine import ARENA_BASE, CODE_BASE, PLACED_BASE, STACK_TOP, Machine
from glowmcu.verify.measurement import Measurement
from tests.verify.tiny_bundle import random_inputs, write_tiny_bundle

_ABSENT = CortexM("cortex-m4").missing()
pytestmark = [pytest.mark.arm, pytest.mark.skipif(_ABSENT is not None, reason=str(_ABSENT))]

NRF = find_board("nrf52")
FLASH = SlowMemory("flash", wait_states=5, width_bytes=16)
ART = MemoryTiming((FLASH,), CacheGeometry(1024, 16, 64), CacheGeometry(128, 16, 8))
BARE = MemoryTiming((SlowMemory("flash", 5, 4),))
SLOW_RAM = MemoryTiming((SlowMemory("ram", 3, 4),))

_SCRIPT = "SECTIONS { . = 0x08000000; .text : { *(.text .text.*) } }\nENTRY(f)\n"
_HEAD = (
    "    .syntax unified\n    .thumb\n    .text\n    .global f\n    .type f, %function\n"
    "    .balign 16\nf:\n"
)
#: Body of `f(r0 = arena)`, the memories, how many cycles it waits for them.
CASES = {
    "a loop in one line waits once": ("movs r1, #9\n 1: subs r1, #1\n bne 1b\n bx lr", ART, 5),
    "code of two lines waits twice": (".rept 8\n nop\n .endr\n bx lr", ART, 10),
    "a loop without a cache waits for each line, and the last one is kept": (
        "movs r1, #3\n 1: subs r1, #1\n bne 1b\n bx lr",
        BARE,
        # movs subs | bne bx | subs | bne | subs | bne bx
        6 * 5,
    ),
    "data in RAM is free": ("ldr r1, [r0]\n ldr r1, [r0, #32]\n bx lr", ART, 5),
    "a literal waits beside its code": ("ldr r1, =0x12345678\n bx lr\n .ltorg", ART, 5 + 5),
    "words of one line of data wait once": (
        "adr r1, 1f\n ldr r2, [r1]\n ldr r3, [r1, #12]\n ldr r2, [r1, #16]\n ldr r2, [r1]\n bx lr\n"
        " .balign 16\n 1: .word 1, 2, 3, 4, 5, 6, 7, 8",
        ART,
        5 + 2 * 5,
    ),
    "several words of one instruction wait each": (
        "adr r1, 1f\n ldm r1, {r2, r3}\n bx lr\n .balign 4\n 1: .word 1, 2",
        BARE,
        2 * 5 + 2 * 5,
    ),
    "RAM may wait, and writes do not": ("ldr r1, [r0]\n str r1, [r0]\n bx lr", SLOW_RAM, 3),
}


def waits_of(folder: Path, body: str, timing: MemoryTiming) -> int:
    source, script = folder / "f.s", folder / "f.ld"
    source.write_text(f"{_HEAD} {body}\n    .size f, . - f\n", encoding="utf-8")
    script.write_text(_SCRIPT, encoding="utf-8")
    flags = core("cortex-m4").flags
    program = read_program(toolchain.build_elf([source], (), flags, folder / "f.elf", script))
    machine = Machine(program, core("cortex-m4"), 64)
    accountant = Accountant(program, cost_table("cortex-m4"), machine.read_code)
    layout = board_layout(NRF, read_manifest(write_tiny_bundle(folder)), {})
    memory = BoardMemory(machine, accountant, (timing,), layout)
    counter = EdgeCounter(machine, begin_trace=memory.begin)
    machine.reset()
    counts = counter.begin()
    machine.call("f", [machine.arena_address], timeout_seconds=10)
    counter.end()
    assert counts.trace is not None
    (waits,) = counts.trace.finish()
    return waits.total


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_code_waits_for_the_memories_of_its_board(
    tmp_path: Path, case: tuple[str, MemoryTiming, int]
) -> None:
    body, timing, waits = case
    assert waits_of(tmp_path, body, timing) == waits


def measured(bundle: Path, board: Board | None) -> Measurement:
    (found,) = CortexM("cortex-m4", memory_of=board).run(bundle, random_inputs(1))
    return found


def test_the_core_s_own_cycles_stay_what_they_are(tmp_path: Path) -> None:
    bundle = write_tiny_bundle(tmp_path)
    alone, on_board = measured(bundle, None), measured(bundle, NRF)
    assert alone.board_cycles is None
    assert all(layer.board_cycles is None for layer in alone.layers)
    assert on_board.board_cycles is not None
    bare = replace(
        on_board,
        board_cycles=None,
        layers=tuple(replace(layer, board_cycles=None) for layer in on_board.layers),
        outputs=alone.outputs,
    )
    assert bare == alone
    assert alone.cycles is not None
    assert alone.cycles < on_board.board_cycles.low < on_board.board_cycles.high


def test_a_run_waits_as_much_as_its_layers_and_what_is_around_them(tmp_path: Path) -> None:
    board = replace(NRF, timing=(BARE,))
    executor = CortexM("cortex-m4", memory_of=board)
    (found,) = executor.measure(write_tiny_bundle(tmp_path), random_inputs(1))
    known, account = found.measurement.board_cycles, found.account
    assert known is not None
    assert account is not None
    assert known.low == known.high, "one geometry"
    waits = [
        layer.board_cycles.low - (layer.cycles or 0)
        for layer in found.measurement.layers
        if layer.board_cycles is not None
    ]
    assert len(waits) == 3
    assert min(waits) > 0, "each reads weights or a table"
    around = known.low - account.total.cycles - sum(waits)
    assert 0 < around < 200, "the call and the return"


def test_a_range_is_from_the_best_geometry_to_the_worst(tmp_path: Path) -> None:
    bundle = write_tiny_bundle(tmp_path)
    one, other = (measured(bundle, replace(NRF, timing=(t,))).board_cycles for t in (ART, BARE))
    for timings in ((ART, BARE), (BARE, ART)):
        both = measured(bundle, replace(NRF, timing=timings)).board_cycles
        assert one is not None
        assert other is not None
        assert both is not None
        assert (both.low, both.high) == (one.low, other.high)


def test_no_wait_states_are_no_waits(tmp_path: Path) -> None:
    found = measured(write_tiny_bundle(tmp_path), find_board("microbit"))
    assert found.board_cycles is not None
    assert found.board_cycles.low == found.board_cycles.high == found.cycles


def test_each_run_begins_with_empty_caches(tmp_path: Path) -> None:
    executor = CortexM("cortex-m4", memory_of=NRF)
    runs = executor.run(write_tiny_bundle(tmp_path), random_inputs(1) * 3)
    assert len({run.board_cycles for run in runs}) == 1


def test_a_board_that_does_not_say_is_not_guessed(tmp_path: Path) -> None:
    bundle = write_tiny_bundle(tmp_path)
    assert measured(bundle, find_board("mps2-an386")).board_cycles is None
    assert measured(bundle, find_board("generic")).board_cycles is None


def test_regions_stand_behind_the_machine_s_addresses(tmp_path: Path) -> None:
    manifest = read_manifest(write_tiny_bundle(tmp_path))
    board = find_board("nucleo-h743zi")
    placed = {"itcm": (PLACED_BASE, PLACED_BASE + 0x1000000)}
    in_dtcm = replace(manifest, placement=(PlacementEntry("arena", "dtcm", "", 40, ()),))
    in_ram = replace(manifest, placement=(PlacementEntry("arena", "ram", "", 40, ()),))
    elsewhere = replace(manifest, placement=(PlacementEntry("arena", "gone", "", 40, ()),))
    for one, arena in ((in_dtcm, "dtcm"), (in_ram, "ram"), (elsewhere, "dtcm"), (manifest, "dtcm")):
        layout = board_layout(board, one, placed)
        assert layout.region_at(CODE_BASE + 64) == "flash"
        assert layout.region_at(PLACED_BASE) == "itcm"
        assert layout.region_at(ARENA_BASE + 5000) == arena
        assert layout.region_at(STACK_TOP - 4) == "ram"
    assert board_layout(board, in_dtcm, placed).region_at(0xE0000000) is None
    waiting = {s.region for s in board_layout(board, in_dtcm, placed).that_wait(board.timing)}
    assert waiting == {"flash", "ram"}
