"""RISC-V on QEMU's virt machine: the same bits, exact counts, and every way to fail."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu import installation
from glowmcu.board import find_board
from glowmcu.cores import core, core_names
from glowmcu.errors import ExitCode, GlowmcuError
from glowmcu.kernels.cost_table import COSTS_AS, cost_table
from glowmcu.manifest import read_manifest
from glowmcu.verify import toolchain
from glowmcu.verify.qemu import Qemu
from glowmcu.verify.verification import seeded_inputs
from tests.bundle.models import BUILT, SHARED_NAMES, model_bytes
from tests.verify.tiny_bundle import expected_output, random_inputs, write_tiny_bundle

BOARDS = ("esp32c3", "gd32vf103", "generic-rv32imc", "rp2350-riscv", "virt")
RISCV_CORES = tuple(name for name in core_names() if core(name).is_riscv)
# 2 * turns + 2 instructions besides those that load the number of turns.
SPIN = """
static __attribute__((naked, noinline)) void spin(void)
{
    __asm volatile("lui a0, %%hi(%d)\\n"
                   "addi a0, a0, %%lo(%d)\\n"
                   "1: addi a0, a0, -1\\n"
                   "bnez a0, 1b\\n"
                   "ret\\n");
}
"""


def tiny(tmp_path: Path, **parts: str) -> Path:
    bundle = write_tiny_bundle(tmp_path / "bundle", **parts)
    changed = dataclasses.replace(read_manifest(bundle), board="virt")
    (bundle / "manifest.json").write_text(changed.to_json(), encoding="utf-8")
    return bundle


@pytest.mark.riscv
def test_one_boot_computes_what_the_bundle_means_for_every_input(tmp_path: Path) -> None:
    inputs = random_inputs(7)
    for result, arrays in zip(Qemu().run(tiny(tmp_path), inputs), inputs, strict=True):
        np.testing.assert_array_equal(result.outputs[0], expected_output(arrays[0]))
        assert result.cycles is None
        assert 500 < (result.instructions or 0) < 3000
        assert result.stack_bytes == 0  # a leaf of RISC-V returns by a register


@pytest.mark.riscv
@pytest.mark.parametrize("turns", [1, 1000, 1_000_003], ids=str)
def test_a_loop_of_known_length_is_counted_to_the_instruction(turns: int, tmp_path: Path) -> None:
    counts = []
    for rounds in (turns, 2 * turns + 501):
        helpers = SPIN % (rounds, rounds)
        bundle = tiny(tmp_path / str(rounds), fault="spin();", helpers=helpers)
        counts.append(Qemu().run(bundle, random_inputs(1))[0].instructions or 0)
    assert counts[1] - counts[0] == 2 * (turns + 501)


@pytest.mark.riscv
def test_the_depth_of_the_stack_is_measured(tmp_path: Path) -> None:
    dig = "{ volatile uint8_t deep[1000]; deep[0] = deep[999] = (uint8_t)base[0]; }"
    result = Qemu().run(tiny(tmp_path, fault=dig), random_inputs(1))[0]
    assert 1000 <= (result.stack_bytes or 0) <= 1032


@pytest.mark.riscv
def test_a_run_longer_than_24_bits_is_counted_whole(tmp_path: Path) -> None:
    turns = 20_000_000
    bundle = tiny(tmp_path, fault="spin();", helpers=SPIN % (turns, turns))
    count = Qemu().run(bundle, random_inputs(1))[0].instructions or 0
    assert 2 * turns < count < 2 * turns + 3000


@pytest.mark.riscv
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("base[-1] = 0;", "the bundle wrote in front of its arena"),
        ("base[40] = 0;", "the bundle wrote behind its arena"),
        ("stack_limit[0] = 0;", "the stack of the test firmware is too small for this bundle"),
        ('__asm volatile("unimp");', "fault: exception 2 pc=80"),
        ("*(volatile uint32_t *)0x8 = 0;", "fault: exception 7 pc=80"),
    ],
    ids=["in front", "behind", "stack", "illegal instruction", "no memory there"],
)
def test_what_goes_wrong_on_the_target_is_found_and_located(
    fault: str, message: str, tmp_path: Path
) -> None:
    bundle = tiny(tmp_path, fault=fault, helpers="extern uint32_t stack_limit[];")
    with pytest.raises(GlowmcuError) as caught:
        Qemu(timeout_seconds=20).run(bundle, random_inputs(2))
    assert caught.value.code == "GM642"
    assert message in str(caught.value)


@pytest.mark.riscv
def test_an_endless_loop_is_stopped(tmp_path: Path) -> None:
    bundle = tiny(tmp_path, fault='for (;;) { __asm volatile("nop"); }')
    with pytest.raises(GlowmcuError) as caught:
        Qemu(timeout_seconds=2).run(bundle, random_inputs(1))
    assert caught.value.code == "GM643"
    assert "qemu-system-riscv32 ran longer than 2 s" in str(caught.value)


@pytest.mark.riscv
@pytest.mark.parametrize("board", BOARDS)
def test_digits_gives_the_host_s_bytes_on_every_board(board: str, tmp_path: Path) -> None:
    check_same_bytes("digits", board, tmp_path)


@pytest.mark.riscv
@pytest.mark.parametrize(
    "name", [*(n for n in BUILT if n != "digits"),
             *(pytest.param(n, marks=pytest.mark.slow) for n in SHARED_NAMES)],
)  # fmt: skip
def test_every_model_gives_the_host_s_bytes(name: str, tmp_path: Path) -> None:
    check_same_bytes(name, "generic-rv32imc", tmp_path)


def check_same_bytes(name: str, board: str, tmp_path: Path) -> None:
    model = tmp_path / f"{name}.tflite"
    model.write_bytes(model_bytes(name))
    bundle = glowmcu.compile(model, board=board, output=tmp_path / "out", name=name)
    assert bundle.report.code_bytes
    sets = [seeded_inputs(bundle.manifest, seed) for seed in (1, 2)]
    found = bundle.measure_all(sets, on="qemu")
    for result, arrays in zip(found, sets, strict=True):
        for output, wanted in zip(result.outputs, bundle.run(arrays), strict=True):
            np.testing.assert_array_equal(output, wanted)
        assert (result.instructions or 0) > bundle.manifest.macs


@pytest.mark.parametrize("board", BOARDS)
def test_a_riscv_board_runs_on_a_machine_whose_instructions_include_its_own(board: str) -> None:
    hardware = find_board(board)
    assert hardware.qemu is not None
    machine = find_board(hardware.qemu.machine)
    own, its = core(hardware.core).architecture, core(machine.core).architecture
    # QEMU's rv32 has Zba and Zbb, too, and gcc makes no instruction that only Zbkb has.
    assert set(own.removesuffix("_zba_zbb_zbkb")) <= set(its)
    assert bool(hardware.qemu.note) == (machine.name != board)


def test_riscv_prices_come_from_cores_that_have_some() -> None:
    assert RISCV_CORES == ("rv32imc", "rv32imac", "hazard3")
    for name in RISCV_CORES:
        assert COSTS_AS[name]
        assert cost_table().unit_costs("conv_2d.pairs_nodsp", name) is not None
        assert cost_table().unit_costs("conv_2d.pointwise_dsp", name) is None


def test_a_missing_riscv_tool_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(toolchain.RISCV_VARIABLE, raising=False)
    monkeypatch.setattr(shutil, "which", lambda program: None)
    flags = core("rv32imc").flags
    assert installation.RISCV_COMPILER.advice in (toolchain.missing(flags) or "")
    assert installation.ARM_COMPILER.advice in (toolchain.missing() or "")
    assert installation.QEMU_RISCV.advice in (Qemu(machine="virt").missing() or "")
    with pytest.raises(GlowmcuError, match="there is no RISC-V cross compiler here") as caught:
        toolchain.run_gcc([*flags, "-c", "x.c"], ["x.c"])
    assert caught.value.code == "GM610"


def test_a_riscv_bundle_is_compiled_without_a_cross_compiler_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(toolchain.RISCV_VARIABLE, "/nowhere/gcc")
    model = tmp_path / "digits.tflite"
    model.write_bytes(model_bytes("digits"))
    bundle = glowmcu.compile(model, board="esp32c3", output=tmp_path / "out")
    assert bundle.report.code_bytes is None


def test_the_cortex_m_executor_sends_a_riscv_bundle_to_its_own(tmp_path: Path) -> None:
    pytest.importorskip("unicorn")
    model = tmp_path / "digits.tflite"
    model.write_bytes(model_bytes("digits"))
    bundle = glowmcu.compile(model, board="gd32vf103", output=tmp_path / "out")
    with pytest.raises(GlowmcuError, match="cannot emulate rv32imac") as caught:
        bundle.measure(seeded_inputs(bundle.manifest, 1), on="cortex-m")
    assert caught.value.code == "GM650"
    assert "--on riscv" in caught.value.problems[0].hint


def test_a_model_too_large_for_a_small_riscv_board_is_refused_with_numbers(tmp_path: Path) -> None:
    model = tmp_path / "ad.tflite"
    model.write_bytes(model_bytes("ad"))
    with pytest.raises(GlowmcuError, match="gd32vf103 has 131 072 B") as caught:
        glowmcu.compile(model, board="gd32vf103", output=tmp_path / "out")
    assert caught.value.exit_code is ExitCode.DOES_NOT_FIT
