"""Flash wait states: counted by hand on small functions, and in `bench`."""

from __future__ import annotations

from pathlib import Path

import pytest

from glowmcu.board import find_board
from glowmcu.verify.cortex_m.attribution import Account
from glowmcu.verify.cortex_m.costs import Flash
from glowmcu.verify.cortex_m.executor import CortexM
from glowmcu.verify.cortex_m.hot import hottest_blocks
from tests.verify.assembled import run
from tests.verify.tiny_bundle import random_inputs, write_tiny_bundle

_ABSENT = CortexM("cortex-m4").missing()
pytestmark = [pytest.mark.arm, pytest.mark.skipif(_ABSENT is not None, reason=str(_ABSENT))]

#: Body of `f(r0 = arena)`, how often it waits for the flash.
CASES = {
    "a straight line is prefetched": ("movs r1, #1\n adds r1, #2\n bx lr", 1),
    "a loop waits each time that it jumps": (
        "movs r1, #3\n 1: subs r1, #1\n bne 1b\n bx lr",
        2 + 1,
    ),
    "a jump that is not taken is free": ("cmp r0, #0\n beq 1f\n 1: bx lr", 1),
    "data in RAM is free": ("ldr r1, [r0]\n ldr r1, [r0, #32]\n bx lr", 1),
    "a literal is read from flash": ("ldr r1, =0x12345678\n bx lr\n .ltorg", 1 + 1),
    "two words of one line wait once, of two lines twice": (
        "adr r1, 1f\n ldr r2, [r1]\n ldr r3, [r1, #4]\n ldr r2, [r1, #16]\n bx lr\n"
        ".balign 16\n1: .word 1, 2, 3, 4, 5, 6, 7, 8",
        2 + 1,
    ),
    "a word across two lines waits for both": (
        "adr r1, 1f\n ldr.w r2, [r1, #14]\n bx lr\n .balign 16\n1: .word 1, 2, 3, 4, 5, 6, 7, 8",
        2 + 1,
    ),
}


def account_of(folder: Path, body: str, flash: Flash | None) -> Account:
    return run(folder, "cortex-m4", body, flash)[0]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_jumps_and_reads_of_other_lines_wait(tmp_path: Path, case: tuple[str, int]) -> None:
    body, waits = case
    quick = account_of(tmp_path, body, None)
    slow = account_of(tmp_path, body, Flash(wait_states=5))
    assert slow.total.instructions == quick.total.instructions
    assert slow.total.cycles == quick.total.cycles + 5 * waits
    assert sum(block.cost.cycles for block in slow.blocks) == slow.total.cycles


def test_wait_states_count_for_the_layers_that_wait(tmp_path: Path) -> None:
    bundle, inputs = write_tiny_bundle(tmp_path), random_inputs(1)
    cycles = []
    for wait_states in (0, 1, 3):
        (found,) = CortexM("cortex-m4", wait_states=wait_states).measure(bundle, inputs)
        assert found.account is not None
        layers = sum(layer.cycles or 0 for layer in found.measurement.layers)
        assert layers + found.account.outside.cycles == found.account.total.cycles
        cycles.append(found.measurement.cycles or 0)
    assert cycles[0] < cycles[1]
    assert cycles[2] - cycles[0] == 3 * (cycles[1] - cycles[0]), "each wait takes N cycles"


def test_hot_blocks_name_function_layers_code_and_the_line_of_c(tmp_path: Path) -> None:
    bundle, (inputs, *_) = write_tiny_bundle(tmp_path), random_inputs(1)
    measured, blocks = hottest_blocks(bundle, inputs, "cortex-m4", 4)
    assert [block.cycles for block in blocks] == sorted((b.cycles for b in blocks), reverse=True)
    hottest = blocks[0]
    # The first dense layer has 128 of 160 products; gcc may have inlined it.
    assert hottest.layers[0] == 0
    assert hottest.function.startswith(("k_fully_connected", "tiny_run"))
    assert hottest.share == pytest.approx(hottest.cycles / (measured.cycles or 1), rel=0.02)
    assert hottest.executions * len(hottest.code) == hottest.instructions
    lines = (bundle / "tiny.c").read_text().splitlines()
    texts = [lines[code.line - 1] for code in hottest.code if code.file == "tiny.c"]
    assert any("acc += " in text for text in texts), texts


def test_boards_say_what_their_flash_takes() -> None:
    assert find_board("stm32f4-discovery").flash_wait_states == 5
    assert find_board("generic").flash_wait_states is None
