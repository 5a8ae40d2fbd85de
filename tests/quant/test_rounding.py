"""Adaptive rounding and bias correction lower the error that they are made to lower."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from glowmcu.ir.graph import Graph, Node, evaluate_node
from glowmcu.ir.operation import Rounding
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.matmul import FullyConnected
from glowmcu.quant.convert import LayerConstants, nearest
from glowmcu.quant.linear_layers import rows_of, weights_matrix, weights_of_matrix
from glowmcu.quant.options import QuantizationOptions
from glowmcu.quant.profiling import profile_graph
from glowmcu.quant.quantizer import quantize_graph
from glowmcu.quant.rounding import corrected_bias, layer_moments, round_adaptively
from glowmcu.quant.samples import Samples, samples_of
from glowmcu.quant.schemas import Schema
from glowmcu.quant.weights import along, weight_scales
from tests.ir.graphs import GraphBuilder
from tests.quant.networks import Floats, draw, perceptron, real, sqnr_db

Layer = Conv2D | DepthwiseConv2D | FullyConnected


def layer(op: Layer, x: tuple[int, ...], w: tuple[int, ...]) -> Graph:
    graph = GraphBuilder()
    outputs = w[3] if isinstance(op, DepthwiseConv2D) else w[0]
    image = graph.input(real(*x), "x")
    weights, bias = graph.constant(draw(1, *w)), graph.constant(draw(2, outputs))
    return graph.finish(graph.add(op, image, weights, bias, name="layer"))


LAYERS = {
    "dense": layer(FullyConnected(), (1, 20), (6, 20)),
    "3x3, padded": layer(Conv2D(padding=(1, 1, 1, 1)), (1, 6, 5, 4), (7, 3, 3, 4)),
    "strides and dilation": layer(Conv2D((2, 1), (1, 2)), (1, 9, 9, 3), (5, 3, 2, 3)),
    "groups": layer(Conv2D(padding=(0, 1, 1, 0)), (1, 5, 5, 6), (4, 2, 2, 3)),
    "depthwise": layer(DepthwiseConv2D((2, 2), padding=(1, 0, 0, 1)), (1, 7, 7, 5), (1, 3, 3, 5)),
    "depthwise, two a channel": layer(DepthwiseConv2D(), (1, 4, 6, 3), (1, 2, 3, 6)),
}


def correlated(graph: Graph, count: int, seed: int = 0) -> Samples:
    """Data of five degrees of freedom with a mean: as real data, unlike white noise."""
    shape = graph.inputs[0].type.shape[1:]
    mixing = draw(99, 5, int(np.prod(shape)))
    data = (draw(seed, count, 5) @ mixing + 1.5).astype(np.float32)
    return samples_of(graph, data.reshape(count, *shape))


def only_layer(graph: Graph) -> tuple[Node, LayerConstants]:
    (node,) = (node for node in graph.nodes if node.inputs)
    weights, bias = (graph.constant_data(value) for value in node.inputs[1:])
    assert weights is not None
    assert bias is not None
    axis = 3 if isinstance(node.op, DepthwiseConv2D) else 0
    # Coarse steps: the error of rounding stands out.
    scales = weight_scales(weights, axis, None, 1.0, Schema.SYMMETRIC) * np.float32(16)
    return node, LayerConstants(weights, scales, axis, bias)


def results(
    node: Node, constants: LayerConstants, weights: Floats, bias: Floats, samples: Samples
) -> Floats:
    outputs = []
    for (x,) in samples:
        outputs += evaluate_node(node, [x, weights, bias], Rounding.DOUBLE)
    return np.concatenate(outputs)


@pytest.mark.parametrize("name", list(LAYERS))
def test_a_layer_is_the_product_of_its_rows_and_weights(name: str) -> None:
    node, constants = only_layer(LAYERS[name])
    x = draw(5, *node.inputs[0].type.shape)
    matrix = weights_matrix(node, constants.weights)
    assert np.array_equal(weights_of_matrix(node, matrix), constants.weights)
    product = np.einsum("gnk,gok->ngo", rows_of(node, x, 10**9), matrix)
    assert constants.bias is not None
    want = results(
        node, constants, constants.weights, constants.bias, Samples(lambda: iter([(x,)]))
    )
    got = product.reshape(want.shape) + constants.bias
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", list(LAYERS))
def test_adaptive_rounding_lowers_the_layers_error(name: str) -> None:
    graph = LAYERS[name]
    node, constants = only_layer(graph)
    moments = layer_moments(graph, [node], correlated(graph, 100))[node]
    plain, _ = nearest(node, constants)
    rounded = round_adaptively(node, constants, plain, moments.outer, moments.count)
    assert rounded.dtype == np.int8
    assert np.abs(rounded.astype(int)).max() <= 127
    scales = along(constants.scales, constants.axis, constants.weights.ndim)
    held_out = correlated(graph, 50, seed=8)
    assert constants.bias is not None
    want = results(node, constants, constants.weights, constants.bias, held_out)
    errors = [
        np.square(results(node, constants, stored * scales, constants.bias, held_out) - want).mean()
        for stored in (plain, rounded)
    ]
    assert errors[1] < 0.85 * errors[0]


@pytest.mark.parametrize("name", list(LAYERS))
def test_a_corrected_bias_leaves_the_mean_of_every_channel(name: str) -> None:
    graph = LAYERS[name]
    node, constants = only_layer(graph)
    samples = correlated(graph, 60)
    moments = layer_moments(graph, [node], samples)[node]
    stored, _ = nearest(node, constants)
    bias = corrected_bias(node, constants, stored, moments.mean).astype(np.float32)
    scales = along(constants.scales, constants.axis, constants.weights.ndim)
    assert constants.bias is not None
    want = results(node, constants, constants.weights, constants.bias, samples)
    got = results(node, constants, stored * scales, bias, samples)
    axes = tuple(range(want.ndim - 1))
    np.testing.assert_allclose(got.mean(axes), want.mean(axes), atol=2e-3)


def test_each_option_lowers_the_error_of_a_network() -> None:
    graph = perceptron((96, 64, 8))
    samples, held_out = correlated(graph, 200), correlated(graph, 50, seed=7)
    profile = profile_graph(graph, samples)
    plain, corrected, rounded = (
        sqnr_db(graph, quantize_graph(graph, profile, options, samples), held_out)
        for options in (
            QuantizationOptions(bias_correction=False),
            QuantizationOptions(),
            QuantizationOptions(adaptive_rounding=True),
        )
    )
    assert plain < corrected < rounded


@pytest.mark.parametrize("adaptive", [False, True])
def test_means_come_from_the_samples_where_rounding_looks_at_them(adaptive: bool) -> None:
    graph = perceptron((24, 8))
    samples = correlated(graph, 60)
    profile = profile_graph(graph, samples)
    moved = replace(
        profile,
        tensors={
            name: replace(tensor, mean=9.0, channels=None)
            for name, tensor in profile.tensors.items()
        },
    )
    options = QuantizationOptions(adaptive_rounding=adaptive)
    biases = []
    for each in (profile, moved):
        made = quantize_graph(graph, each, options, samples)
        biases += [made.constant_data(n.inputs[2]) for n in made.nodes if len(n.inputs) == 3]
    first, second = biases
    assert first is not None
    assert second is not None
    assert np.array_equal(first, second) == adaptive


@pytest.mark.parametrize("name", list(LAYERS))
def test_moments_are_those_of_all_rows(name: str) -> None:
    """Of a group of channels each: their mean, and that of their products."""
    graph = LAYERS[name]
    node, _ = only_layer(graph)
    samples = correlated(graph, 5)
    rows = np.concatenate([rows_of(node, sample[0], 10_000) for sample in samples], axis=1)
    rows = rows.astype(np.float64)
    found = layer_moments(graph, [node], samples)[node]
    assert found.count == rows.shape[1]
    products = np.einsum("gni,gnj->gij", rows, rows) / rows.shape[1]
    np.testing.assert_allclose(found.mean, rows.mean(axis=1), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found.outer, products, rtol=1e-4, atol=1e-4)
    covariance = [np.cov(group.T, bias=True) for group in rows]
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-3, atol=1e-3)


@pytest.mark.filterwarnings("error")
def test_a_sample_far_from_all_others_is_rounded_for_without_a_warning() -> None:
    graph = LAYERS["3x3, padded"]
    node, constants = only_layer(graph)
    data = draw(3, 8, 6, 5, 4)
    data[3, 0, 0, 0] = 1e30
    samples = samples_of(graph, data)
    moments = layer_moments(graph, [node], samples)[node]
    assert np.isfinite(moments.outer).all()
    stored, _ = nearest(node, constants)
    found = round_adaptively(node, constants, stored, moments.outer, moments.count)
    assert np.abs(found.astype(int) - stored).max() <= 127
    options = QuantizationOptions(adaptive_rounding=True)
    quantize_graph(graph, profile_graph(graph, samples), options, samples)
