"""What is told of a simplification agrees with the graphs."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

from glowmcu.cores import core
from glowmcu.goals import Goal
from glowmcu.ir.graph import Graph
from glowmcu.kernels.kernel import Target
from glowmcu.lowering import passes, simplify
from glowmcu.lowering.simplification import SimplificationWatch, simplification
from glowmcu.ops.convolution import Conv2D
from glowmcu.ops.lookup import Lookup
from glowmcu.tuning.evaluation import estimated_cost
from tests.ir.graphs import GraphBuilder, int8
from tests.lowering.channel_graphs import LIKE, NETWORKS

UNIT = int8(scale=1, zero_point=0).quantization


def pointwise(b: GraphBuilder, x, weights, bias, clamp=None, name="conv"):
    w = b.constant(np.array(weights, np.int8).reshape(len(weights), 1, 1, -1), UNIT)
    like = int8(scale=1, zero_point=0)
    return b.add(Conv2D(clamp=clamp), x, w, b.constant(np.array(bias, np.int32)), like=like,
                 name=name)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(graph=NETWORKS)
def test_totals_are_those_of_the_graphs_and_the_sum_of_the_layers(graph: Graph) -> None:
    after = simplify.run(graph)
    told = simplification(graph, after)
    assert (told.macs_before, told.macs_after) == (graph.macs, after.macs)
    assert sum(layer.macs_saved for layer in told.layers) == graph.macs - after.macs
    saved = sum(layer.weights_bytes_saved for layer in told.layers)
    assert saved == told.weights_bytes_before - told.weights_bytes_after
    for layer in told.layers:
        gone = layer.channels_before - layer.channels_after
        assert min(layer.constant_channels, layer.unread_channels) >= 0
        assert layer.constant_channels + layer.unread_channels == gone


def test_reasons_are_told_apart() -> None:
    """Of four channels the second always saturates and nobody has weights for the third."""
    b = GraphBuilder()
    x = b.input(int8(1, 2, 2, 1, scale=1, zero_point=0))
    first = pointwise(b, x, [[1], [1], [1], [1]], [0, 10**6, 0, 0], name="first")
    second = pointwise(b, first, [[1, 1, 0, 1]], [0], name="second")
    graph = b.finish(second)
    told = simplification(graph, simplify.run(graph))
    first_row, second_row = told.layers
    assert (first_row.name, first_row.op) == ("first", "conv_2d")
    assert (first_row.channels_before, first_row.channels_after) == (4, 2)
    assert (first_row.constant_channels, first_row.unread_channels) == (1, 1)
    assert (first_row.macs_saved, first_row.weights_bytes_saved) == (8, 2)
    assert (second_row.channels_before, second_row.channels_after) == (1, 1)
    assert (second_row.macs_saved, second_row.weights_bytes_saved) == (8, 2)


def test_nodes_that_are_no_more_and_clamps_that_never_bind_are_named() -> None:
    b = GraphBuilder()
    x = b.input(int8(1, 2, 2, 1, scale=1, zero_point=0))
    flat = pointwise(b, x, [[0]], [5], (0, 6), name="flat")
    narrow = pointwise(b, x, [[0], [1]], [40, 0], (-30, 30), name="narrow")
    table = np.maximum(np.arange(256, dtype=np.uint8).view(np.int8), np.int8(-100))
    kept = b.add(Lookup(table), narrow, name="kept")
    wide = pointwise(b, kept, [[1, 1]], [0], (-90, 90), name="wide")
    graph = b.finish(wide, flat)
    told = simplification(graph, simplify.run(graph))
    assert told.constant_results == ("flat",)
    assert told.removed_nodes == ("kept",)
    assert told.dropped_clamps == ("wide",)


def test_layers_of_one_name_are_told_in_order() -> None:
    b = GraphBuilder()
    x = b.input(int8(1, 2, 2, 1, scale=1, zero_point=0))
    for _ in range(3):
        x = pointwise(b, x, [[1], [0]], [0, 5], name="same")
        x = pointwise(b, x, [[1, 1]], [0], name="same")
    graph = b.finish(x)
    told = simplification(graph, simplify.run(graph))
    assert [layer.channels_after for layer in told.layers] == [1, 1, 1, 1, 1, 1]


def test_nothing_is_told_where_nothing_went_or_it_was_not_wanted() -> None:
    b = GraphBuilder()
    graph = b.finish(pointwise(b, b.input(LIKE.with_shape((1, 2, 2, 1))), [[1]], [0]))
    for simplified in (True, False):
        watch = SimplificationWatch()
        passes.lower(graph, watch, simplified)
        assert watch.told() is None


def test_a_watch_hands_everything_on() -> None:
    b = GraphBuilder()
    x = b.input(int8(1, 2, 2, 1, scale=1, zero_point=0))
    graph = b.finish(pointwise(b, pointwise(b, x, [[1], [0]], [0, 5]), [[1, 1]], [0]))
    names: list[str] = []
    watch = SimplificationWatch(lambda name, _: names.append(name))
    passes.lower(graph, watch)
    assert names == [name for name, _ in passes.all_passes()]
    told = watch.told()
    assert told is not None
    assert told.macs_after < told.macs_before


def test_tuning_estimates_what_the_bundle_will_be() -> None:
    b = GraphBuilder()
    x = b.input(int8(1, 8, 8, 4, scale=1, zero_point=0))
    weights = np.arange(32).reshape(8, 4) % 7 - 3
    hidden = pointwise(b, x, weights, [10**6] * 6 + [0, 0])
    graph = b.finish(pointwise(b, hidden, [[1, -1, 2, 0, 1, -2, 1, 1]], [0]))
    target = Target(core("cortex-m4"), Goal.BALANCED)
    simple, plain = estimated_cost(graph, target), estimated_cost(graph, target, simplify=False)
    assert simple.cycles < plain.cycles
    assert simple.flash_bytes < plain.flash_bytes
