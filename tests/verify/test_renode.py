"""The `renode` executor: its firmware run in QEMU, its robot played, failures told apart.

Where `renode-test` is on PATH, the whole runs for real; where it is not, that test is skipped, and
what the other tests show is that everything but Renode itself does its part.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import shutil
import stat
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from benchmarks.random_layers import random_model
from glowmcu.api import verify_bundle
from glowmcu.board import Board, Placement, Region, board_names, find_board
from glowmcu.cores import core
from glowmcu.errors import ExitCode, GlowmcuError, error
from glowmcu.manifest import read_manifest
from glowmcu.verify.firmware import build_firmware, pack_inputs, read_console, uart_port
from glowmcu.verify.firmware.image import extents
from glowmcu.verify.measurement import Measurement
from glowmcu.verify.qemu import Qemu
from glowmcu.verify.renode import Renode, renode_board, renode_files
from glowmcu.verify.renode.executor import measurements
from glowmcu.verify.verification import Vector, check_executor
from tests.verify.robot_player import play
from tests.verify.tiny_bundle import expected_output, random_inputs, write_tiny_bundle

MISSING = Renode().missing()
NO_QEMU = Qemu().missing()
BOARDS = [name for name in board_names() if find_board(name).renode is not None]


@pytest.mark.arm
@pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="no arm-none-eabi-gcc")
@pytest.mark.parametrize("name", [*BOARDS, "generic"])
def test_the_firmware_of_every_board_links_into_its_own_memory(name: str, tmp_path: Path) -> None:
    bundle = write_tiny_bundle(tmp_path / "bundle")
    manifest = read_manifest(bundle)
    packed = pack_inputs(manifest, random_inputs(2))
    work = tmp_path / "work"
    robot = Renode(board=find_board(name)).prepare(bundle, manifest, packed, 2, work)
    hardware, _ = renode_board(find_board(name))
    made = {path.name for path in robot.parent.iterdir()}
    assert made >= {"tiny.elf", "tiny.repl", "tiny.resc", "tiny.robot", "inputs.bin"}
    assert (work / "inputs.bin").read_bytes() == b"\x02\x00\x00\x00" + packed
    for start, end in extents((work / "tiny.elf").read_bytes()):
        assert any(region.origin <= start and end <= region.end for region in hardware.memory)


def in_flash_and_ram(board: Board, flash: tuple[int, int], ram: tuple[int, int]) -> Board:
    regions = (Region("flash", "flash", *flash), Region("ram", "ram", *ram))
    placement = Placement("flash", "flash", "ram", "ram")
    return dataclasses.replace(board, memory=regions, placement=placement)


@pytest.mark.qemu
@pytest.mark.skipif(NO_QEMU is not None, reason=str(NO_QEMU))
@pytest.mark.parametrize(
    ("machine", "kind", "uart", "inputs_origin", "like", "flash", "ram"),
    [
        ("mps2-an386", "cmsdk", 0x40004000, 0x21000000, "mps2-an386", None, None),
        ("microbit", "nrf-uart", 0x40002000, 0x00030000, "microbit", None, None),
        ("netduinoplus2", "stm32-usart-f4", 0x40011000, 0x080C0000, "stm32f4-discovery",
         (0x08000000, 0xC0000), (0x20000000, 0x20000)),
        ("lm3s6965evb", "pl011", 0x4000C000, 0x00030000, "mps2-an385",
         (0x00000000, 0x30000), (0x20000000, 0x10000)),
    ],
    ids=["cmsdk", "nrf-uart", "stm32-usart-f4", "pl011"],
)  # fmt: skip
def test_the_serial_firmware_runs_and_its_output_is_read_back(
    machine: str,
    kind: str,
    uart: int,
    inputs_origin: int,
    like: str,
    flash: tuple[int, int] | None,
    ram: tuple[int, int] | None,
    tmp_path: Path,
) -> None:
    """QEMU has machines with four of the seven UARTs: drivers, protocol and parser for real."""
    pytest.importorskip("robot")
    bundle = write_tiny_bundle(tmp_path / "bundle")
    manifest = read_manifest(bundle)
    inputs = random_inputs(3)
    board = find_board(like)
    if flash and ram:
        board = in_flash_and_ram(board, flash, ram)
    port = uart_port(kind, uart, inputs_origin)
    work = tmp_path / "work"
    firmware = build_firmware(bundle, manifest, board, core(board.core), port, work)
    given = work / "inputs.bin"
    given.write_bytes((3).to_bytes(4, "little") + pack_inputs(manifest, inputs))
    loader = f"loader,file={given},addr=0x{inputs_origin:X},force-raw=on"
    text = serial_output(["-machine", machine, "-kernel", str(firmware.elf), "-device", loader],
                         work / "serial.txt")  # fmt: skip
    robot = renode_files("tiny", find_board(like), 3, 48, 10**8).write(work)
    assert play(robot, text, work) == 0, (work / "robot.txt").read_text()
    counts = (work / "instructions.txt").read_text()
    results = measurements(manifest, read_console(text), counts, inputs)
    for number, (result, arrays) in enumerate(zip(results, inputs, strict=True)):
        np.testing.assert_array_equal(result.outputs[0], expected_output(arrays[0]))
        assert result.instructions == 1000 + number
        assert result.cycles is None
        assert result.stack_bytes is not None
        assert 8 <= result.stack_bytes <= 100


def serial_output(arguments: list[str], path: Path) -> str:
    """What a machine prints on its serial line up to "glowmcu exit"."""
    process = subprocess.Popen(
        ["qemu-system-arm", *arguments, "-display", "none", "-monitor", "none",
         "-serial", f"file:{path}"],
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        for _ in range(200):
            text = path.read_text() if path.is_file() else ""
            if "glowmcu exit" in text or process.poll() is not None:
                return text
            time.sleep(0.1)
    finally:
        process.kill()
        process.wait()
    raise AssertionError(f"no end after 20 s:\n{text}")


CONSOLE = """\
glowmcu run empty 1
glowmcu done
glowmcu empty 1 stack=0
glowmcu run loop 4000001
glowmcu done
glowmcu loop 4000001 stack=0
glowmcu run inference 0
glowmcu done
glowmcu inference 0 stack=40
glowmcu output 01ff7f80
glowmcu checksum %s
glowmcu end 1
glowmcu exit 0
"""


def test_a_damaged_output_is_found_by_its_checksum(tmp_path: Path) -> None:
    manifest = read_manifest(write_tiny_bundle(tmp_path))
    good = measurements(manifest, read_console(CONSOLE % "85ef88e6"), "", [()])
    assert good[0].outputs[0].tolist() == [[1, -1, 127, -128]]
    assert good[0].instructions is None, "nothing was counted, so nothing may be told"
    with pytest.raises(GlowmcuError) as caught:
        measurements(manifest, read_console(CONSOLE % "00000001"), "", [()])
    assert "checksum differs" in str(caught.value)


def test_counts_that_miss_a_loop_of_known_length_are_not_used(tmp_path: Path) -> None:
    manifest = read_manifest(write_tiny_bundle(tmp_path))
    console = read_console(CONSOLE % "85ef88e6")
    right = "empty 1 5322\nloop 4005322\ninference 0 6321\n"
    wrong = right.replace("4005322", "4105322")
    assert measurements(manifest, console, right, [()])[0].instructions == 1000
    assert measurements(manifest, console, wrong, [()])[0].instructions is None


def test_a_fault_on_the_console_fails_the_robot_test(tmp_path: Path) -> None:
    pytest.importorskip("robot")
    robot = renode_files("tiny", find_board("nrf52"), 1, 16, 10**8).write(tmp_path)
    console = "glowmcu run empty 1\nglowmcu fault: exception 3 pc=00000123\nglowmcu done\n"
    assert play(robot, console, tmp_path) == 1
    assert "fault: exception 3" in (tmp_path / "robot.txt").read_text()


def test_the_commands_given_to_renode_escape_spaces_in_paths(tmp_path: Path) -> None:
    pytest.importorskip("robot")
    folder = tmp_path / "a b"
    folder.mkdir()
    robot = renode_files("tiny", find_board("nrf52"), 1, 16, 10**8).write(folder)
    assert play(robot, CONSOLE % "00000000", folder) == 0, (folder / "robot.txt").read_text()
    commands = (folder / "commands.txt").read_text().splitlines()
    assert commands[0] == f"include @{tmp_path}/a\\ b/tiny.resc"
    assert commands[1] == f"sysbus.uart0 CreateFileBackend @{tmp_path}/a\\ b/console.txt true"


def test_a_missing_renode_says_where_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    message = Renode().missing()
    assert message is not None
    assert "https://github.com/renode/renode/releases" in message
    assert "antmicro/renode" in message
    with pytest.raises(GlowmcuError) as caught:
        Renode().run(write_tiny_bundle(tmp_path), random_inputs(1))
    assert caught.value.code == "GM660"
    assert caught.value.exit_code == ExitCode.USAGE


@pytest.mark.arm
@pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="no arm-none-eabi-gcc")
@pytest.mark.parametrize(
    ("script", "code", "message"),
    [
        ("echo it broke; exit 3", "GM662", "failed with exit code 3:\n    it broke"),
        ("sleep 60 & sleep 60", "GM663", "ran longer than 1 s"),
        ("echo glowmcu fault: exception 3 pc=00000010 > console.txt; exit 1", "GM642",
         "fault: exception 3 pc=00000010"),
    ],
    ids=["fails", "hangs", "target faults"],
)  # fmt: skip
def test_a_failing_renode_ends_in_a_message_and_leaves_no_process(
    script: str, code: str, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "bin" / "renode-test"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho $$ > pid\n{script}\n", encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    kept = tmp_path / "kept"
    executor = Renode(board=find_board("nrf52"), timeout_seconds=1, keep=kept)
    with pytest.raises(GlowmcuError) as caught:
        executor.run(write_tiny_bundle(tmp_path / "bundle"), random_inputs(1))
    assert caught.value.code == code
    assert message in str(caught.value)
    group = int((kept / "pid").read_text())
    time.sleep(0.2)
    listed = subprocess.run(
        ["ps", "-eo", "pgid=,stat="], capture_output=True, text=True, check=True
    )
    states = [line.split() for line in listed.stdout.splitlines()]
    assert not [state for number, state in states if int(number) == group and state[0] != "Z"]


@pytest.mark.parametrize(("core_name", "is_told"), [("cortex-m55", True), ("cortex-m4", False)])
def test_a_fault_on_a_core_with_helium_tells_what_old_versions_lack(
    core_name: str, is_told: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    board = dataclasses.replace(find_board("nrf52"), core=core_name)
    (tmp_path / "console.txt").write_text("glowmcu fault: exception 3 pc=00000010\n")
    monkeypatch.setattr(Renode, "missing", lambda _: None)
    monkeypatch.setattr(Renode, "prepare", lambda *_: tmp_path / "tiny.robot")
    monkeypatch.setattr(Renode, "_renode_test", lambda *_: ("", 1))
    with pytest.raises(GlowmcuError) as caught:
        Renode(board=board, keep=tmp_path).run(
            write_tiny_bundle(tmp_path / "bundle"), random_inputs(1)
        )
    assert caught.value.code == "GM642"
    assert "addr2line" in str(caught.value)
    assert ("lack Helium instructions" in str(caught.value)) == is_told


@pytest.mark.renode
@pytest.mark.skipif(MISSING is not None, reason=f"NOT RUN IN RENODE: {MISSING}")
@pytest.mark.parametrize("name", [*BOARDS, "generic"])
def test_renode_computes_what_the_bundle_means(name: str, tmp_path: Path) -> None:
    inputs = random_inputs(3)
    bundle = write_tiny_bundle(tmp_path / "bundle")
    results = Renode(board=find_board(name)).run(bundle, inputs)
    for result, arrays in zip(results, inputs, strict=True):
        np.testing.assert_array_equal(result.outputs[0], expected_output(arrays[0]))
        assert result.instructions is not None
        assert 500 < result.instructions < 3000


@pytest.mark.renode
@pytest.mark.skipif(MISSING is not None, reason=f"NOT RUN IN RENODE: {MISSING}")
@pytest.mark.parametrize("family", ["conv_2d", "depthwise_conv_2d", "fully_connected", "pool_2d"])
@pytest.mark.parametrize("name", [*BOARDS, "generic"])
def test_the_kernels_of_the_board_s_core_compute_in_renode_what_they_do_here(
    name: str, family: str, tmp_path: Path
) -> None:
    """Random layers of every family that has kernels for the core, not a digit classifier alone."""
    model = tmp_path / "layers.tflite"
    model.write_bytes(random_model(family, 31, range(6)))
    bundle = glowmcu.compile(model, board=name, output=tmp_path / "bundle")
    report = verify_bundle(bundle, ["renode"], samples=1, seed=0, model=model)
    [check] = report.checks
    if not check.passed and check.hint:
        pytest.xfail(f"{check.first_difference}; {check.hint}")
    assert check.passed, check.first_difference


@pytest.mark.parametrize(("name", "is_told"), [("mps3-an547", True), ("nrf52", False)])
def test_wrong_outputs_on_a_core_with_helium_name_what_renode_gets_wrong(
    name: str, is_told: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bundle = write_tiny_bundle(tmp_path / "bundle")
    manifest = read_manifest(bundle)
    [arrays] = random_inputs(1)
    wrong = expected_output(arrays[0]) ^ 1
    monkeypatch.setattr(Renode, "run", lambda *_: [Measurement((wrong,))])
    vector = Vector("random 0", tuple(arrays), (expected_output(arrays[0]),), (0.0,))
    check = check_executor(Renode(board=find_board(name)), bundle, manifest, [vector])
    assert not check.passed
    assert ("VMULL" in check.hint) == is_told
    right = Vector("random 0", tuple(arrays), (wrong,), (0.0,))
    assert check_executor(Renode(board=find_board(name)), bundle, manifest, [right]).hint == ""


@pytest.mark.parametrize("name", ["mps3-an547", "nrf52"])
def test_a_run_without_an_end_is_ended_by_the_instructions_that_it_may_take(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    limits: list[float] = []

    def hangs(_: Renode, __: Path, ___: Path, limit: float, hint: str) -> None:
        limits.append(limit)
        raise error("GM663", "ran longer", hint=hint)

    monkeypatch.setattr(Renode, "missing", lambda _: None)
    monkeypatch.setattr(Renode, "prepare", lambda *_: tmp_path / "tiny.robot")
    monkeypatch.setattr(Renode, "_renode_test", hangs)
    bundle = write_tiny_bundle(tmp_path / "bundle")
    for count in (1, 1000):
        with pytest.raises(GlowmcuError) as caught:
            Renode(board=find_board(name), keep=tmp_path).run(bundle, random_inputs(count))
        assert ("Helium" in str(caught.value)) == (name == "mps3-an547")
    one, many = limits
    assert 120 <= one < many < 300, "a tiny model needs its start, not twenty minutes"


def test_the_check_of_robot_files_can_run_here() -> None:
    """`robotframework` is a test dependency: without it most of this file says nothing."""
    assert importlib.util.find_spec("robot") is not None
