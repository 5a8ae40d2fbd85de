"""The `qemu` executor on a hand-written bundle: results, counts, and how each failure ends."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from glowmcu import installation
from glowmcu.board import find_board
from glowmcu.board.read_board import UART_KINDS
from glowmcu.compilation import Options
from glowmcu.cores import core
from glowmcu.errors import ExitCode, GlowmcuError
from glowmcu.manifest import read_manifest
from glowmcu.pipeline import compile_model
from glowmcu.verify.firmware import (
    SEMIHOSTING,
    build_firmware,
    firmware_view,
    read_console,
    uart_port,
    write_firmware,
)
from glowmcu.verify.firmware.console import fnv1a
from glowmcu.verify.qemu import Qemu, executed_instructions
from tests.support.check_model import write_bundle
from tests.support.onnx_models import onnx_model
from tests.verify.tiny_bundle import expected_output, random_inputs, write_tiny_bundle

MISSING = Qemu().missing()
needs_qemu = [pytest.mark.qemu, pytest.mark.skipif(MISSING is not None, reason=str(MISSING))]
on_qemu = pytest.mark.parametrize("marked", [pytest.param(None, marks=needs_qemu, id="")])

MACHINES = [
    "microbit",
    "mps2-an385",
    "mps2-an386",
    "mps2-an500",
    "mps2-an505",
    "mps3-an547",
]
STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wshadow"]
# 2 * turns + 2 instructions: one to set the counter, two a turn, none of them a call.
SPIN = """
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


def bundle_for(tmp_path: Path, board: str = "generic", **parts: str) -> Path:
    bundle = write_tiny_bundle(tmp_path / "bundle", **parts)
    change_manifest(bundle, board=board)
    return bundle


def change_manifest(bundle: Path, **changes: object) -> None:
    changed = dataclasses.replace(read_manifest(bundle), **changes)  # type: ignore[arg-type]
    (bundle / "manifest.json").write_text(changed.to_json(), encoding="utf-8")


@on_qemu
@pytest.mark.parametrize("machine", MACHINES)
def test_every_machine_computes_what_the_bundle_means(
    machine: str, marked: None, tmp_path: Path
) -> None:
    inputs = random_inputs(7)
    results = Qemu(machine=machine).run(bundle_for(tmp_path), inputs)
    assert len(results) == 7
    for result, arrays in zip(results, inputs, strict=True):
        np.testing.assert_array_equal(result.outputs[0], expected_output(arrays[0]))
        assert result.outputs[0].dtype == np.int8
        assert result.outputs[0].shape == (1, 4)
        assert result.cycles is None
        assert result.instructions is not None
        assert 500 < result.instructions < 3000
        assert result.stack_bytes is not None
        assert 8 <= result.stack_bytes <= 200


@on_qemu
@pytest.mark.parametrize("machine", ["microbit", "mps2-an386", "mps2-an505", "mps3-an547"])
@pytest.mark.parametrize("turns", [1, 1000, 1_000_003], ids=str)
def test_a_loop_of_known_length_is_counted_within_eight_instructions(
    machine: str, turns: int, marked: None, tmp_path: Path
) -> None:
    counts = []
    for rounds in (turns, 2 * turns + 501):
        bundle = bundle_for(tmp_path / str(rounds), fault="spin();", helpers=SPIN % rounds)
        result = Qemu(machine=machine).run(bundle, random_inputs(1))[0]
        assert result.instructions is not None
        counts.append(result.instructions)
    assert abs(counts[1] - counts[0] - 2 * (turns + 501)) <= 8


@on_qemu
def test_a_run_longer_than_the_24_bit_counter_is_counted_whole(
    marked: None, tmp_path: Path
) -> None:
    turns = 360_000_000  # 720 M instructions; the counter wraps after 671 M
    bundle = bundle_for(tmp_path, fault="spin();", helpers=SPIN % turns)
    result = Qemu(machine="mps2-an386").run(bundle, random_inputs(1))[0]
    assert result.instructions is not None
    assert abs(result.instructions - 2 * turns) < 3000


@on_qemu
def test_instructions_agree_with_unicorn_on_the_same_image(marked: None, tmp_path: Path) -> None:
    unicorn = pytest.importorskip("unicorn")
    elffile = pytest.importorskip("elftools.elf.elffile")
    inputs = random_inputs(1)
    executor = Qemu(machine="mps2-an386", keep=tmp_path / "kept")
    measured = executor.run(bundle_for(tmp_path), inputs)[0]
    with (tmp_path / "kept" / "tiny.elf").open("rb") as stream:
        elf = elffile.ELFFile(stream)
        symbols = elf.get_section_by_name(".symtab")
        run = symbols.get_symbol_by_name("tiny_run")[0]["st_value"]
        emulator = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
        emulator.mem_map(0, 4 << 20)
        emulator.mem_map(0x20000000, 4 << 20)
        for segment in elf.iter_segments("PT_LOAD"):
            emulator.mem_write(segment["p_paddr"], segment.data())
    arena, stop = 0x20300000, 0x003FFFF0
    emulator.mem_write(arena, inputs[0][0].tobytes())
    registers = unicorn.arm_const
    emulator.reg_write(registers.UC_ARM_REG_SP, 0x20200000)
    emulator.reg_write(registers.UC_ARM_REG_R0, arena)
    emulator.reg_write(registers.UC_ARM_REG_LR, stop | 1)
    executed = 0
    block = range(0)

    def count(_: object, address: int, size: int, __: object) -> None:
        """A hook is not called for what an IT block skips; QEMU and the hardware count it."""
        nonlocal executed, block
        if address in block:
            return
        executed += 1
        opcode = int.from_bytes(emulator.mem_read(address, 2), "little")
        if size == 2 and opcode & 0xFF00 == 0xBF00 and opcode & 15:
            end = address + 2
            for _unused in range(4 - ((opcode & -opcode).bit_length() - 1)):
                first = int.from_bytes(emulator.mem_read(end, 2), "little")
                end += 4 if first >= 0xE800 else 2
                executed += 1
            block = range(address + 2, end)

    emulator.hook_add(unicorn.UC_HOOK_CODE, count)
    emulator.emu_start(run | 1, stop)
    assert measured.instructions is not None
    assert abs(measured.instructions - executed) <= 8


@on_qemu
def test_a_board_without_a_machine_of_its_own_runs_on_one_of_the_same_core(
    marked: None, tmp_path: Path
) -> None:
    inputs = random_inputs(1)
    for board in ("nrf52", "rp2040", "nrf5340", "nucleo-h743zi"):
        result = Qemu().run(bundle_for(tmp_path / board, board), inputs)[0]
        np.testing.assert_array_equal(result.outputs[0], expected_output(inputs[0][0]))


@on_qemu
def test_several_inferences_in_one_boot_do_not_see_each_other(marked: None, tmp_path: Path) -> None:
    inputs = random_inputs(1) * 3 + random_inputs(40, seed=5)
    results = Qemu(machine="mps2-an386").run(bundle_for(tmp_path), inputs)
    for result, arrays in zip(results, inputs, strict=True):
        np.testing.assert_array_equal(result.outputs[0], expected_output(arrays[0]))


@on_qemu
def test_a_model_without_inputs_runs_as_often_as_it_is_asked(marked: None, tmp_path: Path) -> None:
    data = onnx_model("Neg", [np.array([1.0, 2.0, 3.0], np.float32)])
    compilation = compile_model(data, "m.onnx", Options("m"))
    folder = write_bundle(compilation, tmp_path)
    measured = Qemu(machine="mps2-an386").run(folder, [[], []])
    assert [result.outputs[0].tolist() for result in measured] == [[-1, -2, -3]] * 2


@on_qemu
@pytest.mark.parametrize("machine", ["microbit", "mps2-an386", "mps3-an547"])
def test_a_fault_on_the_target_ends_the_run_and_says_where(
    machine: str, marked: None, tmp_path: Path
) -> None:
    bundle = bundle_for(tmp_path, fault='__asm volatile("udf #0");')
    with pytest.raises(GlowmcuError) as caught:
        Qemu(machine=machine, timeout_seconds=20).run(bundle, random_inputs(1))
    assert caught.value.code == "GM642"
    assert "fault: exception 3 pc=0" in str(caught.value)
    assert f"QEMU machine {machine}" in str(caught.value)


@on_qemu
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("base[-1] = 0;", "the bundle wrote in front of its arena"),
        ("base[40] = 0;", "the bundle wrote behind its arena"),
        ("return -1;", "the run returned a status other than 0"),
        (
            "{ volatile uint8_t deep[32768]; uint32_t i; "
            "for (i = 0; i < 32768u; i++) { deep[i] = 1u; } }",
            "the stack of the test firmware is too small for this bundle",
        ),
        ("stack_limit[0] = 0;", "the stack of the test firmware is too small for this bundle"),
    ],
    ids=["in front", "behind", "refused", "far too deep", "to the last word"],
)
def test_writing_outside_the_arena_or_the_stack_and_a_refusal_are_found(
    fault: str, message: str, marked: None, tmp_path: Path
) -> None:
    bundle = bundle_for(tmp_path, fault=fault, helpers="extern uint32_t stack_limit[];")
    with pytest.raises(GlowmcuError) as caught:
        Qemu(machine="mps2-an386", timeout_seconds=20).run(bundle, random_inputs(2))
    assert caught.value.code == "GM642"
    assert message in str(caught.value)


@on_qemu
def test_an_endless_loop_is_stopped_and_leaves_no_process(marked: None, tmp_path: Path) -> None:
    bundle = bundle_for(tmp_path, fault='for (;;) { __asm volatile("nop"); }')
    kept = tmp_path / "kept"
    with pytest.raises(GlowmcuError) as caught:
        Qemu(machine="mps2-an386", timeout_seconds=2, keep=kept).run(bundle, random_inputs(1))
    assert caught.value.code == "GM643"
    assert "longer than 2 s; 0 inferences were finished" in str(caught.value)
    processes = subprocess.run(["ps", "ax"], capture_output=True, text=True, check=True).stdout
    assert str(kept) not in processes


@on_qemu
def test_an_arena_too_large_for_the_microbit_is_refused_before_building(
    marked: None, tmp_path: Path
) -> None:
    bundle = bundle_for(tmp_path, "microbit")
    change_manifest(bundle, arena_bytes=16_000)
    with pytest.raises(GlowmcuError) as caught:
        Qemu().run(bundle, random_inputs(1))
    assert caught.value.exit_code == ExitCode.DOES_NOT_FIT
    assert str(caught.value) == (
        "error[GM401]: does not fit: tiny needs an arena of 16000 B, 2048 B of stack and variables "
        "and two guards; that is 1792 B more than microbit has\n"
        "  --> region 'ram' of BBC micro:bit v1, 16384 B; "
        'the peak is step 0 "dense_0" (x 16 B, hidden 8 B)\n'
        "  hint: compile with optimize='ram', or run on a larger machine"
    )


@on_qemu
def test_weights_too_large_for_the_microbit_are_named_by_region(
    marked: None, tmp_path: Path
) -> None:
    big = "static const volatile uint8_t big[300000] = {1};"
    bundle = bundle_for(tmp_path, "microbit", fault="base[0] = (int8_t)big[base[1]];", helpers=big)
    with pytest.raises(GlowmcuError) as caught:
        Qemu().run(bundle, random_inputs(1))
    assert caught.value.exit_code == ExitCode.DOES_NOT_FIT
    assert "B of flash needed, microbit has 262 144 B, " in str(caught.value)
    assert "region 'flash' at 0x00000000 of BBC micro:bit v1" in str(caught.value)


@on_qemu
@pytest.mark.parametrize(
    ("arrays", "got"),
    [
        ([], "has 1 input (x int8[1x16]), got none"),
        ([np.zeros((1, 15), np.int8)], "expected int8[1x16], got int8[1x15]"),
        ([np.zeros((1, 4), np.float32)], "expected int8[1x16], got float32[1x4]"),
    ],
    ids=["none", "too short", "other type"],
)
def test_wrong_inputs_are_refused_with_the_wanted_shape(
    arrays: list[np.ndarray], got: str, marked: None, tmp_path: Path
) -> None:
    with pytest.raises(GlowmcuError) as caught:
        Qemu().run(bundle_for(tmp_path), [arrays])
    assert caught.value.code == "GM604"
    assert got in str(caught.value)


def test_a_missing_qemu_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert Qemu().missing() == f"qemu-system-arm is not on PATH: {installation.QEMU_ARM.advice}"


def test_a_board_that_is_no_machine_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(GlowmcuError) as caught:
        Qemu(machine="nrf52").run(bundle_for(tmp_path), random_inputs(1))
    assert caught.value.code == "GM641"
    assert "nrf52 is no machine of QEMU's" in str(caught.value)


def test_ticks_become_instructions_by_the_loop_of_known_length() -> None:
    """25 MHz: 40 instructions a tick; 1000 instructions = 25 ticks; three polls are 12 more."""
    console = read_console(
        "glowmcu empty 1 wraps=0 ticks=2 polls=5 stack=0\n"
        "glowmcu loop 4000001 wraps=0 ticks=100002 polls=5 stack=0\n"
        "glowmcu inference 0 wraps=0 ticks=27 polls=8 stack=16\n"
        "glowmcu inference 1 wraps=1 ticks=2 polls=5 stack=16\n"
        "glowmcu end 2\n"
    )
    assert executed_instructions(console) == [1000 - 12 + 1, (1 << 24) * 40 + 1]


def test_the_checksum_is_fnv1a() -> None:
    assert fnv1a(b"") == 0x811C9DC5
    assert fnv1a(b"foobar") == 0xBF9CF968


@pytest.mark.arm
@pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="no arm-none-eabi-gcc")
def test_weights_and_code_lie_in_the_regions_that_the_board_names(tmp_path: Path) -> None:
    helpers = 'const uint8_t placed[4] __attribute__((section(".glowmcu_weights"))) = {1};'
    fault = "base[0] = (int8_t)((const volatile uint8_t *)placed)[base[1] & 3];"
    bundle = bundle_for(tmp_path, fault=fault, helpers=helpers)
    board = find_board("mps3-an547")
    folder = tmp_path / "firmware"
    manifest = read_manifest(bundle)
    elf = build_firmware(bundle, manifest, board, core(board.core), SEMIHOSTING, folder).elf
    symbols = subprocess.run(
        ["arm-none-eabi-nm", str(elf)], capture_output=True, text=True, check=True
    ).stdout
    address = {line.split()[2]: int(line.split()[0], 16) for line in symbols.splitlines()}
    places = {"tiny_run": "itcm", "placed": "code_sram", "block": "ram", "stack_limit": "ram"}
    for symbol, name in places.items():
        region = board.region(name)
        assert region.origin <= address[symbol] < region.end, f"{symbol} is not in {name}"


@pytest.mark.arm
@pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="no arm-none-eabi-gcc")
@pytest.mark.parametrize("board", ["microbit", "nrf52", "mps3-an547"])
def test_the_firmware_around_a_bundle_compiles_without_a_warning(
    board: str, tmp_path: Path
) -> None:
    bundle = bundle_for(tmp_path)
    hardware = find_board(board)
    target = core(hardware.core)
    view = firmware_view(read_manifest(bundle), hardware, target)
    ports = [SEMIHOSTING, *(uart_port(kind, 0x40002000) for kind in UART_KINDS)]
    for number, port in enumerate(ports):
        folder = tmp_path / str(number)
        for source in write_firmware(view, port, folder):
            command = ["arm-none-eabi-gcc", *target.flags, *STRICT, "-O2", "-c", str(source)]
            defines = [f"-D{define}" for define in port.defines]
            includes = ["-I", str(folder), "-I", str(bundle), "-o", str(tmp_path / "x.o")]
            done = subprocess.run(
                [*command, *defines, *includes], capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, f"{source.name} for {board}:\n{done.stderr}"
