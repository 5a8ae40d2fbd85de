"""A bundle in somebody's program: both APIs, two bundles at once, the self test, CMake."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from glowmcu.ir.interpreter import run_graph
from glowmcu.manifest import Manifest, read_manifest
from glowmcu.pipeline import reference_graph
from glowmcu.verify.host import Host
from glowmcu.verify.host_library import STRICT_FLAGS
from glowmcu.verify.verification import random_inputs
from tests.bundle.conftest import BundleOf
from tests.bundle.models import (
    BUILT,
    SHARED_NAMES,
    arena_and_inputs,
    model_bytes,
    selftest_call,
)
from tests.support.check_model import Array, expect_equal
from tests.support.generic_runner import build_runner

WITH_SHARED = [*BUILT, *(pytest.param(name, marks=pytest.mark.slow) for name in SHARED_NAMES)]


def wanted(name: str, sets: Sequence[Sequence[Array]]) -> list[list[Array]]:
    graph = reference_graph(model_bytes(name), f"{name}.tflite")
    return [run_graph(graph, arrays) for arrays in sets]


def build(
    tmp_path: Path, main: str, bundles: Sequence[Path], flags: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    """gcc's verdict on a program of `main` and everything in `bundles`; tmp_path/program."""
    (tmp_path / "main.c").write_text(main, encoding="utf-8")
    files = [str(tmp_path / "main.c")]
    includes = []
    for bundle in bundles:
        manifest = read_manifest(bundle)
        files += [str(bundle / source) for source in manifest.sources]
        files.append(str(bundle / "selftest" / f"{manifest.name}_selftest.c"))
        includes += [f"-I{bundle}", f"-I{bundle / 'selftest'}"]
    command = ["gcc", *STRICT_FLAGS, *flags, *includes, *files, "-o", str(tmp_path / "program")]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def run_program(tmp_path: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([str(tmp_path / "program")], capture_output=True, check=False)


def c_array(symbol: str, array: Array, c_type: str) -> str:
    values = ", ".join(f"{value!r}f" if c_type == "float" else str(value)
                       for value in array.reshape(-1).tolist())  # fmt: skip
    # An input that stays outside the arena has an alignment, too.
    return f"GLOWMCU_ALIGNED(16) static const {c_type} {symbol}[{array.size}] = {{ {values} }};\n"


C_TYPES = {"int8": "int8_t", "float32": "float"}


def infer_program(manifest: Manifest, arrays: Sequence[Array]) -> str:
    """A program that calls `<name>_infer` and writes the outputs to stdout."""
    name, text = manifest.name, f'#include <stdio.h>\n#include "{manifest.name}.h"\n'
    arguments = []
    for number, (entry, array) in enumerate(zip(manifest.inputs, arrays, strict=True)):
        text += c_array(f"in{number}", array, C_TYPES[entry.dtype])
        arguments.append(f"in{number}")
    for number, entry in enumerate(manifest.outputs):
        macro = "_".join(part for part in (name, "output", entry.symbol) if part).upper()
        text += f"static {C_TYPES[entry.dtype]} out{number}[{macro}_LENGTH];\n"
        arguments.append(f"out{number}")
    text += f"static {name.upper()}_ARENA(arena);\nint main(void)\n{{\n"
    text += f"    {name}_infer(arena, {', '.join(arguments)});\n"
    for number, _ in enumerate(manifest.outputs):
        text += f"    fwrite(out{number}, 1, sizeof out{number}, stdout);\n"
    return text + "    return 0;\n}\n"


@pytest.mark.parametrize("name", BUILT)
def test_infer_copies_in_runs_and_copies_out(
    name: str, bundle_of: BundleOf, tmp_path: Path
) -> None:
    bundle = bundle_of(name)
    manifest = read_manifest(bundle)
    arrays = random_inputs(manifest, 1, 5)[0]
    done = build(tmp_path, infer_program(manifest, arrays), [bundle])
    assert done.returncode == 0, done.stderr
    expected = b"".join(array.tobytes() for array in wanted(name, [arrays])[0])
    assert run_program(tmp_path).stdout == expected


def test_accessors_macros_and_the_arena_macro_are_what_the_readme_shows(
    bundle_of: BundleOf, tmp_path: Path
) -> None:
    bundle = bundle_of("digits")
    manifest = read_manifest(bundle)
    pixels = random_inputs(manifest, 1, 3)[0][0]
    main = f"""#include <stdio.h>
#include <string.h>
#include "digits.h"
{c_array("pixels", pixels, "int8_t")}
static DIGITS_ARENA(arena);
int main(void)
{{
    const int8_t *scores;
    if (sizeof arena != DIGITS_ARENA_BYTES || ((uintptr_t)arena % DIGITS_ARENA_ALIGN) != 0) {{
        return 1;
    }}
    memcpy(digits_input(arena), pixels, DIGITS_INPUT_BYTES);
    digits_run(arena);
    scores = digits_output(arena);
    for (int i = 0; i < DIGITS_OUTPUT_LENGTH; ++i) {{
        const int steps = scores[i] - DIGITS_OUTPUT_ZERO_POINT;
        printf("%.9g ", (double)(DIGITS_OUTPUT_SCALE * (float)steps));
    }}
    return 0;
}}
"""
    done = build(tmp_path, main, [bundle])
    assert done.returncode == 0, done.stderr
    output = manifest.outputs[0]
    stored = wanted("digits", [[pixels]])[0][0].reshape(-1).astype(np.int32)
    assert output.scale is not None
    assert output.zero_point is not None
    real = np.float32(output.scale) * (stored - output.zero_point).astype(np.float32)
    printed = np.array(run_program(tmp_path).stdout.split(), np.float64).astype(np.float32)
    assert printed.tolist() == real.tolist()


@pytest.mark.parametrize("name", WITH_SHARED)
def test_a_runner_that_knows_models_as_data_gets_the_same_bytes(
    name: str, bundle_of: BundleOf, tmp_path: Path
) -> None:
    bundle = bundle_of(name)
    sets = random_inputs(read_manifest(bundle), 2, 9)
    runner = build_runner([bundle], tmp_path, flags=["-O2"])
    plain = Host().run(bundle, sets)
    for got, want in zip(runner.run(bundle, sets), plain, strict=True):
        for index, array in enumerate(got):
            expect_equal(array, want.outputs[index], f"output {index}: as data against by name")


def test_two_bundles_live_in_one_program(bundle_of: BundleOf, tmp_path: Path) -> None:
    """Symbols do not clash, and neither model disturbs the other."""
    names = ["digits", "two_in_two_out", "float_borders", "one_element"]
    includes = "".join(f'#include "{name}_selftest.h"\n' for name in names)
    arenas = "".join(f"static {name.upper()}_ARENA(arena_{name});\n" for name in names)
    calls = "".join(f"    wrong += {name}_selftest(arena_{name});\n" for name in (*names, *names))
    body = f"    int32_t wrong = 0;\n{calls}    return wrong;\n"
    main = f"{includes}{arenas}int main(void)\n{{\n{body}}}\n"
    done = build(tmp_path, main, [bundle_of(name) for name in names])
    assert done.returncode == 0, done.stderr
    assert run_program(tmp_path).returncode == 0


def selftest_program(name: str, bundle: Path) -> str:
    return (
        f'#include "{name}_selftest.h"\n{arena_and_inputs(name, bundle)}'
        f"int main(void)\n{{\n    return {selftest_call(name, bundle)} == 0 ? 0 : 1;\n}}\n"
    )


def selftest_result(name: str, bundle: Path, tmp_path: Path) -> int:
    done = build(tmp_path, selftest_program(name, bundle), [bundle])
    assert done.returncode == 0, done.stderr
    return run_program(tmp_path).returncode


@pytest.mark.parametrize("name", WITH_SHARED)
def test_the_self_test_of_a_sound_bundle_passes(
    name: str, bundle_of: BundleOf, tmp_path: Path
) -> None:
    assert selftest_result(name, bundle_of(name), tmp_path) == 0


#: What makes a constant of each type another one: weights as they are, plus 128, four to a word.
SPOIL: dict[str, Callable[[int], int]] = {
    "int8": lambda value: min(-value, 127),
    "uint8": lambda value: 255 - value,
    "int32": lambda value: ~value,
}


def spoil_first_row(text: str, symbol: str, c_type: str) -> str:
    """The weights file with every value of the first row of array `symbol` changed."""
    head, found, tail = text.partition(f"{symbol}[")
    before, brace, rows = tail.partition("{\n")
    row, newline, rest = rows.partition("\n")
    values = [SPOIL[c_type](int(item)) for item in row.split(",") if item.strip()]
    ending = "," if row.endswith(",") else ""
    spoiled = "    " + ", ".join(map(str, values)) + ending
    return head + found + before + brace + spoiled + newline + rest


@pytest.mark.parametrize("name", ["two_in_two_out", "float_borders", "one_element"])
def test_the_self_test_fails_when_a_row_of_weights_is_wrong(
    name: str, bundle_of: BundleOf, tmp_path: Path
) -> None:
    bundle = tmp_path / name
    shutil.copytree(bundle_of(name), bundle)
    weights = bundle / f"{name}_weights.c"
    sound = weights.read_text(encoding="utf-8")
    pattern = r"^GLOWMCU_ALIGNED\(4\) const (?:(u?int8)_t (\w+)|(int32)_t (\w+_weights))\["
    arrays = [(a or c, b or d) for a, b, c, d in re.findall(pattern, sound, re.MULTILINE)]
    assert arrays
    for c_type, symbol in arrays:
        weights.write_text(spoil_first_row(sound, symbol, c_type), encoding="utf-8")
        assert selftest_result(name, bundle, tmp_path) == 1, symbol


def test_parts_of_another_libjit_are_refused_by_the_preprocessor(
    bundle_of: BundleOf, tmp_path: Path
) -> None:
    bundle = tmp_path / "digits"
    shutil.copytree(bundle_of("digits"), bundle)
    base = bundle / "glowmcu_base.h"
    text = base.read_text(encoding="utf-8")
    base.write_text(text.replace("_BASE_H 0x", "_BASE_H 0x9"), encoding="utf-8")
    done = build(tmp_path, selftest_program("digits", bundle), [bundle])
    assert done.returncode != 0
    expected = (
        'error: #error "this file and a glowmcu_*.h are of two versions: '
        'do not mix files of bundles"'
    )
    assert expected in done.stderr


def test_sections_for_weights_and_arena_are_the_users_choice(
    bundle_of: BundleOf, tmp_path: Path
) -> None:
    main = selftest_program("digits", bundle_of("digits"))
    flags = [
        '-DDIGITS_WEIGHTS_SECTION=__attribute__((section(".my_flash")))',
        '-DDIGITS_ARENA_SECTION=__attribute__((section(".my_ram")))',
    ]
    done = build(tmp_path, main, [bundle_of("digits")], flags)
    assert done.returncode == 0, done.stderr
    sections = subprocess.run(
        ["objdump", "-h", str(tmp_path / "program")], capture_output=True, text=True, check=True
    ).stdout
    assert ".my_flash" in sections
    assert ".my_ram" in sections
    assert run_program(tmp_path).returncode == 0


def test_steps_can_be_traced(bundle_of: BundleOf, tmp_path: Path) -> None:
    bundle = bundle_of("digits")
    golden = json.loads((bundle / "selftest" / "golden.json").read_text(encoding="utf-8"))
    main = """#include "digits_selftest.h"
static DIGITS_ARENA(arena);
int steps[64];
int main(void)
{
    const int32_t wrong = digits_selftest(arena);
    return (wrong == 0 && steps[0] == VECTORS && steps[DIGITS_STEPS - 1] == VECTORS) ? 0 : 1;
}
"""
    flags = ["-DGLOWMCU_STEP(i)=((void)(++steps[i]))", "-include", str(tmp_path / "steps.h")]
    (tmp_path / "steps.h").write_text("extern int steps[64];\n", encoding="utf-8")
    flags.append(f"-DDIGITS_STEPS={len(read_manifest(bundle).layers)}")
    flags.append(f"-DVECTORS={len(golden['vectors'])}")
    done = build(tmp_path, main, [bundle], flags)
    assert done.returncode == 0, done.stderr
    assert run_program(tmp_path).returncode == 0


@pytest.mark.parametrize("name", ["digits", "two_in_two_out", "right_outside"])
def test_cmake_builds_the_library_and_the_self_test(
    name: str, bundle_of: BundleOf, tmp_path: Path
) -> None:
    if shutil.which("cmake") is None:
        pytest.skip("needs cmake")
    shutil.copytree(bundle_of(name), tmp_path / name)
    (tmp_path / "main.c").write_text(selftest_program(name, tmp_path / name))
    (tmp_path / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.13)\nproject(firmware C)\nadd_subdirectory({name})\n"
        f"add_executable(firmware main.c)\n"
        f"target_link_libraries(firmware PRIVATE {name}_selftest)\n"
    )
    for command in (["cmake", "-S", ".", "-B", "out"], ["cmake", "--build", "out"]):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "warning" not in (done.stdout + done.stderr).lower()
    assert subprocess.run([str(tmp_path / "out" / "firmware")], check=False).returncode == 0


def test_cmake_builds_a_bundle_on_its_own(bundle_of: BundleOf, tmp_path: Path) -> None:
    if shutil.which("cmake") is None:
        pytest.skip("needs cmake")
    for command in (
        ["cmake", "-S", str(bundle_of("digits")), "-B", str(tmp_path)],
        ["cmake", "--build", str(tmp_path)],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "libdigits.a").is_file()


@pytest.mark.parametrize("compiler", [["gcc"], ["clang"], ["arm-none-eabi-gcc"]])
def test_an_arena_in_the_section_that_the_header_advises_takes_no_flash(
    compiler: list[str], bundle_of: BundleOf, tmp_path: Path
) -> None:
    if shutil.which(compiler[0]) is None:
        pytest.skip(f"needs {compiler[0]}")
    bundle = bundle_of("digits")
    header = (bundle / "digits.h").read_text()
    advice = re.search(r'e\.g\. (GLOWMCU_SECTION\("(.*?)"\))', header)
    assert advice
    source = tmp_path / "main.c"
    source.write_text(
        f'#include "glowmcu_base.h"\n#define DIGITS_ARENA_SECTION {advice[1]}\n'
        '#include "digits.h"\nDIGITS_ARENA(arena);\n'
    )
    command = [*compiler, f"-I{bundle}", "-c", str(source), "-o", str(tmp_path / "main.o")]
    subprocess.run(command, check=True)
    said = subprocess.run(
        ["readelf", "-SW", str(tmp_path / "main.o")], capture_output=True, text=True, check=True
    ).stdout
    (line,) = (line for line in said.splitlines() if f" {advice[2]} " in line)
    assert "NOBITS" in line


@pytest.mark.parametrize("standard", ["c90", "gnu89"])
def test_a_compiler_that_is_older_than_the_code_is_told_so_first(
    standard: str, bundle_of: BundleOf, tmp_path: Path
) -> None:
    bundle = bundle_of("one_element")
    sources = sorted(bundle.rglob("*.c"))
    assert len(sources) > 3
    for source in sources:
        command = ["gcc", f"-std={standard}", f"-I{bundle}", "-c", str(source)]
        done = subprocess.run(
            [*command, "-o", str(tmp_path / "m.o")], capture_output=True, text=True, check=False
        )
        first = next(line for line in done.stderr.splitlines() if "error:" in line)
        assert "C99 or newer" in first, source.name
