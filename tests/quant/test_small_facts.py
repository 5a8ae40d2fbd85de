"""Of profiles, samples and masks: each condition by a case small enough to be read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.ir.graph import Graph, Node
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.activation import Relu
from glowmcu.ops.cast import Cast
from glowmcu.ops.comparison import Select
from glowmcu.ops.elementwise import Add, Mul, Sub
from glowmcu.ops.normalization import Softmax
from glowmcu.ops.scan import CumSum
from glowmcu.ops.shape import Reshape
from glowmcu.quant.mask_values import possible_values
from glowmcu.quant.masked_ranges import masked_ranges
from glowmcu.quant.profile import ChannelProfile, TensorProfile, resized
from glowmcu.quant.profiling import profile_graph
from glowmcu.quant.sample_source import evenly_picked
from glowmcu.quant.samples import Samples, samples_of
from tests.ir.graphs import GraphBuilder
from tests.quant.networks import convolutions, random_samples, real


def tensor(low: float, high: float, variance: float = 1.0, channels: Any = None) -> TensorProfile:
    return TensorProfile((1, 2), 10, low, high, 0.0, variance, None, channels)


def channels(low: list[float], high: list[float]) -> ChannelProfile:
    return ChannelProfile(*(np.array(each, np.float32) for each in (low, high, low)))


@pytest.mark.parametrize(
    ("low", "high", "variance", "steps"),
    [
        (-1.0, 4.0, 4.0, 102.0), (1.0, 4.0, 4.0, 127.5), (-4.0, -1.0, 4.0, 127.5),
        (0.0, 0.0, 0.0, 0.0), (0.0, 2.55, 0.0, 0.0),
    ],
)  # fmt: skip
def test_a_deviation_is_counted_in_steps_of_a_range_that_has_zero(
    low: float, high: float, variance: float, steps: float
) -> None:
    assert tensor(low, high, variance).int8_steps == pytest.approx(steps)


def test_the_quietest_channel_is_compared_with_the_loudest() -> None:
    assert tensor(0, 1).quietest_share is None
    assert tensor(0, 1, 1, channels([-8, 0.5], [1, 2])).quietest_share == 0.25
    assert tensor(0, 1, 1, channels([-1, -8], [2, 1])).quietest_share == 0.25
    assert tensor(0, 1, 1, channels([0, 0], [0, 4])).quietest_share == 0.0
    assert tensor(0, 0, 1, channels([0, 0], [0, 0])).quietest_share is None
    assert tensor(0, 0, 1, channels([], [])).quietest_share is None


def test_a_profile_of_another_size_keeps_what_is_of_the_same_channels() -> None:
    graph = convolutions()
    profile = profile_graph(graph, random_samples(graph, 4))
    name, known = next((n, t) for n, t in profile.tensors.items() if len(t.shape) == 4)
    others = {
        "longer": replace(known, shape=(1, 99, *known.shape[2:])),
        "of other channels": replace(known, shape=(*known.shape[:3], known.shape[3] + 1)),
        "of another rank": replace(known, shape=known.shape[1:]),
    }
    for what, changed in others.items():
        before = replace(profile, tensors={**profile.tensors, name: changed})
        got = resized(before, graph).tensors[name]
        assert (got.low, got.high, got.histogram) == (known.low, known.high, known.histogram)
        if what == "of another rank":
            assert got == changed
            continue
        assert got.shape == known.shape
        assert (got.channels is None) == (what == "of other channels")
    missing = {key: each for key, each in profile.tensors.items() if key != name}
    assert name not in resized(replace(profile, tensors=missing), graph).tensors


@pytest.mark.parametrize(
    ("count", "most", "picked"),
    [
        (10, 3, [0, 3, 6]), (10, 4, [0, 2, 5, 7]), (3, 3, [0, 1, 2]), (2, 9, [0, 1]), (7, 1, [0]),
    ],
)  # fmt: skip
def test_of_many_samples_some_are_picked_at_equal_distances(
    count: int, most: int, picked: list[int]
) -> None:
    samples = Samples(lambda: iter((np.array(i),) for i in range(count)), count)
    assert [int(sample[0]) for sample in evenly_picked(samples, most)] == picked
    assert (evenly_picked(samples, most) is samples) == (count <= most)


#: How the scores are masked: operands of the operator in front of the softmax.
NEVER = np.float32(-1e9)


def masked(how: str, mask: Any, shown: bool = False) -> Graph:
    """A softmax of scores (an input) under a mask (a constant, or an input if it is None)."""
    graph = GraphBuilder()
    scores = graph.input(real(1, 4), "scores")
    if mask is None:
        value = graph.input(real(1, 4), "mask")
    else:
        value = graph.constant(np.array([mask], np.float32), name="mask")
    if how == "add":
        x = graph.add(Add(), scores, value, name="masked")
    elif how == "add, mask first":
        x = graph.add(Add(), value, scores, name="masked")
    elif how == "sub":
        x = graph.add(Sub(), scores, value, name="masked")
    elif how == "mask less scores":
        x = graph.add(Sub(), value, scores, name="masked")
    else:
        chosen = graph.constant(np.array([[True, False, True, False]]), name="chosen")
        x = graph.add(Select(), chosen, scores, value, name="masked", like=real(1, 4))
    y = graph.add(Softmax(), x, name="y")
    return graph.finish(*([y, x] if shown else [y]))


MEASURED = {"scores": (-3.0, 5.0), "mask": (-1e9, 0.0)}
FORBIDS = [0.0, NEVER, 0.0, NEVER]
#: Ranges by name: of the mask, and of the scores under it.
MASKS: dict[str, tuple[str, Any, dict[str, tuple[float, float]]]] = {
    "added": ("add", FORBIDS, {"mask": (-16.0, 0.0), "masked": (-11.0, 5.0)}),
    "added to": ("add, mask first", FORBIDS, {"mask": (-16.0, 0.0), "masked": (-11.0, 5.0)}),
    "subtracted": ("sub", [0.0, 1e9, 0, 0], {"mask": (0.0, 16.0), "masked": (-11.0, 5.0)}),
    "chosen": ("select", [NEVER] * 4, {"mask": (-11.0, -11.0), "masked": (-11.0, 5.0)}),
    "an input": ("add", None, {"mask": (-16.0, 0.0), "masked": (-11.0, 5.0)}),
    "with a bias of its own": (
        "add", [2.0, NEVER, -1.0, NEVER], {"mask": (-19.0, 2.0), "masked": (-12.0, 7.0)},
    ),
    "as low as a score may be": ("add", [-999.0, 0, 0, 0], {}),
    "as high as none forbids": ("sub", [-1e9, 0, 0, 0], {}),
    "what is subtracted from": ("mask less scores", FORBIDS, {}),
}  # fmt: skip


@pytest.mark.parametrize("name", MASKS)
def test_a_mask_reaches_eight_below_all_scores(name: str) -> None:
    how, mask, wanted = MASKS[name]
    graph = masked(how, mask)
    measured = dict(MEASURED)
    measured["masked"] = (-1e9, 5.0)
    if mask is not None:
        measured["mask"] = (float(np.min(mask)), float(np.max(mask)))
    got = masked_ranges(graph, lambda value: measured[value.name])
    assert {value.name: span for value, span in got.items()} == wanted


def test_what_others_read_too_keeps_its_range() -> None:
    graph = masked("add", FORBIDS, shown=True)
    assert masked_ranges(graph, lambda value: (-1e9, 5.0)) == {}


@pytest.mark.parametrize("read_by", ["a node", "the softmax again"])
def test_what_another_node_reads_too_keeps_its_range(read_by: str) -> None:
    graph = masked("add", FORBIDS)
    (softmax,) = (node for node in graph.nodes if isinstance(node.op, Softmax))
    (x,) = softmax.inputs
    measured = {**MEASURED, "masked": (-1e9, 5.0)}
    assert x in masked_ranges(graph, lambda value: measured[value.name])
    op = Relu((0.0, 6.0)) if read_by == "a node" else Softmax()
    other = Node(op, (x,), (replace(x, name="other"),), "other")
    changed = graph.replace((*graph.nodes, other), (*graph.outputs, other.output))
    assert masked_ranges(changed, lambda value: measured[value.name]) == {}


@pytest.mark.parametrize("how", ["add", "select"])
@pytest.mark.parametrize("mask", [FORBIDS, None])
def test_a_mask_that_another_node_reads_keeps_its_range(how: str, mask: Any) -> None:
    graph = masked(how, mask)
    (value,) = (v for node in graph.nodes for v in node.inputs if v.name == "mask")
    measured = {**MEASURED, "masked": (-1e9, 5.0)}
    other = Node(Relu((0.0, 6.0)), (value,), (replace(value, name="other"),), "other")
    changed = graph.replace((*graph.nodes, other), (*graph.outputs, other.output))
    assert masked_ranges(changed, lambda value: measured[value.name]) == {}


@pytest.mark.parametrize("how", ["add", "select"])
@pytest.mark.parametrize("mask", [FORBIDS, None])
def test_a_mask_that_an_output_shows_keeps_its_range(how: str, mask: Any) -> None:
    graph = masked(how, mask)
    (value,) = (v for node in graph.nodes for v in node.inputs if v.name == "mask")
    measured = {**MEASURED, "masked": (-1e9, 5.0)}
    assert masked_ranges(graph, lambda value: measured[value.name]) != {}
    shown = graph.replace(outputs=(*graph.outputs, value))
    assert masked_ranges(shown, lambda value: measured[value.name]) == {}


def test_what_two_masks_are_made_of_reaches_as_far_as_either() -> None:
    """Scores of another range each; what is not real is not among what masks are made of."""
    graph = GraphBuilder()
    one, two = (graph.input(real(1, 4), name) for name in ("one", "two"))
    kept = graph.input(TensorType((1, 4), ElementType.I32), "kept")
    number = graph.add(Cast(), kept, like=real(1), name="number")
    less = graph.add(Sub(), number, graph.constant(np.float32([[1.0]]), name="all"), name="less")
    never = graph.add(Mul(), less, graph.constant(np.float32([[1e4]]), name="far"), name="never")
    outputs = []
    for scores in (one, two):
        mask = graph.add(Reshape((1, 4)), never, name=f"mask of {scores.name}")
        x = graph.add(Add(), scores, mask, name=f"{scores.name} masked")
        outputs.append(graph.add(Softmax(), x))
    built = graph.finish(*outputs)
    measured = {"one": (-3.0, 5.0), "two": (-1.0, 90.0), "number": (0.0, 1.0)}
    never_range = (-1e4, 0.0)
    got = masked_ranges(built, lambda value: measured.get(value.name, never_range))
    spans = {value.name: span for value, span in got.items()}
    assert spans["mask of one"] == (-16.0, 0.0)
    assert spans["mask of two"] == (-99.0, 0.0)
    assert spans["never"] == (-99.0, 0.0)
    names = {"number", "less", "never", "all", "far"}
    made_of = possible_values(built, never, lambda value: measured.get(value.name, never_range))
    assert {value.name for value in made_of} == names
    assert next(iter(made_of)) is never
    masked = {"one masked", "two masked", "mask of one", "mask of two"}
    assert spans.keys() == names | masked


def test_an_operator_without_a_rule_ends_the_way_to_the_scores() -> None:
    """And so does one whose results have a range of their own."""
    for op, ends in ((CumSum(1), True), (Relu((0.0, 6.0)), True), (Reshape((1, 4)), False)):
        graph = GraphBuilder()
        scores = graph.input(real(1, 4), "scores")
        mask = graph.constant(np.array([FORBIDS], np.float32), name="mask")
        x = graph.add(op, graph.add(Add(), scores, mask, name="masked"))
        built = graph.finish(graph.add(Softmax(), x))
        assert (masked_ranges(built, lambda value: (-3.0, 5.0)) == {}) == ends
    assert CumSum(1).quantization_rule(built.nodes[-1].signature) is None


def test_samples_of_two_inputs_are_of_one_number() -> None:
    graph = masked("add", None)
    good = {"scores": np.zeros((3, 4), np.float32), "mask": np.ones((3, 4), np.float32)}
    assert samples_of(graph, good).count == 3
    for bad, words in (
        ({**good, "mask": good["mask"][:2]}, "'scores' 3, 'mask' 2"),
        ({"scores": good["scores"]}, "no samples for input 'mask'; got 'scores'"),
        ({}, "no samples for input 'scores'; got nothing"),
    ):
        with pytest.raises(GlowmcuError) as caught:
            samples_of(graph, bad)
        assert caught.value.code == "GM304"
        assert words in str(caught.value)
