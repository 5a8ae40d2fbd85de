"""Networks of hundreds of layers: what planning looks at is counted, not how long it takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

import glowmcu.memplan.offsets
import glowmcu.memplan.placement
import glowmcu.memplan.planned_cascades
from glowmcu.compilation import Compilation, Options
from glowmcu.goals import Goal
from glowmcu.ir.graph import Graph
from glowmcu.ir.instructions import aligned
from glowmcu.ir.operation import Signature
from glowmcu.kernels.kernel import Kernel
from glowmcu.lowering.passes import lower
from glowmcu.memory_fit import fitter
from glowmcu.memplan.cascades import Partition
from glowmcu.memplan.planned_cascades import CascadeMemory, passing_bytes
from glowmcu.memplan.planner import plan_memory
from glowmcu.memplan.reuse_in_place import reuse_in_place
from glowmcu.memplan.share_views import share_views
from glowmcu.ops.elementwise import Add
from glowmcu.ops.movement import Copy
from glowmcu.ops.slicing import Split
from glowmcu.pipeline import compile_model, reference_graph
from tests.ir.graphs import GraphBuilder, int8
from tests.memplan.foreign_models import MODELS, dense_net, inverted_chain, residual_chain
from tests.memplan.streamed import assert_runs_like_the_graph, program_of

#: 500 nodes each, as the file has them.
NETWORKS: dict[str, Callable[[], bytes]] = {
    "residual blocks": lambda: residual_chain(125),
    "inverted residual blocks": lambda: inverted_chain(100),
    "dense connections": lambda: dense_net(166, 1, 6),
}
#: 200 nodes each: a search of plans takes a hundred times the steps of one plan.
SHORTER: dict[str, Callable[[], bytes]] = {
    "residual blocks": lambda: residual_chain(50),
    "inverted residual blocks": NETWORKS["inverted residual blocks"],
    "dense connections": lambda: dense_net(66, 1, 6),
}
#: The most steps, by goal: plans; ranges of runs that are looked at as cascades; offsets that
#: are tried for blocks; costs of kernels for a layer. `balanced` streams nothing.
BUDGETS = {
    Goal.BALANCED: {"plans": 1, "cascades": 0, "offsets": 5_000, "costs": 4_000},
    Goal.RAM: {"plans": 30, "cascades": 9_000, "offsets": 900_000, "costs": 12_500},
}


@dataclass
class Calls:
    """How often something was called."""

    count: int = 0

    def of(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, counted."""

        def counted(*arguments: Any) -> Any:
            self.count += 1
            return function(*arguments)

        return counted


@cache
def steps_of(name: str, goal: Goal) -> tuple[Compilation, dict[str, int]]:
    places = {
        "plans": (fitter, "plan_memory"),
        "cascades": (glowmcu.memplan.planned_cascades, "facts_of"),
        "offsets": (glowmcu.memplan.placement, "lowest_offset"),
        "costs": (Kernel, "calibrated_cost"),
    }
    calls = {what: Calls() for what in places}
    glowmcu.memplan.offsets.known_offsets.cache_clear()  # of other goals and tests
    with pytest.MonkeyPatch.context() as patch:
        for what, (owner, function) in places.items():
            patch.setattr(owner, function, calls[what].of(getattr(owner, function)))
        options = Options("m", core="cortex-m4", goal=goal)
        networks = SHORTER if goal is Goal.RAM else NETWORKS
        compilation = compile_model(networks[name](), "m.tflite", options)
    return compilation, {what: item.count for what, item in calls.items()}


def lowered(name: str) -> Graph:
    return lower(reference_graph(MODELS[name](), "m.tflite"))


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("goal", BUDGETS, ids=lambda goal: goal.value)
def test_a_network_of_hundreds_of_nodes_is_planned_in_so_many_steps(name: str, goal: Goal) -> None:
    compilation, steps = steps_of(name, goal)
    assert len(compilation.selections) > (150 if goal is Goal.RAM else 370)
    assert {what: n for what, n in steps.items() if n > BUDGETS[goal][what]} == {}
    if goal is Goal.RAM and name == "inverted residual blocks":
        assert compilation.plan.arena_bytes <= steps_of(name, Goal.BALANCED)[0].plan.arena_bytes


@pytest.mark.slow
def test_a_streamed_network_of_500_nodes_runs_in_its_arena() -> None:
    compilation, _ = steps_of("inverted residual blocks", Goal.RAM)
    plan = compilation.plan
    assert len(plan.program.steps) < len(plan.program.runs)
    assert_runs_like_the_graph(compilation.graph, plan.program, plan.arena_bytes)


@pytest.mark.parametrize("name", ["two inputs", "squeeze and excite", "dense connections"])
def test_what_other_plans_know_of_cascades_holds_for_the_next_one(name: str) -> None:
    memory, graph = CascadeMemory(), lowered(name)
    for scratch in (None, 0, 64, 512):
        program = reuse_in_place(share_views(program_of(graph, scratch=scratch)))
        knowing, alone = Partition(program, memory), Partition(program)
        for first in range(len(program.runs)):
            assert knowing.rest_peak_bytes(first) == alone.rest_peak_bytes(first)
        candidate_ranges = [
            [(item.first, item.last) for item in partition.best(0)]
            for partition in (knowing, alone)
        ]
        assert candidate_ranges[0] == candidate_ranges[1] != []


@pytest.mark.parametrize("name", ["a U-Net with sums", "sound, one column", "two inputs"])
def test_the_most_bytes_of_a_cascade_are_those_of_its_fullest_turn(name: str) -> None:
    program = program_of(lowered(name), scratch=0)
    partition, found = Partition(program), 0
    for first in range(len(program.runs)):
        for last in range(first + 1, min(first + 6, len(program.runs))):
            planned = partition.planned(first, last)
            if planned is None or planned.flow.stages[-1].accumulates:
                continue
            flow, found = planned.flow, found + 1
            total = sum(
                flow.alive(index) * planned.stage_bytes(index)
                + flow.turns_of(index) * passing_bytes(stage)
                for index, stage in enumerate(flow.stages)
            )
            row_bytes = aligned(planned.result.size_bytes) // flow.stages[-1].turns
            made = np.cumsum(flow.turns_of(len(flow.stages) - 1)) * row_bytes
            assert planned.own_bytes == (total + made).max()
    assert found > 3


def test_a_split_into_many_is_asked_for_its_parts_a_few_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each answer names all of them: one for each part would take squared time."""
    calls = []
    copies = Split.copies

    def counted(self: Split, signature: Signature) -> tuple[Copy, ...]:
        calls.append(signature)
        return copies(self, signature)

    monkeypatch.setattr(Split, "copies", counted)
    builder = GraphBuilder()
    x = builder.input(int8(1, 60), "x")
    parts = builder.add_many(Split(1, (1,) * 60), x)
    doubled = [builder.add(Add(), part, part) for part in parts]
    plan = plan_memory(program_of(builder.finish(*doubled), Goal.BALANCED))
    assert len(plan.program.views) >= 60
    assert len(calls) <= 10
