"""Bundles of which each run is given a size: all sizes against onnxruntime and the reference."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.api.verification import verify_bundle
from glowmcu.cli import main
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.verify.executors import executor
from tests.support.onnx_models import run_onnxruntime
from tests.support.open_models import MODELS, open_model, sequence

LARGEST = 21
STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wshadow"]


def compiled(
    name: str,
    tmp_path: Path,
    board: str = "generic",
    sizes: tuple[int, int] = (1, LARGEST),
    quantized: bool = False,
) -> tuple[glowmcu.Bundle, Path, Path | None]:
    """The bundle, its model and its profile."""
    file, profile = tmp_path / f"{name}.onnx", None
    file.write_bytes(open_model(name))
    if quantized:
        profile = tmp_path / "profile.json"
        samples = np.stack([sequence(sizes[1], seed) for seed in range(8)])
        glowmcu.profile(file, {"x": samples}, output=profile, define={"T": sizes[1]})
    bundle = glowmcu.compile(
        file, board, tmp_path / "out", name=name, define={"T": sizes}, profile=profile
    )
    return bundle, file, profile


@pytest.mark.parametrize("name", MODELS)
def test_every_size_is_what_onnxruntime_computes(name: str, tmp_path: Path) -> None:
    bundle, file, _ = compiled(name, tmp_path)
    data = file.read_bytes()
    for size in range(1, LARGEST + 1):
        (want,) = run_onnxruntime(data, [sequence(size)])
        (got,) = bundle.run([sequence(size)])
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, 1e-5, 1e-5 * max(1, np.abs(want).max()))


@pytest.mark.slow
@pytest.mark.arm
@pytest.mark.parametrize("board", ["nrf52", "rp2040"])
@pytest.mark.parametrize("name", MODELS)
def test_every_size_of_an_int8_network_is_exact_on_its_core(
    name: str, board: str, tmp_path: Path
) -> None:
    bundle, file, profile = compiled(name, tmp_path, board, quantized=True)
    report = verify_bundle(bundle, ["host", "cortex-m"], 12, 1, file, profile=profile)
    assert report.passed, report.checks
    stack = bundle.manifest.costs.stack_bytes.get(f"{name}_run")
    sets = [
        [np.zeros(entry.shape, entry.dtype) for entry in bundle.manifest.at(size).inputs]
        for size in (1, LARGEST // 2, LARGEST)
    ]
    for found in executor("cortex-m", bundle.board, count=False).run(bundle.path, sets):
        taken = found.stack_bytes
        assert stack is None or (taken is not None and taken <= stack)


@pytest.mark.arm
def test_arrays_of_a_size_in_a_struct_of_a_struct_are_made_for_each(tmp_path: Path) -> None:
    """From two rows on the sum broadcasts alike, and its kernel has a walk with axes."""
    bundle, file, profile = compiled("forbidden", tmp_path, "nrf52", (2, 12), quantized=True)
    assert verify_bundle(bundle, ["host", "cortex-m"], 12, 1, file, profile=profile).passed


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("name", MODELS)
def test_every_size_of_an_int8_network_is_exact_with_helium(name: str, tmp_path: Path) -> None:
    bundle, file, profile = compiled(name, tmp_path, "mps3-an547", quantized=True)
    report = verify_bundle(bundle, ["host", "qemu"], 12, 1, file, profile=profile)
    assert report.passed, report.checks


def test_a_smaller_size_takes_less_time(tmp_path: Path) -> None:
    bundle, _, _ = compiled("convolutions", tmp_path, "nrf52", quantized=True)
    cycles = [
        bundle.measure(
            [np.zeros(entry.shape, entry.dtype) for entry in bundle.manifest.at(size).inputs]
        ).cycles
        for size in (4, LARGEST)
    ]
    assert cycles[0] is not None
    assert cycles[1] is not None
    assert cycles[0] < 0.5 * cycles[1]


def test_an_arena_is_that_of_the_largest_size(tmp_path: Path) -> None:
    bundle, file, _ = compiled("mean", tmp_path)
    fixed = glowmcu.compile(file, output=tmp_path / "fixed", name="fixed", define={"T": LARGEST})
    assert bundle.manifest.arena_bytes == fixed.manifest.arena_bytes


MAIN = """
#include "joined.h"
#include "joined_selftest.h"
static JOINED_ARENA(arena);
static float input[JOINED_INPUT_LENGTH];
static float output[JOINED_OUTPUT_LENGTH];
int main(void)
{
    if (joined_run(arena, 0) != GLOWMCU_BAD_SIZE || joined_run(arena, JOINED_T_MAX + 1) !=
        GLOWMCU_BAD_SIZE || joined_infer(arena, input, output, -1) != GLOWMCU_BAD_SIZE) {
        return 1;
    }
    if (JOINED_INPUT_LENGTH_AT(3) != 24u || JOINED_OUTPUT_BYTES_AT(3) != 4u * 5u * 7u) {
        return 2;
    }
    if (joined_infer(arena, input, output, JOINED_T_MIN) != 0 || joined_check() != 0) {
        return 3;
    }
    return joined_selftest(arena) == 0 ? 0 : 4;
}
"""


@pytest.mark.parametrize("level", ["-O0", "-O2", "-Os"])
def test_other_sizes_are_refused_and_the_self_test_runs_several(level: str, tmp_path: Path) -> None:
    bundle, _, _ = compiled("joined", tmp_path)
    folder = bundle.path
    (tmp_path / "main.c").write_text(MAIN)
    sources = [folder / name for name in bundle.manifest.sources]
    sources += [folder / "selftest" / "joined_selftest.c", tmp_path / "main.c"]
    command = ["cc", *STRICT, level, "-fsanitize=address,undefined", f"-I{folder}",
               f"-I{folder / 'selftest'}", *map(str, sources), "-o", str(tmp_path / "main"),
               "-lm"]  # fmt: skip
    subprocess.run(command, check=True)
    assert subprocess.run([tmp_path / "main"], check=False).returncode == 0


def test_another_network_at_a_size_is_found(tmp_path: Path) -> None:
    with pytest.raises(GlowmcuError, match=r"GM144.* another form at T=1"):
        compiled("filled", tmp_path)
    bundle, file, _ = compiled("filled", tmp_path, sizes=(2, 7))
    (want,) = run_onnxruntime(file.read_bytes(), [sequence(2)])
    np.testing.assert_allclose(bundle.run([sequence(2)])[0], want, 1e-5, 1e-5)


def test_constants_that_no_smaller_one_begins_are_refused(tmp_path: Path) -> None:
    with pytest.raises(GlowmcuError, match=r"GM145.*'rows' is another for each size"):
        compiled("ramp", tmp_path)
    assert not (tmp_path / "out").exists()


def test_inputs_of_no_size_are_refused(tmp_path: Path) -> None:
    bundle, _, _ = compiled("mean", tmp_path)
    with pytest.raises(
        GlowmcuError, match=r"expected float32\[1x21x8\], got float32\[1x22x8\]"
    ) as e:
        bundle.run([sequence(LARGEST + 1)])
    hint = "T is 1 to 21, so that shapes are those from float32[1x1x8] to float32[1x21x8]"
    assert e.value.problems[0].hint == hint


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"define": {"T": (5, 5)}}, "GM714"),
        ({"define": {"T": (0, 5)}}, "GM714"),
        ({"define": {"T": (5, 1)}}, "GM714"),
        ({"define": {"T": (1, 9, 3)}}, "in steps of 3 from 1 on is never 9"),
        ({"define": {"T": (1, 9, 0)}}, "GM714"),
        ({"define": {"T": (1, 9, -1)}}, "GM714"),
        ({"define": {"T": (1, 9, 10)}}, "GM714"),
        ({"define": {"T": (1, 9, 2, 2)}}, "GM714"),
        ({"define": {"T": (1, 9.5)}}, "GM714"),
        ({"define": {"T": "1..9"}}, "GM714"),
        ({"define": {"T": 9.0}}, "GM714"),
        ({"define": {"T": 0}}, "GM714"),
        ({"define": {"T": (1, 5000)}}, "GM714"),
        ({"define": {"T": (1, 9), "S": (1, 9)}}, "one size can be given at run time"),
        ({"define": {"U": (1, 9)}}, "GM1"),
        ({"define": {"T": (1, 9)}, "steps": True}, "does not go together with steps"),
        ({"define": {"T": (1, 9)}, "stream_inputs": ["x"]}, "stream_inputs"),
        ({"define": {"T": (1, 9)}, "instrument": True}, "instrument or"),
        ({"define": {"T": (1, 9)}, "weights": "pointer"}, "weights='pointer'"),
    ],
)
def test_what_does_not_go_together(options: dict[str, object], said: str, tmp_path: Path) -> None:
    file = tmp_path / "mean.onnx"
    file.write_bytes(open_model("mean"))
    with pytest.raises(GlowmcuError, match=said):
        glowmcu.compile(file, output=tmp_path / "out", **options)  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()


def test_sizes_may_be_numbers_of_numpy(tmp_path: Path) -> None:
    file = tmp_path / "mean.onnx"
    file.write_bytes(open_model("mean"))
    define = {"T": (np.int64(1), np.int64(9))}
    bundle = glowmcu.compile(file, output=tmp_path / "out", define=define)  # type: ignore[arg-type]
    assert bundle.manifest.at(3).inputs[0].shape == (1, 3, 8)
    fixed = {"T": np.int32(9)}
    glowmcu.compile(file, output=tmp_path / "fixed", define=fixed)  # type: ignore[arg-type]


def open_tflite(length: int) -> bytes:
    """Dense layers for each row of an int8 sequence, of which the file says no length."""
    model = ModelBuilder()
    generator = np.random.default_rng(5)
    signature = (1, -1, 8)
    x = model.input("x", (1, length, 8), "int8", 0.05, 3, shape_signature=signature)
    w = model.constant("w", generator.integers(-90, 90, (8, 8)).astype(np.int8), 0.01)
    b = model.constant("b", generator.integers(-900, 900, 8).astype(np.int32), 0.0005)
    h = model.tensor("h", (1, length, 8), "int8", 0.08, -4, shape_signature=signature)
    y = model.tensor("y", (1, length, 8), "int8", 1 / 256, -128, shape_signature=signature)
    model.op("FULLY_CONNECTED", [x, w, b], [h], {"keep_num_dims": True})
    model.op("LOGISTIC", [h], [y])
    model.output(y)
    return model.finish()


def test_a_letter_in_a_shape_opens_a_tflite_file(tmp_path: Path) -> None:
    file = tmp_path / "rows.tflite"
    file.write_bytes(open_tflite(1))
    bundle = glowmcu.compile(
        file, "nrf52", tmp_path / "out", input_shapes={"x": (1, "T", 8)}, define={"T": (1, 9)}
    )
    assert bundle.manifest.options["define"] == "T=1..9"
    assert verify_bundle(bundle, ["host"], 6, 1, file).passed
    generator = np.random.default_rng(1)
    for length in (1, 2, 5, 9):
        fixed = glowmcu.compile(
            file, "nrf52", tmp_path / f"{length}", input_shapes={"x": (1, length, 8)}
        )
        rows = generator.integers(-128, 128, (1, length, 8)).astype(np.int8)
        np.testing.assert_array_equal(bundle.run([rows])[0], fixed.run([rows])[0])


def test_the_hint_of_an_open_size_without_a_name_leaves_it_open(tmp_path: Path) -> None:
    (tmp_path / "m.tflite").write_bytes(open_tflite(1))
    with pytest.raises(GlowmcuError, match="GM104") as caught:
        glowmcu.compile(tmp_path / "m.tflite", output=tmp_path / "out")
    hint = caught.value.problems[0].hint
    _, _, left_open = hint.partition("or each run says it: --input-shape ")
    shape, option, size = left_open.split()
    assert option == "--define"
    name, _, sizes = shape.partition("=")
    parsed = tuple(int(each) if each.isdigit() else each for each in sizes.split("x"))
    assert size == "T=1..200"
    bundle = glowmcu.compile(
        tmp_path / "m.tflite", output=tmp_path / "out", input_shapes={name: parsed},
        define={"T": (1, 20)},
    )  # fmt: skip
    assert bundle.manifest.size is not None


def test_a_letter_without_a_size_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "rows.tflite"
    file.write_bytes(open_tflite(1))
    with pytest.raises(GlowmcuError, match="the shape of 'x' is 1xTx8; 'T' in it has no size"):
        glowmcu.compile(file, output=tmp_path / "out", input_shapes={"x": (1, "T", 8)})


def test_letters_on_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "rows.tflite"
    file.write_bytes(open_tflite(1))
    out = tmp_path / "out"
    command = ["compile", str(file), "-o", str(out), "--input-shape", "x=1xTx8"]
    assert main([*command, "--define", "T=2..6"]) == 0
    assert "rows_run(void *arena, int32_t t)" in (out / "rows.h").read_text()
    assert main([*command[:-1], "x=1xTUx8"]) != 0
