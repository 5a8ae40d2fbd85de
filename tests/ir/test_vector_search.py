"""Which inputs the self test takes: few, always the same, and those that show most constants."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir import vector_search
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.operation import Constant
from glowmcu.ir.vector_search import choose_vectors
from glowmcu.pipeline import reference_graph
from glowmcu.test_vectors import pattern_tensor, vector_seed
from tests.bundle.models import model_bytes


def classifier(loudness: float) -> Graph:
    """A fully connected layer and a softmax, which `loudness` makes sure of itself."""
    model = ModelBuilder()
    random = np.random.default_rng(0)
    x = model.input("x", (1, 64), "int8", 0.05, 0)
    weights = random.integers(-127, 128, (4, 64)).astype(np.int8)
    w = model.constant("w", weights, 0.01)
    b = model.constant("b", np.zeros(4, np.int32), 0.0005)
    y = model.tensor("y", (1, 4), "int8", 0.2 * loudness, 0)
    model.op("FULLY_CONNECTED", [x, w, b], [y])
    p = model.tensor("p", (1, 4), "int8", 1 / 256, -128)
    model.op("SOFTMAX", [y], [p], {"beta": 1.0})
    model.output(p)
    return reference_graph(model.finish(), "m.tflite")


def test_the_same_vectors_every_time_and_full_range_is_always_one() -> None:
    first, again = (choose_vectors(classifier(1.0), 4) for _ in range(2))
    assert [one.seed for one in first] == [one.seed for one in again]
    assert len({one.seed for one in first}) == len(first) == 4
    assert first[0].seed == vector_seed(1, 0, 0)


def test_outputs_are_those_of_the_inputs_of_the_seed() -> None:
    graph = classifier(1.0)
    for one in choose_vectors(graph, 3):
        (output,) = run_graph(graph, [pattern_tensor((1, 64), "int8", one.seed)])
        assert np.array_equal(output, one.outputs[0])


def test_inputs_of_which_the_network_is_not_sure_come_first() -> None:
    """Where full range saturates the softmax, no weight that it reads shows there."""
    sure, unsure = choose_vectors(classifier(1.0), 2)
    assert sorted(set(sure.outputs[0].reshape(-1).tolist())) == [-128, 127]
    assert np.count_nonzero(np.abs(unsure.outputs[0].astype(int)) < 120) >= 2


def with_flips(graph: Graph, count: int) -> Iterator[Graph]:
    """The graph, each time with another bit of its int8 constants flipped."""
    random = np.random.default_rng(4)
    nodes = [
        node
        for node in graph.nodes
        if isinstance(node.op, Constant) and node.op.data.dtype == np.int8 and node.op.data.size > 8
    ]
    for _ in range(count):
        node = nodes[int(random.integers(len(nodes)))]
        old = node.op.data
        new = old.copy()
        new.reshape(-1)[int(random.integers(new.size))] ^= np.int8(1 << int(random.integers(7)))
        node.op.__dict__["data"] = new
        yield graph
        node.op.__dict__["data"] = old


def test_chosen_vectors_show_more_flipped_weights_than_the_loudest() -> None:
    graph = reference_graph(model_bytes("digits"), "digits.tflite")
    chosen = [one.seed for one in choose_vectors(graph, 4)]
    loudest = [vector_seed(1 + 1000 * i, 0, 0) for i in range(4)]
    seen = []
    for seeds in (loudest, chosen):
        inputs = [[pattern_tensor(v.type.shape, "int8", s) for v in graph.inputs] for s in seeds]
        right = [run_graph(graph, arrays)[0].tobytes() for arrays in inputs]
        seen.append(
            sum(
                any(
                    run_graph(spoiled, arrays)[0].tobytes() != want
                    for arrays, want in zip(inputs, right, strict=True)
                )
                for spoiled in with_flips(graph, 60)
            )
        )
    assert seen[1] >= seen[0] > 0


@pytest.mark.parametrize(("macs", "runs"), [(10_000, 12), (20_000_000, 4), (400_000_000, 2)])
def test_a_search_costs_less_the_larger_the_network(
    macs: int, runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 0
    whole = vector_search.step_forgetting

    def counted(*arguments: object) -> object:
        nonlocal count
        count += 1
        return whole(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(vector_search, "step_forgetting", counted)
    monkeypatch.setattr(Graph, "macs", property(lambda _: macs))
    choose_vectors(classifier(1.0), 4)
    assert count == runs


def test_where_nothing_is_to_be_compared_one_vector_is_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[int] = []
    honest = vector_search._try

    def counted(graph: Graph, seed: int) -> vector_search.Tried:
        tried.append(seed)
        return honest(graph, seed)

    monkeypatch.setattr(vector_search, "_try", counted)
    assert [one.seed for one in choose_vectors(classifier(1.0), 1)] == tried
    model = ModelBuilder()
    x = model.input("x", (1, 64), "int8", 0.05, 0)
    y = model.tensor("y", (1, 64), "int8", 0.05, 0)
    model.op("RELU", [x], [y])
    model.output(y)
    tried.clear()
    graph = reference_graph(model.finish(), "m.tflite")
    assert [one.seed for one in choose_vectors(graph, 4)] == tried == [vector_seed(1, 0, 0)]


def test_runs_of_elements_are_alike_from_any_beginning() -> None:
    """Rows that are pushed have the index of their first element in the seed."""
    seed = vector_seed(5, 2, 3)
    whole = pattern_tensor((64,), "int8", seed)
    assert np.array_equal(whole[20:], pattern_tensor((44,), "int8", seed + 20))
    blocks = whole[3:59].reshape(-1, 8)
    assert (blocks == blocks[:, :1]).all()
    assert len(set(blocks[:, 0].tolist())) > 4
    assert np.abs(whole.astype(int)).max() <= 32
