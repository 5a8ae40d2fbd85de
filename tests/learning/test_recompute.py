"""What the gradient reads may be made again: the same bits from less memory."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.goals import Budgets, Goal
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import Session
from glowmcu.learning.least_arena import MOST_TIMES
from glowmcu.learning.recompute import read_by_gradient, recomputed
from glowmcu.lowering.passes import lower
from glowmcu.pipeline import compile_model
from glowmcu.training import training_of
from tests.learning.fixed_models import Network
from tests.learning.test_fixed_point import MODELS, drawn, label, learning
from tests.learning.test_states import learning as learning_of_stream
from tests.learning.test_states import rows, stream


def deep() -> bytes:
    """Blocks of a depthwise convolution and a 1x1, whose images are what the arena is made of."""
    made = Network((1, 16, 12, 4), seed=4).convolution(8, (3, 3))
    for _ in range(3):
        made.convolution(0, (3, 3), multiplier=1).convolution(8, (1, 1))
    return made.mean().classes(5)


MODELS.setdefault("deep", deep)


def lowered(name: str, what: str, numbers: str = "fixed") -> Graph:
    return lower(learning(name, what, numbers, learning_rate=0.05))


@pytest.mark.parametrize(
    ("name", "what", "numbers"),
    [("windows", "last=4", "fixed"), ("dilated", "last=5", "fixed"), ("deep", "last=5", "float32")],
)
def test_whatever_is_not_kept_learning_gives_the_same_bits(
    name: str, what: str, numbers: str
) -> None:
    graph = lowered(name, what, numbers)
    values = read_by_gradient(graph)
    assert len(values) > 2
    ways = [(), *((value,) for value in values), *combinations(values[:3], 2), values]
    sessions = [Session(graph), *(Session(recomputed(graph, set(way)).graph) for way in ways)]
    for number, x in enumerate(drawn(name, 3)):
        asked = label(number - 1)
        kept, *others = (session.run([x, asked]) for session in sessions)
        for other in others:
            for want, got in zip(kept, other, strict=True):
                np.testing.assert_array_equal(want, got)


@cache
def compiled(goal: Goal, arena_bytes: int | None = None, what: str = "last=6") -> tuple[int, float]:
    """Bytes of the arena and cycles of a run with a label."""
    inputs = InputOptions(training=training_of(what, numbers="fixed"))
    budgets = Budgets(arena_bytes=arena_bytes)
    done = compile_model(
        deep(), "deep.tflite", Options("net", goal=goal, inputs=inputs, budgets=budgets)
    )
    assert done.manifest.arena_bytes == (done.plan.arena_bytes + 15) // 16 * 16
    return done.manifest.arena_bytes, done.estimated_cycles


def test_a_goal_says_how_many_cycles_less_memory_may_take() -> None:
    for what in ("last=4", "last=6"):
        quick, balanced, least = (
            compiled(goal, what=what) for goal in (Goal.SPEED, Goal.BALANCED, Goal.RAM)
        )
        assert least[0] <= balanced[0] < quick[0]
        # Of six layers nothing is left that more cycles would save.
        assert least[0] < balanced[0] or what == "last=6"
        assert balanced[1] <= 1.02 * MOST_TIMES[Goal.BALANCED] * quick[1]
        assert least[1] <= 1.02 * MOST_TIMES[Goal.RAM] * quick[1]


def test_a_budget_takes_the_quickest_plan_that_keeps_to_it() -> None:
    balanced = compiled(Goal.BALANCED)
    some = compiled(Goal.SPEED, arena_bytes=balanced[0])
    assert some[0] <= balanced[0]
    with pytest.raises(GlowmcuError) as caught:
        compiled(Goal.SPEED, arena_bytes=2000)
    assert caught.value.code == "GM403"


def test_what_comes_of_a_state_that_has_moved_is_kept() -> None:
    """A second look at a stream's state would see that of the next run."""
    graph = lower(learning_of_stream(stream(), "last=2", numbers="fixed"))
    before = {state.value for state in graph.states[:1]}
    again = recomputed(graph, set(read_by_gradient(graph)) | set(graph.producers)).graph
    readers = [node for node in again.nodes if before.intersection(node.inputs)]
    assert readers
    assert {node.stage for node in readers} == {0}
    data = [np.asarray(x) for x in rows(6)]
    sessions = [Session(graph), Session(again)]
    for number, x in enumerate(data):
        kept, other = (session.run([x, label(number % 3)]) for session in sessions)
        for want, got in zip(kept, other, strict=True):
            np.testing.assert_array_equal(want, got)
