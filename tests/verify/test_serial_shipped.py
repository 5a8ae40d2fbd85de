"""`compile --emit serial`: the test firmware in source, alone and in an application."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.board import find_board
from glowmcu.bundle import Bundle
from glowmcu.errors import GlowmcuError
from glowmcu.verify.host import Host
from glowmcu.verify.qemu import Qemu
from glowmcu.verify.verification import random_inputs
from tests.conftest import REPO
from tests.verify.emulated_board import Emulated, on_qemu, running

DIGITS = REPO / "examples" / "digits" / "digits_int8.tflite"
STRICT = "-std=c99 -O2 -ffunction-sections -fdata-sections -Wall -Wextra -Werror"
pytest.importorskip("serial", reason="pyserial is not installed")

APPLICATION = """
#include "port_serial.h"

int main(void);

int main(void)
{
    serial_serve();
}
"""
# The functions of uart.h for the UART of mps2-an386, as a user would write them.
UART = """
#include "uart.h"

static volatile uint32_t *const uart = (volatile uint32_t *)0x40004000u;

void glowmcu_uart_open(void)
{
    uart[4] = 217u;
    uart[2] = 3u;
}

void glowmcu_uart_putc(unsigned char byte)
{
    while ((uart[1] & 1u) != 0u) {
    }
    uart[0] = byte;
}

int glowmcu_uart_getc(void)
{
    return (uart[1] & 2u) != 0u ? (int)(uart[0] & 0xFFu) : -1;
}
"""


def compiled(folder: Path, board: str, **options: bool) -> Bundle:
    return glowmcu.compile(DIGITS, board=board, output=folder / "out", emit="serial", **options)


def make(kit: Path, *arguments: str) -> Path:
    """The firmware as a user builds it, without a warning."""
    command = ["make", "-C", str(kit), f"CFLAGS={STRICT}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [elf] = kit.glob("*.elf")
    return elf


def check(found: Emulated, bundle: Bundle) -> None:
    inputs = random_inputs(bundle.manifest, 2, 0)
    there = found.run_on().run(bundle.path, inputs)
    for here, result in zip(Host().run(bundle.path, inputs), there, strict=True):
        np.testing.assert_array_equal(result.outputs[0], here.outputs[0])
        assert (result.cycles or 0) > 0


@on_qemu
@pytest.mark.parametrize("instrument", [False, True], ids=["plain", "instrumented"])
def test_make_builds_a_firmware_that_answers(
    instrument: bool, marked: None, tmp_path: Path
) -> None:
    made = compiled(tmp_path, "mps2-an386", instrument=instrument)
    elf = make(made.path / "serial")
    with running(elf, tmp_path, "mps2-an386", find_board("mps2-an386")) as found:
        check(found, made)
        [measured] = found.run_on().run(made.path, random_inputs(made.manifest, 1, 1))
    assert len(measured.layers) == (len(made.manifest.layers) if instrument else 0)
    assert (measured.stack_bytes or 0) > 0


@on_qemu
def test_a_driver_of_the_users_takes_the_place_of_ours(marked: None, tmp_path: Path) -> None:
    made = compiled(tmp_path, "mps2-an386")
    (made.path / "serial" / "mine.c").write_text(UART)
    elf = make(made.path / "serial", "UART=mine.c", "DEFINES=")
    with running(elf, tmp_path, "mps2-an386", find_board("mps2-an386")) as found:
        check(found, made)


@on_qemu
def test_an_application_serves_with_the_same_sources(marked: None, tmp_path: Path) -> None:
    """Of the folder only the start-up code and the linker script stand in for the application's."""
    made = compiled(tmp_path, "mps2-an386", instrument=True)
    kit = made.path / "serial"
    (kit / "application.c").write_text(APPLICATION)
    (kit / "mine.c").write_text(UART)
    elf = make(kit, "UART=mine.c application.c", "DEFINES=-DSERIAL_IN_APPLICATION")
    with running(elf, tmp_path, "mps2-an386", find_board("mps2-an386")) as found:
        check(found, made)
        [measured] = found.run_on().run(made.path, random_inputs(made.manifest, 1, 1))
    assert measured.stack_bytes is None, "the stack is the application's"
    assert len(measured.layers) == len(made.manifest.layers)


NS16550 = """
#include "uart.h"

static volatile uint8_t *const uart = (volatile uint8_t *)0x10000000u;

void glowmcu_uart_open(void)
{
}

void glowmcu_uart_putc(unsigned char byte)
{
    while ((uart[5] & 0x20u) == 0u) {
    }
    uart[0] = byte;
}

int glowmcu_uart_getc(void)
{
    return (uart[5] & 1u) != 0u ? (int)uart[0] : -1;
}
"""
NO_RISCV = Qemu(board=find_board("virt")).missing()


@pytest.mark.riscv
@pytest.mark.skipif(NO_RISCV is not None, reason=str(NO_RISCV))
def test_a_riscv_board_answers_again_and_again(tmp_path: Path) -> None:
    made = compiled(tmp_path, "virt", instrument=True)
    kit = made.path / "serial"
    (kit / "mine.c").write_text(NS16550)
    elf = make(kit, "UART=mine.c", f"CFLAGS=--specs=picolibc.specs {STRICT}")
    with running(elf, tmp_path, "virt", find_board("virt")) as found:
        for _ in range(2):
            check(found, made)
        [measured] = found.run_on().run(made.path, random_inputs(made.manifest, 1, 1))
    counted = [layer.cycles or 0 for layer in measured.layers]
    assert 0.9 * (measured.cycles or 0) <= sum(counted) <= (measured.cycles or 0)
    assert (measured.cycles or 0) > made.manifest.macs, "an instruction a cycle in QEMU"


@on_qemu
def test_an_application_may_count_cycles_by_itself(marked: None, tmp_path: Path) -> None:
    """A counter of squares: 3 for the empty call, then 7 and 11."""
    made = compiled(tmp_path, "mps2-an386")
    kit = made.path / "serial"
    squares = (
        "uint32_t measure_now(void);\n"
        "uint32_t measure_now(void) { static uint32_t n; ++n; return n * n; }\n"
    )
    (kit / "application.c").write_text("#include <stdint.h>\n" + squares + APPLICATION)
    (kit / "mine.c").write_text(UART)
    defines = "DEFINES=-DSERIAL_IN_APPLICATION -DSERIAL_OWN_COUNTER"
    elf = make(kit, "UART=mine.c application.c", defines)
    with running(elf, tmp_path, "mps2-an386", find_board("mps2-an386")) as found:
        results = found.run_on().run(made.path, random_inputs(made.manifest, 2, 1))
    assert [result.cycles for result in results] == [7 - 3, 11 - 3]


@pytest.mark.arm
@pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="no arm-none-eabi-gcc")
@pytest.mark.parametrize("board", ["generic", "nrf52", "microbit", "nucleo-h743zi"])
def test_the_firmware_of_a_board_builds(board: str, tmp_path: Path) -> None:
    assert make(compiled(tmp_path, board).path / "serial").is_file()


@pytest.mark.arm
@pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="no arm-none-eabi-gcc")
def test_a_board_whose_uart_is_not_known_says_what_to_bring(tmp_path: Path) -> None:
    kit = compiled(tmp_path, "rp2350").path / "serial"
    done = subprocess.run(["make", "-C", str(kit)], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "say UART=my_uart.c" in done.stderr
    (kit / "mine.c").write_text(UART)
    assert make(kit, "UART=mine.c").is_file()


def test_a_board_without_memory_is_refused(tmp_path: Path) -> None:
    text = 'name = "bare"\ntitle = "Bare"\nmcu = "any"\ncore = "cortex-m4"\n'
    (tmp_path / "bare.toml").write_text(text)
    with pytest.raises(GlowmcuError) as caught:
        compiled(tmp_path, str(tmp_path / "bare.toml"))
    assert caught.value.code == "GM187"
