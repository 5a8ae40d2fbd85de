"""Plans to choose from, and boards that are too small for the usual one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import glowmcu.api.compilation
from glowmcu.compilation import Compilation, Options
from glowmcu.pipeline import compile_model
from glowmcu.report.plots import can_plot
from glowmcu.resources import resource_dir
from tests.cli.conftest import Run

#: What compilation keeps free beside the arena.
STACK = 1024


def board_with(ram_bytes: int = 262144, flash_bytes: int = 1048576) -> str:
    """The file of an nRF52840 that has only so much RAM and flash."""
    text = (resource_dir("boards") / "nrf52.toml").read_text()
    for usual, wanted in ((262144, ram_bytes), (1048576, flash_bytes)):
        assert f"size_bytes = {usual}" in text
        text = text.replace(f"size_bytes = {usual}", f"size_bytes = {wanted}")
    Path("small.toml").write_text(text.replace('name = "nrf52"', 'name = "small"', 1))
    return "small.toml"


def compiled(glowmcu_cli: Run, *options: str) -> dict[str, object]:
    ended = glowmcu_cli("compile", "digits.tflite", "-o", "out", "--json", *options)
    assert ended.exit_code == 0, ended.err
    found = json.loads(ended.out)
    assert isinstance(found, dict)
    return found


def test_each_plan_of_the_curve_is_what_its_arena_budget_gives(glowmcu_cli: Run) -> None:
    curve = compiled(glowmcu_cli, "--board", "nrf52", "--pareto")["pareto"]
    assert isinstance(curve, list)
    assert len(curve) >= 2
    arenas = [point["arena_bytes"] for point in curve]
    cycles = [point["cycles"] for point in curve]
    assert arenas == sorted(set(arenas))
    assert cycles == sorted(set(cycles), reverse=True)
    assert any(point["streamed_layers"] for point in curve)
    for arena in arenas:
        budget = ("--board", "nrf52", "--arena-budget", str(arena))
        assert compiled(glowmcu_cli, *budget)["arena_bytes"] == arena
    below = glowmcu_cli("compile", "digits.tflite", "--arena-budget", str(arenas[0] - 16))
    assert below.exit_code == 4


def test_no_curve_is_made_unless_it_is_asked_for(glowmcu_cli: Run) -> None:
    assert compiled(glowmcu_cli, "--board", "nrf52")["pareto"] == []


def test_the_curve_is_shown_and_drawn(glowmcu_cli: Run) -> None:
    ended = glowmcu_cli("compile", "digits.tflite", "--board", "nrf52", "-o", "out", "--pareto")
    assert "for --arena-budget" in ended.out
    assert "1.00x" in ended.out
    if not can_plot():
        pytest.skip("needs matplotlib")
    assert "<svg" in Path("out.pareto.svg").read_text()


def test_a_board_too_small_for_the_usual_plan_gets_one_that_fits(glowmcu_cli: Run) -> None:
    usual = compiled(glowmcu_cli, "--board", "nrf52")["arena_bytes"]
    assert isinstance(usual, int)
    board = board_with(usual - 16 + STACK)
    small = compiled(glowmcu_cli, "--board", board)
    assert isinstance(small["arena_bytes"], int)
    assert small["arena_bytes"] < usual
    (note,) = (text for text in small["notes"] if "small" in text)
    assert f"needs an arena of {usual} B" in note
    assert f"takes {small['arena_bytes']} B" in note
    assert glowmcu_cli("verify", "out", "--board", board).exit_code == 0


def test_a_board_too_small_for_every_plan_is_told_what_the_least_is(glowmcu_cli: Run) -> None:
    least = compiled(glowmcu_cli, "--board", "nrf52", "--pareto")["pareto"][0]["arena_bytes"]
    board = board_with(least - 16 + STACK)
    for goal in ("balanced", "ram"):
        ended = glowmcu_cli(
            "compile", "digits.tflite", "--board", board, "-o", "none", "--optimize", goal
        )
        assert ended.exit_code == 4
        assert "GM401" in ended.err
        assert f"{least} B are the least that was found" in ended.err
        assert "--optimize ram" not in ended.err
    assert not Path("none").exists()


def test_no_smaller_arena_is_looked_for_where_constants_alone_are_too_large(
    glowmcu_cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    board, compilations = board_with(STACK + 16, 1500), list[Options]()

    def counted(data: bytes, name: str, options: Options) -> Compilation:
        compilations.append(options)
        return compile_model(data, name, options)

    monkeypatch.setattr(glowmcu.api.compilation, "compile_model", counted)
    ended = glowmcu_cli("compile", "digits.tflite", "--board", board, "-o", "none")
    assert ended.exit_code == 4
    assert ended.err.count("GM401") == 2
    assert "of flash needed, small has 1 500 B" in ended.err
    assert len(compilations) == 1


def test_an_input_outside_takes_no_arena_and_runs_as_before(glowmcu_cli: Run) -> None:
    inside = compiled(glowmcu_cli, "--board", "nrf52")
    at_home = glowmcu_cli("run", "out", "--input", "pixels.npy", "--json")
    outside = compiled(glowmcu_cli, "--board", "nrf52", "--outside-input", "pixels")
    abroad = glowmcu_cli("run", "out", "--input", "pixels.npy", "--json")
    assert [entry["offset"] for entry in outside["inputs"]] == [None]  # type: ignore[attr-defined]
    assert [entry["outside"] for entry in outside["inputs"]] == [True]  # type: ignore[attr-defined]
    assert outside["arena_bytes"] <= inside["arena_bytes"]  # type: ignore[operator]
    assert json.loads(abroad.out)["outputs"] == json.loads(at_home.out)["outputs"]
    verified = glowmcu_cli("verify", "out", "--on", "host", "--samples", "1")
    assert verified.exit_code == 0, verified.err
    shown = glowmcu_cli("compile", "digits.tflite", "-o", "out", "--outside-input", "pixels")
    assert "outside  pixels (64 B): read where the application has it" in shown.out
