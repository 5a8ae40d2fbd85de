"""`glowmcu verify --against FILE.tflite`: whose runtime gives the bundle's bytes, and whose not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.verify.runtimes import runtimes
from glowmcu.verify.runtimes.runtimes import RUNTIMES, largest_difference, runtime_of
from tests.cli.conftest import Run
from tests.conftest import REPO

pytestmark = pytest.mark.skipif(
    any(runtime.missing() for runtime in RUNTIMES),
    reason="pip install --pre tflite-micro ai-edge-litert",
)  # fmt: skip


@pytest.mark.parametrize(
    ("rounding", "runtime"),
    [("double", "tflm"), ("litert", "litert-reference"), ("single", "litert")],
)
def test_the_runtime_that_the_rounding_names_gives_the_exported_file_s_bytes(
    glowmcu_cli: Run, rounding: str, runtime: str
) -> None:
    chosen = ("--samples", "samples.npz", "--rounding", rounding)
    made = glowmcu_cli("export", "float.tflite", "-o", "small.tflite", *chosen)
    assert made.exit_code == 0, made.err
    title = next(each.title for each in RUNTIMES if each.name == runtime)
    assert f"  runtime  {title} gives the bytes of compile" in made.out
    assert glowmcu_cli("compile", "float.tflite", "-o", "out", *chosen).exit_code == 0
    ended = glowmcu_cli("verify", "out", "--against", "small.tflite", "--samples", "9", "--json")
    assert ended.exit_code == 0, ended.err
    found = json.loads(ended.out)
    assert found["passed"] is True
    promised = [check for check in found["checks"] if check["promised"]]
    assert [(check["runtime"], check["equal"]) for check in promised] == [(runtime, 9)]
    assert [check["runtime"] for check in found["checks"]] == [r.name for r in RUNTIMES]


def test_data_of_real_numbers_is_stored_as_the_bundle_does(glowmcu_cli: Run, bundle: str) -> None:
    ended = glowmcu_cli("verify", bundle, "--against", "digits.tflite", "--samples", "samples.npz")
    assert (ended.exit_code, ended.err) == (0, "")
    assert "200/200" in ended.out


def test_stored_integers_are_taken_as_they_are(glowmcu_cli: Run, bundle: str) -> None:
    options = ("--against", "digits.tflite", "--samples", "pixels.npy", "--json")
    ended = glowmcu_cli("verify", bundle, *options)
    assert (ended.exit_code, ended.err) == (0, "")
    assert json.loads(ended.out)["checks"][0]["samples"] == 1


def test_a_file_of_open_sizes_is_run_with_those_of_the_bundle(glowmcu_cli: Run) -> None:
    model = ModelBuilder()
    x = model.input("x", (1, 1), "float32", shape_signature=(-1, -1))
    y = model.tensor("y", (1, 1), "float32", shape_signature=(-1, -1))
    model.op("ABS", [x], [y])
    model.output(y)
    Path("open.tflite").write_bytes(model.finish())
    made = ("compile", "open.tflite", "--input-shape", "x=2x5", "--rounding", "litert")
    assert glowmcu_cli(*made, "-o", "out").exit_code == 0
    ended = glowmcu_cli("verify", "out", "--against", "open.tflite", "--json")
    assert (ended.exit_code, ended.err) == (0, "")
    tflm, reference, litert = json.loads(ended.out)["checks"]
    assert reference["passed"]
    assert litert["passed"]
    assert "expected 1 for dimension" in tflm["refused"]


@pytest.fixture(autouse=True)
def samples(work: Path) -> None:
    """`samples.npz`: 200 digits in the layout of the .tflite files."""
    with np.load(REPO / "examples" / "digits" / "calibration.npz") as data:
        np.savez(work / "samples.npz", data["inputs"].transpose(0, 2, 3, 1))


def other_weights(data: bytes) -> bytes:
    """The model with one byte of its longest run of varied bytes changed: a weight."""
    from glowmcu.frontend.read_model import read_model
    from glowmcu.ir.operation import Constant

    graph = read_model(data, "m.tflite")
    weights = max(
        (
            n.op.data
            for n in graph.nodes
            if isinstance(n.op, Constant) and n.op.data.dtype == np.int8
        ),
        key=lambda array: array.size,
    )
    place = data.index(weights.tobytes())
    changed = bytearray(data)
    for index in range(place, place + weights.size, 3):
        changed[index] ^= 0x40
    return bytes(changed)


def test_another_model_s_file_is_a_mismatch(glowmcu_cli: Run, bundle: str) -> None:
    Path("other.tflite").write_bytes(other_weights(Path("digits.tflite").read_bytes()))
    ended = glowmcu_cli("verify", bundle, "--against", "other.tflite", "--samples", "5")
    assert ended.exit_code == 1
    assert "elements differ, by" in ended.out


def test_a_file_with_other_borders_is_refused_with_each_of_them(
    glowmcu_cli: Run, bundle: str
) -> None:
    ended = glowmcu_cli("verify", bundle, "--against", "float.tflite")
    assert ended.exit_code == 2
    assert ended.err.startswith(
        "error[GM674]: the file is not the bundle's like: input 0: float32 1x8x8x1, the bundle's "
        "is int8 1x8x8x1; output 0: float32 1x10, the bundle's is int8 1x10\n  --> float.tflite"
    )


def test_a_runtime_that_is_not_installed_is_no_pass(
    glowmcu_cli: Run, bundle: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tuple(
        runtimes.Runtime(r.name, r.title, f"no_{r.package}", r.requirement, r.rounding)
        for r in RUNTIMES
    )
    monkeypatch.setattr("glowmcu.api.runtime_comparison.RUNTIMES", gone)
    monkeypatch.setattr(
        "glowmcu.api.runtime_comparison.runtime_of",
        lambda rounding: next(each for each in gone if each.rounding is rounding),
    )
    ended = glowmcu_cli("verify", bundle, "--against", "digits.tflite")
    assert ended.exit_code == 2
    assert "error[GM676]: TensorFlow Lite Micro is not installed" in ended.err
    assert "hint: pip install --pre tflite-micro" in ended.err


def test_a_word_that_is_no_file_is_refused(glowmcu_cli: Run, bundle: str) -> None:
    ended = glowmcu_cli("verify", bundle, "--against", "tflm")
    assert ended.exit_code == 2
    assert "expected reference, float or a .tflite file, got 'tflm'" in ended.err


def test_a_broken_file_is_an_error_and_no_crash(glowmcu_cli: Run, bundle: str) -> None:
    Path("broken.tflite").write_bytes(Path("digits.tflite").read_bytes()[:300])
    ended = glowmcu_cli("verify", bundle, "--against", "broken.tflite")
    assert ended.exit_code == 2
    assert ended.err.startswith("error[GM1")


def test_a_process_that_ends_or_refuses_is_told_of(tmp_path: Path) -> None:
    model = tmp_path / "m.tflite"
    model.write_bytes(b"\x00" * 64)
    from glowmcu.errors import GlowmcuError

    with pytest.raises(GlowmcuError, match="LiteRT as it comes") as caught:
        next(r for r in RUNTIMES if r.name == "litert").outputs(model, [])
    assert caught.value.code == "GM673"


def dynamic_range_model() -> bytes:
    """A fully connected layer of int8 weights on float32, as converters write without samples."""
    model = ModelBuilder()
    x = model.input("x", (1, 8), "float32")
    numbers = np.random.default_rng(0).integers(-127, 128, (4, 8)).astype(np.int8)
    y = model.tensor("y", (1, 4), "float32")
    model.op("FULLY_CONNECTED", [x, model.constant("w", numbers, 0.01), None], [y])
    model.output(y)
    return model.finish()


def test_a_dynamic_range_file_that_tflm_refuses_comes_with_what_to_try(
    glowmcu_cli: Run, work: Path
) -> None:
    """It ended with code 2, TFLM's last line and no hint."""
    (work / "hybrid.tflite").write_bytes(dynamic_range_model())
    assert glowmcu_cli("compile", "hybrid.tflite", "-o", "out").exit_code == 0
    ended = glowmcu_cli("verify", "out", "--against", "hybrid.tflite")
    assert ended.exit_code == 2
    assert "Input type: FLOAT32 with filter type: INT8 not supported" in ended.err
    assert "hint: glowmcu verify BUNDLE --model hybrid.tflite compares" in ended.err
    said = " ".join(ended.out.split())
    assert "note: the file has int8 weights and float activations" in said
    assert "TensorFlow Lite Micro runs no such file" in said
    assert glowmcu_cli("verify", "out", "--model", "hybrid.tflite").exit_code == 0


def test_another_runtime_that_runs_the_file_is_named_with_its_rounding(
    glowmcu_cli: Run, work: Path
) -> None:
    """RESIZE_BILINEAR on int16: LiteRT alone has it."""
    model = ModelBuilder()
    x = model.input("x", (1, 4, 4, 2), "int16", 0.1, 0)
    y = model.tensor("y", (1, 8, 8, 2), "int16", 0.1, 0)
    size = model.constant("size", np.array([8, 8], np.int32))
    model.op("RESIZE_BILINEAR", [x, size], [y], {})
    model.output(y)
    (work / "wide.tflite").write_bytes(model.finish())
    assert glowmcu_cli("compile", "wide.tflite", "-o", "out").exit_code == 0
    ended = glowmcu_cli("verify", "out", "--against", "wide.tflite")
    assert ended.exit_code == 2
    assert (
        "compile with --rounding litert for the numbers of LiteRT, reference kernels" in ended.err
    )
    chosen = ("--rounding", "litert")
    assert glowmcu_cli("compile", "wide.tflite", "-o", "out", *chosen).exit_code == 0
    assert glowmcu_cli("verify", "out", "--against", "wide.tflite").exit_code == 0


def test_the_star_beside_a_runtime_is_explained(glowmcu_cli: Run, bundle: str) -> None:
    ended = glowmcu_cli("verify", bundle, "--against", "digits.tflite")
    assert "TensorFlow Lite Micro*" in ended.out
    assert "* whose numbers the bundle was compiled to give" in ended.out


def test_every_rounding_has_a_runtime() -> None:
    from glowmcu.ir.operation import Rounding

    assert {runtime_of(rounding).rounding for rounding in Rounding} == set(Rounding)


@pytest.mark.parametrize(
    ("got", "want", "apart"),
    [
        ([1, -5], [1, 3], 8.0),
        ([], [], 0.0),
        ([np.nan, 1.0], [np.nan, 1.5], 0.5),
        ([np.nan], [1.0], np.inf),
        ([np.inf], [np.inf], 0.0),
    ],
    ids=["integers", "nothing", "NaN on both sides", "NaN on one side", "the same infinity"],
)
def test_the_largest_difference_is_in_steps(got: list, want: list, apart: float) -> None:
    assert largest_difference(np.asarray(got), np.asarray(want)) == apart
