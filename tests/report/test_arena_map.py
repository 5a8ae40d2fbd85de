"""The arena over time, in text and as a picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from glowmcu.compilation import Options
from glowmcu.goals import Goal
from glowmcu.manifest import BufferEntry, Manifest
from glowmcu.pipeline import compile_model
from glowmcu.report.arena_map import arena_map_text

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits_int8.tflite"


@pytest.fixture(scope="module")
def digits() -> Manifest:
    """Of the digits example for the generic target."""
    return compile_model(DIGITS.read_bytes(), "digits.tflite", Options("digits")).manifest


def test_the_arena_map_of_the_digits_example(
    golden: Callable[[str, str], None], digits: Manifest
) -> None:
    golden("arena_map.txt", arena_map_text(digits, 76))


@pytest.mark.parametrize("goal", [Goal.BALANCED, Goal.RAM])
def test_no_line_is_wider_than_asked_and_every_buffer_is_named(goal: Goal) -> None:
    options = Options("digits", core="cortex-m4", goal=goal)
    manifest = compile_model(DIGITS.read_bytes(), "digits.tflite", options).manifest
    lines = arena_map_text(manifest, 40).splitlines()
    assert max(map(len, lines[1:])) <= 40
    assert sum(line.startswith("  ") for line in lines) >= len(manifest.buffers)


def test_many_steps_are_merged_into_the_columns_that_there_are(digits: Manifest) -> None:
    layers = digits.layers * 40
    long = tuple(
        BufferEntry(f"b{i}", 0, 100 + i, i, min(i + 1, len(layers))) for i in range(len(layers))
    )
    text = arena_map_text(replace(digits, layers=layers, buffers=long), 50)
    rows = [line for line in text.splitlines()[1:] if not line.startswith("  ")]
    assert rows
    assert max(map(len, rows)) <= 50


def test_a_model_without_steps_still_has_a_picture(digits: Manifest) -> None:
    bare = replace(digits, layers=(), buffers=(BufferEntry("in0", 0, 4, -1, 0),))
    assert arena_map_text(bare, 40) == (
        "4 B arena, 0 steps, 4 B a row\n 0 AA\n  A  0..4              steps -1..0  in0\n"
    )
