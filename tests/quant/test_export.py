"""Quantized graphs written as .tflite: other people's interpreters give the same bytes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from glowmcu.frontend.tflite.container import read_container
from glowmcu.frontend.tflite.exporter import export_tflite
from glowmcu.frontend.tflite.reader import read_tflite
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import run_graph
from glowmcu.quant.options import Interface, QuantizationOptions
from glowmcu.quant.profiling import profile_graph
from glowmcu.quant.quantizer import quantize_graph
from tests.ir.graphs import random_arrays
from tests.quant.networks import convolutions, perceptron, random_samples
from tests.quant.test_quantizer import branching
from tests.support.check_model import check_model
from tests.support.oracle import run_litert_reference, run_tflm

GRAPHS = {"convolutions": convolutions, "perceptron": perceptron, "branching": branching}


def int8_of(graph: Graph, options: QuantizationOptions) -> Graph:
    return quantize_graph(graph, profile_graph(graph, random_samples(graph, 32)), options)


@pytest.mark.parametrize("interface", list(Interface))
@pytest.mark.parametrize("name", list(GRAPHS))
def test_interpreters_give_the_bytes_of_our_meaning(name: str, interface: Interface) -> None:
    graph = int8_of(GRAPHS[name](), QuantizationOptions(interface=interface))
    data = export_tflite(graph)
    for seed in range(5):
        inputs = random_arrays(graph.inputs, seed)
        want = run_graph(graph, inputs)
        for run in (run_tflm, run_litert_reference):
            for expected, got in zip(want, run(data, inputs), strict=True):
                assert np.array_equal(expected, got), run.__name__


@pytest.mark.parametrize("name", list(GRAPHS))
def test_an_exported_model_comes_back_with_the_same_numbers(name: str) -> None:
    graph = int8_of(GRAPHS[name](), QuantizationOptions())
    back = read_tflite(export_tflite(graph), "model.tflite")
    inputs = random_arrays(graph.inputs)
    for want, got in zip(run_graph(graph, inputs), run_graph(back, inputs), strict=True):
        assert np.array_equal(want, got)


def test_an_exported_model_compiles_to_c_with_the_same_bytes() -> None:
    check_model(export_tflite(int8_of(convolutions(), QuantizationOptions())), oracle=run_tflm)


def weight_tensors(data: bytes) -> dict[str, str]:
    """Types of tensors with values, by name."""
    return {
        tensor.name: tensor.type_name
        for tensor in read_container(data, "model.tflite").tensors
        if tensor.data is not None and tensor.name.startswith("w")
    }


@pytest.mark.parametrize("per_channel", [True, False], ids=["a scale a channel", "one scale"])
@pytest.mark.parametrize(
    "depths", [(3, 4), (5, 7, 3), (1, 1), (24, 16, 4)], ids=["odd", "odd twice", "one", "even"]
)
def test_dense_layers_of_four_bits_are_int4_where_tflm_takes_them(
    depths: tuple[int, ...], per_channel: bool
) -> None:
    options = QuantizationOptions(four_bit_weights=("all",), per_channel=per_channel)
    graph = int8_of(perceptron(depths), options)
    data = export_tflite(graph)
    has_one = {
        value.name: value.type.quantization.axis is None
        for node in graph.nodes
        for value in node.inputs[1:2]
        if value.type.quantization is not None
    }
    expected = {name: "INT4" if one else "INT8" for name, one in has_one.items()}
    assert weight_tensors(data) == expected
    for seed in range(5):
        inputs = random_arrays(graph.inputs, seed)
        for want, got in zip(run_graph(graph, inputs), run_tflm(data, inputs), strict=True):
            assert np.array_equal(want, got)


def test_convolutions_of_four_bits_are_int4_and_give_the_same_bytes_everywhere() -> None:
    graph = int8_of(convolutions(), QuantizationOptions(four_bit_weights=("first", "second")))
    data = export_tflite(graph)
    assert weight_tensors(data) == {"w1": "INT4", "w2": "INT4", "w3": "INT8"}
    check_model(data, oracle=run_tflm)
    back = read_tflite(data, "model.tflite")
    for seed in range(5):
        inputs = random_arrays(graph.inputs, seed)
        want = run_graph(graph, inputs)
        for got in (run_tflm(data, inputs), run_graph(back, inputs)):
            assert all(np.array_equal(*pair) for pair in zip(want, got, strict=True))


def test_int16_activations_keep_their_weights_in_bytes() -> None:
    options = QuantizationOptions(four_bit_weights=("all",), int16=("all",))
    graph = int8_of(convolutions(), options)
    assert set(weight_tensors(export_tflite(graph)).values()) == {"INT8"}


@pytest.mark.parametrize("make", [convolutions, perceptron])
def test_a_float_graph_is_exported_too(make: Callable[[], Graph]) -> None:
    graph = make()
    inputs = random_arrays(graph.inputs)
    (want,), (got,) = run_graph(graph, inputs), run_litert_reference(export_tflite(graph), inputs)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_the_same_graph_gives_the_same_file() -> None:
    first, second = (export_tflite(int8_of(perceptron(), QuantizationOptions())) for _ in "ab")
    assert first == second
