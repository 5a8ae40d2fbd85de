"""Weights of four bits: which layers have them, what is cut off, and how they are rounded."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.ir.graph import Graph
from glowmcu.ops.normalization import Softmax
from glowmcu.quant.clipping import clipped_scales
from glowmcu.quant.convert import LayerConstants, nearest
from glowmcu.quant.options import QuantizationOptions
from glowmcu.quant.profiling import profile_graph
from glowmcu.quant.quantizer import quantize_graph
from glowmcu.quant.ranges import Calibration
from glowmcu.quant.rounding import layer_moments, round_adaptively
from glowmcu.quant.schemas import Schema
from glowmcu.quant.weights import along, weight_scales
from tests.ir.graphs import GraphBuilder
from tests.quant.networks import convolutions, perceptron, random_samples, real, sqnr_db
from tests.quant.test_rounding import LAYERS, correlated, only_layer, results

FOUR = QuantizationOptions(four_bit_weights=("all",))


def largest_weights(graph: Graph) -> dict[str, int]:
    """By the layer's name."""
    found = {}
    for node in graph.nodes:
        data = graph.constant_data(node.inputs[1]) if len(node.inputs) == 3 else None
        if data is not None:
            found[node.name] = int(np.abs(data.astype(int)).max())
    return found


@pytest.mark.parametrize(
    ("names", "narrow"),
    [
        (("all",), {"first", "second", "third"}),
        (("conv_2d",), {"first", "third"}),
        (("second",), {"second"}),
        ((), set()),
    ],
    ids=["all", "an operator", "a layer", "none"],
)
def test_named_layers_have_weights_of_seven_at_most(
    names: tuple[str, ...], narrow: set[str]
) -> None:
    graph = convolutions()
    options = QuantizationOptions(four_bit_weights=names)
    profile = profile_graph(graph, random_samples(graph, 8))
    largest = largest_weights(quantize_graph(graph, profile, options))
    assert set(largest) == {"first", "second", "third"}
    for name, most in largest.items():
        assert most == (7 if name in narrow else 127), name


def test_names_that_are_none_and_layers_that_cannot_are_refused() -> None:
    graph = convolutions()
    profile = profile_graph(graph, random_samples(graph, 8))
    with pytest.raises(GlowmcuError) as caught:
        quantize_graph(graph, profile, QuantizationOptions(four_bit_weights=("fourth",)))
    assert caught.value.code == "GM312"
    builder = GraphBuilder()
    x = builder.input(real(1, 8), "scores")
    graph = builder.finish(builder.add(Softmax(), x, name="last"))
    profile = profile_graph(graph, random_samples(graph, 8))
    with pytest.raises(GlowmcuError) as caught:
        quantize_graph(graph, profile, QuantizationOptions(four_bit_weights=("last",)))
    assert caught.value.code == "GM350"
    assert "softmax 'last' cannot have weights of four bits" in str(caught.value)


def four_bit_layer(name: str) -> LayerConstants:
    """A layer of `LAYERS` with scales that cut nothing off."""
    _, layer = only_layer(LAYERS[name])
    scales = weight_scales(layer.weights, layer.axis, None, 1.0, Schema.SYMMETRIC, most=7)
    return replace(layer, scales=scales, most=7)


@pytest.mark.parametrize("name", list(LAYERS))
def test_cutting_off_large_weights_lowers_the_layers_error(name: str) -> None:
    graph = LAYERS[name]
    node, _ = only_layer(graph)
    layer = four_bit_layer(name)
    moments = layer_moments(graph, [node], correlated(graph, 100))[node]
    clipped = replace(layer, scales=clipped_scales(node, layer, moments.outer))
    assert (clipped.scales <= layer.scales).all()
    is_cut = bool((clipped.scales < layer.scales).any())
    assert is_cut or name == "groups", "four channels of twelve weights each have no outliers"
    seen = correlated(graph, 100)
    assert layer.bias is not None
    want = results(node, layer, layer.weights, layer.bias, seen)
    errors = []
    for each in (layer, clipped):
        stored, _ = nearest(node, each)
        scales = along(each.scales, each.axis, each.weights.ndim)
        assert np.abs(stored.astype(int)).max() <= 7
        got = results(node, layer, stored * scales, layer.bias, seen)
        errors.append(np.square(got - want).mean())
        rounded = round_adaptively(node, each, stored, moments.outer, moments.count)
        assert np.abs(rounded.astype(int)).max() <= 7
    assert errors[1] < errors[0] if is_cut else errors[1] == errors[0]


def test_without_samples_the_weights_themselves_decide_what_is_cut_off() -> None:
    node, _ = only_layer(LAYERS["dense"])
    layer = four_bit_layer("dense")
    scales = clipped_scales(node, layer, None)
    errors = [
        np.square(nearest(node, replace(layer, scales=each))[0] * each[:, None] - layer.weights)
        for each in (layer.scales, scales)
    ]
    assert (errors[1].sum(axis=1) <= errors[0].sum(axis=1)).all()
    assert errors[1].sum() < errors[0].sum()


@pytest.mark.parametrize("seed", range(3))
def test_each_channel_takes_the_fortieth_part_of_its_scale_that_is_best(seed: int) -> None:
    """From the whole scale down to two fifths of it; of equal ones the largest."""
    node, _ = only_layer(LAYERS["dense"])
    layer = four_bit_layer("dense")
    random = np.random.default_rng(seed)
    weights = random.standard_t(2, layer.weights.shape).astype(np.float32)
    scales = (np.abs(weights).max(axis=1) / 7).astype(np.float32)
    wanted = []
    for row, scale in zip(weights.astype(np.float64), scales, strict=True):
        tried = [np.float32(np.float64(scale) * (1 - 0.025 * step)) for step in range(25)]
        cut = [np.clip(np.rint(row / float(each)), -7, 7) * float(each) for each in tried]
        wanted.append(tried[int(np.argmin([np.square(each - row).sum() for each in cut]))])
    got = clipped_scales(node, replace(layer, weights=weights, scales=scales), None)
    assert got.tolist() == [float(each) for each in wanted]


def test_weights_all_on_the_grid_are_not_cut_off() -> None:
    node, _ = only_layer(LAYERS["dense"])
    layer = four_bit_layer("dense")
    exact = np.rint(layer.weights / layer.scales[:, None]) * layer.scales[:, None]
    assert np.array_equal(clipped_scales(node, replace(layer, weights=exact), None), layer.scales)


def test_no_scale_is_too_small_for_the_bias() -> None:
    node, _ = only_layer(LAYERS["dense"])
    layer = four_bit_layer("dense")
    scales = clipped_scales(node, replace(layer, least_scales=layer.scales), None)
    assert np.array_equal(scales, layer.scales)


def test_scales_that_are_to_be_powers_of_two_stay_so() -> None:
    graph = convolutions()
    samples = random_samples(graph, 8)
    profile = profile_graph(graph, samples)
    schema = Calibration(schema=Schema.SYMMETRIC_WITH_POWER2_SCALE)
    made = quantize_graph(graph, profile, replace(FOUR, calibration=schema))
    for node in made.nodes:
        for value in node.inputs[1:2]:
            assert value.type.quantization is not None
            exponents = np.log2(value.type.quantization.scales)
            assert np.array_equal(exponents, np.rint(exponents))


def test_rounding_to_suit_the_samples_loses_less() -> None:
    graph = perceptron((96, 64, 8))
    samples, held_out = correlated(graph, 200), correlated(graph, 50, seed=7)
    profile = profile_graph(graph, samples)
    plain, rounded, eight = (
        sqnr_db(graph, quantize_graph(graph, profile, options, samples), held_out)
        for options in (FOUR, replace(FOUR, adaptive_rounding=True), QuantizationOptions())
    )
    assert plain + 3 < rounded < eight
