"""Every file of a bundle compiles without a word, in C and as C++, on this computer and for Arm."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.cores import core
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.kernels.selection.choices import KernelChoices
from glowmcu.manifest import read_manifest
from glowmcu.pipeline import compile_model
from tests.bundle.conftest import BundleOf
from tests.bundle.models import (
    BUILT,
    SHARED_NAMES,
    STREAMED,
    arena_and_inputs,
    selftest_call,
)
from tests.ops.test_convolution import Case, conv_model
from tests.support.check_model import write_bundle

STRICT = (
    "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wshadow",
    "-Wcast-qual", "-Wundef", "-Wstrict-prototypes", "-Wmissing-prototypes",
)  # fmt: skip
CPP = ("-x", "c++", "-std=c++11", "-pedantic", "-Wall", "-Wextra", "-Werror")
ARM_CORES = ("cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55")

ALL = [
    *BUILT,
    *STREAMED,
    *(pytest.param(name, marks=pytest.mark.slow) for name in SHARED_NAMES),
]


def sources(bundle: Path) -> list[Path]:
    """Every C file, the self test included."""
    manifest = read_manifest(bundle)
    selftest = bundle / "selftest" / f"{manifest.name}_selftest.c"
    return [*(bundle / source for source in manifest.sources), selftest]


def compile_each(command: Sequence[str], bundle: Path, files: Sequence[Path]) -> None:
    includes = [f"-I{bundle}", f"-I{bundle / 'selftest'}"]
    for file in files:
        done = subprocess.run(
            [*command, *includes, "-c", str(file), "-o", "/dev/null"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        said = done.stderr + done.stdout
        assert done.returncode == 0, said[:4000]
        assert said == ""


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_bundle_compiles_silently_on_this_computer(
    name: str, compiler: str, bundle_of: BundleOf
) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    bundle = bundle_of(name)
    compile_each([compiler, *STRICT, "-O2"], bundle, sources(bundle))


@pytest.mark.arm
@pytest.mark.parametrize("name", ["digits", "float_borders"])
def test_a_bundle_compiles_where_macros_are_those_of_iar(name: str, bundle_of: BundleOf) -> None:
    """Its compiler has GCC's `aligned` since 7.80, as CMSIS's cmsis_iccarm.h says, and no other
    macro of gcc's; a pragma takes a single literal (C99, 6.10.9).
    """
    bundle = bundle_of(name)
    iar = ("-U__GNUC__", "-D__ICCARM__=1", "-D__VER__=9000000", "-std=c99", "-Wall", "-Wextra")
    compile_each(
        ["arm-none-eabi-gcc", *core("cortex-m4").flags, *iar, "-Werror"], bundle, sources(bundle)
    )


@pytest.mark.arm
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("core_name", ARM_CORES)
def test_a_bundle_compiles_silently_for_arm(name: str, core_name: str, bundle_of: BundleOf) -> None:
    bundle = bundle_of(name)
    command = ["arm-none-eabi-gcc", *core(core_name).flags, *STRICT, "-O2", "-ffreestanding"]
    compile_each(command, bundle, sources(bundle))


def joined(times: int) -> bytes:
    """A constant and two inputs, `times` times; once, the inputs are where the result has them."""
    model = ModelBuilder()
    start = model.constant("start", np.arange(5, dtype=np.int16), 0.5)
    parts = [start, *(model.input(f"x{size}", (size,), "int16", 0.5) for size in (9, 8))]
    y = model.tensor("y", (22 * times,), "int16", 0.5)
    model.op("CONCATENATION", parts * times, [y], {"axis": 0})
    model.output(y)
    return model.finish()


LEVELS = ("-O0", "-O1", "-O2", "-O3", "-Os")


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize(
    "compiler", ["gcc", "clang", pytest.param("arm-none-eabi-gcc", marks=pytest.mark.arm)]
)
def test_joined_tensors_compile_silently_at_all_levels(
    times: int, compiler: str, tmp_path: Path
) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    bundle = write_bundle(compile_model(joined(times), "m.tflite", Options("m")), tmp_path / "m")
    for level in LEVELS:
        compile_each([compiler, *STRICT, level], bundle, sources(bundle))


@pytest.mark.arm
@pytest.mark.parametrize("level", LEVELS)
def test_windows_of_two_taps_compile_silently_for_a_cortex_m3(level: str, tmp_path: Path) -> None:
    case = Case((1, 2, 5, 1), 1, (1, 2), (2, 2), padding="SAME")
    data = conv_model("DEPTHWISE_CONV_2D", case)
    options = Options(
        "m", core="cortex-m3", kernels=KernelChoices({}, "depthwise_conv_2d.taps_nodsp")
    )
    bundle = write_bundle(compile_model(data, "m.tflite", options), tmp_path / "m")
    command = ["arm-none-eabi-gcc", *core("cortex-m3").flags, *STRICT, level]
    compile_each(command, bundle, sources(bundle))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_a_bundle_compiles_as_cpp(name: str, compiler: str, bundle_of: BundleOf) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    bundle = bundle_of(name)
    # clang is right that a .c file as C++ is unusual; that is what this test does.
    quiet = ["-Wno-deprecated"] if compiler == "clang++" else []
    compile_each([compiler, *CPP, *quiet], bundle, sources(bundle))


@pytest.mark.parametrize("name", BUILT)
def test_the_headers_serve_a_cpp_program_linked_with_c(
    name: str, bundle_of: BundleOf, tmp_path: Path
) -> None:
    bundle = bundle_of(name)
    external = read_manifest(bundle).external
    entry = f"{name}_model.model.run != nullptr" if external else f"{name}_model.run != {name}_run"
    main = tmp_path / "main.cpp"
    main.write_text(
        f'#include "{name}.h"\n#include "{name}_model.h"\n#include "{name}_selftest.h"\n'
        f"{arena_and_inputs(name, bundle)}"
        f"int main() {{\n"
        f"    return {selftest_call(name, bundle)} + ({entry} ? 1 : 0);\n"
        f"}}\n"
    )
    includes = [f"-I{bundle}", f"-I{bundle / 'selftest'}"]
    objects = []
    for number, file in enumerate(sources(bundle)):
        target = tmp_path / f"{number}.o"
        subprocess.run(["gcc", *STRICT, *includes, "-c", str(file), "-o", str(target)], check=True)
        objects.append(str(target))
    program = str(tmp_path / "program")
    # What C++ guidelines ask for beside the usual warnings: casts of C, and NULL or 0 for pointers.
    strict_cpp = [*CPP[2:], "-Wconversion", "-Wold-style-cast", "-Wzero-as-null-pointer-constant"]
    for compiler in filter(shutil.which, ("clang++", "g++")):
        command = [compiler, *strict_cpp, *includes, str(main), *objects, "-o", program]
        subprocess.run(command, check=True)
    assert subprocess.run([program], check=False).returncode == 0


@pytest.mark.parametrize("name", ALL)
def test_nothing_unused_is_in_a_c_file(name: str, bundle_of: BundleOf) -> None:
    bundle = bundle_of(name)
    unused = ["-Wunused", "-Wunused-const-variable=2", "-Wunused-macros"]
    compile_each(["gcc", *STRICT, *unused], bundle, sources(bundle))


@pytest.mark.parametrize("name", ALL)
def test_no_function_of_an_included_header_is_unused(name: str, bundle_of: BundleOf) -> None:
    """Without `inline`, gcc says which static functions of the headers nobody calls.

    `glowmcu_*_one` are exempt: the one-line meanings of a family share a header.
    """
    bundle = bundle_of(name)
    plain = ["-Dinline=", "-DGLOWMCU_ALWAYS_INLINE=", "-Wunused-function", "-fsyntax-only"]
    done = subprocess.run(
        ["gcc", "-std=c99", *plain, f"-I{bundle}", str(bundle / f"{name}.c")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    unused = re.findall(r"[‘'](\w+)[’'] defined but not used", done.stderr)
    assert [function for function in unused if not function.endswith("_one")] == []


@pytest.mark.parametrize("name", ALL)
def test_every_header_of_a_bundle_stands_alone(name: str, bundle_of: BundleOf) -> None:
    bundle = bundle_of(name)
    for header in read_manifest(bundle).headers:
        done = subprocess.run(
            ["gcc", *STRICT, f"-I{bundle}", "-fsyntax-only", "-x", "c", "-"],
            input=f'#include "{header}"\n#include "{header}"\n',
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{header}:\n{done.stderr[:2000]}"


@pytest.mark.parametrize("name", ALL)
def test_only_three_standard_headers_are_included(name: str, bundle_of: BundleOf) -> None:
    bundle = bundle_of(name)
    included = {
        line.split()[1]
        for file in bundle.rglob("*.[ch]")
        for line in file.read_text(encoding="utf-8").splitlines()
        if line.startswith("#include <")
    }
    assert included <= {"<stdint.h>", "<stddef.h>", "<string.h>"}
