"""What is measured of one tensor, what is kept of a run, and how samples are taken together."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Operation
from glowmcu.ops.activation import Abs, Neg, Relu
from glowmcu.ops.elementwise import Add
from glowmcu.ops.reduction import Sum
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice
from glowmcu.ops.tiling import BroadcastTo
from glowmcu.ops.transpose import Reverse
from glowmcu.quant.batching import _near, batched, batches_agree, stacked
from glowmcu.quant.profile import TensorProfile, merge_tensors
from glowmcu.quant.profiling import (
    BATCH_SIZE,
    Progress,
    Watch,
    _affordable,
    _measure,
    in_batches,
    run_samples,
)
from glowmcu.quant.real_outputs import real_outputs
from glowmcu.quant.sample_source import SampleSource, evenly_picked, paths_of
from glowmcu.quant.samples import Samples, joined, samples_of
from tests.ir.graphs import GraphBuilder
from tests.quant.networks import RELU, Floats, draw, perceptron, real

ARRAYS: dict[str, Floats] = {
    "a row": draw(1, 40),
    "a column": draw(2, 9, 1),
    "channels": draw(3, 1, 5, 7, scale=3.0) * np.float32(2),
    "two channels": draw(4, 6, 2) - np.float32(5),
    "as many channels as are counted": draw(5, 2, 4096),
    "more channels than are counted": draw(5, 2, 4097),
    "a constant": np.full((2, 3), 4.5, np.float32),
    "nothing but zeros": np.zeros((2, 3), np.float32),
    "squares beyond float32": draw(6, 4, 5, scale=1e25),
    "one element": np.full((1,), -3.0, np.float32),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_a_tensor_is_measured_by_definition(name: str) -> None:
    array = ARRAYS[name]
    value = Value(real(*array.shape), "x")
    kept = array.copy()
    got = _measure(value, array, None)
    exact = array.astype(np.float64)
    assert np.array_equal(array, kept)
    assert (got.shape, got.count) == (array.shape, array.size)
    assert (got.low, got.high) == (array.min(), array.max())
    assert got.mean == pytest.approx(exact.mean(), rel=1e-5, abs=1e-6)
    assert got.variance == pytest.approx(exact.var(), rel=1e-4, abs=1e-12)
    assert got.histogram is not None
    assert got.histogram.total == array.size
    has_channels = array.ndim > 1 and 1 < array.shape[-1] <= 4096
    assert (got.channels is not None) == has_channels
    if got.channels is not None:
        rows = array.reshape(-1, array.shape[-1])
        assert np.array_equal(got.channels.low, rows.min(axis=0))
        assert np.array_equal(got.channels.high, rows.max(axis=0))
        np.testing.assert_allclose(got.channels.mean, rows.mean(axis=0), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("shape", [(4,), (2, 2)])
def test_what_is_not_finite_names_the_tensor_and_its_node(
    bad: float, shape: tuple[int, ...]
) -> None:
    graph = GraphBuilder()
    x = graph.input(real(*shape), "x")
    y = graph.add(Relu(RELU), x, name="y")
    array = np.ones(shape, np.float32)
    array[-1] = bad
    for node, where in ((None, "input 'y'"), (graph.nodes[0], 'relu "y"')):
        with pytest.raises(GlowmcuError, match="'y' is not finite") as caught:
            _measure(y, array, node)
        assert caught.value.code == "GM311"
        assert caught.value.problems[0].where == where


@pytest.mark.parametrize(
    ("done", "total", "elapsed", "remaining"),
    [(3, 12, 6.0, 18.0), (12, 12, 6.0, 0.0), (13, 12, 6.0, 0.0), (5, None, 1.0, None)],
)
def test_what_remains_takes_as_long_as_what_is_done(
    done: int, total: int | None, elapsed: float, remaining: float | None
) -> None:
    seen, times = list[Progress](), iter((3.0, 3.0 + elapsed))
    Watch(seen.append, "resting", lambda: next(times)).tell(done, total)
    assert seen == [Progress(done, total, elapsed, remaining, "resting")]


@pytest.mark.parametrize("sizes", [(3, 5), (1, 9), (64, 2)])
def test_two_measurements_merge_to_that_of_all_values(sizes: tuple[int, int]) -> None:
    data = [draw(seed, size, 4) + np.float32(3 * seed) for seed, size in enumerate(sizes)]
    parts = [_measure(Value(real(*x.shape), "x"), x, None) for x in data]
    together = np.concatenate(data)
    whole = _measure(Value(real(*together.shape), "x"), together, None)
    got = merge_tensors(*parts)
    assert (got.count, got.low, got.high) == (whole.count, whole.low, whole.high)
    assert got.mean == pytest.approx(whole.mean, rel=1e-6)
    assert got.variance == pytest.approx(whole.variance, rel=1e-5)
    assert got.channels is not None
    assert whole.channels is not None
    np.testing.assert_allclose(got.channels.mean, whole.channels.mean, rtol=1e-5, atol=1e-6)


def test_what_one_of_two_lacks_both_lack() -> None:
    bare = TensorProfile((2, 2), 4, 0.0, 1.0, 0.5, 0.1)
    full = _measure(Value(real(2, 2), "x"), draw(1, 2, 2), None)
    for pair in ((bare, full), (full, bare), (bare, bare)):
        got = merge_tensors(*pair)
        assert (got.histogram, got.channels) == (None, None)


def sums(length: int, depth: int = 6) -> Graph:
    """A sum of a sum of a sum: only the last one is needed for the next."""
    graph = GraphBuilder()
    x = value = graph.input(real(1, length), "x")
    for index in range(depth):
        value = graph.add(Add(), value, value if index else x, name=f"sum{index}")
    return graph.finish(value)


def test_arrays_are_let_go_after_their_last_use() -> None:
    graph, alive = sums(8), list[int]()
    references: list[Any] = []

    def visit(node: Node | None, values: Sequence[Value], arrays: Sequence[Any]) -> None:
        references.extend(weakref.ref(array) for array in arrays if node is not None)
        alive.append(sum(reference() is not None for reference in references))

    for _ in run_samples(graph, samples_of(graph, draw(1, 1, 8)), visit):
        pass
    assert alive == [0, 1, 2, 2, 2, 2, 2]
    assert all(reference() is None for reference in references)


@pytest.mark.parametrize(
    ("elements", "size"), [(1, 3355443), (2**20, 3), (2**21, 1), (2**25, 1), (0, 13421772)]
)
def test_batches_are_as_large_as_memory_allows(elements: int, size: int) -> None:
    """128 MB of ten times the largest tensor, at least one sample."""
    graph = GraphBuilder()
    x = graph.input(real(1, elements), "x")
    assert _affordable(graph.finish(graph.add(Relu(RELU), x))) == size


def counts(graph: Graph, samples: Samples) -> list[int]:
    found = []
    for lanes, originals, inputs, count in in_batches(graph, samples):
        found.append(count)
        assert [len(each) for each in inputs] == [count]
        assert lanes.inputs[0].type.shape[0] == count
        assert {originals[value] for value in lanes.inputs} == set(graph.inputs)
        assert {originals[value] for value in lanes.outputs} == set(graph.outputs)
    return found


@pytest.mark.parametrize(
    ("count", "wanted"),
    [(1, [1]), (2, [2]), (BATCH_SIZE, [32]), (BATCH_SIZE + 1, [32, 1]), (70, [32, 32, 6]), (0, [])],
)
def test_samples_run_in_batches_of_32(count: int, wanted: list[int]) -> None:
    graph = perceptron()
    made = Samples(lambda: iter([(row[np.newaxis],) for row in draw(1, count, 24)]), count)
    assert counts(graph, made) == wanted


def test_samples_that_allow_no_batches_run_one_by_one() -> None:
    graph = GraphBuilder()
    x = graph.input(real(1, 2, 3), "x")
    flat = graph.finish(graph.add(Reshape((6,)), x))
    assert counts(flat, samples_of(flat, draw(1, 5, 2, 3))) == [1] * 5
    assert batched(flat, 2) is None


@pytest.mark.parametrize("what", ["a sum of all", "a constant"])
def test_results_without_an_axis_of_samples_are_found_one_by_one(what: str) -> None:
    graph = GraphBuilder()
    x = graph.input(real(1, 3), "x")
    other = graph.add(Sum((0, 1), False), x) if what == "a sum of all" else draw(2, 2)
    other = other if isinstance(other, Value) else graph.constant(other, name="c")
    made = graph.finish(graph.add(Relu(), x), other)
    assert counts(made, samples_of(made, draw(1, 5, 3))) == [1] * 5
    found = real_outputs(made, samples_of(made, draw(1, 5, 3)))
    assert [array.shape[0] for array in found] == [5, 5]


def test_an_input_may_be_one_number() -> None:
    assert stacked([[np.array(2.0)]]) == [np.array(2.0)]
    large = sums(2**21, 1)
    assert counts(large, samples_of(large, np.zeros((3, 2**21), np.float32))) == [1] * 3


SHAPED: dict[str, tuple[Operation, Operation, bool]] = {
    "a part of every sample": (Slice((0, 1), (1, 2), (1, 1)), Relu(RELU), True),
    "every sample turned": (Slice((0, 2), (1, 3), (1, -1)), Relu(RELU), True),
    "another row than a sample's": (Reshape((3, 1)), Slice((1, 0), (1, 1), (1, 1)), False),
    "every sample repeated": (BroadcastTo((1, 2, 3)), Reshape((1, 6)), False),
    "rows of every sample": (Reshape((1, 1, 3)), BroadcastTo((1, 2, 3)), True),
}


@pytest.mark.parametrize("name", SHAPED)
def test_operators_that_say_a_shape_go_along_with_a_batch(name: str) -> None:
    """A recurrent layer that is written out takes each of its steps by a slice."""
    first, second, is_batch = SHAPED[name]
    graph = GraphBuilder()
    x = graph.input(real(1, 3), "x")
    y = graph.add(first, x)
    flat = graph.finish(graph.add(second, y))
    samples = samples_of(flat, draw(1, 5, 3))
    assert counts(flat, samples) == ([5] if is_batch else [1] * 5)
    if is_batch:
        assert batches_agree(flat, list(samples))


@pytest.mark.parametrize("op", [Neg(), Reverse((0,))], ids=["alone", "among samples"])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_batch_agrees_where_every_output_does(op: Operation, is_first: bool) -> None:
    graph = GraphBuilder()
    x = graph.input(real(1, 3), "x")
    values = [graph.add(Abs(), x), graph.add(op, x)]
    made = graph.finish(*(values[::-1] if is_first else values))
    assert batches_agree(made, list(samples_of(made, draw(1, 5, 3)))) is isinstance(op, Neg)


def test_samples_of_a_large_graph_are_taken_when_it_is_their_turn() -> None:
    graph, taken = sums(2**21, 1), list[int]()

    def make() -> Iterator[tuple[Floats]]:
        for index in range(3):
            taken.append(index)
            yield (np.zeros((1, 2**21), np.float32),)

    next(in_batches(graph, Samples(make, 3)))
    assert taken == [0]


@pytest.mark.parametrize(
    ("one", "other", "near"),
    [
        ([1.0, 100.0], [1.09, 100.0], True), ([1.0, 100.0], [1.11, 100.0], False),
        ([np.nan, 1.0], [np.nan, 1.0], True), ([np.inf, 1.0], [np.inf, 1.5], False),
        ([np.inf, 1.0], [1.0, 1.0], False), ([0.0], [1e-9], False), ([0.0], [0.0], True),
    ],
)  # fmt: skip
def test_results_of_batches_may_differ_by_a_thousandth(
    one: list[float], other: list[float], near: bool
) -> None:
    assert _near(np.array(one, np.float32), np.array(other, np.float32)) == near


def test_integers_of_batches_must_be_the_same() -> None:
    assert _near(np.array([1000]), np.array([1000]))
    assert not _near(np.array([100000]), np.array([100001]))


def numbered(count: int, start: int = 0) -> list[tuple[Floats]]:
    return [(np.full((1, 24), start + i, np.float32),) for i in range(count)]


def read(samples: Samples) -> list[int]:
    return [int(sample[0].flat[0]) for sample in samples]


def test_parts_are_joined_and_counted_where_all_are() -> None:
    parts = [Samples(lambda: iter(numbered(2)), 2), Samples(lambda: iter(numbered(3, 5)), 3)]
    assert joined(parts).count == 5
    assert read(joined(parts)) == [0, 1, 5, 6, 7]
    parts.append(Samples(lambda: iter(numbered(1, 9))))
    assert joined(parts).count is None
    assert read(joined(parts)) == [0, 1, 5, 6, 7, 9]


def test_of_samples_that_are_not_counted_the_first_are_picked() -> None:
    endless = Samples(lambda: iter(numbered(9)))
    assert read(evenly_picked(endless, 4)) == [0, 1, 2, 3]
    assert read(evenly_picked(Samples(lambda: iter(numbered(9)), 9), 4)) == [0, 2, 4, 6]


def test_a_source_takes_no_more_samples_than_it_may() -> None:
    graph, data = perceptron(), np.stack([row[0][0] for row in numbered(8)])
    for limit, wanted in ((None, [*range(8)]), (8, [*range(8)]), (4, [0, 2, 4, 6]), (1, [0])):
        assert read(SampleSource(data, limit=limit).read(graph)) == wanted


@pytest.mark.parametrize(
    ("data", "paths"),
    [("a.npy", ["a.npy"]), (["a", "b"], ["a", "b"]), ([], []), (["a", np.zeros(3)], None),
     (np.zeros(3), None), ({"x": np.zeros(3)}, None)],
    ids=str,
)  # fmt: skip
def test_names_are_files_and_arrays_are_data(data: Any, paths: list[str] | None) -> None:
    found = paths_of(data)
    assert (None if found is None else [str(path) for path in found]) == paths


def test_a_source_of_no_file_is_refused() -> None:
    with pytest.raises(GlowmcuError, match="no file or folder was named") as caught:
        SampleSource([]).read(perceptron())
    assert caught.value.code == "GM306"
