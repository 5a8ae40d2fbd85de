"""Arrays in real units: what a bundle stores for them, and what its outputs stand for."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper

import glowmcu
from glowmcu.manifest import TensorEntry
from glowmcu.real_units import real_values, stored_values

REPO = Path(__file__).resolve().parents[2]
DIGITS = REPO / "examples" / "digits"


def entry(dtype: str, scale: float | None = None, zero_point: int | None = None) -> TensorEntry:
    return TensorEntry("x", "", (4,), dtype, scale, zero_point, 0, 4)


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> glowmcu.Bundle:
    folder = tmp_path_factory.mktemp("digits") / "digits"
    return glowmcu.compile(DIGITS / "digits_int8.tflite", output=folder, name="digits")


INF = np.inf
HALVES = [0.25, -0.25, 0.75, -0.75, 0.24]
CASES = [
    pytest.param("int8", 0.5, 3, HALVES, [4, 2, 5, 1, 3], id="halves go away from zero"),
    pytest.param("int8", 0.5, -128, [0, 127.5, 1e30, INF], [-128, 127, 127, 127], id="too large"),
    pytest.param("int8", 0.5, 0, [-64, -1e30, -INF, -64.4], [-128] * 4, id="too small"),
    pytest.param("uint8", 1.0, 128, [-128, 0, 127, 200], [0, 128, 255, 255], id="uint8"),
    pytest.param("int16", 2.0**-15, 0, [-1, 0.5, 1], [-32768, 16384, 32767], id="int16"),
    pytest.param("int8", 0.5, 3, [True, False], [5, 3], id="truth values are 1 and 0"),
    pytest.param("int8", 0.5, 0, np.float64([1e300]), [127], id="more than float32 holds"),
    pytest.param("float32", None, None, [1, -2.5, np.nan], [1, -2.5, np.nan], id="float stays"),
    pytest.param("int32", None, None, [3.0, -7.0], [3, -7], id="whole floats for an index"),
    pytest.param("int64", None, None, [2**53 + 1], [2**53 + 1], id="integers of 64 bits"),
    pytest.param("bool", None, None, [1, 0], [True, False], id="bool of integers"),
]


@pytest.mark.parametrize(("dtype", "scale", "zero_point", "real", "stored"), CASES)
def test_real_values_are_stored_as_the_type_says(
    dtype: str, scale: float | None, zero_point: int | None, real: list[float], stored: list[float]
) -> None:
    found = stored_values(entry(dtype, scale, zero_point), real)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, stored)


@pytest.mark.parametrize(
    ("dtype", "scale", "real", "says"),
    [
        ("int8", 0.5, [[0, np.nan]], "NaN at [0, 1]"),
        ("int8", 0.5, ["a"], "holds no real numbers"),
        ("int8", 0.5, [1j], "holds no real numbers"),
        ("int8", 0.5, [[1], [1, 2]], "it is no array"),
        ("int32", None, [0.5], "0.5 is no whole number"),
        ("int32", None, [np.nan], "nan is no whole number"),
        ("uint8", None, [256], "256 is not within 0 to 255"),
        ("int64", None, [2.0**63], "is not within"),
        ("bool", None, [2], "2 is not within 0 to 1"),
        ("float32", None, [1e300], "1e+300 is too large for float32"),
    ],
)
def test_what_has_no_stored_value_is_refused(
    dtype: str, scale: float | None, real: Any, says: str
) -> None:
    with pytest.raises(glowmcu.GlowmcuError) as caught:
        stored_values(entry(dtype, scale, None if scale is None else 0), real, "kws")
    assert caught.value.code == "GM628"
    assert says in str(caught.value)
    assert "kws, input 'x'" in str(caught.value)


@given(st.integers(-128, 127), st.floats(2.0**-20, 2.0**20), st.integers(-128, 127))
def test_stored_values_survive_the_way_to_real_numbers_and_back(
    value: int, scale: float, zero_point: int
) -> None:
    known, stored = entry("int8", scale, zero_point), np.array([value], np.int8)
    assert stored_values(known, real_values(known, stored)) == stored


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_python_quantizes_as_the_generated_c_does(digits: glowmcu.Bundle, tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    (known,) = digits.manifest.inputs
    assert known.scale is not None
    halves = np.float32(known.scale) * np.arange(-300, 300, 0.5, np.float32)
    spread = generator.normal(0, 200 * known.scale, 1000).astype(np.float32)
    real = np.concatenate([halves, spread, np.float32([np.inf, -np.inf, 0.0, -0.0])])
    source = tmp_path / "main.c"
    source.write_text(
        '#include <stdio.h>\n#include "digits.h"\nint main(void)\n{\n    float x;\n'
        "    while (fread(&x, sizeof x, 1, stdin) == 1) {\n"
        '        printf("%d\\n", (int)digits_input_quantize(x));\n    }\n    return 0;\n}\n'
    )
    program = tmp_path / "quantize"
    subprocess.run(["gcc", "-std=c99", f"-I{digits.path}", source, "-o", program], check=True)
    told = subprocess.run([program], input=real.tobytes(), capture_output=True, check=True).stdout
    np.testing.assert_array_equal(
        digits.quantize(known.name, real), [int(line) for line in told.split()]
    )


def test_a_run_in_real_units_is_the_run_of_stored_values(digits: glowmcu.Bundle) -> None:
    (known,), (result,) = digits.manifest.inputs, digits.manifest.outputs
    x = np.load(DIGITS / "seven.npy")
    (scores,) = digits.run([x])
    real = digits.dequantize(known.name, x)
    (probabilities,) = digits.run([real.tolist()], real=True)
    assert probabilities.dtype == np.float32
    np.testing.assert_array_equal(probabilities, digits.dequantize(result.name, scores))
    np.testing.assert_array_equal(digits.measure([real], on="host", real=True).outputs[0],
                                  probabilities)  # fmt: skip
    session = digits.session()
    np.testing.assert_array_equal(session.run([real], real=True)[0], probabilities)
    np.testing.assert_array_equal(session.run([x])[0], scores)


def test_shapes_and_numbers_of_inputs_are_checked_in_real_units_too(digits: glowmcu.Bundle) -> None:
    (known,) = digits.manifest.inputs
    wrong = ([np.zeros((3, 3))], [], [np.zeros(known.shape)] * 2, [np.zeros(known.shape), "x"])
    for inputs in wrong:
        with pytest.raises(glowmcu.GlowmcuError) as caught:
            digits.run(inputs, real=True)
        assert caught.value.code == "GM604"
    with pytest.raises(glowmcu.GlowmcuError, match="NaN at"):
        digits.session().run([np.full(known.shape, np.nan)], real=True)


def test_lists_of_integers_are_not_taken_for_stored_values(digits: glowmcu.Bundle) -> None:
    (known,) = digits.manifest.inputs
    with pytest.raises(glowmcu.GlowmcuError, match="convert it"):
        digits.run([np.zeros(known.shape, int).tolist()])


def test_an_unknown_name_is_told_the_known_ones(digits: glowmcu.Bundle) -> None:
    with pytest.raises(glowmcu.GlowmcuError, match="GM629") as caught:
        digits.quantize("pixel", [0.0])
    assert repr(digits.manifest.inputs[0].name) in str(caught.value)


def test_inputs_of_several_types_are_converted_each_as_it_is_stored(tmp_path: Path) -> None:
    graph = helper.make_graph(
        [
            helper.make_node("DequantizeLinear", ["q", "s", "z"], ["r"]),
            helper.make_node("Add", ["r", "f"], ["y"]),
        ],
        "two",
        [
            helper.make_tensor_value_info("q", TensorProto.UINT8, [1, 4]),
            helper.make_tensor_value_info("f", TensorProto.FLOAT, [1, 4]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])],
        [
            helper.make_tensor("s", TensorProto.FLOAT, [], [0.5]),
            helper.make_tensor("z", TensorProto.UINT8, [], [10]),
        ],
    )
    file = tmp_path / "two.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), file)
    bundle = glowmcu.compile(file, output=tmp_path / "two")
    # The file gives q no scale: it is an integer, and stands for itself.
    q, f = np.array([[0.0, 10.0, 12.0, 255.0]]), np.array([[1.0, 2.0, 3.0, 4.0]])
    (y,) = bundle.run([q, f], real=True)
    np.testing.assert_array_equal(y, [[-4.0, 2.0, 4.0, 126.5]])
