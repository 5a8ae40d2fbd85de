"""The order of runs: exact against all orders tried, and what is said when it is not exact."""

from __future__ import annotations

import itertools
from unittest import mock

import pytest
from hypothesis import example, given, settings

from glowmcu.ir.graph import Graph
from glowmcu.ir.program import Program
from glowmcu.ir.verify_program import verify_program
from glowmcu.memplan import placement
from glowmcu.memplan import schedule as planned_order
from glowmcu.memplan.liveness import peak_bytes
from glowmcu.memplan.order_model import OrderModel, indices
from glowmcu.memplan.placement import lowest_offset
from glowmcu.memplan.planner import plan_memory
from glowmcu.memplan.reuse_in_place import reuse_in_place
from glowmcu.memplan.schedule import OrderMemory, schedule
from glowmcu.memplan.share_views import share_views
from tests.memplan.small_programs import Builder
from tests.memplan.test_plan_execution import models


def branches(widths: list[int], small: int = 8) -> Program:
    """Wide tensors computed first, each reduced to a small one last: a bad order."""
    builder = Builder()
    x = builder.input(16)
    wide = [builder.mix(width, x) for width in widths]
    narrow = [builder.mix(small, value) for value in wide]
    return builder.program(builder.graph(builder.mix(4, *narrow)))


def test_wide_branches_are_finished_one_by_one() -> None:
    found = schedule(branches([400, 400, 400]))
    assert found.given_peak_bytes == 16 + 1200
    assert found.peak_bytes == 16 + 8 + 8 + 400
    assert found.proved
    verify_program(found.program)


def test_the_given_order_stays_where_none_is_better() -> None:
    builder = Builder()
    x = builder.input(16)
    a, b = builder.mix(16, x), builder.mix(16, x)
    program = builder.program(builder.graph(builder.mix(4, a, b)))
    found = schedule(program)
    assert found.program is program
    assert found.proved


def all_orders(model: OrderModel) -> list[list[int]]:
    def extend(order: list[int], done: int) -> list[list[int]]:
        if len(order) == model.count:
            return [order]
        found = []
        for index in indices(model.ready(done)):
            found += extend([*order, index], done | model.runs[index].bit)
        return found

    return extend([], 0)


@settings(max_examples=100)
@given(models())
def test_no_order_is_better_than_the_one_proved(model: tuple[Graph, Program]) -> None:
    program = share_views(model[1])
    order_model = OrderModel(program)
    if order_model.count > 6:
        return
    found = schedule(program)
    assert found.proved
    assert found.peak_bytes == min(order_model.peak(order) for order in all_orders(order_model))


def slice_beside_a_high_peak() -> tuple[Graph, Program]:
    """A slice that is not worth keeping its buffer for, once the largest run is in place."""
    builder = Builder()
    x = builder.input(33)
    _, tail = builder.cut(builder.mix(9, x), 1, 8)
    thin = builder.mix(1, builder.mingle(tail), scratch=50)
    graph = builder.graph(x, thin, builder.mingle(builder.mix(33, x)))
    return graph, builder.program(graph)


@settings(max_examples=100)
@given(models())
@example(slice_beside_a_high_peak())
def test_in_place_reaches_the_peak_that_the_schedule_counted_on(
    model: tuple[Graph, Program],
) -> None:
    found = schedule(share_views(model[1]))
    assert peak_bytes(reuse_in_place(found.program)) <= found.peak_bytes


def test_beyond_the_budget_a_good_order_is_found_and_not_called_optimal() -> None:
    found = schedule(branches([400, 410, 420, 430]), search_budget=1)
    assert not found.proved
    assert found.peak_bytes < found.given_peak_bytes
    verify_program(found.program)


def large_program(nodes: int) -> Program:
    """Blocks of branches, joins and residuals, many unordered among each other."""
    builder = Builder()
    values = [builder.input(64), builder.input(96)]
    for number in itertools.count():
        if len(builder.nodes) >= nodes:
            break
        x = values[-1 - number % 2]
        left = builder.mingle(builder.mix(64 + number % 7 * 8, x))
        right = builder.mix(64 + number % 5 * 8, builder.mix(256, x))
        values += [builder.join(left, right), builder.mingle(left)]
    return builder.program(builder.graph(values[-1], values[-2]))


@pytest.mark.slow
def test_five_hundred_nodes_are_planned_in_so_many_steps() -> None:
    """Runs that orders try, and offsets that blocks try."""
    program = large_program(500)
    with (
        mock.patch.object(
            OrderModel, "transition", autospec=True, side_effect=OrderModel.transition
        ) as runs,
        mock.patch.object(placement, "lowest_offset", side_effect=lowest_offset) as offsets,
    ):
        plan = plan_memory(program)
    assert plan.arena_bytes >= plan.lower_bound_bytes
    assert 500 < runs.call_count < 8_000
    assert 500 < offsets.call_count < 220_000


def test_of_many_branches_as_many_runs_are_tried_as_of_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every set of runs has a ready run for each branch that is left."""
    monkeypatch.setattr(planned_order, "BEAM_BUDGET", 2_000)
    for count in (60, 120):
        program = branches([400 + 4 * width for width in range(count)])
        with mock.patch.object(
            OrderModel, "transition", autospec=True, side_effect=OrderModel.transition
        ) as runs:
            found = schedule(program, 1_000)
        assert not found.proved
        assert found.peak_bytes < 2 * 400 + 4 * count + 8 * count < found.given_peak_bytes
        orders_weighed = 3 * len(program.runs)
        assert runs.call_count < 1_000 + 2_000 + orders_weighed


def test_programs_whose_orders_cost_the_same_are_searched_once() -> None:
    memory = OrderMemory()
    first, again = (schedule(branches([400, 400, 400]), memory=memory) for _ in range(2))
    assert len(memory.found) == 1
    assert (again.peak_bytes, again.states) == (first.peak_bytes, first.states)
    verify_program(again.program)
    for widths, budget, width in (([400, 400, 401], 100, 16), ([400, 400, 400], 1, 16)):
        other = schedule(branches(widths), budget, width, memory=memory)
        fresh = schedule(branches(widths), budget, width)
        assert (other.peak_bytes, other.proved) == (fresh.peak_bytes, fresh.proved)
    assert len(memory.found) == 3
