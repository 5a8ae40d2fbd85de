"""Inputs that are pushed row by row: any pieces give the same bytes, and misuse is harmless."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.ir.interpreter import run_graph
from glowmcu.manifest import read_manifest
from glowmcu.pipeline import compile_model, reference_graph
from glowmcu.verify.cortex_m.executor import CortexM
from glowmcu.verify.host import Host
from glowmcu.verify.host_library import STRICT_FLAGS
from glowmcu.verify.qemu import Qemu
from glowmcu.verify.verification import random_inputs
from tests.bundle.conftest import BundleOf
from tests.bundle.models import STREAMED, model_bytes, options_of
from tests.support import dead_bytes
from tests.support.check_model import Array, expect_close, write_bundle
from tests.support.generic_runner import build_runner

#: Rows a call; the last number again and again.
PIECES = {"one by one": (1,), "1, 3, the rest": (1, 3, 99), "2": (2,), "some, then one": (5, 1)}


def wanted(name: str, arrays: list[Array] | tuple[Array, ...]) -> list[Array]:
    return run_graph(reference_graph(model_bytes(name), f"{name}.tflite"), arrays)


def expect_outputs(name: str, bundle: Path, arrays: list[Array], got: list[Array]) -> None:
    entries = read_manifest(bundle).outputs
    for index, want in enumerate(wanted(name, arrays)):
        expect_close(got[index], want, f"output {index} of {name}", entries[index].exact)


@pytest.mark.parametrize("name", STREAMED)
@pytest.mark.parametrize("pieces", [(), *PIECES.values()], ids=["whole", *PIECES])
def test_rows_in_any_pieces_give_what_the_graph_gives(
    name: str, pieces: tuple[int, ...], bundle_of: BundleOf
) -> None:
    bundle = bundle_of(name)
    sets = [list(arrays) for arrays in random_inputs(read_manifest(bundle), 2, 4)]
    for arrays, found in zip(sets, Host(pieces=pieces).run(bundle, sets), strict=True):
        expect_outputs(name, bundle, arrays, list(found.outputs))


@pytest.mark.arm
@pytest.mark.parametrize("name", STREAMED)
def test_a_modelled_core_gets_the_same_bytes_from_memory_it_cannot_write(
    name: str, bundle_of: BundleOf
) -> None:
    bundle = bundle_of(name)
    arrays = list(random_inputs(read_manifest(bundle), 1, 6)[0])
    found = CortexM("cortex-m4").run(bundle, [arrays])[0]
    expect_outputs(name, bundle, arrays, list(found.outputs))
    assert found.cycles
    assert sum(layer.cycles or 0 for layer in found.layers) > found.cycles // 2


@pytest.mark.qemu
def test_a_whole_firmware_pushes_its_rows(bundle_of: BundleOf) -> None:
    bundle = bundle_of("rows_and_offsets")
    sets = [list(arrays) for arrays in random_inputs(read_manifest(bundle), 2, 8)]
    for arrays, found in zip(sets, Qemu(machine="mps2-an386").run(bundle, sets), strict=True):
        expect_outputs("rows_and_offsets", bundle, arrays, list(found.outputs))


def test_no_sanitizer_finds_anything_when_rows_come_one_by_one(
    bundle_of: BundleOf, tmp_path: Path
) -> None:
    """Each row in memory of its own, freed before the next: none is read twice."""
    runner = build_runner([bundle_of(name) for name in STREAMED], tmp_path)
    for name in STREAMED:
        bundle = bundle_of(name)
        sets = [list(arrays) for arrays in random_inputs(read_manifest(bundle), 2, 5)]
        for arrays, got in zip(sets, runner.run(bundle, sets), strict=True):
            expect_outputs(name, bundle, arrays, got)


@pytest.mark.parametrize("undefined", [False, True], ids=["garbage", "undefined memory"])
def test_no_dead_byte_is_read_between_rows(undefined: bool, tmp_path: Path) -> None:
    if undefined and dead_bytes.missing_memory_sanitizer():
        pytest.skip(dead_bytes.missing_memory_sanitizer())
    name = "digits_rows"
    compilation = compile_model(model_bytes(name), name, options_of(name))
    bundle = write_bundle(compilation, tmp_path / "bundle")
    hook = dead_bytes.hook_text(compilation.plan.program, compilation.manifest.arena_bytes)
    runner = dead_bytes.build(bundle, hook, tmp_path, undefined)
    arrays = list(random_inputs(read_manifest(bundle), 1, 7)[0])
    expect_outputs(name, bundle, arrays, runner.run(bundle, [arrays])[0])


MISUSE = """\
#include <string.h>
#include "digits_rows.h"
#include "digits_rows_selftest.h"

static DIGITS_ROWS_ARENA(arena);
static DIGITS_ROWS_ARENA(before);
static int8_t pixels[DIGITS_ROWS_INPUT_LENGTH];
static int8_t first[DIGITS_ROWS_OUTPUT_LENGTH];

static int is_refused(int fill)
{
    memset(arena, fill, sizeof arena);
    memcpy(before, arena, sizeof arena);
    return digits_rows_push_rows(arena, pixels, 1) == -1 && !memcmp(before, arena, sizeof arena);
}

/* 0, or the number of the first line that is not as it should be. */
int main(void)
{
    const int32_t rows = DIGITS_ROWS_INPUT_ROWS;

    for (int i = 0; i < DIGITS_ROWS_INPUT_LENGTH; ++i) {
        pixels[i] = (int8_t)(i * 37 % 200 - 100);
    }
    if (!is_refused(0) || !is_refused(0xA5) || !is_refused(0xFF) || !is_refused(0x40)) {
        return 1; /* not started */
    }
    digits_rows_start(arena);
    if (digits_rows_push_rows(arena, pixels, 0) != rows ||
        digits_rows_push_rows(arena, pixels, -3) != rows) {
        return 2; /* no rows: nothing happens */
    }
    if (digits_rows_push_rows(arena, pixels, 2147483647) != 0) {
        return 3; /* no more than there are */
    }
    memcpy(first, digits_rows_output(arena), sizeof first);
    memcpy(before, arena, sizeof arena);
    if (digits_rows_push_rows(arena, pixels, 1) != 0 || memcmp(before, arena, sizeof arena)) {
        return 4; /* a row too many leaves the outputs alone */
    }
    digits_rows_start(arena);
    if (digits_rows_push_rows(arena, pixels + 5, 2) != rows - 2) {
        return 5;
    }
    digits_rows_start(arena); /* drops what was begun */
    for (int32_t row = 0; row < rows; ++row) {
        const int8_t *from = pixels + row * DIGITS_ROWS_INPUT_ROW_LENGTH;
        if (digits_rows_push_rows(arena, from, 1) != rows - 1 - row) {
            return 6;
        }
    }
    if (memcmp(first, digits_rows_output(arena), sizeof first)) {
        return 7;
    }
    return digits_rows_selftest(arena) == 0 ? 0 : 8;
}
"""


def test_misuse_does_no_harm(bundle_of: BundleOf, tmp_path: Path) -> None:
    """No start, no rows, too many, a new start amid rows; the self test pushes rows, too."""
    bundle = bundle_of("digits_rows")
    (tmp_path / "main.c").write_text(MISUSE, encoding="utf-8")
    sources = [bundle / "digits_rows.c", bundle / "digits_rows_weights.c"]
    sources.append(bundle / "selftest" / "digits_rows_selftest.c")
    command = ["gcc", *STRICT_FLAGS, "-fsanitize=address,undefined", f"-I{bundle}"]
    command += [f"-I{bundle / 'selftest'}", *map(str, sources), str(tmp_path / "main.c")]
    done = subprocess.run(
        [*command, "-o", str(tmp_path / "misuse")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert subprocess.run([str(tmp_path / "misuse")], check=False).returncode == 0


def test_the_last_rows_that_nobody_reads_are_taken_and_ignored(bundle_of: BundleOf) -> None:
    rows = read_manifest(bundle_of("rows_and_offsets")).inputs[0].rows
    assert rows is not None
    assert (rows.count, rows.read, rows.bytes) == (10, 7, 10)
    assert rows.function == "rows_and_offsets_push_rows_lines"


def test_a_streamed_input_has_no_place_in_the_arena(bundle_of: BundleOf) -> None:
    bundle = bundle_of("digits_rows")
    manifest = read_manifest(bundle)
    (entry,) = manifest.inputs
    assert entry.offset is None
    assert manifest.entry_points == ("digits_rows_start", "digits_rows_push_rows")
    whole = compile_model(model_bytes("digits_rows"), "digits.tflite", Options("digits"))
    assert manifest.arena_bytes <= whole.manifest.arena_bytes + 16
    header = (bundle / "digits_rows.h").read_text(encoding="utf-8")
    assert "digits_rows_input(" not in header
    assert "digits_rows_run(" not in header
    assert "digits_rows_push_rows(arena, next_row(), 1)" in (bundle / "README.md").read_text()


@pytest.mark.parametrize(
    ("name", "streamed"),
    [
        ("kws", "input_1"),
        pytest.param("vww", "input_1_int8", marks=pytest.mark.slow),
        pytest.param("ic", "input_1_int8", marks=pytest.mark.slow),
        ("sww", "serving_default_input_1:0"),
    ],
)
def test_a_real_model_in_pieces_equals_the_oracle(
    name: str, streamed: str, shared_dir: Path, tmp_path: Path
) -> None:
    from glowmcu import compile as compile_bundle
    from tests.support.oracle import open_tflm

    path = shared_dir / "models" / f"{name}_int8.tflite"
    bundle = compile_bundle(
        path, "nrf52", tmp_path / name, name, stream_inputs=[streamed], optimize="ram"
    )
    assert bundle.report.arena_bytes <= ARENAS[name]
    oracle = open_tflm(path.read_bytes())
    generator = np.random.default_rng(3)
    shape = bundle.manifest.inputs[0].shape
    sets = [[generator.integers(-128, 128, shape).astype(np.int8)] for _ in range(3)]
    for pieces in ((1,), (1, 3, 999)):
        for arrays, found in zip(sets, Host(pieces=pieces).run(bundle.path, sets), strict=True):
            assert [item.tobytes() for item in found.outputs] == [
                item.tobytes() for item in oracle(arrays)
            ]


#: Most bytes of the arena on a Cortex-M4 with the input streamed, scratch included.
ARENAS = {"kws": 4_900, "vww": 13_600, "ic": 13_800, "sww": 3_100}
