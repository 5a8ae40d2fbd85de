"""What entry points refuse; shapes, digests and conversions of a bundle's header."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from glowmcu.manifest import read_manifest
from tests.bundle.conftest import BundleOf
from tests.bundle.models import STREAMED
from tests.bundle.test_use import build, run_program

MAIN = """#include "digits.h"
static DIGITS_ARENA(arena);
static int8_t pixels[DIGITS_INPUT_LENGTH], scores[DIGITS_OUTPUT_LENGTH];
int main(void)
{
    int wrong = 0;
    wrong += digits_run(arena) != 0;
    wrong += digits_infer(arena, pixels, scores) != 0;
    if (CHECKED) {
        wrong += digits_run(NULL) != GLOWMCU_BAD_ARENA;
        wrong += digits_infer(NULL, pixels, scores) != GLOWMCU_BAD_ARENA;
        for (int i = 1; i < 16; ++i) {
            wrong += digits_run(arena + i) != -1;
            wrong += digits_infer(arena + i, pixels, scores) != -1;
        }
    }
    return wrong;
}
"""


@pytest.mark.parametrize("checked", [True, False])
def test_a_run_refuses_an_arena_that_is_null_or_not_aligned(
    checked: bool, bundle_of: BundleOf, tmp_path: Path
) -> None:
    flags = [f"-DCHECKED={int(checked)}", "-fsanitize=address,undefined"]
    if not checked:
        flags.append("-DGLOWMCU_NO_CHECKS")
    done = build(tmp_path, MAIN, [bundle_of("digits")], flags)
    assert done.returncode == 0, done.stderr
    assert run_program(tmp_path).returncode == 0


def test_a_run_refuses_an_outside_input_that_is_null_or_not_aligned(
    bundle_of: BundleOf, tmp_path: Path
) -> None:
    main = """#include "digits_outside.h"
static DIGITS_OUTSIDE_ARENA(arena);
GLOWMCU_ALIGNED(16) static int8_t pixels[DIGITS_OUTSIDE_INPUT_LENGTH + 16];
int main(void)
{
    int wrong = digits_outside_run_from(arena, pixels) != 0;
    wrong += digits_outside_run_from(arena + 4, pixels) != GLOWMCU_BAD_ARENA;
    wrong += digits_outside_run_from(arena, NULL) != GLOWMCU_BAD_INPUT;
    if (DIGITS_OUTSIDE_INPUT_ALIGN > 1) {
        wrong += digits_outside_run_from(arena, pixels + 1) != GLOWMCU_BAD_INPUT;
    }
    return wrong;
}
"""
    done = build(tmp_path, main, [bundle_of("digits_outside")])
    assert done.returncode == 0, done.stderr
    assert run_program(tmp_path).returncode == 0


def test_rows_are_not_taken_into_an_arena_that_is_null_or_not_aligned(
    bundle_of: BundleOf, tmp_path: Path
) -> None:
    name = next(iter(STREAMED))
    bundle = bundle_of(name)
    (_, push) = read_manifest(bundle).entry_points
    main = f"""#include "{name}.h"
static {name.upper()}_ARENA(arena);
static int8_t rows[4096];
int main(void)
{{
    {name}_start(NULL);
    {name}_start(arena + 1);
    if ({push}(NULL, (const void *)rows, 1) != -1) {{
        return 1;
    }}
    return {push}(arena + 4, (const void *)rows, 1) != -1;
}}
"""
    done = build(tmp_path, main, [bundle])
    assert done.returncode == 0, done.stderr
    assert run_program(tmp_path).returncode == 0


def test_the_header_tells_shapes_and_which_model_is_linked(
    bundle_of: BundleOf, tmp_path: Path
) -> None:
    bundle = bundle_of("two_in_two_out")
    manifest = read_manifest(bundle)
    main = """#include <stdio.h>
#include <string.h>
#include "two_in_two_out.h"
GLOWMCU_STATIC_ASSERT(TWO_IN_TWO_OUT_INPUT_LEFT_DIM_0 == 1, rows);
GLOWMCU_STATIC_ASSERT(TWO_IN_TWO_OUT_INPUT_LEFT_DIM_1 == 6, columns);
GLOWMCU_STATIC_ASSERT(TWO_IN_TWO_OUT_OUTPUT_SCORES_DIM_1 == 3, classes);
int main(void)
{
    static const int32_t shape[TWO_IN_TWO_OUT_INPUT_LEFT_RANK] = TWO_IN_TWO_OUT_INPUT_LEFT_SHAPE;
    printf("%d %d %s", (int)shape[0], (int)shape[1], two_in_two_out_model_sha256());
    return strcmp(two_in_two_out_model_sha256(), TWO_IN_TWO_OUT_MODEL_SHA256);
}
"""
    done = build(tmp_path, main, [bundle])
    assert done.returncode == 0, done.stderr
    said = run_program(tmp_path)
    assert said.returncode == 0
    assert said.stdout.decode() == f"1 6 {manifest.model_sha256}"


def test_conversions_round_and_saturate_as_the_reference_does(
    bundle_of: BundleOf, tmp_path: Path
) -> None:
    """Halves away from zero, values next to a half, and all that does not fit."""
    bundle = bundle_of("two_in_two_out")
    entry = read_manifest(bundle).inputs[0]
    assert entry.scale is not None
    assert entry.zero_point is not None
    scale = np.float32(entry.scale)
    steps = np.arange(-300, 300, dtype=np.float32) * np.float32(0.5)
    reals = (steps * scale).astype(np.float32)
    near = [np.nextafter(reals, np.float32(way)) for way in (-np.inf, np.inf)]
    extremes = np.array([np.inf, -np.inf, 3e38, -3e38, 1e-45, -0.0], np.float32)
    values = np.concatenate([reals, *near, extremes]).astype("<f4")
    with np.errstate(over="ignore"):
        quotient = (values.astype(np.float32) / scale).astype(np.float64)
    rounded = np.copysign(np.floor(np.abs(quotient) + 0.5), quotient)
    wanted = np.clip(rounded + entry.zero_point, -128, 127).astype(np.int8)
    main = """#include <math.h>
#include <stdio.h>
#include "two_in_two_out.h"
int main(void)
{
    float value;
    while (fread(&value, sizeof value, 1, stdin) == 1) {
        putchar((uint8_t)two_in_two_out_input_left_quantize(value));
    }
    return two_in_two_out_input_left_quantize(NAN) != -128
        || two_in_two_out_input_left_dequantize(INT8_MIN)
               != TWO_IN_TWO_OUT_INPUT_LEFT_SCALE * -129.0f;
}
"""
    done = build(tmp_path, main, [bundle])
    assert done.returncode == 0, done.stderr
    program = [str(tmp_path / "program")]
    said = subprocess.run(program, input=values.tobytes(), capture_output=True, check=True)
    assert np.frombuffer(said.stdout, np.int8).tolist() == wanted.tolist()
