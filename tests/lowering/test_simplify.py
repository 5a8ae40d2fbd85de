"""Proved simplification: on any network the same bytes, and not the work that cannot matter."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings

from glowmcu.ir.graph import Graph
from glowmcu.ir.operation import Rounding
from glowmcu.lowering import passes, simplify
from glowmcu.ops.activation import Relu
from glowmcu.ops.convolution import Conv2D
from tests.ir.graphs import GraphBuilder, int8
from tests.lowering.channel_graphs import LIKE, NETWORKS, expect_same_bytes, random_network
from tests.lowering.run_pass import Pass


@pytest.mark.parametrize(
    ("name", "run_pass"), simplify.SIMPLIFICATIONS, ids=[n for n, _ in simplify.SIMPLIFICATIONS]
)
@settings(max_examples=60, deadline=None)
@given(graph=NETWORKS)
def test_a_simplification_keeps_every_byte_of_any_network(
    name: str, run_pass: Pass, graph: Graph
) -> None:
    after = run_pass(graph)
    expect_same_bytes(graph, after)
    assert run_pass(after) is after


@settings(max_examples=100, deadline=None)
@given(graph=NETWORKS)
def test_all_of_them_keep_every_byte_add_no_work_and_come_to_an_end(graph: Graph) -> None:
    after = simplify.run(graph)
    expect_same_bytes(graph, after)
    assert after.macs <= graph.macs
    assert simplify.run(after) is after


@settings(max_examples=40, deadline=None)
@given(graph=NETWORKS)
def test_single_rounding_keeps_every_byte_too(graph: Graph) -> None:
    graph = graph.replace(rounding=Rounding.SINGLE)
    expect_same_bytes(graph, simplify.run(graph))


@settings(max_examples=40, deadline=None)
@given(graph=NETWORKS)
def test_all_passes_keep_every_byte_with_and_without_it(graph: Graph) -> None:
    plain, simple = passes.lower(graph, simplified=False), passes.lower(graph)
    expect_same_bytes(graph, plain)
    expect_same_bytes(graph, simple)
    assert simple.macs <= plain.macs


def test_random_networks_have_something_to_simplify() -> None:
    """The tests above say nothing unless the passes find work."""
    graphs = [random_network(seed) for seed in range(60)]
    for _, run_pass in simplify.SIMPLIFICATIONS:
        after = [run_pass(graph) for graph in graphs]
        assert sum(new is not old for new, old in zip(after, graphs, strict=True)) >= 5
        graphs = after


def test_a_chain_of_constants_collapses_step_by_step() -> None:
    """Each layer is constant only once the one in front of it is, and its border is folded."""
    g = np.random.default_rng(1)
    b = GraphBuilder()
    x = b.input(int8(1, 4, 4, 3))
    values = [x]
    for step in range(4):
        weights = b.constant(g.integers(-128, 128, (3, 1, 1, 3)).astype(np.int8),
                             int8(scale=0.01, zero_point=0).quantization)  # fmt: skip
        bias = np.full(3, 10**8 if step == 0 else 50, np.int32)
        values.append(b.add(Conv2D(), values[-1], weights, b.constant(bias), like=LIKE))
    graph = b.finish(b.add(Relu((-3, 127)), values[-1]))
    after = simplify.run(graph)
    expect_same_bytes(graph, after)
    assert after.macs == 0
    assert [node.op.name for node in after.nodes] == ["constant"]


def test_simplify_false_skips_just_this_pass() -> None:
    graph = random_network(7)
    seen: dict[bool, list[str]] = {True: [], False: []}
    for simplified, names in seen.items():
        passes.lower(graph, lambda name, _, names=names: names.append(name), simplified)
    assert [name for name in seen[True] if name != passes.SIMPLIFY] == seen[False]
    assert passes.SIMPLIFY in seen[True]
    assert ("remove_identity_tables", passes.SIMPLIFY) in list(pairwise(seen[True]))
