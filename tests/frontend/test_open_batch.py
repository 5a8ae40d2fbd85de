"""A batch that a file leaves open is 1; other open sizes are asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.frontend.known_inputs import Sizes, open_batches
from glowmcu.frontend.notes import notes_on_file
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.input_options import InputOptions
from glowmcu.ir.types import Shape
from glowmcu.pipeline import reference_graph
from tests.support.check_model import check_model
from tests.support.onnx_models import finished
from tests.support.oracle import run_litert_reference

#: Declared sizes by input, symbols that the user defined, and the shapes that follow.
CASES: dict[str, tuple[dict[str, Sizes | None], dict[str, int], dict[str, Shape]]] = {
    "a symbol": ({"x": ("N", 3, 8, 8)}, {}, {"x": (1, 3, 8, 8)}),
    "nothing": ({"x": (None, 64)}, {}, {"x": (1, 64)}),
    "-1": ({"x": (-1, 64)}, {}, {"x": (1, 64)}),
    "0": ({"x": (0, 64)}, {}, {"x": (1, 64)}),
    "fixed": ({"x": (2, 64)}, {}, {}),
    "unknown rank": ({"x": None}, {}, {}),
    "a vector may be a signal": ({"x": ("N",), "y": (None,)}, {}, {}),
    "two open sizes": ({"x": ("N", "C", 8)}, {}, {}),
    "two open sizes without names": ({"x": (None, None, 8)}, {}, {}),
    "not the first": ({"x": (1, None, 8), "y": (1, "T", 8)}, {}, {}),
    "0 that is not the first": ({"x": (None, 0)}, {}, {"x": (1, 0)}),
    "time comes first": ({"x": ("seq_len", 40), "y": ("Time", 3)}, {}, {}),
    "the other size is defined": ({"x": ("N", "T", 8)}, {"T": 5}, {"x": (1, 5, 8)}),
    "the batch is defined": ({"x": ("N", 8)}, {"N": 4}, {}),
    "a state has the batch elsewhere": (
        {"x": ("N", 8), "h": (2, "N", 16)}, {}, {"x": (1, 8), "h": (2, 1, 16)},
    ),
    "steps in front of one input": (
        {"x": ("T", "N", 8), "mask": ("N", "T")}, {}, {},
    ),
    "inputs with batches of their own": (
        {"a": ("N", 8), "b": ("M", 4)}, {}, {"a": (1, 8), "b": (1, 4)},
    ),
    "one of two is fixed": ({"a": ("N", 8), "b": (3, 4)}, {}, {"a": (1, 8)}),
    "columns of a table": ({"a": (None,), "b": (None,)}, {}, {"a": (1,), "b": (1,)}),
    "columns with a symbol": ({"a": ("N",), "b": ("N",)}, {}, {"a": (1,), "b": (1,)}),
    "signals of one length": ({"a": ("time",), "b": ("time",)}, {}, {}),
    "one vector": ({"a": (None,)}, {}, {}),
    "vectors beside a matrix": ({"a": (None,), "b": (None,), "c": (None, 4)}, {}, {"c": (1, 4)}),
    "a vector of the batch": ({"a": ("N", 4), "b": ("N",)}, {}, {"a": (1, 4), "b": (1,)}),
    "a vector that says so": ({"ids": ("batch_size",)}, {}, {"ids": (1,)}),
}  # fmt: skip


@pytest.mark.parametrize(("inputs", "symbols", "shapes"), CASES.values(), ids=CASES)
def test_an_open_batch_is_one(
    inputs: dict[str, Sizes | None], symbols: dict[str, int], shapes: dict[str, Shape]
) -> None:
    assert open_batches(inputs, InputOptions(symbols=symbols)) == shapes


def magnitudes(shape: Shape, signature: Shape) -> bytes:
    model = ModelBuilder()
    x = model.input("x", shape, "float32", shape_signature=signature)
    y = model.tensor("y", shape, "float32", shape_signature=signature)
    model.op("ABS", [x], [y])
    model.output(y)
    return model.finish()


@pytest.mark.parametrize(
    ("shape", "signature", "asks"),
    [((1,), (-1,), False), ((1, 4), (-1, 4), False), ((4,), (-1,), True), ((1, 4), (1, -1), True)],
    ids=["a batch of one number", "a batch", "a vector", "not the batch"],
)
def test_tflite_files_are_asked_for_sizes_that_are_no_batch(
    shape: Shape, signature: Shape, asks: bool
) -> None:
    if not asks:
        assert (
            reference_graph(magnitudes(shape, signature), "m.tflite").inputs[0].type.shape == shape
        )
        return
    with pytest.raises(GlowmcuError) as caught:
        reference_graph(magnitudes(shape, signature), "m.tflite")
    assert caught.value.code == "GM104"
    assert f"--input-shape x={'x'.join(map(str, shape))}" in caught.value.problems[0].hint


def test_what_the_user_says_comes_first() -> None:
    shapes = InputOptions(shapes={"x": (4, 8)}, bind={"y": np.zeros((3, 8), np.float32)})
    assert open_batches({"x": ("N", 8), "y": ("N", 8)}, shapes) == {}


def relu(sizes: list[Any]) -> bytes:
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    x = onnx.helper.make_tensor_value_info("x", 1, sizes)
    y = onnx.helper.make_tensor_value_info("y", 1, sizes)
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
    data: bytes = onnx.helper.make_model(graph).SerializeToString()
    return data


@pytest.mark.parametrize("batch", ["batch_size", None, -1, 0])
def test_onnx_files_need_no_option_for_it(batch: Any) -> None:
    data = relu([batch, 3, 4])
    assert reference_graph(data, "m.onnx").inputs[0].type.shape == (1, 3, 4)
    assert "it is 1 (x is 1x3x4)" in notes_on_file(data, "m.onnx")[0]


@pytest.mark.parametrize("sizes", [["N", "T", 4], [1, None, 4], ["seq", 4], [None]])
def test_other_open_sizes_are_asked_for(sizes: list[Any]) -> None:
    with pytest.raises(GlowmcuError, match="GM104"):
        reference_graph(relu(sizes), "m.onnx")
    assert notes_on_file(relu(sizes), "m.onnx") == ()


def reshaped(formats: str) -> bytes:
    """Rows of four numbers, of which a reshape makes twelve: a batch of three."""
    if formats == "tflite":
        model = ModelBuilder()
        x = model.input("x", (1, 4), "float32", shape_signature=(-1, 4))
        shape = model.constant("shape", np.array([12], np.int32))
        y = model.tensor("y", (12,), "float32")
        model.op("RESHAPE", [x, shape], [y])
        model.output(y)
        return model.finish()
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    x = onnx.helper.make_tensor_value_info("x", 1, ["N", 4])
    y = onnx.helper.make_tensor_value_info("y", 1, [12])
    shape = onnx.numpy_helper.from_array(np.array([12]), "shape")
    node = onnx.helper.make_node("Reshape", ["x", "shape"], ["y"])
    graph = onnx.helper.make_graph([node], "g", [x], [y], [shape])
    data: bytes = onnx.helper.make_model(graph).SerializeToString()
    return data


@pytest.mark.parametrize("formats", ["tflite", "onnx"])
def test_shapes_that_another_batch_would_fit_say_so(formats: str) -> None:
    data, hint = reshaped(formats), "if that is too few: --input-shape x=4x4, say"
    with pytest.raises(GlowmcuError) as caught:
        reference_graph(data, f"m.{formats}")
    (problem,) = caught.value.problems
    assert problem.code == "GM106"
    assert problem.hint.endswith(hint)
    with pytest.raises(GlowmcuError) as caught:
        reference_graph(data, f"m.{formats}", inputs=InputOptions(shapes={"x": (2, 4)}))
    assert "--input-shape" not in caught.value.problems[0].hint
    assert reference_graph(data, f"m.{formats}", inputs=InputOptions(shapes={"x": (3, 4)}))


def dilated(dtype: str) -> bytes:
    """Keras' causal dilated convolution: phases go into the batch, which the file leaves open."""
    generator = np.random.default_rng(3)
    scale = 0.05 if dtype == "int8" else None
    model = ModelBuilder()

    def tensor(name: str, shape: tuple[int, ...]) -> Any:
        return model.tensor(name, shape, dtype, scale, shape_signature=(-1, *shape[1:]))

    x = model.input("x", (1, 12, 1, 4), dtype, scale, shape_signature=(-1, 12, 1, 4))
    block = model.constant("block", np.array([2, 1], np.int32))
    crops = model.constant("crops", np.zeros((2, 2), np.int32))
    phases, product = tensor("phases", (1, 6, 1, 4)), tensor("product", (1, 4, 1, 3))
    weights = generator.integers(-127, 128, (3, 3, 1, 4)).astype(dtype)
    weights = model.constant("weights", weights, None if scale is None else 0.01)
    bias = np.arange(3, dtype=np.int32 if scale else np.float32)
    bias = model.constant("bias", bias, None if scale is None else 0.05 * 0.01)
    y = tensor("y", (1, 8, 1, 3))
    model.op("SPACE_TO_BATCH_ND", [x, block, crops], [phases])
    options = {"stride_h": 1, "stride_w": 1, "padding": "VALID"}
    model.op("CONV_2D", [phases, weights, bias], [product], options)
    model.op("BATCH_TO_SPACE_ND", [product, block, crops], [y])
    model.output(y)
    return model.finish()


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_a_batch_that_grows_inside_the_network_is_no_contradiction(dtype: str) -> None:
    data = dilated(dtype)
    check_model(data, oracle=run_litert_reference)
    assert "it is 1 (x is 1x12x1x4)" in notes_on_file(data, "m.tflite")[0]


def test_sizes_that_the_file_fixes_still_have_to_agree() -> None:
    model = ModelBuilder()
    x = model.input("x", (1, 4), "int8", 0.5, shape_signature=(-1, 4))
    y = model.tensor("y", (1, 5), "int8", 0.5, shape_signature=(-1, 5))
    model.op("RELU", [x], [y])
    model.output(y)
    with pytest.raises(GlowmcuError, match=r"its result is \(1, 4\), the file declares \(1, 5\)"):
        reference_graph(model.finish(), "m.tflite")


def test_a_size_of_the_export_that_stands_in_a_layer_is_said() -> None:
    """Tracing writes the example's sizes into reshapes, and leaves the input's axis open."""
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ("T", 8))
    shape = onnx.numpy_helper.from_array(np.array([20, 4, 2]), "shape")
    node = onnx.helper.make_node("Reshape", ["x", "shape"], ["y"])
    data = finished(onnx, [node], [x], [onnx.ValueInfoProto(name="y")], [shape])
    graph = reference_graph(data, "m.onnx", inputs=InputOptions(symbols={"T": 20}))
    assert graph.results[0].type.shape == (20, 4, 2)
    with pytest.raises(GlowmcuError, match=r"(?s)GM106.*export anew with a dynamic axis"):
        reference_graph(data, "m.onnx", inputs=InputOptions(symbols={"T": 64}))


def whole_training_set(formats: str) -> bytes:
    """A layer whose input has the shape of all samples, as `torch.onnx.export` leaves it."""
    rows = 789_444
    if formats == "tflite":
        model = ModelBuilder()
        x = model.input("x;0", (rows, 16), "float32")
        y = model.tensor("y", (rows, 16), "float32")
        model.op("RELU", [x], [y])
        model.output(y)
        return model.finish()
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    x = onnx.helper.make_tensor_value_info("x;0", 1, [rows, 16])
    y = onnx.helper.make_tensor_value_info("y", 1, [rows, 16])
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x;0"], ["y"])], "g", [x], [y])
    data: bytes = onnx.helper.make_model(graph).SerializeToString()
    return data


@pytest.mark.parametrize("formats", ["tflite", "onnx"])
def test_a_fixed_batch_that_is_too_large_names_the_option_of_a_batch_of_1(formats: str) -> None:
    data = whole_training_set(formats)
    with pytest.raises(GlowmcuError) as caught:
        reference_graph(data, f"m.{formats}")
    problem = caught.value.problems[0]
    assert problem.code == "GM114"
    assert problem.hint.startswith("--input-shape 'x;0=1x16' if the first axis is a batch; else ")
    found = reference_graph(data, f"m.{formats}", inputs=InputOptions(shapes={"x;0": (1, 16)}))
    assert found.inputs[0].type.shape == (1, 16)
    given = InputOptions(shapes={"x;0": (700_000, 16)})
    with pytest.raises(GlowmcuError) as caught:
        reference_graph(data, f"m.{formats}", inputs=given)
    assert "--input-shape" not in caught.value.problems[0].hint
