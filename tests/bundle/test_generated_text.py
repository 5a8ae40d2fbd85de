"""What a reviewer of generated C sees: lines that fit, no stray blanks, whatever was asked for."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import numpy.typing as npt
import pytest

from glowmcu.compilation import Options
from glowmcu.emit_c import folding, number_cells
from glowmcu.emit_c.array_text import array_rows
from glowmcu.emit_c.assembly_text import (
    assembly_strings,
    macro_definition,
    worthwhile_macros,
)
from glowmcu.emit_c.c_text import float_literal
from glowmcu.emit_c.folding import fold_lines
from glowmcu.goals import Goal
from glowmcu.ir.assembly_macros import Macro, folded, plain
from glowmcu.pipeline import compile_model
from glowmcu.verify.host_library import STRICT_FLAGS
from tests.bundle.models import model_bytes, options_of
from tests.support.check_model import write_bundle
from tests.test_style import c_is_tidy

ASKED = [
    ("kws", "cortex-m4", Goal.BALANCED),
    ("digits", "cortex-m4", Goal.RAM),
    ("kws", "cortex-m4", Goal.SIZE),
    ("kws", "cortex-m0", Goal.BALANCED),
    ("kws", "cortex-m55", Goal.BALANCED),
    ("vww", "cortex-m4", Goal.SPEED),
    ("ic", "cortex-m4", Goal.SPEED),
    ("ad", "cortex-m3", Goal.BALANCED),
    ("sww", "cortex-m4", Goal.SPEED),
    ("two_in_two_out", "generic", Goal.BALANCED),
    ("float_borders", "generic", Goal.BALANCED),
    ("digits_rows", "cortex-m4", Goal.RAM),
    ("rows_and_offsets", "generic", Goal.BALANCED),
    ("float_rows", "generic", Goal.RAM),
]


@pytest.mark.parametrize(
    ("model", "core", "goal"),
    [pytest.param(*case, id=f"{case[0]} for {case[1]}, {case[2].value}") for case in ASKED],
)
def test_generated_c_is_tidy(model: str, core: str, goal: Goal) -> None:
    options = replace(options_of(model), core=core, goal=goal)
    files = compile_model(model_bytes(model), f"{model}.tflite", options).files
    code = {name: text for name, text in files.items() if Path(name).suffix in (".c", ".h")}
    complaints = [f"{name}: {c}" for name, text in code.items() for c in c_is_tidy(name, text)]
    assert len(code) > 6
    assert not complaints, "\n".join(complaints)


def test_the_arena_map_tells_scratch_by_its_step() -> None:
    compilation = compile_model(model_bytes("digits"), "m.tflite", Options("m", core="cortex-m4"))
    said = re.findall(r" scratch of step (\d+)$", compilation.files["m.h"], re.MULTILINE)
    used = [layer.index for layer in compilation.manifest.layers if layer.scratch_bytes]
    assert used
    assert sorted(map(int, said)) == used


@pytest.mark.parametrize("text", ["m.h", "README.md"])
def test_a_bundle_says_which_memory_its_arena_may_lie_in(text: str) -> None:
    compilation = compile_model(model_bytes("digits"), "m.tflite", Options("m", core="cortex-m4"))
    said = " ".join(compilation.files[text].replace("\n *", " ").split())
    assert "lies in Normal memory" in said
    assert "calls Device" in said


LONG = "glowmcu_" + "x" * 60


@pytest.mark.parametrize(
    ("long", "folded"),
    [
        pytest.param(
            f"static void {LONG}(const int8_t *in, int8_t *out,\n    int32_t rows)\n{{",
            f"static void {LONG}(\n    const int8_t *in, int8_t *out, int32_t rows)\n{{",
            id="a signature with all its lines",
        ),
        pytest.param(
            f"GLOWMCU_NAKED static void {LONG}_a_longer_name_than_others_are(\n    int a)",
            f"GLOWMCU_NAKED\nstatic void {LONG}_a_longer_name_than_others_are(\n    int a)",
            id="an attribute",
        ),
        pytest.param(
            f"    run(p, {LONG}, (p->across == 0) ? 2 : 1, first_row, end_row, f(a, b));",
            f"    run(\n        p, {LONG},\n"
            "        (p->across == 0) ? 2 : 1, first_row, end_row, f(a, b));",
            id="a call that has calls in it",
        ),
        pytest.param(
            f"    const int32_t v = f({LONG}); /* the sum of all {LONG} */",
            f"    /* the sum of all {LONG} */\n    const int32_t v = f({LONG});",
            id="a comment behind a line",
        ),
        pytest.param(
            f" *   see {LONG} and then {LONG}",
            f" *   see {LONG} and then\n *   {LONG}",
            id="a line of a comment",
        ),
        pytest.param(
            f"/* {LONG} and {LONG} */", f"/*\n * {LONG} and\n * {LONG}\n */", id="a whole comment"
        ),
    ],
)
def test_a_line_that_is_too_long_is_folded(long: str, folded: str) -> None:
    assert fold_lines(f"int before;\n{long}\nint after;") == f"int before;\n{folded}\nint after;"
    assert fold_lines(folded) == folded


def test_lines_that_fit_stay_as_they_are_even_if_they_could_be_joined() -> None:
    text = "void f(\n    int a,\n    int b)\n{\n    g(a,\n        b);\n}\n"
    assert fold_lines(text) == text


def test_a_macro_that_is_too_long_goes_on_behind_backslashes() -> None:
    name = "A" * 48
    body = f"ALIGNED(16) uint8_t arena[{name}_BYTES] {name}_SECTION"
    macro = f"#define {name}_ARENA(arena) \\\n    {body}"
    folded = fold_lines(f"{macro}\nint x;")
    *macro_lines, last, after = folded.split("\n")
    assert all(line.endswith(" \\") for line in macro_lines)
    assert len(macro_lines) > 1
    assert (last, after) == (f"    {name}_SECTION", "int x;")
    assert max(map(len, folded.split("\n"))) <= 100
    assert folded.replace("\\\n    ", "") == f"{macro}\nint x;".replace("\\\n    ", "")


def test_a_bundle_with_the_longest_name_compiles(tmp_path: Path) -> None:
    name = "a" * 48
    made = compile_model(model_bytes("two_in_two_out"), "x.tflite", Options(name))
    bundle = write_bundle(made, tmp_path / "bundle")
    program = f'#include "{name}.h"\nstatic {name.upper()}_ARENA(arena);\nvoid *f(void);\n'
    (bundle / "use.c").write_text(program + "void *f(void) { return arena; }\n")
    for source in (*bundle.glob("*.c"), *bundle.glob("selftest/*.c")):
        command = ["gcc", *STRICT_FLAGS, f"-I{bundle}", "-fsyntax-only", str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:2000]


def test_assembly_is_not_folded() -> None:
    text = f'    __asm__ volatile(\n        "{LONG} {LONG}\\n"\n    );'
    assert fold_lines(text) == text


def test_assembly_shows_labels_titles_and_remarks() -> None:
    lines = ("1: /* a channel */", "ldr r0, [r1] /* its start */", "/* to int8 */", "ldr r2, [\\x]")
    assert assembly_strings(lines).splitlines() == [
        "        /* a channel */",
        '        "1:\\n"',
        '        "    ldr r0, [r1]\\n" /* its start */',
        "        /* to int8 */",
        '        "    ldr r2, [\\\\x]\\n"',
    ]


SCALE = Macro(
    "GLOWMCU_SCALE", "Scales r0.", ("by", "at"), (r"smmul r0, r0, \by", r"strb r0, [r1, #\at]")
)


def test_a_macro_of_assembly_is_defined_by_strings_and_called_with_numbers() -> None:
    assert macro_definition(SCALE).splitlines() == [
        "/* Scales r0. */",
        "#define GLOWMCU_SCALE(by, at)     \\",
        '    "    smmul r0, r0, " #by "\\n" \\',
        '    "    strb r0, [r1, #" #at "]\\n"',
    ]
    called = [SCALE(3, 8, title="a row"), SCALE(4, 9, goes_on=True), "bx lr"]
    assert assembly_strings(called).splitlines() == [
        "        GLOWMCU_SCALE(3, 8) GLOWMCU_SCALE(4, 9) /* a row */",
        '        "    bx lr\\n"',
    ]
    assert list(plain(called))[:3] == ["/* a row */", "smmul r0, r0, 3", "strb r0, [r1, #8]"]


def test_a_long_title_of_a_macro_stands_above_it() -> None:
    lines = assembly_strings([SCALE(3, 8, title="word " * 15)]).splitlines()
    assert [line.strip()[:13] for line in lines] == ["/* word word ", "GLOWMCU_SCALE"]


def test_lines_that_a_macro_stands_for_become_a_call_of_it() -> None:
    lines = ["bx lr", *SCALE(3, 8).lines(), "smmul r0, r0, 4", "bx lr"]
    assert list(folded(lines, [SCALE])) == ["bx lr", SCALE(3, 8), "smmul r0, r0, 4", "bx lr"]


def test_a_macro_is_defined_where_that_saves_lines() -> None:
    assert worthwhile_macros([[SCALE(number, 0)] * 5 for number in range(2)]) == {SCALE}
    assert worthwhile_macros([[SCALE(0, 0)] * 5]) == set()


def test_a_long_directive_of_assembly_goes_on_in_another_string() -> None:
    numbers = ", ".join(map(str, range(100, 160)))
    text = assembly_strings([f".irp x, {numbers}"])
    assert max(map(len, text.splitlines())) <= 100
    joined = "".join(line.strip().strip('"') for line in text.splitlines())
    assert joined.split() == f".irp x, {numbers}\\n".split()


INTEGERS = {
    "int8": np.arange(-128, 128),
    "a single one": np.array([7]),
    "minus one": np.full(33, -1),
    "all of them": np.array([-(2**31) + 1, 2**31 - 1, 0, -1, 10, -10, 99, 100] * 5),
    "zeros": np.zeros(100, np.int64),
    "more than are done at once": np.arange(-70_000, 70_000),
    "bytes, more than are done at once": np.resize(np.arange(-128, 128), 70_001),
    "unsigned bytes": np.resize(np.arange(256), 1_000),
    "digits": np.resize(np.arange(10), 1_000),
}


@pytest.mark.parametrize("values", INTEGERS.values(), ids=INTEGERS)
def test_integers_are_printed_in_columns(values: npt.NDArray[np.int64]) -> None:
    items = values.tolist()
    width = max(len(str(item)) for item in items)
    count = (100 - 4) // (width + 2)
    rows = [items[at : at + count] for at in range(0, len(items), count)]
    want = ",\n".join("    " + ", ".join(f"{item:{width}d}" for item in row) for row in rows)
    assert array_rows(values.astype(np.int32)) == want


RANDOM = np.random.default_rng(0)
FLOATS = {
    "weights": RANDOM.normal(0, 0.1, 20_000),
    "any bits": RANDOM.integers(0, 2**32, 2_000, dtype=np.uint32).view(np.float32),
    "all sizes": 10 ** RANDOM.uniform(-6, 9, 20_000),
    "few digits": RANDOM.integers(0, 10_000, 5_000) / 10.0 ** RANDOM.integers(0, 9, 5_000),
    "halves": RANDOM.integers(-(10**6), 10**6, 5_000) / 64,
    "beside powers": np.nextafter(
        np.float32([*10.0 ** np.arange(-6, 9), *2.0 ** np.arange(-20, 30)])[:, np.newaxis],
        np.float32([0, 1, 1e10]),
    ),
    "powers": np.concatenate([10.0 ** np.arange(-6, 9), 2.0 ** np.arange(-20, 30)]),
    "zeros": np.array([0.0, -0.0] * 50),
    "none that is finite": np.array([np.inf, -np.inf, np.nan]),
}


@pytest.mark.parametrize("values", FLOATS.values(), ids=FLOATS)
def test_floats_are_printed_in_columns_as_each_by_itself(values: npt.NDArray[np.float64]) -> None:
    data = values.astype(np.float32).reshape(-1)
    items = [float_literal(item) for item in data.tolist()]
    width = max(map(len, items))
    count = (100 - 4) // (width + 2)
    rows = [items[at : at + count] for at in range(0, len(items), count)]
    want = ",\n".join("    " + ", ".join(item.rjust(width) for item in row) for row in rows)
    assert array_rows(data) == want


def test_few_floats_of_a_layer_are_printed_by_themselves() -> None:
    weights = np.random.default_rng(1).normal(0, 0.1, 50_000).astype(np.float32)
    with mock.patch.object(number_cells, "float_literal", wraps=float_literal) as alone:
        array_rows(weights)
    assert alone.call_count < len(weights) / 200


def test_rows_of_an_array_are_not_looked_at_to_fold_what_is_around_them() -> None:
    long = f"/* {'word ' * 30}*/"
    elements = array_rows(np.arange(10_000, dtype=np.int32))
    text = f"{long}\nconst int32_t a[] = {{\n{elements}\n}};\n{long}\n"
    with mock.patch.object(folding, "_depth", wraps=folding._depth) as looked_at:
        folded = fold_lines(text)
    assert elements in folded
    assert folded.count("word") == 60
    assert max(map(len, folded.split("\n"))) <= 100
    assert looked_at.call_count < 20
