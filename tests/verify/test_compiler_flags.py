"""Bundles compute the same under the flags that firmware is compiled with, on emulated cores.

More flags, one at a time, and more bundles: `python -m benchmarks.arm_flags`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from benchmarks.arm_flags import CLANG, MACHINES, PROTECTED, TOGETHER, failures, run_clang
from benchmarks.random_bundles import random_bundle
from benchmarks.random_layers import random_model
from glowmcu.compilation import Options
from glowmcu.cores import core
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.pipeline import compile_model
from glowmcu.verify.toolchain import run_gcc
from tests.kernels.test_float_kernels import dense_model
from tests.support.check_model import write_bundle
from tests.support.forced_variant import compile_forced
from tests.support.kernel_files import header_paths, template_paths
from tests.support.recurrent_models import recurrent_sequence

#: Of each core a bundle that has functions made of assembly, and fits its machine.
SEEDS = {
    "cortex-m0plus": 3, "cortex-m3": 3, "cortex-m4": 5, "cortex-m7": 7, "cortex-m33": 3,
    "cortex-m55": 5,
}  # fmt: skip


@pytest.mark.arm
@pytest.mark.parametrize("core_name", MACHINES)
def test_flags_of_firmware_change_no_result(core_name: str, tmp_path: Path) -> None:
    if shutil.which("qemu-system-arm") is None:
        pytest.skip("needs qemu-system-arm")
    drawn = random_bundle(SEEDS[core_name], core_name, "chain")
    bundle = write_bundle(drawn.compilation, tmp_path / "net")
    text = "".join(path.read_text() for path in bundle.glob("*.[ch]"))
    assert len(re.findall(r"^GLOWMCU_NAKED static", text, re.MULTILINE)) >= 3
    assert list(failures(bundle, core_name, TOGETHER)) == []


@pytest.mark.arm
@pytest.mark.parametrize("core_name", ["cortex-m4", "cortex-m55"])
def test_flags_of_firmware_change_no_result_of_int16(core_name: str, tmp_path: Path) -> None:
    if shutil.which("qemu-system-arm") is None:
        pytest.skip("needs qemu-system-arm")
    data = random_model("conv_2d of int16", 3, range(6))
    compilation = compile_model(data, "net.tflite", Options("net", core=core_name))
    bundle = write_bundle(compilation, tmp_path / "net")
    text = "".join(path.read_text() for path in bundle.glob("*.[ch]"))
    naked = r"^GLOWMCU_NAKED static void glowmcu_(windows|vectors)_px_"
    assert re.search(naked, text, re.MULTILINE)
    assert list(failures(bundle, core_name, TOGETHER)) == []


@pytest.mark.arm
@pytest.mark.parametrize("core_name", ["cortex-m0plus", "cortex-m4", "cortex-m55"])
def test_llvm_compiles_assembly_and_kernels_alike_without_a_warning(
    core_name: str, tmp_path: Path
) -> None:
    if shutil.which("qemu-system-arm") is None or shutil.which("clang") is None:
        pytest.skip("needs qemu-system-arm and clang")
    drawn = random_bundle(1, core_name, "chain")
    bundle = write_bundle(drawn.compilation, tmp_path / "net")
    assert list(failures(bundle, core_name, {"clang -O2": CLANG["clang -O2"]})) == []


@pytest.mark.arm
@pytest.mark.parametrize("core_name", ["cortex-m4", "cortex-m55"])
@pytest.mark.parametrize("kind", ["FULLY_CONNECTED", "GRU"])
def test_float_networks_pass_their_self_test_by_llvm_and_under_flags(
    kind: str, core_name: str, tmp_path: Path
) -> None:
    """The string of a loop was too long for -Wpedantic, and clang 14 filled inputs of self tests
    wrongly; at -Os its vectorizer ends with an error (docs/portability.md).
    """
    if shutil.which("qemu-system-arm") is None or shutil.which("clang") is None:
        pytest.skip("needs qemu-system-arm and clang")
    data, name = dense_model(3, 20, 24), "net.tflite"
    if kind == "GRU":
        data, name = recurrent_sequence("GRU", 6, 12, 20), "net.onnx"
    compilation = compile_model(data, name, Options("net", core=core_name))
    assert any("packed_f32" in item.kernel_name for item in compilation.selections.values())
    bundle = write_bundle(compilation, tmp_path / "net")
    chosen = {name: flags for name, flags in (CLANG | TOGETHER).items() if name != "clang -Os"}
    assert list(failures(bundle, core_name, chosen)) == []


@pytest.mark.arm
def test_functions_of_assembly_may_be_called_where_targets_of_calls_are_checked(
    tmp_path: Path,
) -> None:
    """A Cortex-M85 faults where a pointer leads to anything but BTI."""
    if shutil.which("qemu-system-arm") is None or shutil.which("clang") is None:
        pytest.skip("needs qemu-system-arm and clang")
    core_name = "cortex-m55"
    drawn = random_bundle(SEEDS[core_name], core_name, "chain")
    bundle = write_bundle(drawn.compilation, tmp_path / "net")
    assert list(failures(bundle, core_name, PROTECTED)) == []

    (protected,) = PROTECTED.values()
    made = tmp_path / "net.o"
    flags = [*core(core_name).flags, "-O2", *protected.flags, f"-I{bundle}"]
    run_clang([*flags, "-c", str(bundle / "net.c"), "-o", str(made)], ["net.c"])
    text = "".join(path.read_text() for path in bundle.glob("*.[ch]"))
    naked = set(re.findall(r"^GLOWMCU_NAKED static[^(]*?(\w+)\(", text, re.MULTILINE))
    begins = re.findall(r"^\w+ <(\w+)>:\n *0*\w+:\t(\w{4} ?\w{4})", disassembly(made), re.MULTILINE)
    found = {name: code for name, code in begins if name in naked}
    assert len(found) >= 3
    assert set(found.values()) == {"f3af 800f"}, found  # BTI


def test_functions_of_assembly_are_declared_in_one_way() -> None:
    """An attribute that keeps canaries and counters out is easily forgotten."""
    kernels = [*header_paths().values(), *template_paths()]
    said = {path.name for path in kernels if re.search(r"\bnaked\b", path.read_text())}
    assert said == {"glowmcu_thumb.h"}


#: Other instruction sets and calling conventions than a Cortex-M4's with its FPU.
TARGETS = (
    "-mcpu=cortex-r5 -marm", "-mcpu=cortex-r5 -mthumb", "-mcpu=cortex-a7 -marm",
    "-mcpu=cortex-a7 -mthumb -mfloat-abi=softfp -mfpu=neon-vfpv4", "-mcpu=cortex-m23 -mthumb",
    "-mcpu=cortex-m4 -mthumb -mfloat-abi=soft", "-mcpu=cortex-m4 -mthumb -mno-unaligned-access",
    "-mcpu=cortex-m7 -mthumb -mfloat-abi=hard -mfpu=fpv5-d16 -Wcast-align=strict",
    "-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mgeneral-regs-only -DGLOWMCU_NO_FLOAT",
)  # fmt: skip


def compiled(flags: str, bundle: Path, folder: Path) -> Path:
    """The network's object; not a warning is allowed."""
    made = folder / "net.o"
    strict = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-Wconversion", f"-I{bundle}"]
    run_gcc(["-c", *flags.split(), *strict, str(bundle / "net.c"), "-o", str(made)], ["net.c"])
    return made


@pytest.mark.arm
def test_a_bundle_compiles_for_every_state_and_calling_convention(tmp_path: Path) -> None:
    bundle = write_bundle(random_bundle(5, "cortex-m4", "chain").compilation, tmp_path / "net")
    for flags in TARGETS:
        assert compiled(flags, bundle, tmp_path).stat().st_size > 0


@pytest.mark.arm
@pytest.mark.parametrize("core_name", ["cortex-m0plus", "cortex-m4"])
@pytest.mark.parametrize(
    "flags", ["-ffixed-r9 -fpic", "-ffixed-r9 -fpie", "-ffixed-r9 -DGLOWMCU_PORTABLE"]
)
def test_r9_is_left_alone_where_it_is_the_base_of_data(
    core_name: str, flags: str, tmp_path: Path
) -> None:
    bundle = write_bundle(random_bundle(3, core_name, "chain").compilation, tmp_path / "net")
    cpu = f"-mcpu={core_name} -mthumb"
    assert "r9" in disassembly(compiled(cpu, bundle, tmp_path))
    assert "r9" not in disassembly(compiled(f"{cpu} {flags}", bundle, tmp_path))


def disassembly(made: Path) -> str:
    command = ["arm-none-eabi-objdump", "-d", "-M", "reg-names-raw", made.name]
    done = subprocess.run(command, cwd=made.parent, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.arm
@pytest.mark.parametrize("outputs", [1, 2, 3])
def test_few_outputs_warn_of_nothing_where_numbers_may_wrap(outputs: int, tmp_path: Path) -> None:
    """As kernels of operating systems are compiled: gcc took rows of four that there are not."""
    model = ModelBuilder()
    x = model.input("x", (1, 22), "int8", 0.1)
    w = model.constant("w", np.ones((outputs, 22), np.int8), 0.02)
    y = model.tensor("y", (1, outputs), "int8", 0.2)
    model.op("FULLY_CONNECTED", [x, w, None], [y])
    model.output(y)
    compilation = compile_forced(model.finish(), "fully_connected.portable", "cortex-m4")
    bundle = write_bundle(compilation, tmp_path / "net")
    assert "glowmcu_dot4(in" in "".join(path.read_text() for path in bundle.glob("*.h"))
    flags = ["-mcpu=cortex-m4", "-mthumb", "-O2", "-Wall", "-Wextra", "-Werror"]
    command = [*flags, "-fno-strict-overflow", f"-I{bundle}", "-c", str(bundle / "m.c")]
    run_gcc([*command, "-o", str(tmp_path / "m.o")], ["m.c"])
