"""Biases that layers share learn as one in int8, too, where each layer stores its own; equal ones
of a file learn apart.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glowmcu
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import Session, run_graph
from glowmcu.pipeline import application_graph
from glowmcu.quant.request import QuantizationRequest
from glowmcu.quant.sample_source import SampleSource
from glowmcu.training import training_of
from tests.support.onnx_models import finished

onnx = pytest.importorskip("onnx", reason="pip install onnx")

SAMPLES = np.random.default_rng(2).standard_normal((32, 1, 4)).astype(np.float32)


def model(own: float | None = None) -> bytes:
    """Two dense layers with weights of their own and one bias, or one of this number each."""
    node, value = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    random = np.random.default_rng(1)
    arrays = {
        "w1": random.normal(0, 0.6, (4, 4)).astype(np.float32),
        "w2": random.normal(0, 0.3, (4, 4)).astype(np.float32),
        "b": np.float32([0.2, -0.1, 0.4, 0.3]),
    }
    if own is not None:
        arrays |= {"b": np.full(4, own, np.float32), "b2": np.full(4, own, np.float32)}
    nodes = [
        node("Gemm", ["x", "w1", "b"], ["h"], "first"),
        node("Relu", ["h"], ["r"], "relu"),
        node("Gemm", ["r", "w2", "b" if own is None else "b2"], ["y"], "second"),
    ]
    initializers = [onnx.numpy_helper.from_array(data, name) for name, data in arrays.items()]
    inputs, outputs = [value("x", 1, (1, 4))], [value("y", 1, (1, 4))]
    return finished(onnx, nodes, inputs, outputs, initializers)


def learning(is_int8: bool, what: str = "bias", **options: Any) -> Graph:
    training = training_of(what, learning_rate=0.05, **options)
    request = QuantizationRequest(samples=SampleSource(SAMPLES)) if is_int8 else None
    inputs = InputOptions(training=training)
    return application_graph(model(), "m.onnx", request, inputs=inputs)[0]


def moved(graph: Graph, steps: int = 4) -> dict[str, np.ndarray]:
    """How far the biases went, as they are stored."""
    now = [state.initial for state in graph.states]
    (x, *_) = graph.arguments
    for sample, number in zip(SAMPLES, range(steps), strict=False):
        real = sample
        if not x.type.element.is_float:
            real = np.clip(np.rint(sample / x.type.scale) + x.type.zero_point, -128, 127)
        given = real.astype(x.type.element.numpy)
        outputs = run_graph(graph, [given, np.array([number % 4], np.int32), *now])
        now = outputs[len(graph.results) :]
    pairs = zip(graph.states, now, strict=True)
    return {s.value.name: n - s.initial for s, n in pairs if s.value.name.endswith("/bias")}


def test_in_real_numbers_they_are_one_parameter() -> None:
    (wanted,) = moved(learning(False, numbers="float32")).values()
    (found,) = moved(learning(True, numbers="float32")).values()
    assert np.abs(wanted).max() > 0.01
    np.testing.assert_allclose(found, wanted, atol=0.1 * np.abs(wanted).max())


def test_in_fixed_point_all_move_by_the_gradients_of_all() -> None:
    (wanted,) = moved(learning(False, numbers="float32")).values()
    graph = learning(True, numbers="fixed")
    plain, _ = application_graph(
        model(), "m.onnx", QuantizationRequest(samples=SampleSource(SAMPLES))
    )
    dense = [node for node in plain.nodes if node.op.name == "fully_connected"]
    found = moved(graph)
    assert len(found) == 2
    kept = {state.value.name: state.initial for state in graph.states}
    for (name, steps), node in zip(found.items(), dense, strict=True):
        bias, quantization = plain.constant_data(node.inputs[2]), node.inputs[2].type.quantization
        assert bias is not None
        assert quantization is not None
        shift = np.abs(kept[name]).max() / np.abs(bias).max()
        real = steps * np.float64(quantization.scales) / shift
        np.testing.assert_allclose(real, wanted, atol=0.1 * np.abs(wanted).max())


@pytest.mark.parametrize("own", [0.0, 0.25])
@pytest.mark.parametrize("numbers", ["float32", "fixed"])
def test_equal_biases_that_a_file_has_for_each_layer_learn_apart(numbers: str, own: float) -> None:
    """Equal constants are merged before there is a quantization."""
    request = QuantizationRequest(samples=SampleSource(SAMPLES))
    inputs = InputOptions(training=training_of("bias", learning_rate=0.05, numbers=numbers))
    graph, _ = application_graph(model(own), "m.onnx", request, inputs=inputs)
    apart, _ = application_graph(model(own), "m.onnx", inputs=InputOptions(
        training=training_of("bias", learning_rate=0.05, numbers="float32")))  # fmt: skip
    if numbers == "fixed":
        first, second = moved(graph).values()
        assert (first != second).any()
        return
    for found, wanted in zip(moved(graph).values(), moved(apart).values(), strict=True):
        np.testing.assert_allclose(found, wanted, atol=0.1 * np.abs(wanted).max())


def _float_file(bias: float) -> bytes:
    """Two layers of .tflite whose biases are one tensor, as converters store equal ones."""
    build, random = ModelBuilder(), np.random.default_rng(1)
    x, both = build.input("x", (1, 4), "float32"), np.full(4, bias, np.float32)
    shared = build.constant("b", both)
    for name in ("h", "y"):
        weights = build.constant(f"{name}/w", random.normal(0, 0.5, (4, 4)).astype(np.float32))
        y = build.tensor(name, (1, 4), "float32")
        build.op("FULLY_CONNECTED", [x, weights, shared], [y], {})
        x = y
    build.output(x)
    return build.finish()


@pytest.mark.parametrize(("bias", "count"), [(0.0, 2), (0.25, 1)])
def test_zeros_that_a_file_stores_once_are_each_layers_own(bias: float, count: int) -> None:
    """As in int8; what is no zero is one parameter."""
    inputs = InputOptions(training=training_of("bias", numbers="float32"))
    graph, _ = application_graph(_float_file(bias), "m.tflite", inputs=inputs)
    names = [s.value.name for s in graph.states if s.value.name.endswith("/bias")]
    assert len(set(names)) == count
    assert len(moved(graph)) == count


def test_a_layer_in_front_that_shares_biases_learns_with_the_last() -> None:
    names = [state.value.name for state in learning(True, "last=1", numbers="float32").states]
    assert [name.rpartition("/")[2] for name in names[:2]] == ["bias", "weights"]


@pytest.mark.parametrize("numbers", ["float32", "fixed"])
def test_c_learns_what_the_graph_learns(numbers: str, tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(model())
    bundle = glowmcu.compile(
        tmp_path / "m.onnx", output=tmp_path / "net", name="net", samples=SAMPLES,
        train="last=2", train_numbers=numbers,  # type: ignore[arg-type]
    )  # fmt: skip
    assert glowmcu.verify(bundle, on=["host"]).passed
    before = Session(
        application_graph(model(), "m.onnx", QuantizationRequest(samples=SampleSource(SAMPLES)))[0]
    )
    session = bundle.session()
    for sample in SAMPLES[:8]:
        x = bundle.quantize("x", sample)
        got, want = session.run([x])[0], before.run([x])[0]
        assert np.abs(got.astype(int) - want).max() <= (2 if numbers == "float32" else 0)
