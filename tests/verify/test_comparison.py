"""Outputs computed in float may differ in their last bits, and nothing else may."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from glowmcu.compilation import Compilation, Options
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.manifest import TensorEntry, read_manifest
from glowmcu.pipeline import compile_model
from glowmcu.verify.comparison import difference, wrong_elements
from glowmcu.verify.host_library import STRICT_FLAGS
from glowmcu.verify.verification import golden_vectors
from tests.support.check_model import write_bundle

NAN, INF = np.nan, np.inf


@pytest.mark.parametrize(
    ("got", "want", "wrong"),
    [
        ([100.0009, 0.0], [100.0, 0.0], 0),
        ([100.0, 0.0009], [100.0, 0.0], 0),
        ([100.0, 0.002], [100.0, 0.0], 1),
        ([1.00002], [1.0], 1),
        ([0.0], [-0.0], 0),
        ([1e-30], [0.0], 1),
        ([NAN, 1.0], [NAN, 1.0], 0),
        ([NAN, 1.0], [1.0, NAN], 2),
        ([INF, 1.0], [INF, 1.0], 0),
        ([INF, -INF], [-INF, INF], 2),
        ([3.4e38, 1.0], [INF, 1.0], 1),
    ],
    ids=[
        "within the tolerance", "relative to the largest", "beyond it", "a single element",
        "negative zero", "all zeros must be zero", "nan is nan", "nan in the wrong place",
        "infinity", "its sign", "nearly infinite",
    ],
)  # fmt: skip
def test_floats_are_compared_relative_to_the_largest(
    got: list[float], want: list[float], wrong: int
) -> None:
    arrays = np.array(got, np.float32), np.array(want, np.float32)
    assert int(wrong_elements(*arrays, exact=False).sum()) == wrong


def test_exact_floats_must_have_every_bit() -> None:
    one = np.array([1.0, -0.0], np.float32)
    assert list(wrong_elements(np.nextafter(one, np.float32(2)), one, exact=True)) == [True, True]
    assert list(wrong_elements(np.abs(one), one, exact=True)) == [False, True]


def test_an_integer_behind_float_may_be_a_step_off() -> None:
    want = np.array([-128, 0, 127], np.int8)
    assert list(wrong_elements(np.array([-127, 2, 126], np.int8), want, exact=False)) == [
        False, True, False,
    ]  # fmt: skip
    assert wrong_elements(np.array([127, 0, 127], np.int8), want, exact=False)[0]
    assert wrong_elements(np.array([-127, 0, 127], np.int8), want, exact=True)[0]


@pytest.mark.parametrize(("rounded", "wrong"), [(True, 0), (False, 1)], ids=["pixel", "class"])
def test_a_class_behind_float_is_never_nearly_another(rounded: bool, wrong: int) -> None:
    entry = TensorEntry("y", "", (2,), "int32", None, None, 0, 8, exact=False, rounded=rounded)
    found = difference(np.array([1, 2], np.int32), np.array([0, 2], np.int32), entry)
    assert found.count("1 of 2 elements differ") == wrong


def test_a_difference_names_output_place_and_values() -> None:
    entry = TensorEntry("y", "", (2, 2), "int8", 1.0, 0, 0, 4)
    want = np.zeros((2, 2), np.int8)
    got = np.array([[0, 0], [0, 5]], np.int8)
    assert difference(got, want, entry) == (
        "output 'y': 1 of 4 elements differ, first at (1, 1): got 5, expected 0"
    )
    assert difference(want, want, entry) == ""


# --- models --------------------------------------------------------------------------------------


def mixed_model() -> bytes:
    """Outputs: int8, its real value, a float layer of that, that layer's result as int8, and where
    the largest is.
    """
    model = ModelBuilder()
    x = model.input("x", (1, 4), "int8", 0.05, 1)
    doubled = model.tensor("doubled", (1, 4), "int8", 0.1, 0)
    model.op("ADD", [x, x], [doubled])
    real = model.tensor("real", (1, 4), "float32")
    model.op("DEQUANTIZE", [doubled], [real])
    # From -1.0 on, and no multiples of anything, which would be stored as int8.
    numbers = np.cbrt(np.linspace(-1, 1, 12, dtype=np.float32))
    weights = model.constant("w", numbers.reshape(3, 4))
    y = model.tensor("y", (1, 3), "float32")
    model.op("FULLY_CONNECTED", [real, weights, None], [y])
    rounded = model.tensor("rounded", (1, 3), "int8", 0.2, 0)
    model.op("QUANTIZE", [y], [rounded])
    place = model.tensor("place", (1,), "int32")
    model.op("ARG_MAX", [y, model.constant("axis", np.array([1], np.int32))], [place])
    for output in (doubled, real, y, rounded, place):
        model.output(output)
    return model.finish()


@pytest.fixture(scope="module")
def mixed() -> Compilation:
    return compile_model(mixed_model(), "mixed.tflite", Options("mixed"))


def test_only_what_is_computed_in_float_is_inexact(mixed: Compilation) -> None:
    outputs = mixed.manifest.outputs
    assert [entry.exact for entry in outputs] == [True, True, False, False, False]
    assert [entry.rounded for entry in outputs] == [False, False, False, True, False]
    assert [entry.is_strict for entry in outputs] == [True, True, False, False, True]


def selftest_result(folder: Path, work: Path) -> int:
    """What the bundle's own self test returns on this computer, capped at 200."""
    main = work / "main.c"
    main.write_text(
        '#include "mixed_selftest.h"\n'
        "static MIXED_ARENA(arena);\n"
        "int main(void)\n"
        "{\n"
        "    const int32_t wrong = mixed_selftest(arena);\n"
        "    return (wrong > 200) ? 200 : (int)wrong;\n"
        "}\n",
        encoding="utf-8",
    )
    sources = [folder / name for name in read_manifest(folder).sources]
    sources += [folder / "selftest" / "mixed_selftest.c", main]
    command = ["gcc", *STRICT_FLAGS, f"-I{folder}", f"-I{folder / 'selftest'}"]
    program = work / "selftest"
    done = subprocess.run(
        [*command, *map(str, sources), "-o", str(program)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return subprocess.run([str(program)], check=False).returncode


def test_the_self_test_passes_and_has_a_comparison_for_each_kind(
    mixed: Compilation, tmp_path: Path
) -> None:
    folder = write_bundle(mixed, tmp_path / "bundle")
    assert selftest_result(folder, tmp_path) == 0
    text = mixed.files["selftest/mixed_selftest.c"]
    for function in ("wrong_bytes", "wrong_floats", "wrong_steps_i8"):
        assert text.count(f"static int32_t {function}(") == 1
    assert "wrong_bytes(mixed_output_place(arena)" in text


def changed_weight(folder: Path, factor: float) -> None:
    """Multiply the largest weight of the float layer in the bundle's C, and check no constants."""
    test = folder / "selftest" / "mixed_selftest.c"
    checked = test.read_text(encoding="utf-8")
    assert checked.count("mixed_check() != 0") == 1
    test.write_text(checked.replace("mixed_check() != 0", "0"), encoding="utf-8")
    file = folder / "mixed_weights.c"
    text = file.read_text(encoding="utf-8")
    assert "-1.0f" in text
    file.write_text(text.replace("-1.0f", f"{-factor!r}f", 1), encoding="utf-8")


@pytest.mark.parametrize(
    ("factor", "passes"), [(1.000001, True), (1.01, False)], ids=["last bits", "a hundredth"]
)
def test_the_self_test_forgives_last_bits_alone(
    mixed: Compilation, tmp_path: Path, factor: float, passes: bool
) -> None:
    folder = write_bundle(mixed, tmp_path / "bundle")
    changed_weight(folder, factor)
    assert (selftest_result(folder, tmp_path) == 0) is passes


def test_golden_vectors_hold_every_output(mixed: Compilation, tmp_path: Path) -> None:
    folder = write_bundle(mixed, tmp_path)
    for vector in golden_vectors(folder, mixed.manifest):
        assert [str(array.dtype) for array in vector.expected] == [
            "int8", "float32", "float32", "int8", "int32",
        ]  # fmt: skip


def test_a_self_test_of_integers_alone_compares_bytes_alone() -> None:
    model = ModelBuilder()
    x = model.input("x", (1, 4), "int8", 0.05, 1)
    y = model.tensor("y", (1, 4), "int8", 0.1, 0)
    model.op("ADD", [x, x], [y])
    model.output(y)
    text = compile_model(model.finish(), "m.tflite", Options("m")).files["selftest/m_selftest.c"]
    assert "wrong_bytes" in text
    assert "wrong_floats" not in text
    assert "wrong_steps" not in text
