"""What a bundle says of its stack is enough for its machine code, and not far from it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

import glowmcu
from benchmarks.kernel_sources import is_of_today
from benchmarks.stack_bounds import model_outside, outside_bounds, random_outside
from benchmarks.stack_samples import sample
from benchmarks.stack_table import CORES
from glowmcu.compilation import Compilation, Options
from glowmcu.cores import core
from glowmcu.emit_c.local_arrays import local_array_bytes
from glowmcu.emit_c.naked_frames import deepest_naked
from glowmcu.goals import Goal
from glowmcu.input_options import InputOptions
from glowmcu.instrument import Instrument
from glowmcu.interface_options import InterfaceOptions
from glowmcu.kernels.selection.stack_table import (
    SAME_CODE,
    core_stacks,
    measured_cores,
    measured_sources,
)
from glowmcu.manifest import CostEntry, read_manifest
from glowmcu.pipeline import compile_model
from glowmcu.stack_use import CoreStacks, FrameStacks, KernelStack, KernelUse
from glowmcu.training import training_of
from glowmcu.verify.toolchain import compile_object
from glowmcu.verify.verification import seeded_inputs
from tests.bundle.models import SHARED_NAMES, digits, one_element
from tests.support.check_model import write_bundle

#: All goals on some core; `python -m benchmarks.stack_bounds` has every pair.
PAIRS = list(zip(measured_cores(), 2 * list(Goal), strict=False))


def compiled(core_name: str, goal: Goal = Goal.BALANCED, steps: bool = False) -> Compilation:
    options = Options("digits", core=core_name, goal=goal, interface=InterfaceOptions(steps))
    return compile_model(digits(), "digits.tflite", options)


@pytest.mark.arm
@pytest.mark.riscv
@pytest.mark.parametrize("core_name", measured_cores())
def test_a_bundle_takes_no_more_stack_than_its_header_says(core_name: str, tmp_path: Path) -> None:
    compilation = compiled(core_name, steps=True)
    assert compilation.manifest.costs.stack_bytes.keys() == {
        "digits_run", "digits_infer", "digits_begin", "digits_run_steps", "digits_check",
        "digits_selftest",
    }  # fmt: skip
    assert outside_bounds(compilation, core_name, tmp_path / "bundle") == []


@pytest.mark.arm
@pytest.mark.parametrize("goal", [Goal.SIZE, Goal.RAM])
def test_the_bound_holds_for_small_code_and_for_cascades(goal: Goal, tmp_path: Path) -> None:
    compilation = compiled("cortex-m4", goal)
    assert outside_bounds(compilation, "cortex-m4", tmp_path / "bundle") == []


def test_the_check_takes_no_more_stack_for_more_layers() -> None:
    """It walks a list: of the smallest network and of one with twenty pointers."""
    few = compile_model(one_element(), "m.tflite", Options("m", core="cortex-m4"))
    many = compiled("cortex-m4").manifest.costs.stack_bytes["digits_check"]
    assert few.manifest.costs.stack_bytes["m_check"] == many


@pytest.mark.arm
@pytest.mark.parametrize("core_name", ["cortex-m0plus", "cortex-m4", "cortex-m55"])
def test_the_bound_of_the_self_test_counts_the_row_that_it_pushes(
    core_name: str, tmp_path: Path
) -> None:
    inputs = InputOptions(streamed=("pixels",), cameras={"pixels": "yuyv:320x240"})
    options = Options("digits", core=core_name, inputs=inputs)
    compilation = compile_model(digits(), "digits.tflite", options)
    assert compilation.manifest.costs.stack_bytes["digits_selftest"] > 640
    assert outside_bounds(compilation, core_name, tmp_path / "bundle", float("inf")) == []


@pytest.mark.arm
@pytest.mark.parametrize("core_name", ["cortex-m0plus", "cortex-m4"])
def test_the_bound_of_the_self_test_counts_inputs_and_outputs_of_several_types(
    core_name: str, tmp_path: Path
) -> None:
    """Pixels and a label, scores and a loss: each is filled or compared in a way of its own."""
    training = training_of("last=1", numbers="float32", momentum=0.9)
    options = Options("digits", core=core_name, inputs=InputOptions(training=training))
    compilation = compile_model(digits(), "digits.tflite", options)
    assert outside_bounds(compilation, core_name, tmp_path / "bundle", float("inf")) == []


@pytest.mark.arm
@pytest.mark.slow
@pytest.mark.parametrize("core_name", ["cortex-m0plus", "cortex-m33"])
def test_the_bound_holds_where_rows_of_a_large_network_are_pushed(
    core_name: str, tmp_path: Path, shared_dir: Path
) -> None:
    data = (shared_dir / "models" / "vww_int8.tflite").read_bytes()
    inputs = InputOptions(streamed=("input_1_int8",))
    compilation = compile_model(data, "vww.tflite", Options("vww", core=core_name, inputs=inputs))
    assert outside_bounds(compilation, core_name, tmp_path / "bundle") == []


@pytest.mark.arm
@pytest.mark.slow
@pytest.mark.parametrize(("core_name", "goal"), PAIRS)
def test_the_bound_holds_for_the_models_of_mlperf_tiny(
    core_name: str, goal: Goal, tmp_path: Path, shared_dir: Path
) -> None:
    wrong = []
    for name in SHARED_NAMES:
        path = shared_dir / "models" / f"{name}_int8.tflite"
        wrong += model_outside(path, core_name, goal, tmp_path)
    assert wrong == []


@pytest.mark.arm
@pytest.mark.slow
@pytest.mark.parametrize("core_name", measured_cores())
def test_the_bound_holds_for_random_networks(core_name: str, tmp_path: Path) -> None:
    stated, wrong = random_outside(core_name, 6, tmp_path)
    assert wrong == []
    assert stated >= 4


@pytest.mark.arm
def test_painted_stack_of_a_run_is_within_the_bound(tmp_path: Path) -> None:
    for core_name in ("cortex-m0plus", "cortex-m4"):
        compilation = compiled(core_name)
        bundle = glowmcu.load(write_bundle(compilation, tmp_path / core_name))
        measured = bundle.measure(seeded_inputs(bundle.manifest, 1), core=core_name)
        assert measured.stack_bytes is not None
        assert 0 < measured.stack_bytes <= compilation.manifest.costs.stack_bytes["digits_run"]


def test_the_table_is_not_older_than_the_kernels() -> None:
    """After a change of the kernels: `python -m benchmarks.stack_table`."""
    assert is_of_today(measured_sources())
    assert measured_cores() == tuple(sorted(CORES))


@pytest.mark.arm
@pytest.mark.parametrize(("unmeasured", "measured"), SAME_CODE.items())
def test_cores_that_share_measurements_have_the_same_code(
    unmeasured: str, measured: str, tmp_path: Path
) -> None:
    assert core_stacks(unmeasured, Goal.BALANCED) == core_stacks(measured, Goal.BALANCED)
    folder = write_bundle(compiled(unmeasured), tmp_path)
    objects = []
    for name in (unmeasured, measured):
        made = compile_object(folder / "digits.c", [folder], core(name).flags, tmp_path / "d.o")
        objects.append(_code(made))
    assert objects[0] == objects[1]


def _code(path: Path) -> list[bytes]:
    """Sections of code of an object file, by the ELF section table."""
    data = path.read_bytes()
    table, size, count = (
        int.from_bytes(data[0x20:0x24], "little"), int.from_bytes(data[0x2E:0x30], "little"),
        int.from_bytes(data[0x30:0x32], "little"),
    )  # fmt: skip
    found = []
    for index in range(count):
        header = data[table + index * size : table + (index + 1) * size]
        words = [int.from_bytes(header[at : at + 4], "little") for at in range(0, 24, 4)]
        if words[2] & 4:  # executable
            found.append(data[words[4] : words[4] + words[5]])
    assert found
    return found


def test_the_header_the_readme_and_the_manifest_say_the_same(tmp_path: Path) -> None:
    compilation = compiled("cortex-m4")
    costs, files = compilation.manifest.costs, compilation.files
    said = costs.stack_bytes["digits_run"]
    assert f"#define DIGITS_STACK_BYTES {said} " in files["digits.h"]
    assert f" *   stack    {said} B at most in digits_run\n" in files["digits.h"]
    assert f"| `digits_run` | {said} B |" in files["README.md"]
    assert f"_CYCLES_ESTIMATE {costs.cycles_estimate} " in files["digits.h"]
    assert "DIGITS_SELFTEST_STACK_BYTES" in files["selftest/digits_selftest.h"]
    assert costs.stack_found.startswith("walked in the machine code of arm-none-eabi-gcc 12.")
    assert read_manifest(write_bundle(compilation, tmp_path)).costs == costs


def test_a_bundle_without_a_bound_says_why() -> None:
    why = "the board names no core"
    compilation = compiled("generic")
    assert compilation.manifest.costs == CostEntry(stack_found=why)
    assert f" *   stack    not stated: {why}\n" in compilation.files["digits.h"]
    assert f"The stack is not stated: {why}." in compilation.files["README.md"]
    assert "STACK_BYTES" not in compilation.files["digits.h"]
    assert "_ESTIMATE" not in compilation.files["digits.h"]


def test_nothing_is_said_of_an_observer_and_of_kernels_that_nobody_measured() -> None:
    options = Options("digits", core="cortex-m4", instrument=Instrument.STEPS)
    observed = compile_model(digits(), "digits.tflite", options).manifest.costs
    assert (observed.stack_bytes, observed.stack_found) == ({}, "an observer may take any")
    known = core_stacks("cortex-m4", Goal.BALANCED)
    assert known is not None
    without = dataclasses.replace(known, kernels={})
    assert without.kernel("conv_2d.portable", "glowmcu_conv_#d_s#", True) is None


def test_a_function_that_was_not_measured_takes_the_most_of_its_variant() -> None:
    frames = FrameStacks(0, 0, 0, 0, 0, 0, 0, 0, 0)
    small = KernelUse(KernelStack(8, 16), KernelStack(24, 0))
    large = KernelUse(None, KernelStack(40, 0))
    alone = KernelUse(KernelStack(12, 4), None)
    known = CoreStacks("gcc", frames, {"v": {"f_#": small, "g_#": large, "k_#": alone}})
    assert known.kernel("v", "f_#", True) == KernelStack(24, 16)
    assert known.kernel("v", "f_#", False) == KernelStack(24, 0)
    assert known.kernel("v", "g_#", True) == KernelStack(40, 16)
    assert known.kernel("v", "k_#", True) == KernelStack(40, 4)
    assert known.kernel("v", "h", False) == KernelStack(40, 16)
    assert known.kernel("w", "f_#", True) is None


def test_arrays_and_assembly_of_a_text_are_counted() -> None:
    text = """\
/* stack: 36 bytes */
GLOWMCU_CODE
GLOWMCU_NAKED static void sums(const int8_t *in)
{
}
static const int8_t table[9] = { 0 };
static void f(const int8_t *in)
{
    const int8_t *places[9];
    int32_t sums[2][3];
    int8_t aside[5];
    static const int8_t numbers[4] = { 1, 2, 3, 4 };
    int32_t x = in[3];
}
"""
    assert deepest_naked(text) == 36
    assert local_array_bytes(text) == 36 + 24 + 8


def test_files_of_a_bundle_can_be_made_without_known_costs() -> None:
    files = sample(one_element(), "cortex-m4", "").files
    assert "not stated: the board names no core" in files["m.h"]
