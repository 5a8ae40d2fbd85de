"""`glowmcu.export` with the types of inputs and outputs that `io` asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glowmcu
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.types import ElementType
from glowmcu.option_words import ExportWord
from glowmcu.pipeline import reference_graph
from glowmcu.quant.choices import Quantization
from tests.conftest import REPO
from tests.ir.graphs import random_arrays

DIGITS = REPO / "examples" / "digits"


@pytest.mark.parametrize("format_", ["tflite", "tosa"])
def test_a_quantized_model_gets_bytes_without_a_sign(format_: ExportWord, tmp_path: Path) -> None:
    path = DIGITS / "digits_int8.tflite"
    target = tmp_path / ("m.tflite" if format_ == "tflite" else "m.mlir")
    glowmcu.export(path, target, quantization=Quantization(io="uint8"), format=format_)
    graph = reference_graph(path.read_bytes(), str(path))
    back = reference_graph(target.read_bytes(), str(target))
    border = (*back.inputs, *back.outputs)
    assert {value.type.element for value in border} == {ElementType.UI8}
    (given,) = random_arrays(graph.inputs, 1)
    (want,), (got,) = run_graph(graph, [given]), run_graph(back, [given.view(np.uint8) ^ 128])
    assert np.array_equal(want.view(np.uint8) ^ 128, got)


def test_a_float_model_is_quantized_to_them(tmp_path: Path) -> None:
    target = tmp_path / "m.tflite"
    glowmcu.export(
        DIGITS / "digits.onnx", target, samples=DIGITS / "calibration.npz",
        quantization=Quantization(search="plain", io="uint8"),
    )  # fmt: skip
    back = reference_graph(target.read_bytes(), str(target))
    border = (*back.inputs, *back.outputs)
    assert {value.type.element for value in border} == {ElementType.UI8}


def test_what_was_not_quantized_is_said_as_compile_says_it(tmp_path: Path) -> None:
    chosen = glowmcu.Quantization(keep_float=["softmax"], int16=["all"])
    given: dict[str, Any] = {"samples": DIGITS / "calibration.npz", "quantization": chosen}
    bundle = glowmcu.compile(DIGITS / "digits.onnx", output=tmp_path / "bundle", **given)
    said = [note for note in bundle.notes if note.startswith("stays ")]
    made = glowmcu.export(DIGITS / "digits.onnx", tmp_path / "m.tflite", **given)
    assert said
    assert [note for note in made.notes if note.startswith("stays ")] == said
