"""benchmarks/board_choice.md is the page of its record; what was chosen for a board pays there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.board_choice import BOARDS, GOALS, RECORD, measured, page
from benchmarks.memories import MODELS
from glowmcu.verify.cortex_m.executor import CortexM
from glowmcu.verify.toolchain import compiler_version

RECORDED = json.loads(RECORD.read_text(encoding="utf-8"))
_ABSENT = CortexM("cortex-m4").missing()
#: Part of the cycles that a choice may lose: what is estimated is no replay.
MOST_LOST = 0.001


def test_the_page_is_written_from_the_record() -> None:
    written = RECORD.with_suffix(".md").read_text(encoding="utf-8")
    assert written == page(RECORDED), "python -m benchmarks.board_choice --page"


def test_what_is_chosen_for_a_board_is_not_slower_there() -> None:
    cases = {f"{model} {board} {goal}" for model in MODELS for board in BOARDS for goal in GOALS}
    assert set(RECORDED["rows"]) == cases
    changed = {name: row for name, row in RECORDED["rows"].items() if row}
    assert changed
    for name, row in changed.items():
        for end in ("low", "high"):
            assert row["board"][end] <= (1 + MOST_LOST) * row["core"][end], name


@pytest.mark.arm
@pytest.mark.skipif(_ABSENT is not None, reason=str(_ABSENT))
@pytest.mark.parametrize("case", ["ad nucleo-l4r5zi balanced", "sww nrf52 balanced"])
def test_a_row_is_what_is_measured_today(case: str, shared_dir: Path) -> None:
    if RECORDED["compiler"] != compiler_version():
        pytest.skip(f"recorded with {RECORDED['compiler']}")
    assert measured(*case.split()) == RECORDED["rows"][case]
