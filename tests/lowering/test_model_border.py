"""`io` and layouts: the application hands over stored numbers, channels last, and gets such."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import glowmcu
from glowmcu.api import verify_bundle
from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.operation import Signature
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.lowering.model_border import border_notes, with_border
from glowmcu.ops.quantization import Quantize
from glowmcu.option_words import Layout
from glowmcu.pipeline import reference_graph
from tests.support.check_model import check_model
from tests.support.onnx_models import finished
from tests.support.oracle import run_tflm

Array = npt.NDArray[Any]
GENERATOR = np.random.default_rng(5)
SCALE, POINT = 0.047, -11


def image_model(moved: bool = False, twice: bool = False, tail: str = "DEQUANTIZE") -> bytes:
    """float32, QUANTIZE (`moved`: behind padding and a reshape), a convolution, and back to float.

    `twice`: another QUANTIZE reads the input in another scale.
    """
    model = ModelBuilder()
    x = model.input("x", (1, 6, 6, 2) if not moved else (1, 5, 10), "float32")
    real = x
    if moved:
        pads = model.constant("pads", np.array([[0, 0], [0, 1], [0, 2]], np.int32))
        fill = model.constant("fill", np.array(0.31, np.float32))
        real = model.tensor("padded", (1, 6, 12), "float32")
        model.op("PADV2", [x, pads, fill], [real])
        shape = model.constant("shape", np.array([1, 6, 6, 2], np.int32))
        image = model.tensor("image", (1, 6, 6, 2), "float32")
        model.op("RESHAPE", [real, shape], [image])
        real = image
    stored = model.tensor("stored", (1, 6, 6, 2), "int8", SCALE, POINT)
    model.op("QUANTIZE", [real], [stored])
    weights = GENERATOR.integers(-127, 128, (3, 3, 3, 2)).astype(np.int8)
    bias = model.constant("b", np.arange(3, dtype=np.int32), SCALE * 0.01)
    y = model.tensor("y", (1, 4, 4, 3), "int8", 0.1, 7)
    options = {"padding": "VALID", "stride_h": 1, "stride_w": 1}
    model.op("CONV_2D", [stored, model.constant("w", weights, 0.01), bias], [y], options)
    out = model.tensor("out", (1, 4, 4, 3), "float32")
    model.op("DEQUANTIZE", [y], [out])
    if tail != "DEQUANTIZE":
        out, back = model.tensor("end", (1, 4, 4, 3), "float32"), out
        model.op(tail, [back], [out])
    model.output(out)
    if twice:
        other = model.tensor("other", (1, 6, 6, 2), "int8", 0.5, 0)
        model.op("QUANTIZE", [real], [other])
        model.output(other)
    return model.finish()


def quantized(x: Array, element: ElementType, scale: float, point: int) -> Array:
    """What QUANTIZE gives."""
    type_ = TensorType(x.shape, element, Quantization((float(np.float32(scale)),), (point,)))
    signature = Signature((TensorType(x.shape, ElementType.F32),), (type_,))
    graph = reference_graph(image_model(), "m.tflite")
    (stored,) = Quantize().evaluate([x], signature, graph.rounding)
    return stored


def bordered(data: bytes, **options: Any) -> Graph:
    file = "m.tflite" if data[4:8] == b"TFL3" else "m.onnx"
    return with_border(reference_graph(data, file), InputOptions(**options), file)


@pytest.mark.parametrize("moved", [False, True], ids=["at once", "behind padding and a reshape"])
@pytest.mark.parametrize("io", ["int8", "uint8"])
def test_stored_numbers_give_what_quantize_would_have_given(io: str, moved: bool) -> None:
    data = image_model(moved)
    shift, element = (0, ElementType.I8) if io == "int8" else (128, ElementType.UI8)
    options = Options("m", inputs=InputOptions(io=io), simplify=False)
    x = GENERATOR.normal(0, 2, (1, 5, 10) if moved else (1, 6, 6, 2)).astype(np.float32)
    stored = quantized(x, element, SCALE, POINT + shift)
    compilation = check_model(data, [[stored]], options=options)
    (got,) = run_graph(compilation.imported, [stored])
    (real,) = run_tflm(data, [x])
    assert np.array_equal(got, quantized(real, element, 0.1, 7 + shift))
    (entry,), (out,) = compilation.manifest.inputs, compilation.manifest.outputs
    assert (entry.name, entry.dtype, entry.zero_point) == ("x", io, POINT + shift)
    assert (out.name, out.dtype, out.zero_point) == ("out", io, 7 + shift)
    kinds = [run.node.op.name for run in compilation.plan.program.runs]
    assert not {"quantize", "dequantize"} & set(kinds)
    assert f"M_INPUT_ZERO_POINT ({POINT + shift})" in compilation.files["m.h"]


def test_an_int8_model_takes_bytes_of_a_camera() -> None:
    """int8 at zero point -128 is what a pixel of 0 to 255 means."""
    model = ModelBuilder()
    x = model.input("x", (1, 8), "int8", 1 / 255, -128)
    y = model.tensor("y", (1, 8), "int8", 1 / 128, 0)
    model.op("TANH", [x], [y])
    model.output(y)
    data = model.finish()
    options = Options("m", inputs=InputOptions(io="uint8"))
    pixels = GENERATOR.integers(0, 256, (1, 8)).astype(np.uint8)
    compilation = check_model(data, [[pixels]], options=options)
    (got,) = run_graph(compilation.imported, [pixels])
    (want,) = run_tflm(data, [(pixels.astype(int) - 128).astype(np.int8)])
    assert np.array_equal(got.astype(int) - 128, want)


def tanh_model(element: str) -> bytes:
    model = ModelBuilder()
    x = model.input("x", (1, 8), element, 1 / 40, -2 if element == "int8" else 0)
    y = model.tensor("y", (1, 8), element, *((1 / 128, 0) if element == "int8" else (1 / 32768, 0)))
    model.op("TANH", [x], [y])
    model.output(y)
    return model.finish()


@pytest.mark.parametrize("element", ["int8", "int16"])
def test_a_quantized_model_takes_and_gives_real_numbers_where_float_is_asked_for(
    element: str,
) -> None:
    data = tanh_model(element)
    x = GENERATOR.normal(0, 1, (1, 8)).astype(np.float32)
    check_model(data, [[x]], options=Options("m", inputs=InputOptions(io="float")))
    graph = bordered(data, io="float")
    (got,) = run_graph(graph, [x])
    point = -2 if element == "int8" else 0
    kind = ElementType.I8 if element == "int8" else ElementType.I16
    (want,) = run_tflm(data, [quantized(x, kind, 1 / 40, point)])
    scale = np.float32(1 / 128 if element == "int8" else 1 / 32768)
    assert np.array_equal(got, want.astype(np.float32) * scale)
    assert (graph.inputs[0].name, graph.outputs[0].name) == ("x", "y")
    assert border_notes(graph, InputOptions(io="float")) == ()


def test_float_is_what_a_float_model_has_already() -> None:
    data = image_model(tail="TANH")
    nodes = [node.op for node in reference_graph(data, "m.tflite").nodes]
    assert [node.op for node in bordered(data, io="float").nodes] == nodes


def test_float_at_the_border_needs_no_samples_of_a_quantized_model(tmp_path: Path) -> None:
    file = tmp_path / "m.tflite"
    file.write_bytes(tanh_model("int8"))
    bundle = glowmcu.compile(file, output=tmp_path / "out", io="float")
    assert [entry.dtype for entry in bundle.report.inputs] == ["float32"]
    assert verify_bundle(bundle, ["host"], 2, 0, file).passed


def test_what_is_computed_in_float_stays_float_and_is_named() -> None:
    graph = bordered(image_model(tail="TANH"), io="int8")
    assert [str(v.type.element.value) for v in (*graph.inputs, *graph.outputs)] == ["i8", "f32"]
    assert border_notes(graph, InputOptions(io="int8")) == (
        "--io int8: output 'end' stays float32, since it is computed in float",
    )
    graph = bordered(image_model(twice=True), io="int8")
    assert graph.inputs[0].type.element is ElementType.F32
    assert "input 'x' stays float32" in border_notes(graph, InputOptions(io="int8"))[0]


def test_a_float_model_has_no_stored_border() -> None:
    model = ModelBuilder()
    x, y = model.input("x", (1, 8), "float32"), model.tensor("y", (1, 8), "float32")
    model.op("TANH", [x], [y])
    model.output(y)
    with pytest.raises(GlowmcuError, match=r"GM317.*no input that it only quantizes"):
        bordered(model.finish(), io="int8")


def test_words_that_are_no_type_are_refused() -> None:
    with pytest.raises(GlowmcuError, match="GM318"):
        bordered(image_model(), io="int4")


def nchw_model(given: str = "x") -> bytes:
    """A convolution of ONNX, whose result is an image, too."""
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    weights = onnx.numpy_helper.from_array(
        np.random.default_rng(0).normal(size=(4, 3, 3, 3)).astype(np.float32), "w"
    )
    node = onnx.helper.make_node("Conv", [given, "w"], ["y"])
    x = onnx.helper.make_tensor_value_info(given, 1, (1, 3, 8, 6))
    return finished(onnx, [node], [x], [onnx.ValueInfoProto(name="y")], [weights])


def test_channels_last_takes_the_transposition_away() -> None:
    data = nchw_model()
    x = GENERATOR.normal(size=(1, 3, 8, 6)).astype(np.float32)
    (want,) = run_graph(reference_graph(data, "m.onnx"), [x])
    options = Options("m", inputs=InputOptions(nhwc=("x", "y")), simplify=False)
    compilation = check_model(
        data, [[np.ascontiguousarray(x.transpose(0, 2, 3, 1))]], options=options
    )
    (got,) = run_graph(compilation.imported, [x.transpose(0, 2, 3, 1)])
    assert np.array_equal(got, want.transpose(0, 2, 3, 1))
    assert [run.node.op.name for run in compilation.plan.program.runs] == ["conv_2d"]


@pytest.mark.parametrize(
    ("names", "said"),
    [(("z",), "no input or output is named 'z'"), (("v",), "only tensors of rank 4")],
)
def test_layouts_that_cannot_be_are_refused(names: tuple[str, ...], said: str) -> None:
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    v = onnx.helper.make_tensor_value_info("v", 1, (1, 8))
    node = onnx.helper.make_node("Relu", ["v"], ["y"])
    data = finished(onnx, [node], [v], [onnx.ValueInfoProto(name="y")], [])
    with pytest.raises(GlowmcuError, match=f"GM120.*{said}"):
        bordered(data, nhwc=names)


def test_python_and_verify_know_both(tmp_path: Path) -> None:
    file = tmp_path / "m.onnx"
    file.write_bytes(nchw_model())
    bundle = glowmcu.compile(file, output=tmp_path / "out", input_layouts={"x": "nhwc"})
    assert bundle.report.inputs[0].shape == (1, 8, 6, 3)
    assert verify_bundle(bundle, ["host"], 2, 0, file).passed
    file = tmp_path / "m.tflite"
    file.write_bytes(image_model())
    bundle = glowmcu.compile(file, output=tmp_path / "stored", io="uint8")
    assert bundle.report.inputs[0].dtype == "uint8"
    assert verify_bundle(bundle, ["host"], 2, 0, file).passed
    with pytest.raises(GlowmcuError, match="GM121"):
        glowmcu.compile(file, output=tmp_path / "no", input_layouts={"x": "hwc"})


@pytest.mark.parametrize("name", ["a,b", "a=b", "a\\"], ids=["comma", "equals sign", "backslash"])
def test_verify_finds_an_input_by_any_name(name: str, tmp_path: Path) -> None:
    """Names were joined by commas in the bundle, and taken apart where a name had one."""
    file = tmp_path / "m.onnx"
    file.write_bytes(nchw_model(name))
    layouts: dict[str, Layout] = {name: "nhwc"}
    bundle = glowmcu.compile(file, output=tmp_path / "out", input_layouts=layouts)
    assert verify_bundle(bundle, ["host"], 1, 0, file).passed


def qoperator_model() -> bytes:
    """Convolution, pool on bytes, convolution; the bytes between them say nothing of a scale."""
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    from_array, node = onnx.numpy_helper.from_array, onnx.helper.make_node
    constants = [
        from_array(np.array(0.05, np.float32), "s"), from_array(np.array(120, np.uint8), "z"),
        from_array(np.array(0.01, np.float32), "ws"), from_array(np.array(0, np.int8), "wz"),
        from_array(GENERATOR.integers(-99, 99, (4, 3, 3, 3)).astype(np.int8), "w"),
        from_array(GENERATOR.integers(-99, 99, (2, 4, 1, 1)).astype(np.int8), "v"),
    ]  # fmt: skip
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        node("QLinearConv", ["q", "s", "z", "w", "ws", "wz", "s", "z"], ["c"]),
        node("MaxPool", ["c"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        node("QLinearConv", ["p", "s", "z", "v", "ws", "wz", "s", "z"], ["d"]),
        node("DequantizeLinear", ["d", "s", "z"], ["y"]),
    ]
    x = onnx.helper.make_tensor_value_info("x", 1, (1, 3, 10, 10))
    return finished(onnx, nodes, [x], [onnx.ValueInfoProto(name="y")], constants, 13)


def test_a_qoperator_file_computes_on_int8_from_end_to_end() -> None:
    """The pool stood between transpositions, a reshape and two requantizations."""
    inputs = InputOptions(io="int8", nhwc=("x", "y"))
    compilation = check_model(qoperator_model(), options=Options("m", inputs=inputs))
    kinds = [run.node.op.name for run in compilation.plan.program.runs]
    assert kinds == ["conv_2d", "max_pool_2d", "conv_2d"]


def test_an_image_with_channels_last_streams() -> None:
    inputs = InputOptions(io="int8", nhwc=("x",), streamed=("x",))
    compilation = check_model(qoperator_model(), options=Options("m", inputs=inputs))
    assert compilation.manifest.streamed_input == 0
    with pytest.raises(GlowmcuError, match="GM409") as caught:
        check_model(qoperator_model(), options=Options("m", inputs=replace(inputs, nhwc=())))
    (problem,) = caught.value.problems
    assert problem.where.startswith("model."), "the file, not a name inside of it"
    assert "--input-layout x=nhwc" in problem.hint


@pytest.mark.parametrize("is_turned", [False, True], ids=["by channels", "by time steps"])
def test_sound_by_channels_is_told_to_come_by_time_steps_which_streams(is_turned: bool) -> None:
    """Layouts are of images: the advice to give one to a signal led to GM120."""
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    weights = onnx.numpy_helper.from_array(GENERATOR.normal(size=(4, 3, 3)).astype("f4"), "w")
    turn = onnx.helper.make_node("Transpose", ["x"], ["t"], perm=[0, 2, 1])
    conv = onnx.helper.make_node("Conv", ["t" if is_turned else "x", "w"], ["y"])
    x = onnx.helper.make_tensor_value_info("x", 1, (1, 40, 3) if is_turned else (1, 3, 40))
    nodes = [turn, conv] if is_turned else [conv]
    model = finished(onnx, nodes, [x], [onnx.ValueInfoProto(name="y")], [weights], 13)
    options = Options("m", inputs=InputOptions(streamed=("x",)))
    if is_turned:
        assert check_model(model, options=options).manifest.streamed_input == 0
        return
    with pytest.raises(GlowmcuError, match="GM409") as caught:
        check_model(model, options=options)
    assert "an input [1, time, channels] that it transposes itself" in caught.value.problems[0].hint
