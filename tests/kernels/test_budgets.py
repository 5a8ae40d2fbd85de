"""Goals and budgets through the whole pipeline: what is promised of arena and flash."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from glowmcu.compilation import Compilation, Options
from glowmcu.errors import GlowmcuError
from glowmcu.goals import Budgets, Goal
from glowmcu.memory_fit import RAM_SLOWDOWN
from glowmcu.pipeline import compile_model

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits_int8.tflite"
OPTIONS = Options("digits", core="cortex-m4")


def compiled(**changes: object) -> Compilation:
    return compile_model(DIGITS.read_bytes(), "digits.tflite", replace(OPTIONS, **changes))


def cycles(compilation: Compilation) -> float:
    return compilation.estimated_cycles


def arena(compilation: Compilation) -> int:
    return compilation.manifest.arena_bytes


def test_ram_has_the_least_arena_and_does_not_pay_more_for_it_than_needed() -> None:
    found = {goal: compiled(goal=goal) for goal in Goal}
    least = arena(found[Goal.RAM])
    assert all(least <= arena(other) for other in found.values())
    assert cycles(found[Goal.RAM]) <= RAM_SLOWDOWN * cycles(found[Goal.BALANCED])


def test_every_arena_between_that_of_ram_and_of_speed_is_a_budget_that_is_kept() -> None:
    least, most = arena(compiled(goal=Goal.RAM)), arena(compiled(goal=Goal.SPEED))
    slower = 0.0
    for budget in range(most, least - 1, -64):
        found = compiled(goal=Goal.SPEED, budgets=Budgets(arena_bytes=budget))
        assert arena(found) <= budget
        assert cycles(found) >= slower * 0.999, "less room cannot make it faster"
        slower = cycles(found)


def test_an_arena_that_is_too_small_names_the_step_that_needs_it() -> None:
    with pytest.raises(GlowmcuError) as caught:
        compiled(budgets=Budgets(arena_bytes=64))
    (problem,) = caught.value.problems
    assert problem.code == "GM403"
    assert "the peak is step" in problem.where


def test_scratch_is_what_the_price_says() -> None:
    for goal in Goal:
        for item in compiled(goal=goal).selections.values():
            assert item.cost.scratch_bytes == item.code.scratch_bytes, item.kernel_name


def least_flash(goal: Goal) -> int:
    """What the refusal of an impossible budget says would do."""
    with pytest.raises(GlowmcuError) as caught:
        compiled(goal=goal, budgets=Budgets(flash_bytes=1))
    (problem,) = caught.value.problems
    assert problem.code == "GM402"
    least = re.search(r"give at least --flash-budget (\d+)", problem.hint)
    assert least is not None
    return int(least[1])


@pytest.mark.parametrize("goal", list(Goal))
def test_less_flash_costs_cycles_and_never_fits_by_chance(goal: Goal) -> None:
    free = compiled(goal=goal)
    most = sum(item.cost.flash_bytes for item in free.selections.values())
    most += free.estimated_code_bytes
    least = least_flash(goal)
    for budget in {least, min(max(least, most - 600), most)}:
        within = compiled(goal=goal, budgets=Budgets(flash_bytes=budget))
        constants = sum(item.cost.flash_bytes for item in within.selections.values())
        assert constants + within.estimated_code_bytes <= budget
        if goal is Goal.SPEED:
            assert cycles(within) >= cycles(free)
    with pytest.raises(GlowmcuError):
        compiled(goal=goal, budgets=Budgets(flash_bytes=least - 1))
