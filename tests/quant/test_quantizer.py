"""Float graphs become int8 graphs: types, float partitions, interface, refusals, accuracy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.ir.graph import Graph
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.activation import Relu
from glowmcu.ops.cast import Cast
from glowmcu.ops.convolution import Conv2D
from glowmcu.ops.elementwise import Add, Minimum
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.normalization import Softmax
from glowmcu.ops.padding import Pad
from glowmcu.ops.shape import Reshape
from glowmcu.quant.options import Interface, QuantizationOptions
from glowmcu.quant.profiling import profile_graph
from glowmcu.quant.quantizer import quantize, quantize_graph
from glowmcu.quant.ranges import Calibration, Method
from glowmcu.quant.samples import samples_of
from glowmcu.quant.schemas import Schema
from tests.ir.graphs import GraphBuilder
from tests.quant.networks import (
    RELU,
    convolutions,
    draw,
    perceptron,
    random_samples,
    real,
    sqnr_db,
)


def int8_of(graph: Graph, **options: object) -> Graph:
    profile = profile_graph(graph, random_samples(graph, 64))
    return quantize_graph(graph, profile, QuantizationOptions(**options))  # type: ignore[arg-type]


def operators(graph: Graph) -> list[str]:
    return [node.op.name for node in graph.nodes if node.inputs]


@pytest.mark.parametrize("schema", list(Schema))
@pytest.mark.parametrize("method", list(Method))
def test_every_schema_and_method_keeps_most_of_the_signal(method: Method, schema: Schema) -> None:
    least = {Schema.ASYMMETRIC: 30, Schema.SYMMETRIC_WITH_POWER2_SCALE: 20}.get(schema, 25)
    graph = convolutions()
    int8 = int8_of(graph, calibration=Calibration(method, schema))
    assert sqnr_db(graph, int8, random_samples(graph, 16, seed=9)) > least


def test_a_quantized_graph_is_int8_throughout() -> None:
    graph = int8_of(convolutions())
    assert operators(graph) == ["conv_2d", "depthwise_conv_2d", "conv_2d"]
    assert [value.name for value in (*graph.inputs, *graph.outputs)] == ["image", "third"]
    for node in graph.nodes:
        assert node.output.type.element in (ElementType.I8, ElementType.I32)
        assert node.output.type.quantization is not None


def test_weights_are_symmetric_per_channel_and_biases_at_the_product_of_scales() -> None:
    graph = int8_of(convolutions())
    for node in graph.nodes:
        if not node.inputs:
            continue
        x, weights, bias = (value.type for value in node.inputs)
        assert weights.quantization is not None
        assert bias.quantization is not None
        assert len(weights.quantization.scales) == node.output.type.shape[-1]
        assert set(weights.quantization.zero_points) == {0}
        data = graph.constant_data(node.inputs[1])
        assert data is not None
        assert data.min() >= -127
        np.testing.assert_allclose(
            bias.quantization.scales, x.scale * np.array(weights.quantization.scales), rtol=1e-6
        )


def test_fully_connected_weights_can_have_one_scale() -> None:
    graph = int8_of(perceptron(), per_channel=False)
    weights = [node.inputs[1].type for node in graph.nodes if node.inputs]
    assert [type_.quantization.axis for type_ in weights if type_.quantization] == [None, None]


def test_a_fused_activation_becomes_a_clamp_in_stored_units() -> None:
    graph = int8_of(convolutions())
    first, second, third = (node for node in graph.nodes if node.inputs)
    assert first.op.clamp is None  # type: ignore[attr-defined]  # from zero point -128 to 127
    assert first.output.type.zero_point == -128
    low, high = 0.0, 6.0
    type_ = second.output.type
    stored = tuple(round(bound / type_.scale) + type_.zero_point for bound in (low, high))
    clamp = second.op.clamp or (-128, 127)  # type: ignore[attr-defined]
    assert clamp == (stored[0], min(stored[1], 127))
    assert third.op.clamp is None  # type: ignore[attr-defined]


def test_a_float_interface_converts_at_both_ends_once() -> None:
    graph = int8_of(convolutions(), interface=Interface.FLOAT)
    assert operators(graph) == ["quantize", "conv_2d", "depthwise_conv_2d", "conv_2d", "dequantize"]
    for value, name in zip((*graph.inputs, *graph.outputs), ("image", "third"), strict=True):
        assert (value.type.element, value.name) == (ElementType.F32, name)


@pytest.mark.parametrize("name", ["depthwise_conv_2d", "DepthwiseConv2D", "second"])
def test_what_is_kept_float_lies_between_two_conversions(name: str) -> None:
    graph = int8_of(convolutions(), keep_float=(name,))
    expected = ["conv_2d", "dequantize", "depthwise_conv_2d", "quantize", "conv_2d"]
    assert operators(graph) == expected
    assert sqnr_db(convolutions(), graph, random_samples(convolutions(), 8, seed=4)) > 30


def test_everything_kept_float_with_a_float_interface_is_the_float_graph() -> None:
    kept = ("conv_2d", "depthwise_conv_2d")
    graph = int8_of(convolutions(), keep_float=kept, interface=Interface.FLOAT)
    assert operators(graph) == operators(convolutions())


def test_kept_nodes_are_reported_with_a_reason() -> None:
    graph = perceptron()
    profile = profile_graph(graph, random_samples(graph, 8))
    result = quantize(graph, profile, QuantizationOptions(keep_float=("dense1",)))
    assert result.float_nodes == {"dense1": "fully_connected: as was asked for"}


def branching() -> Graph:
    """conv -> reshape -> concatenation with a padded slice of itself."""
    graph = GraphBuilder()
    x = graph.input(real(1, 4, 4, 2), "x")
    w, b = graph.constant(draw(0, 3, 1, 1, 2)), graph.constant(draw(1, 3))
    y = graph.add(Conv2D(), x, w, b, name="conv")
    z = graph.add(Conv2D(), y, graph.constant(draw(2, 3, 1, 1, 3, scale=5)), b, name="loud")
    joined = graph.add(Concatenation(3), y, z, name="joined")
    padded = graph.add(Pad(((0, 0), (1, 0), (0, 1), (0, 0)), 0.0), joined, name="padded")
    return graph.finish(graph.add(Reshape((1, 150)), padded, name="flat"))


def test_operators_that_only_move_share_one_scale_and_pad_with_real_zero() -> None:
    graph = int8_of(branching())
    assert operators(graph) == ["conv_2d", "conv_2d", "concatenation", "pad", "reshape"]
    types = {node.name: node.output.type for node in graph.nodes}
    assert types["conv"].quantization == types["loud"].quantization == types["flat"].quantization
    (pad,) = (node for node in graph.nodes if isinstance(node.op, Pad))
    assert isinstance(pad.op, Pad)
    assert pad.op.value == types["padded"].zero_point
    assert sqnr_db(branching(), graph, random_samples(branching(), 8, seed=3)) > 20


def test_operators_that_only_move_stay_float_among_float() -> None:
    graph = int8_of(branching(), keep_float=("conv_2d",), interface=Interface.FLOAT)
    assert operators(graph) == operators(branching())


def test_operators_that_only_move_follow_the_int8_side_of_a_border() -> None:
    graph = int8_of(branching(), keep_float=("conv",), interface=Interface.FLOAT)
    expected = ["conv_2d", "quantize", "conv_2d", "concatenation", "pad", "reshape", "dequantize"]
    assert operators(graph) == expected


def test_int8_input_and_output_of_a_float_partition() -> None:
    graph = int8_of(convolutions(), keep_float=("conv_2d", "depthwise_conv_2d"))
    names = ["dequantize", "conv_2d", "depthwise_conv_2d", "conv_2d", "quantize"]
    assert operators(graph) == names
    assert [value.name for value in (*graph.inputs, *graph.outputs)] == ["image", "third"]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (QuantizationOptions(keep_float=("nothing",)), "GM312"),
        (QuantizationOptions(int16=("nothing",)), "GM312"),
        (QuantizationOptions(int16=("first",), keep_float=("first",)), "GM313"),
        (QuantizationOptions(adaptive_rounding=True), "GM314"),
    ],
)
def test_options_that_cannot_be_followed_are_refused(
    options: QuantizationOptions, code: str
) -> None:
    graph = convolutions()
    profile = profile_graph(graph, random_samples(graph, 8))
    with pytest.raises(GlowmcuError) as caught:
        quantize_graph(graph, profile, options)
    assert caught.value.code == code


def test_the_profile_of_another_model_is_refused() -> None:
    graph = convolutions()
    profile = profile_graph(graph, random_samples(graph, 8), "a" * 64)
    with pytest.raises(GlowmcuError) as caught:
        quantize_graph(graph, profile, model_sha256="b" * 64)
    assert caught.value.code == "GM301"


def test_a_profile_without_histograms_gives_its_ranges() -> None:
    graph = convolutions()
    profile = profile_graph(graph, random_samples(graph, 8))
    bare = {name: replace(t, histogram=None) for name, t in profile.tensors.items()}
    options = QuantizationOptions(Calibration(Method.MSE))
    minmax = quantize_graph(graph, profile)
    int8 = quantize_graph(graph, replace(profile, tensors=bare), options)
    assert [v.type for n in int8.nodes for v in n.outputs] == [
        v.type for n in minmax.nodes for v in n.outputs
    ]


def test_a_layer_of_a_constant_has_no_mean_to_correct() -> None:
    graph = GraphBuilder()
    x = graph.input(real(1, 3), "x")
    rows, w, b = (graph.constant(draw(seed, *shape)) for seed, shape in
                  ((1, (1, 4)), (2, (3, 4)), (3, (3,))))  # fmt: skip
    layer = graph.add(FullyConnected(), rows, w, b, name="of a constant")
    built = graph.finish(graph.add(Add(), layer, x, name="sum"))
    made = quantize_graph(built, profile_graph(built, random_samples(built, 8)))
    assert [node.op.name for node in made.nodes if node.inputs] == ["fully_connected", "add"]


@pytest.mark.parametrize("interface", list(Interface))
def test_an_input_of_integers_stays_what_it_is(interface: Interface) -> None:
    graph = GraphBuilder()
    x = graph.input(real(1, 4), "x")
    chosen = graph.input(TensorType((1, 4), ElementType.I32), "chosen")
    number = graph.add(Cast(), chosen, like=real(1), name="number")
    built = graph.finish(graph.add(Add(), number, x, name="sum"))
    samples = samples_of(built, {"x": draw(1, 8, 4), "chosen": np.ones((8, 4), np.int32)})
    made = quantize_graph(
        built, profile_graph(built, samples), QuantizationOptions(interface=interface)
    )
    assert [value.name for value in made.inputs] == ["x", "chosen"]
    assert made.inputs[1].type == chosen.type


def test_an_output_that_a_float_layer_reads_has_a_name_of_its_own_there() -> None:
    graph = GraphBuilder()
    x = graph.input(real(1, 4), "x")
    y = graph.add(Relu(RELU), x, name="y")
    w, b = graph.constant(draw(1, 4, 4), name="w"), graph.constant(draw(2, 4), name="b")
    inside = graph.add(FullyConnected(), x, w, b, name="inside")
    z = graph.add(Softmax(), graph.add(Add(), y, inside, name="both"), name="z")
    built = graph.finish(y, z)
    profile = profile_graph(built, random_samples(built, 8))
    for interface in Interface:
        options = QuantizationOptions(keep_float=("z", "both"), interface=interface)
        made = quantize_graph(built, profile, options)
        names = [value.name for node in made.nodes for value in node.outputs]
        assert len(set(names)) == len(names)
        assert [value.name for value in made.outputs] == ["y", "z"]
        assert "inside/real" in names


def test_a_constant_that_is_not_finite_keeps_its_node_float() -> None:
    graph = GraphBuilder()
    x = graph.input(real(1, 4), "x")
    bound = graph.constant(np.full((1, 4), np.inf, np.float32))
    finished = graph.finish(graph.add(Minimum(), x, bound, name="bounded"))
    profile = profile_graph(finished, random_samples(finished, 8))
    reasons = quantize(finished, profile).float_nodes
    assert reasons == {"bounded": "minimum: a constant operand holds infinity or NaN"}
