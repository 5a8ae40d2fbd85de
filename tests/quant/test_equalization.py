"""Equalization changes no number of the float network, and levels its channels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import run_graph
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.real import FLOAT_MAX
from glowmcu.ops.shape import Reshape
from glowmcu.quant.equalization import _is_homogeneous, equalize, scaled_values
from glowmcu.quant.options import QuantizationOptions
from glowmcu.quant.profile import ChannelProfile, Profile
from glowmcu.quant.profiling import profile_graph
from glowmcu.quant.quantizer import quantize_graph
from tests.ir.graphs import GraphBuilder
from tests.quant.networks import RELU, convolutions, draw, perceptron, random_samples, real, sqnr_db


def uneven(second: str) -> Graph:
    """Two layers; the channels between them differ by a factor of a thousand."""
    graph = GraphBuilder()
    x = graph.input(real(1, 6, 6, 3), "x")
    spread = np.logspace(-2, 1, 8).astype(np.float32)
    w = graph.constant(draw(0, 8, 1, 1, 3) * spread[:, None, None, None], name="w1")
    b = graph.constant(draw(1, 8) * spread, name="b1")
    x = graph.add(Conv2D(clamp=RELU), x, w, b, name="between")
    if second == "depthwise":
        shape = (1, 3, 3, 16)
        op: Conv2D | DepthwiseConv2D = DepthwiseConv2D()
        weights = draw(2, *shape) / np.repeat(spread, 2)
    elif second == "grouped":
        shape = (6, 2, 2, 4)
        op = Conv2D()
        weights = draw(2, *shape) / np.repeat(spread.reshape(2, 1, 1, 4), 3, axis=0)
    else:
        shape = (5, 1, 1, 8)
        op = Conv2D()
        weights = draw(2, *shape) / spread
    outputs = shape[3] if second == "depthwise" else shape[0]
    w = graph.constant(weights.astype(np.float32), name="w2")
    return graph.finish(graph.add(op, x, w, graph.constant(draw(3, outputs), name="b2"), name="y"))


@pytest.mark.parametrize(
    ("clamp", "homogeneous"),
    [
        (None, True), ((0.0, FLOAT_MAX), True), ((-FLOAT_MAX, FLOAT_MAX), True),
        ((0.0, 6.0), False), ((-1.0, FLOAT_MAX), False), ((1.0, FLOAT_MAX), False),
        ((-FLOAT_MAX, 0.0), False),
    ],
)  # fmt: skip
def test_an_activation_does_not_mind_a_factor_where_it_ends_at_nothing_or_zero(
    clamp: tuple[float, float] | None, homogeneous: bool
) -> None:
    node = uneven("1x1").nodes[-1]
    assert _is_homogeneous(replace(node, op=Conv2D(clamp=clamp))) == homogeneous


def test_a_tensor_that_an_output_shows_is_left_as_it_is() -> None:
    graph = uneven("1x1")
    profile = profile_graph(graph, random_samples(graph, 16))
    assert scaled_values(profile, equalize(graph, profile)[1])
    first = next(node for node in graph.nodes if node.name == "between")
    shown = graph.replace(outputs=(*graph.outputs, first.output))
    profile = profile_graph(shown, random_samples(shown, 16))
    assert not scaled_values(profile, equalize(shown, profile)[1])


@pytest.mark.parametrize("second", ["depthwise", "grouped", "1x1"])
def test_the_network_computes_the_same(second: str) -> None:
    graph = uneven(second)
    levelled, _ = equalize(graph, profile_graph(graph, random_samples(graph, 16)))
    for sample in random_samples(graph, 4, seed=2):
        (want,), (got,) = run_graph(graph, list(sample)), run_graph(levelled, list(sample))
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("second", ["depthwise", "grouped", "1x1"])
def test_levelled_channels_lose_less_in_int8(second: str) -> None:
    graph = uneven(second)
    samples, held_out = random_samples(graph, 64), random_samples(graph, 16, seed=5)
    profile = profile_graph(graph, samples)
    plain = quantize_graph(graph, profile, QuantizationOptions())
    levelled = quantize_graph(*equalize(graph, profile), QuantizationOptions())
    assert sqnr_db(graph, levelled, held_out) > sqnr_db(graph, plain, held_out) + 6


@pytest.mark.parametrize("second", ["depthwise", "grouped", "1x1"])
def test_the_new_profiles_ranges_are_those_of_profiling_again(second: str) -> None:
    graph = uneven(second)
    samples = random_samples(graph, 32)
    before = profile_graph(graph, samples)
    levelled, after = equalize(graph, before)
    assert scaled_values(before, after) == ["between"]
    again = profile_graph(levelled, samples)
    for name, tensor in again.tensors.items():
        assert after.tensors[name].low == pytest.approx(tensor.low, rel=1e-5, abs=1e-5)
        assert after.tensors[name].high == pytest.approx(tensor.high, rel=1e-5)


def test_depthwise_behind_leaves_every_channel_the_same_reach_up_to_a_factor_of_two() -> None:
    graph = uneven("depthwise")
    _, after = equalize(graph, profile_graph(graph, random_samples(graph, 32)))
    channels = after.tensors["between"].channels
    assert channels is not None
    reach = channels.high[channels.high > 0]
    assert len(reach) >= 7
    # Beyond a factor of 64 a channel is not followed any further.
    assert np.sort(reach)[2:].min() > 0.35 * reach.max()


def test_nothing_happens_behind_a_relu6_or_at_an_output() -> None:
    graph = convolutions()
    before = profile_graph(graph, random_samples(graph, 8))
    assert scaled_values(before, equalize(graph, before)[1]) == ["first"]
    dense = perceptron((8, 4))
    before = profile_graph(dense, random_samples(dense, 8))
    assert scaled_values(before, equalize(dense, before)[1]) == []


def chained(spread: list[float], shared: str = "") -> Graph:
    """A layer of channels as large as `spread`, and one behind; `shared`: what others read."""
    graph = GraphBuilder()
    x = graph.input(real(2, 2), "x")
    count = len(spread)
    w = graph.constant(np.float32([[each, 0] for each in spread]), name="w1")
    b = graph.constant(np.zeros(count, np.float32), name="b1")
    x = graph.add(FullyConnected(RELU), x, w, b, name="between")
    following = graph.constant(np.ones((3, count), np.float32), name="w2")
    bias = graph.constant(np.zeros(3, np.float32), name="b2")
    y = graph.add(FullyConnected(), x, following, bias, name="y")
    others = {"w1": w, "b1": b, "w2": following, "between": x}
    more = [graph.add(Reshape((others[name].type.element_count,)), others[name], name=f"r{name}")
            for name in shared.split()]  # fmt: skip
    return graph.finish(y, *more)


def with_channels(graph: Graph, low: list[float], high: list[float]) -> Profile:
    """Of the tensor between, whose channels have these ranges."""
    known = profile_graph(graph, random_samples(graph, 2))
    ends = [np.array(each, np.float32) for each in (low, high)]
    channels = ChannelProfile(*ends, ends[1] / 2)
    tensor = replace(known.tensors["between"], channels=channels)
    return replace(known, tensors={**known.tensors, "between": tensor})


@pytest.mark.parametrize(
    ("low", "high", "factors"),
    [
        ([0, 0], [4, 1], [1, 0.5]), ([0, 0], [1, 16], [0.25, 1]), ([-8, 0], [1, 2], [1, 0.5]),
        ([0, 0], [1, 1e-9], [1, 0.125]), ([0, 0], [3, 3], [1, 1]), ([0, 0], [0, 8], [0.125, 1]),
        ([0, 0], [0, 0], None),
    ],
)  # fmt: skip
def test_factors_are_powers_of_two_by_the_reach_of_channels(
    low: list[float], high: list[float], factors: list[float] | None
) -> None:
    """The roots of the reaches' ratios, as weights of one are all the same."""
    graph = chained([1.0, 1.0])
    profile = with_channels(graph, low, high)
    levelled, after = equalize(graph, profile)
    if factors is None:
        assert scaled_values(profile, after) == []
        return
    by_name = {node.output.name: levelled.constant_data(node.output) for node in levelled.nodes}
    first, second = by_name["w1"], by_name["w2"]
    assert first is not None
    assert second is not None
    assert (1 / first[:, 0]).tolist() == factors
    assert second[0].tolist() == factors
    tensor = after.tensors["between"]
    assert tensor.channels is not None
    assert tensor.channels.high.tolist() == pytest.approx(np.array(high) / factors)
    assert (tensor.low, tensor.high) == pytest.approx(
        (min(np.array(low) / factors), max(np.array(high) / factors))
    )
    assert (tensor.variance, tensor.histogram) == (0.0, None)


@pytest.mark.parametrize("shared", ["w1", "b1", "w2", "between", "w1 b1 w2"])
def test_what_others_read_too_is_not_scaled(shared: str) -> None:
    graph = chained([1.0, 0.01], shared)
    profile = with_channels(graph, [0, 0], [4, 1])
    levelled, after = equalize(graph, profile)
    assert scaled_values(profile, after) == []
    assert [node.op for node in levelled.nodes] == [node.op for node in graph.nodes]


def test_a_profile_without_channels_says_nothing_of_them() -> None:
    graph = chained([1.0, 0.01])
    profile = with_channels(graph, [0, 0], [4, 1])
    tensors = {name: replace(each, channels=None) for name, each in profile.tensors.items()}
    assert scaled_values(*[replace(profile, tensors=tensors)] * 2) == []
    _, after = equalize(graph, replace(profile, tensors=tensors))
    assert after.tensors == tensors


@pytest.mark.parametrize("first", ["depthwise", "convolution"])
def test_factors_share_the_burden_between_channels_and_weights(first: str) -> None:
    """Recomputed: sqrt(reach / load), each a share of its greatest, to a power of two."""
    graph = GraphBuilder()
    x = graph.input(real(1, 3, 3, 4), "x")
    shape = (1, 1, 1, 4) if first == "depthwise" else (4, 1, 1, 4)
    spread = np.array([8, 1, 0.25, 0.01], np.float32)
    along = (4,) if first == "depthwise" else (4, 1, 1, 1)
    weights = np.abs(draw(0, *shape)) * spread.reshape(along)
    op: Conv2D | DepthwiseConv2D = DepthwiseConv2D() if first == "depthwise" else Conv2D()
    w = graph.constant(weights, name="w1")
    x = graph.add(op, x, w, graph.constant(draw(1, 4) * spread, name="b1"), name="between")
    following = draw(2, 5, 1, 1, 4) * np.array([1, 9, 0.1, 3], np.float32)
    w = graph.constant(following, name="w2")
    y = graph.add(Conv2D(), x, w, graph.constant(draw(3, 5), name="b2"), name="y")
    made = graph.finish(y)
    profile = profile_graph(made, random_samples(made, 8))
    levelled, after = equalize(made, profile)
    channels, new = (each.tensors["between"].channels for each in (profile, after))
    assert channels is not None
    assert new is not None
    reach = np.maximum(np.abs(channels.low), np.abs(channels.high)).astype(float)
    load = np.abs(following).max(axis=(0, 1, 2)).astype(float)
    reach, load = (np.maximum(each / each.max(), 1 / 64) for each in (reach, load))
    factors = np.sqrt(reach / load)
    factors = 2.0 ** np.round(np.log2(np.maximum(factors / factors.max(), 1 / 64)))
    np.testing.assert_allclose(channels.high / new.high, factors, rtol=1e-6)
    np.testing.assert_allclose(channels.mean / new.mean, factors, rtol=1e-5)
    for sample in random_samples(made, 3, seed=2):
        (want,), (got,) = run_graph(made, list(sample)), run_graph(levelled, list(sample))
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
