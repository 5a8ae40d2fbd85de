"""The arena map in text."""

from __future__ import annotations

from collections.abc import Callable

from glowmcu.memplan.picture import arena_map_text
from glowmcu.memplan.planner import Plan, plan_memory
from tests.memplan.small_programs import Builder


def residual_plan() -> Plan:
    builder = Builder()
    x = builder.input(48)
    a = builder.mix(96, x, scratch=40)
    b = builder.mix(96, a)
    joined = builder.join(builder.mingle(a, b), builder.mix(32, b))
    return plan_memory(builder.program(builder.graph(builder.mix(10, joined))))


def test_the_arena_map_of_a_residual_block(golden: Callable[[str, str], None]) -> None:
    golden("arena_map.txt", arena_map_text(residual_plan(), 60))


def test_no_line_is_wider_than_asked_however_many_steps_there_are() -> None:
    builder = Builder()
    value = builder.input(200)
    for number in range(100):
        value = builder.mix(100 + number, value)
    text = arena_map_text(plan_memory(builder.program(builder.graph(value))), 50)
    rows = [line for line in text.splitlines()[1:] if not line.startswith("  ")]
    assert max(map(len, text.splitlines()[1:])) <= 50
    assert rows


def test_a_model_without_steps_still_has_a_picture() -> None:
    builder = Builder()
    plan = plan_memory(builder.program(builder.graph(builder.input(4))))
    assert arena_map_text(plan, 40) == (
        "4 B arena, 0 steps, 4 B a row\n 0 AA\n  A  0..4              steps -1..0  in0\n"
    )
