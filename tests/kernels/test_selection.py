"""Kernel selection: a search over costs in which layers share functions."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glowmcu.cores import core
from glowmcu.goals import Goal
from glowmcu.ir.graph import Node, Value
from glowmcu.ir.operation import Rounding
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.kernels.cost_table import cost_table
from glowmcu.kernels.kernel import Cost, Kernel, Site, Target
from glowmcu.kernels.selection.search import SIZE_SLOWDOWN, cheapest_set, goal_weights, set_totals
from glowmcu.ops.shape import Reshape
from tests.support.counted import calls


class Named(Kernel):
    """A variant that is only a name."""

    def __init__(self, word: str) -> None:
        self.word = word

    def __repr__(self) -> str:
        return self.word


SHARED, OWN = Named("shared"), Named("own")


def node(out_bytes: int = 0) -> Node:
    out = Value(TensorType((out_bytes,), ElementType.I8), "y")
    return Node(Reshape(()), (), (out,) if out_bytes else ())


def total_cost(
    chosen: dict[Node, Kernel], table: dict[Node, dict[Kernel, Cost]], weight: float
) -> float:
    """The weighted cost of a bundle, written independently of the code under test."""
    functions = {kernel: table[n][kernel].code_bytes for n, kernel in chosen.items()}
    layers = sum(
        table[n][k].cycles + weight * (table[n][k].flash_bytes + table[n][k].layer_code_bytes)
        for n, k in chosen.items()
    )
    return layers + weight * sum(functions.values())


def test_one_layer_gets_a_function_of_its_own_and_many_share_one() -> None:
    costs = {SHARED: Cost(100_000.0, 200), OWN: Cost(99_900.0, 0, layer_code_bytes=100)}
    single = node()
    assert cheapest_set({single: costs}, Goal.BALANCED) == {single: OWN}
    many = {node(): costs for _ in range(10)}
    assert set(cheapest_set(many, Goal.BALANCED).values()) == {SHARED}


def test_the_goal_decides_between_cycles_and_bytes() -> None:
    fast, small = Named("fast"), Named("small")
    table = {node(): {fast: Cost(1000.0, 2000), small: Cost(1400.0, 300)}}
    assert list(cheapest_set(table, Goal.SPEED).values()) == [fast]
    assert list(cheapest_set(table, Goal.SIZE).values()) == [small]


@pytest.mark.parametrize(("others", "chosen"), [(0, "small"), (2_000_000, "fast")])
def test_a_kilobyte_is_less_of_a_large_model(others: int, chosen: str) -> None:
    """A twentieth of all cycles for 7 KB: too much of a small model's flash, not of 2 MB."""
    fast, small, rest = Named("fast"), Named("small"), Named("rest")
    table: dict[Node, dict[Kernel, Cost]] = {
        node(): {fast: Cost(50_000.0, 0, 7_000), small: Cost(100_000.0, 0)},
        node(): {rest: Cost(900_000.0, 0, others)},
    }
    for goal in (Goal.BALANCED, Goal.RAM):
        found = next(iter(cheapest_set(table, goal).values()))
        assert isinstance(found, Named)
        assert found.word == chosen
        # Of a large model's arena a kilobyte is no less.
        weights = goal_weights(table, goal)
        assert (weights.scratch > weights.constants) == (others > 0)


@given(
    st.lists(
        st.tuples(st.integers(1, 4000), st.integers(1, 4000), st.integers(0, 300)),
        min_size=1,
        max_size=6,
    ),
    st.integers(0, 500),
)
def test_two_variants_are_chosen_as_trying_every_combination_would(
    layers: list[tuple[int, int, int]], shared_bytes: int
) -> None:
    table: dict[Node, dict[Kernel, Cost]] = {
        node(): {
            SHARED: Cost(float(a), shared_bytes),
            OWN: Cost(float(b), 0, layer_code_bytes=own),
        }
        for a, b, own in layers
    }
    weight = goal_weights(table, Goal.BALANCED).code
    found = total_cost(cheapest_set(table, Goal.BALANCED), table, weight)
    every = itertools.product((SHARED, OWN), repeat=len(table))
    best = min(total_cost(dict(zip(table, kinds, strict=True)), table, weight) for kinds in every)
    # A local optimum may miss a mixture, never by more than the shared function itself.
    assert best - 1e-6 <= found <= best + weight * shared_bytes + 1e-6


def test_functions_of_several_variants_that_are_one_function_count_once() -> None:
    one, other, alone = Named("one"), Named("other"), Named("alone")
    table: dict[Node, dict[Kernel, Cost]] = {
        node(): {one: Cost(1000.0, 500, code_key="f"), alone: Cost(1001.0, 0)},
        node(): {other: Cost(2000.0, 500, code_key="f"), alone: Cost(2001.0, 0)},
    }
    assert set_totals(table, dict(zip(table, (one, other), strict=True))).code_bytes == 500


def ladder(count: int) -> dict[Node, dict[Kernel, Cost]]:
    """Layers whose every variant is half as large and a quarter slower than the one before."""
    kinds = [Named(f"kind {number}") for number in range(6)]
    costs = {
        kind: Cost(10_000.0 * 1.25**number, 8_000 >> number) for number, kind in enumerate(kinds)
    }
    return {node(): dict(costs) for _ in range(count)}


def test_size_is_as_small_as_half_again_the_cycles_allow() -> None:
    table = ladder(4)
    balanced = set_totals(table, cheapest_set(table, Goal.BALANCED))
    small = set_totals(table, cheapest_set(table, Goal.SIZE))
    assert small.cycles <= SIZE_SLOWDOWN * balanced.cycles
    assert small.code_bytes <= balanced.code_bytes // 2


@pytest.mark.parametrize("goal", list(Goal))
@pytest.mark.parametrize("budget", [8_000, 3_999, 1_000, 250])
def test_a_flash_budget_is_kept_by_every_goal(goal: Goal, budget: int) -> None:
    table = ladder(3)
    found = set_totals(table, cheapest_set(table, goal, budget))
    assert found.flash_bytes <= budget
    if goal is Goal.SPEED:
        fitting = (size for size in (8_000 >> step for step in range(6)) if size <= budget)
        assert found.flash_bytes == next(fitting), "nothing quicker would have fitted"


def test_a_budget_that_cannot_be_kept_gives_the_smallest_set() -> None:
    table = ladder(3)
    assert set_totals(table, cheapest_set(table, Goal.SPEED, 10)).flash_bytes == 250


def test_users_of_a_function_leave_it_together_where_only_that_saves() -> None:
    big, tiny = Named("big"), Named("tiny")
    table: dict[Node, dict[Kernel, Cost]] = {
        node(): {big: Cost(1000.0, 60_000), tiny: Cost(1100.0, 0, 10)} for _ in range(8)
    }
    assert set(cheapest_set(table, Goal.BALANCED).values()) == {tiny}


@pytest.mark.parametrize(("out_bytes", "taken"), [(5000, True), (500, False)])
def test_scratch_of_all_layers_counts_once_and_more_where_tensors_are_smaller(
    out_bytes: int, taken: bool
) -> None:
    quick, plain = Named("quick"), Named("plain")
    costs: dict[Kernel, Cost] = {quick: Cost(1000.0, 0, scratch_bytes=4096), plain: Cost(1050.0, 0)}
    table: dict[Node, dict[Kernel, Cost]] = {node(out_bytes): costs for _ in range(10)}
    assert set(cheapest_set(table, Goal.BALANCED).values()) == {quick if taken else plain}


def test_code_around_functions_is_paid_once_for_all_of_them() -> None:
    plain = Named("plain")
    kernels: list[Kernel] = [Named(f"quick {number}") for number in range(8)]
    table: dict[Node, dict[Kernel, Cost]] = {
        node(): {
            quick: Cost(1000.0, 100, around="walk", around_bytes=3000),
            plain: Cost(1060.0, 100),
        }
        for quick in kernels
    }
    assert list(cheapest_set(table, Goal.BALANCED).values()) == kernels
    assert set_totals(table, cheapest_set(table, Goal.BALANCED)).code_bytes == 8 * 100 + 3000


def test_layers_of_one_function_go_to_it_where_others_of_the_variant_have_another() -> None:
    plain, quick = Named("plain"), Named("quick")
    shared = Cost(1000.0, 4000, code_key="shared")
    table: dict[Node, dict[Kernel, Cost]] = {
        node(): {quick: shared, plain: Cost(1050.0, 0)} for _ in range(10)
    }
    table[node()] = {quick: Cost(1000.0, 60_000, code_key="own"), plain: Cost(1050.0, 0)}
    assert list(cheapest_set(table, Goal.BALANCED).values()) == [quick] * 10 + [plain]


def test_the_goal_size_looks_at_moves_from_one_set_once_however_dear_a_byte_is() -> None:
    """It searches at some 150 weights of a byte, most of which change nothing."""
    table = ladder(4)
    balanced = calls(lambda: cheapest_set(table, Goal.BALANCED))
    assert calls(lambda: cheapest_set(table, Goal.SIZE)) < 80 * balanced


class Sheared(Kernel):
    """A variant whose work has other names than when it was calibrated."""

    name = "conv_2d.portable"

    def work(self, site: Site, target: Target) -> dict[str, float]:
        return {"sheep": 3.0}


def test_work_that_has_other_names_than_its_unit_costs_is_a_guess() -> None:
    site, target = Site(node(), (), Rounding.DOUBLE), Target(core("cortex-m4"))
    assert cost_table().unit_costs("conv_2d.portable", "cortex-m4")
    guess = Sheared().calibrated_cost(site, target)
    assert guess.is_guess
    known = Cost(2000.0, 3000)  # by many times dearer an amount than any that was calibrated
    for goal in Goal:
        assert cheapest_set({site.node: {OWN: guess, SHARED: known}}, goal) == {site.node: SHARED}
