"""All passes, alone and together, on random graphs; plug-ins, observers and time."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from glowmcu.discovery import Plugin
from glowmcu.errors import GlowmcuError
from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.types import ElementType
from glowmcu.lowering import (
    passes,
)
from glowmcu.ops.activation import Relu
from glowmcu.ops.elementwise import Add
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.lookup import Lookup, all_values
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice
from glowmcu.ops.transpose import Transpose
from tests.ir.graphs import GraphBuilder, int8
from tests.lowering.run_pass import TO_NCHW, TO_NHWC, Pass, expect_same_meaning, names
from tests.support.counted import calls


@st.composite
def small_graphs(draw: st.DrawFn) -> Graph:
    """Up to a dozen operators that the passes know, on tensors of rank 3."""
    b = GraphBuilder()
    values = [b.input(int8(2, 1, 3)), b.input(int8(2, 1, 3), "y")]
    values.append(b.constant(np.arange(6, dtype=np.int8).reshape(2, 1, 3), int8().quantization))
    for _ in range(draw(st.integers(1, 12))):
        x = draw(st.sampled_from(values))
        values.append(draw(st.sampled_from(STEPS))(b, x, values, draw))
    outputs = draw(st.lists(st.sampled_from(values[3:]), min_size=1, max_size=3, unique=True))
    return b.finish(*outputs)


def _transposed(b: GraphBuilder, x: Value, _: list[Value], draw: st.DrawFn) -> Value:
    return b.add(Transpose(tuple(draw(st.permutations(range(x.type.rank))))), x)


def _reshaped(b: GraphBuilder, x: Value, _: list[Value], draw: st.DrawFn) -> Value:
    shape = draw(st.permutations(x.type.shape))
    return b.add(Reshape(tuple(shape)), x)


def _added(b: GraphBuilder, x: Value, values: list[Value], draw: st.DrawFn) -> Value:
    others = [value for value in values if value.type.shape == x.type.shape]
    return b.add(Add(), x, draw(st.sampled_from(others)))


def _joined(b: GraphBuilder, x: Value, values: list[Value], draw: st.DrawFn) -> Value:
    if x.type.element_count > 30:
        return b.add(Relu(), x)
    others = [value for value in values if value.type.shape == x.type.shape]
    return b.add(Concatenation(draw(st.integers(0, 2))), x, draw(st.sampled_from(others)))


def _sliced(b: GraphBuilder, x: Value, _: list[Value], draw: st.DrawFn) -> Value:
    size = tuple(draw(st.integers(max(1, length - 1), length)) for length in x.type.shape)
    return b.add(Slice((0, 0, 0), size, (1, 1, 1)), x)


def _table(b: GraphBuilder, x: Value, _: list[Value], draw: st.DrawFn) -> Value:
    table = all_values(ElementType.I8)
    return b.add(Lookup(draw(st.sampled_from([table, -table])).copy()), x)


def _relu(b: GraphBuilder, x: Value, _: list[Value], draw: st.DrawFn) -> Value:
    return b.add(Relu(), x)


STEPS = [_transposed, _reshaped, _added, _joined, _sliced, _table, _relu]


@pytest.mark.parametrize(("name", "run_pass"), passes.PASSES, ids=[n for n, _ in passes.PASSES])
@settings(max_examples=30)
@given(graph=small_graphs())
def test_a_pass_keeps_the_meaning_of_any_graph(name: str, run_pass: Pass, graph: Graph) -> None:
    expect_same_meaning(graph, run_pass(graph))


def twice_read() -> Graph:
    """Both readers of a transpose could do without it, and would need one each behind them."""
    b = GraphBuilder()
    x = b.input(int8(2, 1, 3))
    turned = b.add(Transpose((1, 2, 0)), x)
    return b.finish(b.add(Add(), turned, turned), b.add(Add(), x, x), b.add(Relu(), turned))


@settings(max_examples=60)
@example(graph=twice_read())
@given(graph=small_graphs())
def test_all_passes_together_keep_the_meaning_and_add_no_work(graph: Graph) -> None:
    after = passes.lower(graph)
    expect_same_meaning(graph, after)
    assert names(after).count("transpose") <= names(graph).count("transpose")


def test_an_observer_sees_the_graph_after_every_pass() -> None:
    b = GraphBuilder()
    seen: list[str] = []
    graph = b.finish(b.add(Relu(), b.input(int8(4))))
    after = passes.lower(graph, lambda name, graph: seen.append(name) or graph.verify())
    assert seen == [name for name, _ in passes.all_passes()]
    assert after.outputs[0].name == graph.outputs[0].name


def blocks(count: int) -> Graph:
    """Five nodes a block, turned to and fro, with a residual from the input."""
    b = GraphBuilder()
    x = y = b.input(int8(1, 4, 5, 6))
    for _ in range(count):
        turned = b.add(Transpose(TO_NCHW), y)
        y = b.add(Add(), b.add(Transpose(TO_NHWC), b.add(Relu(), turned)), x)
        y = b.add(Reshape((1, 4, 5, 6)), y)
    return b.finish(y)


def run_and_keep(run_pass: Pass, graph: Graph, done: list[Graph]) -> None:
    done.append(run_pass(graph))


def test_the_work_of_a_pass_grows_as_the_network_does() -> None:
    """Four times the nodes: four times the calls, with some room; sixteen would be a square."""
    small, large = blocks(25), blocks(100)
    for name, run_pass in passes.PASSES:
        done: list[Graph] = []
        works = [partial(run_and_keep, run_pass, graph, done) for graph in (small, large)]
        work = [calls(each) for each in works]
        assert work[1] < 8 * work[0], (name, work)
        assert work[1] < 2500 * 500, (name, work)
        small, large = done


def test_unknown_place_of_a_plug_in_pass_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def run_nothing(graph: Graph) -> Graph:
        return graph

    run_nothing.after = "fold_everything"  # type: ignore[attr-defined]
    plugin = Plugin("glowmcu.passes", "acme", "acme:run", "acme", "1.0")
    monkeypatch.setattr(passes, "load_plugins", lambda *_: [(plugin, run_nothing)])
    with pytest.raises(GlowmcuError, match="'fold_everything', which is no pass"):
        passes.all_passes.__wrapped__()
