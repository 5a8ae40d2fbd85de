"""Model inputs that are known at compile time become constants, in either format."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.input_options import InputOptions, bound_text
from glowmcu.ir.interpreter import run_graph
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model


def tflite_model() -> bytes:
    """ADD of two int8 inputs, in a shape that a third one gives."""
    model = ModelBuilder()
    a = model.input("a", (2, 3), "int8", 0.5, 1)
    b = model.input("b", (2, 3), "int8", 0.25, 0)
    shape = model.input("shape", (2,), "int32")
    total = model.tensor("sum", (2, 3), "int8", 0.5, 0)
    model.op("ADD", [a, b], [total])
    y = model.tensor("y", (3, 2), "int8", 0.5, 0)
    model.op("RESHAPE", [total, shape], [y])
    model.output(y)
    return model.finish()


def options(**bind: np.ndarray) -> Options:
    return Options("m", inputs=InputOptions(bind=bind))


SHAPE = np.array([3, -1], np.int32)


def test_a_bound_input_is_no_input_of_the_bundle() -> None:
    compilation = check_model(tflite_model(), options=options(shape=SHAPE))
    assert [entry.name for entry in compilation.manifest.inputs] == ["a", "b"]


def test_a_bound_quantized_input_keeps_its_scale() -> None:
    b = np.array([[1, 2, 3], [4, 5, 6]], np.int8)
    compilation = check_model(tflite_model(), options=options(shape=SHAPE, b=b))
    (entry,) = compilation.manifest.inputs
    whole = compile_model(tflite_model(), "m.tflite", options(shape=SHAPE))
    a = np.array([[-128, 127, 0], [1, 2, 3]], np.int8)
    got = run_graph(compilation.graph, [a])
    want = run_graph(whole.graph, [a, b])
    assert got[0].tolist() == want[0].tolist()
    assert entry.name == "a"


def test_an_operand_that_decides_a_shape_names_the_inputs_behind_it() -> None:
    model = ModelBuilder()
    x = model.input("x", (2, 3), "int8", 0.5, 1)
    shape = model.input("shape", (2,), "int32")
    y = model.tensor("y", (4, 3), "int8", 0.5, 1)
    model.op("TILE", [x, shape], [y])
    model.output(y)
    with pytest.raises(GlowmcuError) as caught:
        compile_model(model.finish(), "m.tflite", Options("m"))
    (problem,) = caught.value.problems
    assert problem.code == "GM112"
    assert problem.bind == ("shape",)
    assert "--bind shape=value.npy" in problem.hint


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (SHAPE.astype(np.int64), "input 'shape' is bound to int64[2]; the model takes int32[2]"),
        (SHAPE[:1], "input 'shape' is bound to int32[1]; the model takes int32[2]"),
        (SHAPE.reshape(1, 2), "input 'shape' is bound to int32[1x2]; the model takes int32[2]"),
    ],
    ids=["type", "size", "rank"],
)
def test_a_value_that_does_not_fit_its_input_is_refused(value: np.ndarray, said: str) -> None:
    with pytest.raises(GlowmcuError) as caught:
        compile_model(tflite_model(), "m.tflite", options(shape=value))
    assert (caught.value.code, caught.value.problems[0].message) == ("GM111", said)


def test_what_is_bound_is_told_by_a_digest_of_value_type_and_shape() -> None:
    texts = [
        bound_text({"s": SHAPE}),
        bound_text({"s": SHAPE.astype(np.int64)}),
        bound_text({"s": SHAPE.reshape(1, 2)}),
        bound_text({"s": SHAPE + 1}),
    ]
    assert len(set(texts)) == 4
    assert bound_text({}) == ""
    assert bound_text({"b": SHAPE, "a": SHAPE}).startswith("a:")
