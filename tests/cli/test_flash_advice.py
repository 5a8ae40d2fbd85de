"""A board with too little flash: what the hint names fits when it is typed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from glowmcu.frontend.tflite.writer import ModelBuilder
from tests.cli.conftest import Run
from tests.cli.test_memory import board_with


def dense(spread: float = 6.0, most: int = 127) -> bytes:
    """One layer of weights that are small mostly, so that coding them pays."""
    model = ModelBuilder()
    x = model.input("x", (1, 64), "int8", 0.1, 0)
    drawn = np.random.default_rng(0).laplace(0, spread, (64, 64))
    numbers = drawn.clip(-most, most).astype(np.int8)
    y = model.tensor("y", (1, 64), "int8", 0.3, 0)
    model.op("FULLY_CONNECTED", [x, model.constant("w", numbers, 0.02), None], [y])
    model.output(y)
    return model.finish()


def taken(glowmcu_cli: Run, *options: str) -> int:
    """Bytes of flash on a board with enough of it."""
    ended = glowmcu_cli("compile", "dense.tflite", "-o", "large", "--json", *options)
    assert ended.exit_code == 0, ended.err
    sizes = json.loads(ended.out)
    return int(sizes["weights_bytes"]) + int(sizes["code_bytes"])


def followed(said: str) -> list[str]:
    """The options that a hint names first."""
    found = re.search(r"hint: (--.*?) takes [\d ]+ B", said)
    assert found is not None, said
    return found[1].split()


def test_a_goal_that_a_hint_names_fits(glowmcu_cli: Run) -> None:
    """`size` was named for whatever was too large."""
    Path("dense.tflite").write_bytes(dense())
    least = taken(glowmcu_cli, "--board", "nrf52", "--optimize", "flash")
    command = ("compile", "dense.tflite", "-o", "out", "--board", board_with(flash_bytes=least))
    ended = glowmcu_cli(*command)
    assert ended.exit_code == 4
    assert not Path("out").exists()
    assert followed(ended.err) == ["--optimize", "flash"]
    assert glowmcu_cli(*command, *followed(ended.err)).exit_code == 0


def test_a_budget_far_too_small_for_any_option_says_so(glowmcu_cli: Run) -> None:
    """It said that constants shrink with the model only."""
    command = ("compile", "digits.tflite", "-o", "out", "--board", "nrf52")
    ended = glowmcu_cli(*command, "--flash-budget", "2000")
    assert ended.exit_code == 4
    hint = ended.err.partition("hint: ")[2]
    assert re.match(r"no option of compile .*; or give at least --flash-budget \d+\n$", hint), hint


@pytest.mark.parametrize("goal", ["balanced", "size"])
@pytest.mark.parametrize(
    "board",
    [
        pytest.param("rp2040", marks=pytest.mark.arm),
        pytest.param("esp32c3", marks=pytest.mark.riscv),
    ],
)
def test_a_budget_that_a_refusal_names_is_kept_and_one_byte_less_is_refused(
    board: str, goal: str, glowmcu_cli: Run
) -> None:
    """Estimates refused what the compiler makes smaller, and promised what it makes larger."""
    command = ("compile", "digits.tflite", "-o", "out", "--board", board, "--optimize", goal)
    ended = glowmcu_cli(*command, "--flash-budget", "4000")
    assert ended.exit_code == 4
    least = re.search(r"at least --flash-budget (\d+)", ended.err)
    assert least is not None, ended.err
    assert glowmcu_cli(*command, "--flash-budget", f"{int(least[1]) - 1}").exit_code == 4
    kept = glowmcu_cli(*command, "--flash-budget", least[1], "--json")
    assert kept.exit_code == 0, kept.err
    body = json.loads(kept.out)
    assert body["weights_bytes"] + body["code_bytes"] <= int(least[1])
    assert body["options"]["flash_budget"] == least[1]


@pytest.mark.parametrize(
    ("board", "budget"),
    [
        pytest.param("rp2040", "9480", marks=pytest.mark.arm),
        pytest.param("esp32c3", "8950", marks=pytest.mark.riscv),
    ],
)
def test_a_budget_below_the_estimate_is_measured(board: str, budget: str, glowmcu_cli: Run) -> None:
    command = ("compile", "digits.tflite", "-o", "out", "--board", board, "--optimize", "size")
    ended = glowmcu_cli(*command, "--flash-budget", budget)
    assert ended.exit_code == 0, ended.err
