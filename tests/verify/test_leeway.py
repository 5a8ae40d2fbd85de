"""What is left of larger numbers may be off by what rounding does to those, and no more."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.api.verification import verify_bundle
from glowmcu.bundle import Bundle
from glowmcu.compilation import Compilation, Options
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.leeway import Run, leeway
from glowmcu.manifest import TensorEntry
from glowmcu.pipeline import compile_model
from glowmcu.verify.comparison import difference
from glowmcu.verify.verification import golden_vectors
from tests.support.check_model import write_bundle
from tests.support.onnx_models import onnx_model
from tests.verify.test_comparison import selftest_result

LENGTH = 300


def cancelling_model(left: float) -> bytes:
    """One output: a sum of 300 products minus all but `left` of the same sum."""
    model = ModelBuilder()
    x = model.input("x", (1, LENGTH), "float32")
    both = model.tensor("both", (1, 2 * LENGTH), "float32")
    model.op("CONCATENATION", [x, x], [both], {"axis": 1})
    numbers = np.random.default_rng(1).normal(0, 0.05, LENGTH)
    weights = np.concatenate([numbers, numbers * (left - 1.0)]).astype(np.float32)
    y = model.tensor("y", (1, 1), "float32")
    model.op("FULLY_CONNECTED", [both, model.constant("w", weights.reshape(1, -1)), None], [y])
    model.output(y)
    return model.finish()


def compiled(left: float) -> Compilation:
    return compile_model(cancelling_model(left), "mixed.tflite", Options("mixed"))


@pytest.fixture(scope="module")
def cancelling(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    folder = write_bundle(compiled(1e-6), tmp_path_factory.mktemp("cancelling"))
    return glowmcu.load(folder)


def test_what_is_left_of_larger_numbers_is_verified_without_a_false_alarm(
    cancelling: Bundle, tmp_path: Path
) -> None:
    report = verify_bundle(cancelling, ["host"], 10, 0, cancelling_model(1e-6))
    assert report.passed, report
    assert selftest_result(cancelling.path, tmp_path) == 0


def test_without_the_leeway_it_would_be_wrong(cancelling: Bundle) -> None:
    vectors = golden_vectors(cancelling.path, cancelling.manifest)
    bare = [replace(vector, leeway=(0.0,)) for vector in vectors]
    results = [cancelling.run(list(vector.inputs))[0] for vector in vectors]
    (entry,) = cancelling.manifest.outputs
    for found, is_right in ((vectors, True), (bare, False)):
        texts = [
            difference(got, vector.expected[0], entry, vector.leeway[0])
            for got, vector in zip(results, found, strict=True)
        ]
        assert any(texts) is not is_right


def test_the_leeway_is_that_of_the_numbers_that_cancel(cancelling: Bundle) -> None:
    """300 products of 0.05 and up to 8: sums of 4, and 3e-6 of that is below 1e-4."""
    (entry,) = cancelling.manifest.outputs
    assert 1e-6 < entry.leeway < 1e-4
    rows = json.loads((cancelling.path / "selftest" / "golden.json").read_text())["vectors"]
    assert entry.leeway == max(row["leeway"][0] for row in rows)


def test_nothing_cancels_and_nothing_is_stored() -> None:
    text = compiled(1.0).files["selftest/golden.json"]
    assert "leeway" not in text


def test_a_wrong_output_of_the_size_of_its_summands_is_found() -> None:
    entry = TensorEntry("y", "", (1,), "float32", None, None, 0, 4, exact=False)
    want = np.array([2e-6], np.float32)
    assert difference(want + np.float32(1e-6), want, entry, 2.0**-19) == ""
    assert difference(want + np.float32(3e-6), want, entry, 2.0**-19)


def test_functions_move_outputs_by_their_slope() -> None:
    """A sine of 1000 rounds its operand by 6e-5: nothing cancels, and much is lost."""
    data = onnx_model("Sin", [("x", "float32", (4,))])
    graph = compile_model(data, "m.onnx", Options("m")).imported
    (row,) = leeway([Run(graph, [np.full(4, 1000, np.float32)], [np.sin(np.full(4, 1000.0))])])
    assert 1e-3 < row[0] < 1e-2
    small = np.full(4, 0.5, np.float32)
    assert leeway([Run(graph, [small], [np.sin(small)])]) == [(0.0,)]


def test_changes_on_the_way_do_not_undo_each_other() -> None:
    """A probability near 1 is stored, bounded and stored again before its logarithm, near 0, which
    each of both may move by 2^-24 and more: every run has a leeway.
    """
    model = ModelBuilder()
    x = model.input("x", (1, 2), "float32")
    shares, bounded, logs = (model.tensor(n, (1, 2), "float32") for n in ("p", "q", "l"))
    model.op("SOFTMAX", [x], [shares], {"beta": 1.0})
    least = model.constant("least", np.full((1, 2), 1e-12, np.float32))
    model.op("MAXIMUM", [shares, least], [bounded])
    model.op("LOG", [bounded], [logs])
    y = model.tensor("y", (1,), "float32")
    axis = model.constant("axis", np.array([1], np.int32))
    model.op("REDUCE_MAX", [logs, axis], [y], {"keep_dims": False})
    model.output(y)
    graph = compile_model(model.finish(), "m.tflite", Options("m")).imported
    arguments = [np.array([[12.6, 0.0]], np.float32)]
    rows = leeway([Run(graph, arguments, run_graph(graph, arguments))] * 40)
    assert all(2.0**-21 <= row[0] <= 2.0**-17 for row in rows), rows


def test_integers_have_none() -> None:
    data = onnx_model("Abs", [("x", "int32", (4,))])
    graph = compile_model(data, "m.onnx", Options("m")).imported
    x = np.array([1, -2, 3, -4], np.int32)
    assert leeway([Run(graph, [x], [np.abs(x)])]) == [(0.0,)]
