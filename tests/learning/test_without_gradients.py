"""Nearest neighbours and what is normal: states by hand, and what the scores are."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import Session, run_graph_tensors
from glowmcu.ir.operation import Array
from glowmcu.training import training_of
from tests.learning.test_training_graph import GESTURES, drawn, graph_of, label, learning


def features(graph: Graph, arrays: list[Array]) -> Array:
    """What the last layer reads: float64[N, L]."""
    last = next(node for node in graph.nodes if node.op.name == "fully_connected")
    name = last.inputs[0].name
    found = [run_graph_tensors(graph, [x])[name].reshape(-1) for x in arrays]
    return np.array(found, np.float64)


def test_the_last_of_each_class_are_kept_and_the_nearest_counts() -> None:
    plain, session = graph_of(GESTURES), Session(learning(GESTURES, "neighbours=3x2"))
    arrays = drawn(plain, 8)
    seen, kept = features(plain, arrays), dict[int, list[Array]]()
    for at, number in enumerate([0, 0, 1, 0, 0, 1, 1]):
        near = [((seen[at] - each) ** 2).sum() for each in kept.get(number, [])]
        loss = session.run([arrays[at], label(number)])[1]
        np.testing.assert_allclose(loss[0], min(near, default=0.0), rtol=1e-4)
        kept[number] = [*kept.get(number, []), seen[at]][-2:]
        scores, _ = session.run([arrays[7], label(-1)])
        want = [
            -min(((seen[7] - each) ** 2).sum() for each in kept[k]) if k in kept else -1e30
            for k in range(3)
        ]
        np.testing.assert_allclose(scores.reshape(-1), want, rtol=1e-4)


@pytest.mark.parametrize("kept", [1, 3])
def test_of_a_single_class_the_score_is_the_distance_to_what_was_seen(kept: int) -> None:
    plain, session = graph_of(GESTURES), Session(learning(GESTURES, f"neighbours=1x{kept}"))
    arrays = drawn(plain, 3)
    seen = features(plain, arrays)
    assert session.run([arrays[0], label(-1)])[0].tolist() == [[np.float32(-1e30)]]
    assert session.run([arrays[0], label(0)])[1].tolist() == [0.0]
    loss = session.run([arrays[1], label(0)])[1]
    np.testing.assert_allclose(loss, [((seen[1] - seen[0]) ** 2).sum()], rtol=1e-4)
    score = session.run([arrays[2], label(-1)])[0]
    near = [((seen[2] - each) ** 2).sum() for each in seen[:2][-kept:]]
    np.testing.assert_allclose(score, [[-min(near)]], rtol=1e-4)


def test_a_class_that_looks_in_two_ways_has_neighbours_in_both() -> None:
    """Where the mean of both is like neither."""
    near = Session(learning(GESTURES, "neighbours=2x4"))
    arrays = drawn(graph_of(GESTURES), 3)
    for at, number in ((0, 0), (1, 0), (2, 1)):
        near.run([arrays[at], label(number)])
    for at, number in ((0, 0), (1, 0), (2, 1)):
        scores = near.run([arrays[at], label(-1)])[0].reshape(-1)
        assert np.argmax(scores) == number
        assert abs(scores[number]) < 1e-6


def test_the_score_of_normal_is_the_distance_in_deviations() -> None:
    plain, session = graph_of(GESTURES), Session(learning(GESTURES, "normal"))
    arrays = drawn(plain, 30)
    for x in arrays[:20]:
        session.run([x, label(0)])
    seen = features(plain, arrays)
    mean, variance = seen[:20].mean(axis=0), seen[:20].var(axis=0)
    for x, own in zip(arrays[20:], seen[20:], strict=True):
        want = ((own - mean) ** 2 / (variance + 1e-3 * variance.mean())).mean()
        score, loss = session.run([x, label(-1)])
        np.testing.assert_allclose(score.reshape(-1), [want], rtol=1e-3)
        assert loss.shape == (1,)


def test_of_less_than_two_nobody_knows_what_is_normal() -> None:
    session, (a, b) = Session(learning(GESTURES, "normal")), drawn(graph_of(GESTURES), 2)
    for _ in range(2):
        assert session.run([b, label(-1)])[0].reshape(-1)[0] == 0
        session.run([a, label(0)])
    # The same twice: whatever differs is far away, and finite.
    score = session.run([b, label(-1)])[0].reshape(-1)[0]
    assert np.isfinite(score)
    assert score > 1e3


@pytest.mark.parametrize(
    "what",
    ["neighbours", "neighbours=3", "neighbours=0x2", "neighbours=3x", "neighbors=3x2", "normal=2"],
)
def test_neighbours_say_how_many(what: str) -> None:
    with pytest.raises(GlowmcuError, match="GM734") as found:
        training_of(what)
    assert "neighbours=CLASSESxKEPT" in str(found.value)


@pytest.mark.parametrize("what", ["neighbours=3x2", "normal"])
def test_they_have_no_rate(what: str) -> None:
    with pytest.raises(GlowmcuError, match="GM735") as found:
        training_of(what, learning_rate=0.1)
    assert f"{what} learns without gradients" in str(found.value)
