"""Of layers, their rounding and what is compared: each condition by a case small enough to read."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.ir.graph import Graph, Node
from glowmcu.ir.operation import Array, Operation
from glowmcu.ops.activation import HardSwish, Relu
from glowmcu.ops.elementwise import Add
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.normalization import Softmax
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Split
from glowmcu.ops.transcendental import Logistic
from glowmcu.quant import own_errors, rounding, spectrum_frames
from glowmcu.quant.choices import Quantization
from glowmcu.quant.comparison import _Work
from glowmcu.quant.four_bits import four_bit_candidates
from glowmcu.quant.int8_partition import Rules
from glowmcu.quant.linear_layers import rows_of
from glowmcu.quant.options import QuantizationOptions, options_of
from glowmcu.quant.output_errors import OutputErrors
from glowmcu.quant.parameters import raw_inputs
from glowmcu.quant.profiling import profile_graph
from glowmcu.quant.quantizer import quantize
from glowmcu.quant.ranges import divergence
from glowmcu.quant.samples import samples_of
from glowmcu.quant.schemas import SMALLEST_SCALE, Schema
from glowmcu.quant.side_by_side import SideBySide, run_tensors
from glowmcu.quant.spectrum_traces import moved
from glowmcu.quant.weights import weight_scales
from glowmcu.quant.wide import _between
from tests.ir.graphs import GraphBuilder
from tests.quant.networks import draw, perceptron, random_samples, real
from tests.support.counted import calls


@pytest.mark.parametrize("levels", [2, 3, 5])
@pytest.mark.parametrize("end", [5, 6, 9])
def test_the_divergence_of_a_histogram_is_that_of_its_definition(end: int, levels: int) -> None:
    """Of shares, in plain arithmetic; bins without values among them."""
    counts = [7.0, 1.0, 0.0, 4.0, 2.0, 0.0, 3.0, 0.0, 1.0]
    reference = [*counts[: end - 1], counts[end - 1] + sum(counts[end:])]
    wanted = 0.0
    for place, count in enumerate(reference):
        step = place * levels // end
        members = [i for i in range(end) if i * levels // end == step and counts[i] > 0]
        held = sum(counts[i] for i in members) / len(members) if counts[place] else 0.0
        p, q = count / sum(reference), held / sum(reference)
        wanted += p * math.log(p / max(q, 1e-12)) if p else 0.0
    assert divergence(np.array(counts), end, levels) == pytest.approx(wanted, rel=1e-12)


def test_weights_of_the_smallest_scale_are_nothing() -> None:
    """Of what is a little larger the scale is its own."""
    tiny = np.float64(SMALLEST_SCALE) * 127
    scale = partial(weight_scales, axis=None, bias=None, input_scale=1.0, schema=Schema.SYMMETRIC)
    assert scale(np.array([[tiny, 0.0]])).tolist() == [1.0]
    (more,) = scale(np.array([[2 * tiny, 0.0]])).tolist()
    assert more == np.float32(2 * SMALLEST_SCALE)


@pytest.mark.parametrize(("count", "most", "step"), [(7, 9, 1), (9, 9, 1), (18, 9, 3), (27, 9, 3)])
def test_rows_are_thinned_by_odd_steps(count: int, most: int, step: int) -> None:
    graph = perceptron((3, 2))
    (node,) = (node for node in graph.nodes if node.inputs)
    x = np.arange(3 * count, dtype=np.float32).reshape(count, 3)
    assert np.array_equal(rows_of(node, x, most), x[np.newaxis, ::step])


def test_rounding_ends_with_the_first_sweep_that_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not earlier; sweeps are counted by the functions that they call."""
    random = np.random.default_rng(4)
    mixing = random.normal(size=(9, 6))
    outer, target = mixing.T @ mixing, random.normal(0, 9, (3, 6))
    start = np.zeros((3, 6))
    after = [start]
    for sweeps in range(1, 20):
        monkeypatch.setattr(rounding, "_SWEEPS", sweeps)
        after.append(rounding._descend(target, start, outer, 127))
    needed = next(n for n in range(19) if np.array_equal(after[n], after[n + 1]))
    assert 2 < needed < 10

    def work(sweeps: int, begin: np.ndarray) -> int:
        monkeypatch.setattr(rounding, "_SWEEPS", sweeps)
        return calls(lambda: rounding._descend(target, begin, outer, 127))

    assert work(19, start) == work(needed + 1, start) > work(needed, start)
    assert work(19, after[needed]) == work(1, after[needed])


def with_ending(shape: tuple[int, ...], last: Operation | None = None) -> Graph:
    """Softmax, or another operator, of some shape between two reshapes."""
    graph = GraphBuilder()
    x = graph.input(real(1, 4), "x")
    x = graph.add(last or Softmax(), graph.add(Reshape(shape), x), name="p")
    return graph.finish(graph.add(Reshape((1, 4)), x, name="y"))


def test_scores_of_other_shapes_are_not_compared_but_probabilities() -> None:
    float_graph, other = with_ending((1, 4)), with_ending((2, 2))
    samples = samples_of(float_graph, draw(3, 5, 4))
    errors = OutputErrors(float_graph, samples)
    outputs, (found,) = errors.of(other, samples)
    difference = outputs[0].astype(np.float64) - errors.outputs()[0]
    wanted = np.sqrt(np.square(difference).reshape(5, -1).mean(axis=1))
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert (errors.of(float_graph, samples)[1] == 0).all()


def test_outputs_are_compared_where_the_graphs_end_in_different_ways() -> None:
    graph = GraphBuilder()
    x = graph.input(real(1, 4), "x")
    plain = graph.finish(graph.add(Reshape((1, 4)), x))
    samples = samples_of(plain, draw(3, 5, 4))
    moved = with_ending((1, 4), last=Logistic())
    ends = (with_ending((1, 4)), plain, moved)
    for one, other in permutations(ends, 2):
        errors = OutputErrors(one, samples)
        outputs, (found,) = errors.of(other, samples)
        difference = outputs[0].astype(np.float64) - errors.outputs()[0]
        np.testing.assert_allclose(found, np.sqrt(np.square(difference).mean(axis=(1, 2))))


def test_a_row_of_a_comparison_has_the_nodes_name_or_its_results() -> None:
    graph = perceptron((4, 3))
    (node,) = (node for node in graph.nodes if node.inputs)
    made = quantize(graph, profile_graph(graph, random_samples(graph, 8)), QuantizationOptions())
    work = _Work(SideBySide(made.reference, made.graph), made.reference.outputs)
    for name, wanted in (("a name of its own", "a name of its own"), ("", node.output.name)):
        origin = made.reference.outputs[0]
        assert work._row(origin, node.output, None).node == ""
        assert work._row(origin, node.output, replace(node, name=name)).node == wanted


@pytest.mark.parametrize("percentile", ["99", None, [99], 50, 101, False])
def test_a_percentile_is_a_number_above_50(percentile: object) -> None:
    with pytest.raises(GlowmcuError, match="percentile must be a number above 50") as caught:
        options_of({"percentile": percentile})
    assert caught.value.code == "GM315"


def test_a_percentile_may_be_whole() -> None:
    assert options_of({"percentile": 100}).calibration.percentile == 100.0
    assert options_of({"percentile": 50.1}).calibration.percentile == 50.1


def test_a_search_is_plain_where_that_word_is_given() -> None:
    assert Quantization(search="plain").is_plain
    assert not Quantization(search="automatic").is_plain
    assert not Quantization().is_plain
    with pytest.raises(GlowmcuError) as caught:
        _ = Quantization(search="best").is_plain  # type: ignore[arg-type]
    assert caught.value.code == "GM322"


def test_four_bits_are_asked_for_by_their_number_by_names_and_by_mixed() -> None:
    for weights, asked in (("mixed", True), (4, True), (["a"], True), (8, False), ([], False)):
        assert Quantization(weights=weights).asks_for_four_bits == asked  # type: ignore[arg-type]
    assert not Quantization().asks_for_four_bits
    mixed = Quantization(weights="mixed").over(QuantizationOptions())
    assert mixed.four_bit_weights == ()
    assert Quantization(weights=["a"]).over(mixed).four_bit_weights == ("a",)


def test_only_matrix_products_with_weights_may_have_four_bits() -> None:
    graph = GraphBuilder()
    x = graph.input(real(1, 4), "x")
    w, b = graph.constant(draw(1, 4, 4)), graph.constant(draw(2, 4))
    y = graph.add(FullyConnected(), x, w, b, name="dense")
    total = graph.add(Add(), y, graph.constant(draw(3, 4)), name="sum")
    built = graph.finish(total)
    rules: Rules = {}
    for node in built.nodes:
        rule = node.op.quantization_rule(node.signature) if node.inputs else None
        if rule is not None:
            rules[node] = replace(rule, weights={1: None})
    assert {node.name for node in rules} == {"dense", "sum"}
    assert [node.name for node in four_bit_candidates(built, rules)] == ["dense"]
    (dense,) = (node for node in rules if node.name == "dense")
    assert four_bit_candidates(built, {**rules, dense: replace(rules[dense], weights={})}) == []
    assert four_bit_candidates(built, {}) == []


def moving_between(graph: GraphBuilder) -> Graph:
    """first (softmax), moved, turned, and last: each reshapes but the first and the last."""
    x = graph.input(real(1, 4, 6), "x")
    x = graph.add(Softmax(), x, name="first")
    x = graph.add(Reshape((2, 12)), x, name="moved")
    x = graph.add(Reshape((12, 2)), x, name="turned")
    return graph.finish(graph.add(HardSwish(), x, name="last"))


@pytest.mark.parametrize(
    ("wide", "refused", "found"),
    [
        (["first"], [], []), (["first", "last"], [], ["moved", "turned"]),
        (["first", "turned"], [], ["moved"]), (["first", "last"], ["moved"], []), ([], [], []),
    ],
)  # fmt: skip
def test_what_moves_elements_is_int16_where_all_around_it_is(
    wide: list[str], refused: list[str], found: list[str]
) -> None:
    graph = moving_between(GraphBuilder())
    nodes = {node.name: node for node in graph.nodes}
    rules = {}
    for node in graph.nodes:
        rule = node.op.quantization_rule(node.signature)
        assert rule is not None
        rules[node] = rule
    got = _between(graph, rules, {nodes[n] for n in wide}, {nodes[n] for n in refused})
    assert sorted(node.name for node in got) == sorted(found)


def test_an_input_is_raw_where_int16_layers_make_samples_of_it() -> None:
    """Not behind a layer of int8: what that reads is stored as int8."""
    graph = GraphBuilder()
    x, y = graph.input(real(1, 8), "x"), graph.input(real(1, 8), "y")
    wide = graph.add(Relu((-9.0, 9.0)), x, name="wide")
    narrow = graph.add(Relu((-9.0, 9.0)), y, name="narrow")
    both = graph.add(Add(), wide, narrow, name="both")
    built = graph.finish(both)
    nodes = {node.name: node for node in built.nodes}
    rules = {}
    for node in built.nodes:
        rule = node.op.quantization_rule(node.signature)
        assert rule is not None
        rules[node] = replace(rule, samples=(0, 1) if node.name == "both" else ())

    def raw(*wide_nodes: str) -> list[str]:
        found = raw_inputs(built, rules, [nodes[name] for name in wide_nodes])
        return sorted(value.name for value in found)

    assert raw() == []
    assert raw("wide") == ["x"]
    assert raw("wide", "narrow") == ["x", "y"]
    assert raw("both") == []
    without = {node: replace(rule, samples=()) for node, rule in rules.items()}
    assert raw_inputs(built, without, [nodes["wide"]]) == set()


def test_the_mean_of_a_tensor_is_that_of_its_channels_means() -> None:
    graph = GraphBuilder()
    x = graph.input(real(1, 5, 3), "x")
    built = graph.finish(graph.add(Relu((0.0, 6.0)), x))
    data = draw(1, 1, 5, 3) + np.array([1e3, 1.0, -1e-3], np.float32)
    tensor = profile_graph(built, samples_of(built, data)).tensors["x"]
    assert tensor.channels is not None
    assert tensor.mean == float(tensor.channels.mean.mean(dtype=np.float64))
    assert tensor.mean != float(data.mean(dtype=np.float64))


def test_a_view_of_a_signal_is_made_once_however_often_it_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each node moves places and factors; of two operands alike one view is made."""
    graph = GraphBuilder()
    x = graph.input(real(1, 4), "signal")
    for _ in range(5):
        x = graph.add(Concatenation(1), x, x)
    seen: list[str] = []

    def counted(node: Node, operands: list[Array]) -> Array:
        seen.append(node.name)
        return moved(node, operands)

    monkeypatch.setattr(spectrum_frames, "moved", counted)
    built = graph.finish(x)
    assert spectrum_frames._view(built, x, built.inputs[0], {}) is not None
    assert len(seen) == 2 * 5


def test_graphs_are_made_once_for_each_number_of_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = perceptron((4, 3))
    samples = random_samples(graph, 70)
    made = quantize(graph, profile_graph(graph, samples), QuantizationOptions())
    both, asked = SideBySide(made.reference, made.graph), list[int]()
    for_many = SideBySide._for_many

    def counted(self: SideBySide, count: int) -> SideBySide:
        asked.append(count)
        return for_many(self, count)

    monkeypatch.setattr(SideBySide, "_for_many", counted)
    assert [count for _, _, count in both.runs(samples)] == [32, 32, 6]
    assert asked == [32, 6]


def test_a_layer_of_several_results_is_computed_alone_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = GraphBuilder()
    x = graph.input(real(1, 4), "x")
    relu = graph.add(Relu((-9.0, 9.0)), x, name="relu")
    parts = graph.add_many(Split(1, (1, 3)), relu, name="parts")
    built = graph.finish(*parts)
    samples = random_samples(built, 4)
    made = quantize(built, profile_graph(built, samples), QuantizationOptions())
    both, asked = SideBySide(made.reference, made.graph), list[str]()
    alone = own_errors.alone

    def counted(lanes: SideBySide, node: Node, *tensors: Any) -> list[tuple[Array, Array]]:
        asked.append(node.name)
        return alone(lanes, node, *tensors)

    monkeypatch.setattr(own_errors, "alone", counted)
    (sample, *_) = samples
    runs = (
        run_tensors(both.reference, sample),
        run_tensors(both.quantized, both.quantized_inputs(sample)),
    )
    found = list(own_errors.own_errors(both, *runs))
    assert sorted(asked) == ["parts", "relu"]
    assert len(found) == 1 + 1 + 2
