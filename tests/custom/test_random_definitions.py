"""Definitions that nobody chose: their C against their meaning, whatever their loops."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from glowmcu.index_notation.meaning import results
from tests.custom.random_definitions import RandomDefinition
from tests.custom.test_definitions import computed_in_c, operands, planned


@pytest.mark.parametrize("seed", range(12))
def test_integers_have_the_bits_of_the_meaning_in_any_order_of_loops(
    seed: int, tmp_path: Path
) -> None:
    definition = RandomDefinition(seed, "int32", scheduled=True)
    plan = planned(definition.text, definition.inputs)
    inputs = operands(plan, seed)
    pairs = zip(results(plan, inputs), computed_in_c(plan, inputs, tmp_path), strict=True)
    assert all(np.array_equal(wanted, got) for wanted, got in pairs), definition.text


@pytest.mark.parametrize("seed", range(12, 18))
def test_schedules_leave_every_bit_of_real_numbers(seed: int, tmp_path: Path) -> None:
    definition = RandomDefinition(seed, "float32", smooth=True, scheduled=True)
    lines = definition.text.splitlines(keepends=True)
    plain = "".join(line for line in lines if not line.startswith("@"))
    plans = [planned(text, definition.inputs) for text in (definition.text, plain)]
    inputs = operands(plans[0], seed)
    wanted, got = (computed_in_c(plan, inputs, tmp_path) for plan in plans)
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(wanted, got, strict=True))
