"""Pairs of int16 and uint16: onnxruntime's quantizer makes the files, and it computes them, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import glowmcu
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.notes import notes_on_file
from glowmcu.frontend.onnx.pair_forms import Form, around_zero, form_of, is_as_fine
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.ops.normalization import LogSoftmax, Softmax
from glowmcu.ops.quantization import Dequantize, Quantize
from glowmcu.pipeline import reference_graph
from tests.frontend.test_fold_qdq import Samples, float_model, input_shape, last_scale
from tests.support.check_model import check_model
from tests.support.onnx_models import finished, run_onnxruntime, skip_before_onnxruntime_1_24

onnx = pytest.importorskip("onnx", reason="pip install onnx")
pytest.importorskip("onnxruntime", reason="pip install onnxruntime", minversion="1.16")
quantization = pytest.importorskip("onnxruntime.quantization")
Array = npt.NDArray[Any]
F32 = onnx.TensorProto.FLOAT


def quantized(
    name: str, folder: Path, activations: str, symmetric: bool, weights: str = "QInt8"
) -> bytes:
    """A network of `float_model` as QDQ."""
    if symmetric and activations == "QUInt16":
        skip_before_onnxruntime_1_24("writes 32767 for the middle of uint16")
    data = float_model(name)
    source, target = folder / "float.onnx", folder / "qdq.onnx"
    source.write_bytes(data)
    quantization.quantize_static(
        str(source), str(target), Samples(input_shape(data)),
        quant_format=quantization.QuantFormat.QDQ,
        activation_type=getattr(quantization.QuantType, activations),
        weight_type=getattr(quantization.QuantType, weights),
        per_channel=symmetric,
        op_types_to_quantize=["Conv", "Relu", "Add", "MaxPool", "Gemm", "Tanh", "HardSigmoid",
                              "Softmax", "Flatten"],
        extra_options={"ActivationSymmetric": symmetric},
    )  # fmt: skip
    return target.read_bytes()


@pytest.mark.parametrize("activations", ["QInt16", "QUInt16"])
@pytest.mark.parametrize(
    ("name", "symmetric", "steps"),
    [
        ("layers", True, 1), ("layers", False, 2),
        ("convolutions", True, 2), ("convolutions", False, 4),
        ("functions", True, 2), ("functions", False, 3),
    ],
)  # fmt: skip
def test_a_file_of_16_bits_is_an_integer_graph(
    name: str, symmetric: bool, steps: int, activations: str, tmp_path: Path
) -> None:
    """A step is 2^-16 of a tensor's range; stored around zero it may be twice as wide."""
    data = quantized(name, tmp_path, activations, symmetric)
    graph = reference_graph(data, "m.onnx")
    inner = [node for node in graph.nodes if not isinstance(node.op, Quantize | Dequantize)]
    floats = [n.op.name for n in inner if n.output.type.element is ElementType.F32]
    assert not floats
    generator = np.random.default_rng(9)
    shape = graph.inputs[0].type.shape
    inputs = [[generator.normal(size=shape).astype(np.float32)] for _ in range(4)]
    compilation = check_model(data, inputs)
    clips = [node for node in compilation.graph.nodes if node.op.name == "clip"]
    assert len(clips) <= (0 if symmetric else 1 + 3 * (name == "functions"))
    found = [
        np.abs(run_graph(graph, x)[0] - run_onnxruntime(data, x)[0]) / last_scale(graph)
        for x in inputs
    ]
    assert np.max(found) <= steps + 0.02


def i16(scale: float, point: int) -> TensorType:
    return TensorType((2,), ElementType.I16, Quantization((scale,), (point,)))


@pytest.mark.parametrize(
    ("point", "scale", "clamp"),
    [
        (0, 0.5, None),
        (1, 0.5 * 32769 / 32767, (-32767, 32764)),
        (-1, 0.5 * 32768 / 32767, (-32766, 32767)),
        (-32768, 0.5 * 65535 / 32767, (0, 32767)),
        (32767, 0.5 * 65535 / 32767, (-32767, 0)),
        (10000, 0.5 * 42768 / 32767, (-32767, 17443)),
    ],
)
def test_int16_is_stored_around_zero(
    point: int, scale: float, clamp: tuple[int, int] | None
) -> None:
    wanted = Form(ElementType.I16, Quantization((float(np.float32(scale)),), (0,)), clamp)
    assert form_of(i16(0.5, point)) == wanted


def test_int16_of_int8_is_the_same_number_or_as_fine_as_its_range_allows() -> None:
    form = form_of(TensorType((1,), ElementType.UI8, Quantization((0.25,), (28,))))
    assert form == Form(ElementType.I8, Quantization((0.25,), (-100,)))
    assert form.widened() == Form(ElementType.I16, Quantization((0.25,), (0,)))
    fine = float(np.float32(0.25 * 227 / 32767))
    assert form.refined() == Form(ElementType.I16, Quantization((fine,), (0,)))
    assert form.refined().refined() == form.refined().widened() == form.refined()


def test_real_numbers_are_rounded_and_end_with_the_type() -> None:
    form = Form(ElementType.I16, Quantization((0.5,), (0,)))
    stored = form.stored(np.float32([0.25, 0.75, -1.0, 1e6, -1e6]))
    assert (stored.dtype, stored.tolist()) == (np.int16, [0, 2, -2, 32767, -32768])


def i8(scale: float, point: int) -> Form:
    return Form(ElementType.I8, Quantization((scale,), (point,)))


@pytest.mark.parametrize(("fixed", "wanted", "is_fine", "is_of_logarithm"), [
    (around_zero(2.0), i8(1.0, 0), True, True),
    (around_zero(2.001), i8(1.0, 0), False, False),
    (around_zero(1.0), i8(0.25, 0), False, False),
    (i8(0.25, -128), i8(0.25, 5), True, False),
    (i8(0.25, -128), i8(0.249, -128), False, False),
    (i8(0.7, -128), i8(float(np.float32(0.7)), -128), True, True),
    # A logarithm ends a step above -16, and others tell less.
    (i8(0.0625, 127), i8(0.0625, 127), True, True),
    (i8(0.0625, 127), i8(0.09375, 43), True, True),
    (i8(0.0625, 127), i8(0.09375, 44), True, False),
])  # fmt: skip
def test_an_operator_has_its_own_form_where_that_loses_nothing(
    fixed: Form, wanted: Form, is_fine: bool, is_of_logarithm: bool
) -> None:
    assert is_as_fine(fixed, wanted, Softmax(1.0)) is is_fine
    assert is_as_fine(fixed, wanted, LogSoftmax()) is is_of_logarithm


def value(name: str, element: int, *shape: int) -> Any:
    return onnx.helper.make_tensor_value_info(name, element, shape)


def model(
    nodes: list[Any], constants: dict[str, Array], outputs: list[Any], opset: int = 21
) -> bytes:
    data = [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()]
    return finished(onnx, nodes, [value("x", F32, 1, 64)], outputs, data, opset)


def node(kind: str, inputs: str, outputs: str, **attributes: Any) -> Any:
    return onnx.helper.make_node(kind, inputs.split(), outputs.split(), **attributes)


X = np.linspace(-3, 3, 64, dtype=np.float32).reshape(1, 64)
SCALES = {"s": np.float32(2e-4), "t": np.float32(0.03)}


def pair(name: str, scale: str, point: str, made: str) -> list[Any]:
    return [
        node("QuantizeLinear", f"{name} {scale} {point}", f"{name}/q"),
        node("DequantizeLinear", f"{name}/q {scale} {point}", made),
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (np.int16(0), np.int8(3)), (np.int8(3), np.int16(0)), (np.uint16(32768), np.uint8(100)),
        (np.uint8(100), np.uint16(40000)), (np.int16(-32768), np.int8(-128)),
    ],
)  # fmt: skip
def test_where_one_tensor_has_16_bits_all_of_an_operator_have(first: Any, second: Any) -> None:
    """A sum of x and x/2, between two kinds of pairs."""
    scales = ["s" if np.dtype(p.dtype).itemsize == 2 else "t" for p in (first, second)]
    nodes = [
        *pair("x", scales[0], "z0", "a"), *pair("h", scales[1], "z1", "b"),
        node("Add", "a b", "y"), *pair("y", "t", "z2", "z"),
    ]  # fmt: skip
    nodes.insert(0, node("Mul", "x half", "h"))
    constants = {**SCALES, "z0": np.array(first), "z1": np.array(second), "z2": np.array(5, "i1")}
    data = model(nodes, {**constants, "half": np.float32(0.5)}, [value("z", F32, 1, 64)])
    compilation = check_model(data, [[X]])
    (add,) = [n for n in compilation.imported.nodes if n.op.name == "add"]
    assert {v.type.element for v in (*add.inputs, *add.outputs)} == {ElementType.I16}
    (got,), (want,) = run_graph(compilation.imported, [X]), run_onnxruntime(data, [X])
    assert np.abs(got - want).max() <= 0.0301


def test_what_the_files_own_type_cuts_off_is_cut_off_here() -> None:
    """uint16 around 0 is a rectifier."""
    nodes = [*pair("x", "s", "z", "a"), node("Identity", "a", "y")]
    data = model(nodes, {**SCALES, "z": np.array(0, np.uint16)}, [value("y", F32, 1, 64)])
    compilation = check_model(data, [[X]])
    (got,), (want,) = run_graph(compilation.imported, [X]), run_onnxruntime(data, [X])
    assert got.min() == want.min() == 0
    assert np.abs(got - want).max() <= 1.5 * 2e-4


def test_a_zero_point_that_is_left_out_is_0_of_uint16() -> None:
    nodes = [
        node("QuantizeLinear", "x s", "q", output_dtype=onnx.TensorProto.UINT16),
        node("DequantizeLinear", "q s", "a"), node("DequantizeLinear", "c s", "b"),
        node("Add", "a b", "y"), *pair("y", "s", "z", "r"),
    ]  # fmt: skip
    stored = (np.arange(64) * 1000).astype(np.uint16).reshape(1, 64)
    constants = {**SCALES, "c": stored, "z": np.array(0, np.uint16)}
    data = model(nodes, constants, [value("r", F32, 1, 64)])
    compilation = check_model(data, [[X]])
    assert [n.op.name for n in compilation.imported.nodes if n.op.name == "add"] == ["add"]
    (got,), (want,) = run_graph(compilation.imported, [X]), run_onnxruntime(data, [X])
    assert np.abs(got - want).max() <= 3 * 2e-4


@pytest.mark.parametrize("reader", ["Cast", "output", "weights of Gather"])
def test_uint16_that_others_read_is_refused(reader: str) -> None:
    nodes = pair("x", "s", "z", "a")
    outputs = [value("a", F32, 1, 64)]
    if reader == "Cast":
        nodes.append(node("Cast", "x/q", "y", to=F32))
        outputs.append(value("y", F32, 1, 64))
    elif reader == "output":
        outputs.append(value("x/q", onnx.TensorProto.UINT16, 1, 64))
    else:
        nodes.append(node("Shape", "z", "y"))
        outputs.append(value("y", onnx.TensorProto.INT64, 0))
    data = model(nodes, {**SCALES, "z": np.array(32768, np.uint16)}, outputs)
    with pytest.raises(GlowmcuError, match=r"GM105.*UINT16"):
        reference_graph(data, "m.onnx")


@pytest.mark.parametrize("scales", [(1e30, 1e-30), (1e-30, 1e30), (3.4e38, 1.0), (1e-44, 1e-44)])
@pytest.mark.parametrize(
    ("first", "second"),
    [(np.int8(3), np.int8(4)), (np.int16(9), np.int16(0)), (np.int16(-32768), np.int8(4))],
)
def test_scales_that_are_far_apart_are_real_in_between(
    scales: tuple[float, float], first: Any, second: Any
) -> None:
    """No multiplier of a rescaling is so large, nor a step of int16 beyond float32."""
    nodes = [*pair("x", "s", "z0", "a"), *pair("a", "t", "z1", "b"), node("Identity", "b", "y")]
    constants = {"z0": np.array(first), "z1": np.array(second)}
    constants |= {name: np.float32(scale) for name, scale in zip("st", scales, strict=True)}
    data = model(nodes, constants, [value("y", F32, 1, 64)])
    with np.errstate(over="ignore"):
        compilation = check_model(data, [[X]])
        (got,), (want,) = run_graph(compilation.imported, [X]), run_onnxruntime(data, [X])
    smallest = 2.0**-126  # that float32 has with all digits
    far = np.abs(got.astype(np.float64) - want)
    assert far.max() <= 1.5 * max(*scales, smallest)


@pytest.mark.parametrize("kind", ["short", "beside the model"])
def test_damaged_uint16_is_refused_where_it_is_read(kind: str) -> None:
    nodes = [
        *pair("x", "s", "z", "a"),
        node("DequantizeLinear", "c s z", "b"),
        node("Add", "a b", "y"),
    ]
    constants = {**SCALES, "z": np.array(32768, np.uint16), "c": np.zeros((1, 64), np.uint16)}
    made = onnx.load_model_from_string(model(nodes, constants, [value("y", F32, 1, 64)]))
    (tensor,) = [item for item in made.graph.initializer if item.name == "c"]
    if kind == "short":
        tensor.raw_data = b"\0\0\0"
    else:
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="weights.bin")
    with pytest.raises(GlowmcuError, match=r"GM1\d\d.*'[cz]' is UINT16"):
        reference_graph(made.SerializeToString(), "m.onnx")


def test_a_file_says_what_becomes_of_its_16_bits(tmp_path: Path) -> None:
    for activations, symmetric in (("QInt16", True), ("QUInt16", True)):
        data = quantized("layers", tmp_path, activations, symmetric)
        assert notes_on_file(data, "m.onnx") == ()
    data = quantized("layers", tmp_path, "QUInt16", False)
    (note,) = notes_on_file(data, "m.onnx")
    assert "3 tensors of 16 bits" in note
    assert "ActivationSymmetric" in note
    data = quantized("layers", tmp_path, "QInt16", True, "QInt16")
    (note,) = notes_on_file(data, "m.onnx")
    assert "2 layers have weights of 16 bits" in note
    assert "fully_connected:f32" in {
        f"{n.op.name}:{n.output.type.element.value}" for n in reference_graph(data, "m.onnx").nodes
    }


@pytest.mark.parametrize(
    ("weights", "point", "count"),
    [("uint8", 128, 0), ("uint8", 110, 1), ("int8", 0, 0), ("int8", -20, 1)],
)
def test_a_file_says_where_weights_are_rounded_again(weights: str, point: int, count: int) -> None:
    data = np.arange(64 * 3, dtype=np.uint8).reshape(64, 3).view(weights)
    nodes = [
        *pair("x", "s", "z", "a"), node("DequantizeLinear", "w s p", "b"),
        node("MatMul", "a b", "c"), *pair("c", "s", "z", "y"),
    ]  # fmt: skip
    constants = {**SCALES, "w": data, "p": np.array(point, weights)}
    for kind, middle, notes in (("uint16", 32768, count), ("uint8", 128, 0)):
        made = model(nodes, {**constants, "z": np.array(middle, kind)}, [value("y", F32, 1, 3)])
        found = [note for note in notes_on_file(made, "m.onnx") if "WeightSymmetric" in note]
        assert len(found) == notes
        assert all(note.startswith("1 layer has weights of 8 bits") for note in found)


def test_a_zero_point_beside_the_model_is_not_opened_for_a_note(tmp_path: Path) -> None:
    nodes = [*pair("x", "s", "z", "a"), node("Identity", "a", "y")]
    constants = {**SCALES, "z": np.array(9, np.int16)}
    made = onnx.load_model_from_string(model(nodes, constants, [value("y", F32, 1, 64)]))
    assert "1 tensor of 16 bits has" in notes_on_file(made.SerializeToString(), "m.onnx")[0]
    (tensor,) = [item for item in made.graph.initializer if item.name == "z"]
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="/etc/hostname")
    assert notes_on_file(made.SerializeToString(), "m.onnx") == ()


def test_a_model_of_16_bits_is_not_called_one_of_float(tmp_path: Path) -> None:
    data = quantized("functions", tmp_path, "QInt16", True)
    bundle = glowmcu.compile(data, output=tmp_path / "bundle", name="m")
    assert not [note for note in bundle.notes if "float" in note]
