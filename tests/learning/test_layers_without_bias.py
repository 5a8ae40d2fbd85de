"""A layer without a bias learns its weights alone; a bias of zeros that the file has is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import Session
from glowmcu.ir.operation import Array
from glowmcu.learning.layers import trained_layers
from glowmcu.pipeline import application_graph
from glowmcu.quant.request import QuantizationRequest
from glowmcu.quant.sample_source import SampleSource
from glowmcu.training import training_of
from tests.support.onnx_models import Nodes, finished, onnx_model
from tests.support.single_op import Tensor, single_op_model

_RATE, _STEPS = 0.1, 3
Product = Callable[[Array, Array], Array]


def _convolved(x: Array, w: Array) -> Array:
    rows = [[np.tensordot(w, x[0, :, i : i + 2, j : j + 2], 3) for j in (0, 1)] for i in (0, 1)]
    return np.moveaxis(np.array(rows), 2, 0)[np.newaxis]


def _by_channel(x: Array, w: Array) -> Array:
    planes = [_convolved(x[:, c : c + 1], w[c : c + 1]) for c in range(len(w))]
    return np.concatenate(planes, 1)


def _transposed(x: Array, w: Array) -> Array:
    """Windows that lie beside each other."""
    spread = np.einsum("cij,coab->oiajb", x[0], w)
    return spread.reshape(1, w.shape[1], 2 * x.shape[2], 2 * x.shape[3])


#: Operator, shapes of image and weights, attributes, and the product.
KINDS: dict[str, tuple[str, tuple[int, ...], tuple[int, ...], dict[str, Any], Product]] = {
    "product": ("MatMul", (1, 4), (4, 3), {}, np.matmul),
    "gemm": ("Gemm", (1, 4), (4, 3), {}, np.matmul),
    "convolution": ("Conv", (1, 2, 3, 3), (3, 2, 2, 2), {}, _convolved),
    "depthwise": ("Conv", (1, 2, 3, 3), (2, 1, 2, 2), {"group": 2}, _by_channel),
    "transposed": ("ConvTranspose", (1, 2, 2, 2), (2, 3, 2, 2), {"strides": [2, 2]}, _transposed),
}


def _learning(data: bytes, name: str, what: str = "last=1", numbers: str = "float32") -> Graph:
    training = training_of(what, "squared-error", learning_rate=_RATE, numbers=numbers)
    return application_graph(data, name, inputs=InputOptions(training=training))[0]


def _parameters(graph: Graph) -> list[str]:
    names = (state.value.name.rpartition("/")[2] for state in graph.states)
    return [name for name in names if name in ("weights", "bias")]


def _said(graph: Graph, x: Array, target: Array) -> list[Array]:
    """Results before each step and behind the last."""
    session, one = Session(graph), np.zeros(1, np.int32)
    return [session.run([x, target, one])[0] for _ in range(_STEPS + 1)]


def _descended(product: Product, x: Array, weights: Array, target: Array) -> list[Array]:
    """The same by plain steps: results are linear in each weight."""
    w, found = weights.astype(np.float64), list[Array]()
    units = np.eye(w.size).reshape(-1, *w.shape)
    for _ in range(_STEPS + 1):
        found.append(product(x, w))
        error = 2 / target.size * (found[-1] - target)
        slopes = [float((error * product(x, unit)).sum()) for unit in units]
        w = w - _RATE * np.reshape(slopes, w.shape)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_onnx_layers_without_a_bias_learn_their_weights_alone(kind: str) -> None:
    name, shape, weights_shape, attributes, product = KINDS[kind]
    random = np.random.default_rng(3)
    x, weights = (random.standard_normal(s).astype(np.float32) for s in (shape, weights_shape))
    graph = _learning(onnx_model(name, [("x", "float32", shape), weights], attributes), "m.onnx")
    target = random.standard_normal(graph.results[0].type.shape).astype(np.float32)
    assert _parameters(graph) == ["weights"]
    wanted = _descended(product, x, weights, target)
    np.testing.assert_allclose(_said(graph, x, target), wanted, rtol=1e-4, atol=1e-5)


def _dense(*bias: Array) -> bytes:
    """A fully connected layer of .tflite."""
    weights = np.random.default_rng(4).standard_normal((3, 4)).astype(np.float32)
    operands = [Tensor((1, 4), "float32"), weights, *bias]
    return single_op_model("FULLY_CONNECTED", operands, [Tensor((1, 3), "float32")], {})


def test_a_tflite_layer_without_a_bias_learns_its_weights_alone() -> None:
    random = np.random.default_rng(4)
    weights = random.standard_normal((3, 4)).astype(np.float32)
    x, target = (random.standard_normal((1, n)).astype(np.float32) for n in (4, 3))
    graph = _learning(_dense(), "m.tflite")
    assert _parameters(graph) == ["weights"]
    wanted = _descended(lambda a, w: a @ w.T, x, weights, target)
    np.testing.assert_allclose(_said(graph, x, target), wanted, rtol=1e-4, atol=1e-5)


def test_a_bias_of_zeros_that_the_file_has_learns() -> None:
    zeros = np.zeros(3, np.float32)
    assert _parameters(_learning(_dense(zeros), "m.tflite")) == ["weights", "bias"]
    weights = np.ones((4, 3), np.float32)
    data = onnx_model("Gemm", [("x", "float32", (1, 4)), weights, zeros])
    assert _parameters(_learning(data, "m.onnx")) == ["weights", "bias"]


@pytest.mark.parametrize("numbers", ["float32", "fixed"])
def test_int8_layers_whose_file_has_no_bias_learn_none(numbers: str) -> None:
    model, weights = ModelBuilder(), np.random.default_rng(5).integers(-90, 90, (3, 4))
    x, out = model.input("x", (1, 4), "int8", 0.05, 3), model.tensor("y", (1, 3), "int8", 0.1, 1)
    model.op("FULLY_CONNECTED", [x, model.constant("w", weights.astype(np.int8), 0.01)], [out], {})
    model.output(out)
    training = training_of("last=1", learning_rate=_RATE, numbers=numbers)
    inputs = InputOptions(training=training)
    graph = application_graph(model.finish(), "m.tflite", inputs=inputs)[0]
    assert _parameters(graph) == ["weights"]
    session, given = Session(graph), np.int8([[1, -50, 90, 7]])
    losses = [float(session.run([given, np.int32([1])])[1][0]) for _ in range(5)]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]


@pytest.mark.parametrize(("kind", "layers"), [("CONV_2D", 1), ("DEPTHWISE_CONV_2D", 2)])
def test_layers_whose_weights_are_beyond_int8_have_no_bias_either(kind: str, layers: int) -> None:
    """Parts of a filter, filters aside, and filters that give one number whatever they see."""
    model, is_plain = ModelBuilder(), kind == "CONV_2D"
    shape = (8, 2, 2, 8) if is_plain else (1, 2, 2, 8)
    weights = np.random.default_rng(6).integers(60, 141, shape).astype(np.uint8)
    filters = weights if is_plain else np.moveaxis(weights, 3, 0)
    filters[0, :, 0], filters[0, :, 1], filters[1] = 250, 60, 255
    x, w = model.input("x", (1, 3, 3, 8), "uint8", 0.04, 0), model.constant("w", weights, 0.01, 100)
    out = model.tensor("y", (1, 2, 2, 8), "uint8", 0.013, 255)
    options: dict[str, Any] = {"padding": "VALID", "stride_w": 1, "stride_h": 1}
    if not is_plain:
        options["depth_multiplier"] = 1
    model.op(kind, [x, w], [out], options)
    model.output(out)
    graph, asked = application_graph(model.finish(), "m.tflite")[0], training_of(f"last={layers}")
    assert asked is not None
    found = trained_layers(graph, asked, "m.tflite")
    assert [word for layer in found for _, word in layer.parameters] == ["weights"] * layers


def _two_layers() -> bytes:
    """A layer without a bias, scaled, and one with a bias of zeros, of as many channels."""
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    net, random = Nodes(), np.random.default_rng(6)
    scale = net.number([[0.5, 2.0, 1.0, 3.0]])
    first = net.add("MatMul", "x", net.number(random.standard_normal((4, 4))), name="first")
    hidden = net.add("Relu", net.add("Mul", first, scale))
    weights, zeros = net.number(random.standard_normal((4, 4))), net.number(np.zeros(4))
    result = net.add("Gemm", hidden, weights, zeros, name="second")
    values = [onnx.helper.make_tensor_value_info(name, 1, (1, 4)) for name in ("x", result)]
    return finished(onnx, net.nodes, values[:1], values[1:], net.constants)


@pytest.mark.parametrize("numbers", ["float32", "fixed"])
def test_a_model_that_is_quantized_here_has_the_same_parameters(numbers: str) -> None:
    samples = np.random.default_rng(7).standard_normal((32, 1, 4)).astype(np.float32)
    request = QuantizationRequest(samples=SampleSource(samples))
    inputs = InputOptions(training=training_of("last=2", numbers=numbers))
    graph = application_graph(_two_layers(), "m.onnx", request, inputs=inputs)[0]
    assert _parameters(graph) == ["weights", "weights", "bias"]


def test_the_gain_of_a_normalization_brings_no_bias_to_the_layer_that_takes_it() -> None:
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    net, random = Nodes(), np.random.default_rng(8)
    normal = net.add("LayerNormalization", "x", net.number([0.5, 2.0, 1.0, 3.0]))
    result = net.add("MatMul", normal, net.number(random.standard_normal((4, 4))))
    values = [onnx.helper.make_tensor_value_info(name, 1, (1, 4)) for name in ("x", result)]
    data = finished(onnx, net.nodes, values[:1], values[1:], net.constants)
    request = QuantizationRequest(samples=SampleSource(random.standard_normal((32, 1, 4))))
    inputs = InputOptions(training=training_of("last=1", numbers="float32"))
    graph = application_graph(data, "m.onnx", request, inputs=inputs)[0]
    assert _parameters(graph) == ["weights"]


def test_biases_alone_learn_where_there_are_some_and_are_missed_where_one_is_named() -> None:
    plain = application_graph(_two_layers(), "m.onnx")[0]
    first, second = (node for node in plain.nodes if node.op.name == "fully_connected")
    assert _parameters(_learning(_two_layers(), "m.onnx", "bias")) == ["bias"]
    assert _parameters(_learning(_two_layers(), "m.onnx", f"{second.name},bias")) == ["bias"]
    with pytest.raises(GlowmcuError, match=f"GM360.*'{first.name}' has no bias"):
        _learning(_two_layers(), "m.onnx", f"{first.name},bias")
    with pytest.raises(GlowmcuError, match=r"GM360.*these layers have no biases"):
        _learning(_dense(), "m.tflite", "last=1,bias")
