"""Boards that a computer can be connected to: what their files say, and the firmware for each."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from glowmcu.board import board_names, find_board, read_board
from glowmcu.board.read_board import SERIAL_KINDS
from glowmcu.cores import core
from glowmcu.errors import GlowmcuError
from glowmcu.manifest import read_manifest
from glowmcu.verify.firmware import firmware_view, serial_port, write_firmware
from tests.verify.tiny_bundle import write_tiny_bundle

BOARDS = [name for name in board_names() if find_board(name).serial is not None]
STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wshadow"]
# From reference manuals: the clock of the UART after a reset, and what a divisor of 1 divides by.
CLOCKS = {
    "mps2-an385": (25e6, 1),
    "mps2-an386": (25e6, 1),
    "mps2-an500": (25e6, 1),
    "nucleo-h743zi": (64e6, 1),
    "nucleo-l4r5zi": (4e6, 1 / 256),
    "nucleo-l552ze-q": (4e6, 1 / 256),
    "stm32f4-discovery": (16e6, 1),
    "stm32f746-discovery": (16e6, 1),
    "stm32vldiscovery": (8e6, 1),
}


@pytest.mark.parametrize("name", BOARDS)
def test_the_divisor_gives_the_baud_rate_within_one_percent(name: str) -> None:
    serial = find_board(name).serial
    assert serial is not None
    if serial.uart_kind == "nrf-uart":
        rate = serial.divisor * 16e6 / 2**32
    else:
        clock, unit = CLOCKS[name]
        rate = clock / (serial.divisor * unit)
    assert rate == pytest.approx(serial.baud, rel=0.01)


@pytest.mark.parametrize("name", BOARDS)
def test_what_is_set_up_is_said_and_said_to_be_connected(name: str) -> None:
    serial = find_board(name).serial
    assert serial is not None
    assert serial.uart_kind in SERIAL_KINDS
    assert serial.connect
    for write in serial.setup:
        assert re.match(r"\w[\w.]+: ", write.note), "the register's name, then why"
        assert write.register % 4 == 0
        assert write.set & ~write.clear & write.clear == 0
    pins = set(re.findall(r"\bP[A-K]\d+\b", serial.connect))
    assert pins <= set(re.findall(r"\bP[A-K]\d+\b", " ".join(w.note for w in serial.setup)))


@pytest.mark.arm
@pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="no arm-none-eabi-gcc")
@pytest.mark.parametrize("name", BOARDS)
@pytest.mark.parametrize("define", ["", "-DSERIAL_IN_APPLICATION"], ids=["alone", "in another"])
def test_the_firmware_compiles_without_a_warning(name: str, define: str, tmp_path: Path) -> None:
    bundle = write_tiny_bundle(tmp_path / "bundle")
    board = find_board(name)
    assert board.serial is not None
    target, port = core(board.core), serial_port(board.serial)
    view = firmware_view(read_manifest(bundle), board, target, port=port)
    for source in write_firmware(view, port, tmp_path / "firmware"):
        command = ["arm-none-eabi-gcc", *target.flags, *STRICT, "-O2", "-c", str(source)]
        options = [f"-D{item}" for item in port.defines] + ([define] if define else [])
        includes = ["-I", str(tmp_path / "firmware"), "-I", str(bundle)]
        done = subprocess.run(
            [*command, *options, *includes, "-o", str(tmp_path / "x.o")],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{source.name} for {name}:\n{done.stderr}"


def test_mistakes_in_the_table_are_reported_at_once(tmp_path: Path) -> None:
    text = find_board("stm32f4-discovery").file.read_text(encoding="utf-8")
    changes = {
        'uart_kind = "stm32-usart-f4"\nuart_origin = 0x40004400\ndivisor = 139\nbaud':
            'uart_kind = "nrf-uarte"\nuart_origin = "here"\ndivisor = 0\nbaud',
        "register = 0x40023840": "registre = 0x40023840",
    }  # fmt: skip
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(GlowmcuError) as caught:
        read_board(path)
    found = str(caught.value)
    for message in (
        "serial.uart_kind 'nrf-uarte' only sends",
        "serial.uart_origin is 'here'",
        "serial.divisor is 0; it must be 1 to",
        "unknown key 'serial.setup[1].registre'",
        "missing key 'serial.setup[1].register'",
    ):
        assert message in found
    path.write_text(text.replace("[[serial.setup]]", "[serial.setup]", 1), encoding="utf-8")
    with pytest.raises(GlowmcuError):
        read_board(path)
