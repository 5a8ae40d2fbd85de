"""Definitions that are functions of one tensor: float loops, and tables of int8."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.index_notation import read_definition

SWISH = """
def swish(x: "float32[B, C]", beta: float = 1.5) -> "y: float32[B, C]":
    s[b, c] = sigmoid(beta * x[b, c])
    y[b, c] = x[b, c] * s[b, c]
"""


def save(folder: Path) -> Path:
    path = folder / "straße.py"
    path.write_text(SWISH)
    return path


def swish_model(folder: Path, dtype: str = "float32") -> Path:
    scales = {"x": (0.05, 3), "y": (0.04, -100)} if dtype == "int8" else {}
    b = ModelBuilder()
    x = b.input("x", (3, 7), dtype, *scales.get("x", ()))
    y = b.tensor("y", (3, 7), dtype, *scales.get("y", ()))
    b.custom_op("Swish", [x], [y])
    b.output(y)
    path = folder / f"{dtype}.tflite"
    path.write_bytes(b.finish())
    return path


def swish(x: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-1.5 * x))


def test_a_function_of_one_tensor_has_an_int8_meaning(tmp_path: Path) -> None:
    custom = {"Swish": save(tmp_path)}
    path = swish_model(tmp_path, "int8")
    bundle = glowmcu.compile(path, custom=custom, output=tmp_path / "out")
    assert bundle.report.layers[0].op == "lookup"
    stored = np.arange(-10, 11, dtype=np.int8).reshape(3, 7) * 12
    (found,) = bundle.run([stored])
    real = swish((stored.astype(np.float64) - 3) * 0.05)
    assert np.abs(found - np.clip(np.rint(real / 0.04) - 100, -128, 127)).max() <= 1
    assert glowmcu.verify(bundle, ["host"], model=path, samples=3).passed


def test_a_function_of_one_tensor_is_quantized_by_samples(tmp_path: Path) -> None:
    custom = {"Swish": save(tmp_path)}
    samples = np.random.default_rng(3).normal(0, 2, (30, 3, 7)).astype(np.float32)
    float_bundle = glowmcu.compile(swish_model(tmp_path), custom=custom, output=tmp_path / "f")
    assert [layer.op for layer in float_bundle.report.layers] == ["defined_function"]
    assert np.allclose(float_bundle.run([samples[0]])[0], swish(samples[0]), rtol=1e-5, atol=1e-6)
    bundle = glowmcu.compile(
        swish_model(tmp_path), custom=custom, samples=samples, io="int8", output=tmp_path / "q"
    )
    assert "lookup" in [layer.op for layer in bundle.report.layers]
    (found,) = bundle.run([samples[0]], real=True)
    assert np.abs(found - swish(samples[0])).max() < 0.1


@pytest.mark.parametrize(
    ("old", "new"),
    [("beta * x[b, c]", "beta * x[b, 0]"), ("beta * x[b, c]", "float(c) * x[b, c]"),
     ("beta * x[b, c]", "float(B) * x[b, c]"), ("[B, C]", "[N, N]")],
    ids=["another place", "an index", "a size", "axes of one length"],
)  # fmt: skip
def test_what_depends_on_the_place_is_no_function_of_an_element(old: str, new: str) -> None:
    assert read_definition(SWISH).is_function
    assert not read_definition(SWISH.replace(old, new)).is_function


@pytest.mark.parametrize("result", ["float32", "int32"])
@pytest.mark.parametrize("operand", ["float32", "int32"])
def test_a_definition_of_one_element_takes_and_gives_every_dtype(
    operand: str, result: str, tmp_path: Path
) -> None:
    b = ModelBuilder()
    x = b.input("x", (3, 7), operand)
    y = b.tensor("y", (3, 7), result)
    b.custom_op("Steps", [x], [y])
    b.output(y)
    model, steps = tmp_path / "m.tflite", tmp_path / "steps.py"
    model.write_bytes(b.finish())
    chosen = "where(x[b, c] > 4, 3, 1)"
    chosen = f"float({chosen})" if result == "float32" else chosen
    steps.write_text(f'''
def steps(x: "{operand}[B, C]") -> "y: {result}[B, C]":
    y[b, c] = {chosen}
''')
    bundle = glowmcu.compile(model, custom={"Steps": steps}, output=tmp_path / "out")
    given = np.arange(21).reshape(3, 7).astype(operand)
    (found,) = bundle.run([given])
    assert str(found.dtype) == result
    assert np.array_equal(found, np.where(given > 4, 3, 1))
    assert glowmcu.verify(bundle, ["host"], model=model, samples=3).passed


def test_names_with_marks_and_operators_that_nobody_reads_are_verified(tmp_path: Path) -> None:
    b = ModelBuilder()
    x = b.input("x", (3, 7), "float32")
    y, z, unread = (b.tensor(name, (3, 7), "float32") for name in ("y", "z", "unread"))
    b.custom_op("A,b=c:d", [x], [y])
    b.op("ABS", [y], [z])
    b.custom_op("Unread", [x], [unread])
    b.output(z)
    path = tmp_path / "m.tflite"
    path.write_bytes(b.finish())
    other = tmp_path / "other.py"
    other.write_text(SWISH.replace("1.5", "2.5"))
    custom = {"A,b=c:d": save(tmp_path), "Unread": other}
    bundle = glowmcu.compile(path, custom=custom, output=tmp_path / "out")
    assert len(list(bundle.path.glob("custom_def_*.h"))) == 2
    assert glowmcu.verify(bundle, ["host"], model=path, samples=2).passed
