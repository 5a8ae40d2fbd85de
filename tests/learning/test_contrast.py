"""Layers in front of prototypes: what they learn, and that it brings classes apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.errors import GlowmcuError
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import Session
from glowmcu.ir.operation import Array
from glowmcu.training import training_of
from tests.learning.test_learning_bundles import DIGITS, learnt, samples
from tests.learning.test_training_graph import GESTURES, drawn, graph_of, label, learning

SEEN = [(0, 0), (1, 1), (2, 2), (3, 0), (4, 1)]


def states_of(graph: Graph, session: Session) -> dict[str, Array]:
    names = [state.value.name for state in graph.states]
    return dict(zip(names, session._states, strict=True))


def with_states(graph: Graph, states: dict[str, Array]) -> Graph:
    """The graph whose stream begins so."""
    made = tuple(replace(item, initial=states[item.value.name]) for item in graph.states)
    return replace(graph, states=made)


@pytest.mark.parametrize("key", ["weights", "bias"])
@pytest.mark.parametrize("seen", [2, 5])
def test_steps_are_those_of_central_differences_of_the_loss(key: str, seen: int) -> None:
    rate = 0.01
    graph = learning(GESTURES, "prototypes=3,last=1", learning_rate=rate)
    arrays, first = drawn(graph_of(GESTURES), 6), Session(graph)
    for at, number in SEEN[:seen]:
        first.run([arrays[at], label(number)])
    before = states_of(graph, first)
    (name,) = (name for name in before if name.endswith(key))
    start = with_states(graph, before)
    one = Session(start)
    one.run([arrays[5], label(1)])
    moved = (before[name] - states_of(graph, one)[name]).astype(np.float64) / rate
    random = np.random.default_rng(0)
    for _ in range(3):
        way = random.normal(size=moved.shape)
        losses = []
        for sign in (-1, 1):
            changed = before[name] + sign * 3e-3 * way
            other = Session(with_states(graph, {**before, name: changed.astype(np.float32)}))
            losses.append(float(other.run([arrays[5], label(1)])[1][0]))
        slope = (losses[1] - losses[0]) / 6e-3
        assert abs(slope) > 1e-3
        assert (moved * way).sum() == pytest.approx(slope, rel=0.05, abs=3e-3)


def test_a_class_that_was_not_seen_takes_its_first_sample_as_its_mean() -> None:
    graph = learning(GESTURES, "prototypes=3,last=2", learning_rate=0.1)
    session, (x, y) = Session(graph), drawn(graph_of(GESTURES), 2)
    before = states_of(graph, session)
    loss = session.run([x, label(2)])[1]
    assert loss.tolist() == [0.0]
    after = states_of(graph, session)
    for name in before:
        if name.endswith(("weights", "bias")):
            np.testing.assert_array_equal(before[name], after[name])
    assert after["prototypes/counts"].reshape(-1).tolist() == [0, 0, 1]
    assert session.run([x, label(-1)])[0].reshape(-1)[2] == pytest.approx(0.0, abs=1e-9)
    assert (session.run([y, label(-1)])[0].reshape(-1)[:2] == np.float32(-1e30)).all()


@pytest.mark.parametrize("momentum", [0.0, 0.5])
def test_samples_that_are_seen_again_lie_nearer_to_their_class(momentum: float) -> None:
    graph = learning(GESTURES, "prototypes=3,last=2", learning_rate=0.05, momentum=momentum)
    session, arrays = Session(graph), drawn(graph_of(GESTURES), 9)
    rounds = []
    for _ in range(30):
        found = [session.run([x, label(at % 3)])[1][0] for at, x in enumerate(arrays)]
        rounds.append(sum(found))
    assert rounds[-1] < 0.5 * rounds[1]
    scores = [session.run([x, label(-1)])[0].argmax() for x in arrays]
    assert [at % 3 for at in range(9)] == scores


@pytest.mark.parametrize("model", [GESTURES, DIGITS], ids=["float", "int8"])
def test_c_learns_what_the_graph_learns(model: Path, tmp_path: Path) -> None:
    bundle = glowmcu.compile(
        model, "nrf52", tmp_path / "net", "net", train="prototypes=3,last=1", learning_rate=0.02
    )
    graph = learning(model, "prototypes=3,last=1", learning_rate=0.02)
    session, data = Session(graph), samples(bundle, 9)
    for (x, number), (loss, output) in zip(data, learnt(bundle, data, "host"), strict=True):
        np.testing.assert_allclose(
            loss, session.run([x, label(number)])[1][0], rtol=1e-4, atol=1e-5
        )
        np.testing.assert_allclose(output, session.run([x, label(-1)])[0], rtol=1e-4, atol=1e-4)
    assert bundle.manifest.options["train"] == "prototypes=3,last=1"
    assert bundle.manifest.training is not None
    assert bundle.manifest.training.parameters[-2:] == ("prototypes/means", "prototypes/counts")
    assert glowmcu.verify(bundle, on=["host"], model=model).passed


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        ({"train": "prototypes=3,bias"}, "GM734", "which layers in front of them learn"),
        ({"train": "prototypes=3,last=1", "numbers": "fixed"}, "GM735", "in float32"),
        ({"train": "prototypes=3,last=1,channels=5%"}, "GM735", "all channels"),
        ({"train": "prototypes=3,last=1", "loss": "squared-error"}, "GM735", "distances"),
    ],
)
def test_what_does_not_go_with_prototypes(options: dict[str, str], code: str, text: str) -> None:
    with pytest.raises(GlowmcuError, match=code) as found:
        training_of(**options)  # type: ignore[arg-type]
    assert text in str(found.value)


def test_more_layers_than_there_are_in_front_are_refused() -> None:
    with pytest.raises(GlowmcuError, match="GM360") as found:
        learning(GESTURES, "prototypes=3,last=9")
    assert "last 9 layers cannot learn" in str(found.value)
    assert "hint: train='prototypes=3,last=3'" in str(found.value)
