"""What lies between layers that learn: activations, normalizations, moved and gathered elements."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glowmcu
from glowmcu.input_options import InputOptions
from glowmcu.ir.interpreter import Session
from glowmcu.pipeline import application_graph
from glowmcu.quant.request import QuantizationRequest
from glowmcu.quant.sample_source import SampleSource
from glowmcu.training import training_of
from tests.learning.test_learning_bundles import compiled, learnt, meaning, samples
from tests.support.onnx_models import Nodes

onnx = pytest.importorskip("onnx", reason="pip install onnx")

_WIDTH = 8
Layer = Callable[[Nodes, str], str]


def _weights(net: Nodes, *shape: int) -> str:
    draw = np.random.default_rng(len(net.constants))
    return net.number(draw.normal(size=shape) / np.sqrt(shape[-1]))


def _dense(net: Nodes, x: str) -> str:
    return net.add(
        "Add", net.add("MatMul", x, _weights(net, _WIDTH, _WIDTH)), _weights(net, _WIDTH)
    )


def _of(kind: str, **attributes: Any) -> Layer:
    return lambda net, x: net.add(kind, x, **attributes)


def _normalized(net: Nodes, x: str) -> str:
    scale, bias = _weights(net, _WIDTH), _weights(net, _WIDTH)
    return net.add("LayerNormalization", x, scale, bias)


def _halves(net: Nodes, x: str) -> str:
    """A gated linear unit."""
    name = f"s{len(net.nodes)}"
    parts = [f"{name}a", f"{name}b"]
    net.nodes.append(onnx.helper.make_node("Split", [x], parts, axis=1, num_outputs=2))
    gated = net.add("Mul", parts[0], net.add("Sigmoid", parts[1]))
    return net.add("Concat", gated, parts[0], axis=1)


def _gathered(net: Nodes, x: str) -> str:
    return net.add("Gather", x, net.number([3, 1, 1, 7, 0, 2, 3, 6], "int64"), axis=1)


def _mirrored(net: Nodes, x: str) -> str:
    wide = net.add("Pad", x, net.number([0, 2, 0, 3], "int64"), mode="reflect")
    return net.add("Slice", wide, *(net.number([n], "int64") for n in (1, 9, 1)))


def _blocks(net: Nodes, x: str) -> str:
    image = net.add("Reshape", x, net.number([1, 2, 2, 2], "int64"))
    moved = net.add("Relu", net.add("SpaceToDepth", image, blocksize=2))
    return net.add("Reshape", moved, net.number([1, 8], "int64"))


def _resized(mode: str, size: int) -> Layer:
    """2x2 pixels of two channels to `size` times as many, in PyTorch's way."""

    def make(net: Nodes, x: str) -> str:
        image = net.add("Reshape", x, net.number([1, 2, 2, 2], "int64"))
        sizes = net.number([1, 2, size, size], "int64")
        how = {"asymmetric": "floor"} if mode == "nearest" else {"half_pixel": "round_prefer_floor"}
        ((place, rounding),) = how.items()
        made = net.add("Resize", image, "", "", sizes, mode=mode, nearest_mode=rounding,
                       coordinate_transformation_mode=place)  # fmt: skip
        flat = net.add("Flatten", made)
        return net.add("Slice", flat, *(net.number([n], "int64") for n in (3, 11, 1)))

    return make


def _convolved(kind: str, shape: tuple[int, ...], group: int) -> Layer:
    """A convolution of 2x2 pixels of two channels."""

    def make(net: Nodes, x: str) -> str:
        image = net.add("Reshape", x, net.number([1, 2, 2, 2], "int64"))
        pads = [0, 0, 1, 1] if kind == "Conv" else [0, 0, 0, 0]
        strides = [1, 1] if kind == "Conv" else [2, 2]
        made = net.add(kind, image, _weights(net, *shape), group=group, pads=pads, strides=strides)
        flat = net.add("Flatten", made)
        return net.add("Slice", flat, *(net.number([n], "int64") for n in (0, 8, 1)))

    return make


LAYERS: dict[str, Layer] = {
    "gelu": _of("Gelu"),
    "gelu by tanh": _of("Gelu", approximate="tanh"),
    "swish": lambda net, x: net.add("Mul", x, net.add("Sigmoid", x)),
    "mish": _of("Mish"),
    "softplus": _of("Softplus"),
    "selu": _of("Selu"),
    "celu": _of("Celu", alpha=0.5),
    "hard sigmoid": _of("HardSigmoid"),
    "erf": _of("Erf"),
    "prelu": lambda net, x: net.add("PRelu", x, _weights(net, _WIDTH)),
    "layer normalization": _normalized,
    "length one": _of("LpNormalization", axis=1),
    "running sums": lambda net, x: net.add("CumSum", x, net.number(1, "int64")),
    "a gate": _halves,
    "gathered": _gathered,
    "mirrored": _mirrored,
    "blocks": _blocks,
    "a convolution of groups": _convolved("Conv", (4, 1, 2, 2), 2),
    "a transposed convolution": _convolved("ConvTranspose", (2, 1, 2, 2), 1),
    "a transposed convolution of groups": _convolved("ConvTranspose", (2, 1, 2, 2), 2),
    "twice the size": _resized("nearest", 4),
    "the next pixels of an odd size": _resized("nearest", 3),
    "means of the next pixels": _resized("linear", 4),
    "tiled": lambda net, x: net.add(
        "Slice", net.add("Tile", x, net.number([1, 2], "int64")),
        *(net.number([n], "int64") for n in (3, 11, 1)),
    ),
}  # fmt: skip


def _model(layer: Layer) -> bytes:
    """Three dense layers, with `layer` behind the first and the second."""
    net = Nodes()
    x = _dense(net, layer(net, _dense(net, layer(net, _dense(net, "x")))))
    net.nodes.append(onnx.helper.make_node("Softmax", [x], ["y"], axis=1))
    helper = onnx.helper
    given, made = (helper.make_tensor_value_info(name, 1, [1, _WIDTH]) for name in "xy")
    graph = helper.make_graph(net.nodes, "net", [given], [made], net.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    return bytes(model.SerializeToString())


def test_transposed_convolutions_are_layers_that_learn() -> None:
    data = _model(LAYERS["a transposed convolution"])
    for what, learns in (("last=1", False), ("last=2", True), ("v3/transpose_conv_2d", True)):
        inputs = InputOptions(training=training_of(what))
        graph = application_graph(data, "net.onnx", inputs=inputs)[0]
        names = [state.value.name for state in graph.states]
        assert any("transpose_conv_2d/weights" in name for name in names) == learns, what


@pytest.mark.parametrize("layer", LAYERS)
def test_c_learns_through_a_layer_what_the_graph_learns(layer: str, tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(_model(LAYERS[layer]))
    options: dict[str, object] = {"train": "last=3", "learning_rate": 0.05, "momentum": 0.5}
    bundle, session = compiled(tmp_path, path, **options), Session(meaning(path, **options))
    data = samples(bundle, 6)
    for (x, number), (loss, output) in zip(data, learnt(bundle, data, "host"), strict=True):
        want = session.run([x, np.array([number], np.int32)])[1]
        np.testing.assert_allclose(loss, want[0], rtol=1e-4, atol=1e-6)
        after = session.run([x, np.array([-1], np.int32)])[0]
        np.testing.assert_allclose(output, after, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(
    "layer", ["a transposed convolution", "twice the size", "means of the next pixels"]
)
def test_a_quantized_model_learns_through_a_layer_what_its_graph_learns(
    layer: str, tmp_path: Path
) -> None:
    path, data = tmp_path / "net.onnx", _model(LAYERS[layer])
    path.write_bytes(data)
    given = np.random.default_rng(3).standard_normal((32, 1, _WIDTH)).astype(np.float32)
    plain = glowmcu.Quantization(search="plain")
    how: dict[str, object] = {"train": "last=3", "learning_rate": 0.05}
    bundle = compiled(tmp_path, path, samples=given, quantization=plain, **how)
    inputs = InputOptions(training=training_of(**how))  # type: ignore[arg-type]
    request = QuantizationRequest(samples=SampleSource(given))
    session = Session(application_graph(data, path.name, request, inputs=inputs)[0])
    steps = samples(bundle, 6)
    for (x, number), (loss, output) in zip(steps, learnt(bundle, steps, "host"), strict=True):
        want = session.run([x, np.array([number], np.int32)])[1]
        np.testing.assert_allclose(loss, want[0], rtol=1e-4, atol=1e-6)
        after = session.run([x, np.array([-1], np.int32)])[0]
        assert np.abs(output.astype(int) - after).max() <= 1
