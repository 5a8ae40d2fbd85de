"""The link to a real board, with QEMU's UART behind a pseudo-terminal: what is computed there."""

from __future__ import annotations

import dataclasses
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glowmcu
from glowmcu.board import Placement, Region, SerialTarget, find_board
from glowmcu.verify.host import Host
from glowmcu.verify.verification import random_inputs as inputs_of
from tests.bundle.models import model_bytes
from tests.verify.emulated_board import OnFrame, check, emulated, on_qemu
from tests.verify.tiny_bundle import random_inputs, write_tiny_bundle

pytest.importorskip("serial", reason="pyserial is not installed")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return write_tiny_bundle(tmp_path / "bundle")


F4 = SerialTarget("stm32-usart-f4", 0x40011000, 139, 115_200, "")
PL011 = SerialTarget("pl011", 0x4000C000, 417, 115_200, "")


@on_qemu
@pytest.mark.parametrize(
    ("machine", "like", "serial", "flash", "ram"),
    [
        ("mps2-an386", "mps2-an386", None, None, None),
        ("microbit", "microbit", None, None, None),
        ("netduinoplus2", "stm32f4-discovery", F4, (0x08000000, 0xC0000), (0x20000000, 0x20000)),
        ("lm3s6965evb", "mps2-an385", PL011, (0, 0x40000), (0x20000000, 0x10000)),
    ],
    ids=["cmsdk", "nrf-uart", "stm32-usart-f4", "pl011"],
)
def test_a_board_computes_what_the_bundle_means_again_and_again(
    machine: str,
    like: str,
    serial: SerialTarget | None,
    flash: tuple[int, int] | None,
    ram: tuple[int, int] | None,
    marked: None,
    bundle: Path,
    tmp_path: Path,
) -> None:
    board = find_board(like)
    if serial and flash and ram:
        regions = (Region("flash", "flash", *flash), Region("ram", "ram", *ram))
        board = dataclasses.replace(
            board, memory=regions, placement=Placement("flash", "flash", "ram", "ram"),
            serial=serial,
        )  # fmt: skip
    with emulated(bundle, tmp_path, machine, board) as found:
        for seed in range(3):
            check(found, bundle, 7, seed)
        measured = found.run_on().run(bundle, random_inputs(1))[0]
    assert measured.instructions is None
    assert (measured.cycles or 0) > 0
    assert 8 <= (measured.stack_bytes or 0) <= 200


#: Every way in which inputs reach a bundle: name, options of its compilation.
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "two inputs, two outputs": ("two_in_two_out", {}),
    "streamed": ("digits", {"stream_inputs": ["pixels"]}),
    "outside": ("two_in_two_out", {"outside_inputs": ["right"]}),
    "instrumented": ("digits", {"instrument": True}),
}


@on_qemu
@pytest.mark.parametrize("kind", KINDS)
def test_models_compute_on_the_board_what_they_compute_here(
    kind: str, marked: None, tmp_path: Path
) -> None:
    name, options = KINDS[kind]
    model = tmp_path / f"{name}.tflite"
    model.write_bytes(model_bytes(name))
    made = glowmcu.compile(model, board="mps2-an386", output=tmp_path / "out", **options)
    inputs = inputs_of(made.manifest, 3, 0)
    with emulated(made.path, tmp_path) as found:
        there = found.run_on().run(made.path, inputs)
    for here, result in zip(Host().run(made.path, inputs), there, strict=True):
        for expected, output in zip(here.outputs, result.outputs, strict=True):
            np.testing.assert_array_equal(output, expected)
        steps = [layer.index for layer in result.layers]
        assert steps == ([e.index for e in made.manifest.layers] if "instr" in kind else [])
        if steps:
            counted = [layer.cycles or 0 for layer in result.layers]
            assert 0.9 * (result.cycles or 0) <= sum(counted) <= (result.cycles or 0)


@on_qemu
@pytest.mark.parametrize("machine", ["mps2-an386", "microbit"])
def test_cycles_are_those_of_the_counter_beyond_its_24_bits(
    machine: str, marked: None, tmp_path: Path
) -> None:
    """QEMU has no DWT: SysTick counts, a tick for a fixed number of instructions."""
    spin = """
static __attribute__((naked, noinline)) void spin(void)
{
    __asm volatile(".syntax unified\\n"
                   "ldr r0, =%d\\n"
                   "1: subs r0, #1\\n"
                   "bne 1b\\n"
                   "bx lr\\n"
                   ".ltorg\\n");
}
"""
    cycles = []
    for turns in (220_000_000, 440_000_000):
        work = tmp_path / str(turns)
        bundle = write_tiny_bundle(work / "bundle", fault="spin();", helpers=spin % turns)
        with emulated(bundle, work, machine) as found:
            [measured] = found.run_on(300).run(bundle, random_inputs(1))
        cycles.append(measured.cycles or 0)
    assert cycles[1] == pytest.approx(2 * cycles[0], rel=1e-3)
    if machine == "mps2-an386":
        assert cycles[1] == pytest.approx(2 * 440_000_000 / 40, rel=1e-3)
        assert cycles[1] > 1 << 24


class Noise:
    """Loses, damages and invents bytes, each now and then."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.events = 0

    def __call__(self, data: bytes, to_board: bool) -> bytes:
        passed = bytearray()
        for byte in data:
            kind = self._random.randrange(450)
            self.events += kind < 3
            if kind == 0:
                continue
            passed.append(byte ^ 1 << self._random.randrange(8) if kind == 1 else byte)
            if kind == 2:
                passed += self._random.randbytes(self._random.randrange(1, 9))
        return bytes(passed)


@on_qemu
@pytest.mark.parametrize("seed", range(3))
def test_noise_on_the_line_costs_time_and_no_result(
    seed: int, marked: None, bundle: Path, tmp_path: Path
) -> None:
    noise = Noise(seed)
    with emulated(bundle, tmp_path, meddle=noise) as found:
        check(found, bundle, 20)
    assert noise.events >= 5, "too little noise to tell anything"


@on_qemu
@pytest.mark.parametrize("kind", "HBNDhkwtox")
def test_a_lost_frame_of_any_kind_is_sent_again(
    kind: str, marked: None, bundle: Path, tmp_path: Path
) -> None:
    meddle = OnFrame(kind, 1, lost=True)
    with emulated(bundle, tmp_path, meddle=meddle) as found:
        check(found, bundle)
    assert meddle.count <= 0, "no such frame was sent"
