"""benchmarks/memories.md is the page of its record; a row is measured again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.memories import BOARDS, MODELS, RECORD, TARGETS, measured, page
from glowmcu.board import find_board
from glowmcu.verify.cortex_m.executor import CortexM
from glowmcu.verify.toolchain import compiler_version

RECORDED = json.loads(RECORD.read_text(encoding="utf-8"))
_ABSENT = CortexM("cortex-m4").missing()


def test_the_page_is_written_from_the_record() -> None:
    written = RECORD.with_suffix(".md").read_text(encoding="utf-8")
    assert written == page(RECORDED), "python -m benchmarks.memories --page"


def test_every_model_was_measured_on_every_board() -> None:
    assert set(RECORDED["rows"]) == {f"{model} {board}" for model in MODELS for board in BOARDS}
    assert set(TARGETS) <= set(BOARDS)
    for name, row in RECORDED["rows"].items():
        assert row["cycles"] < row["low"] <= row["high"], name
        if len(find_board(name.partition(" ")[2]).timing) == 1:
            assert row["low"] == row["high"], name
        # Copies for the time of a layer are as good where they fit: beside the rest, in the arena.
        assert row["placed"]["low"] <= 1.03 * row["low"], name
        assert row["placed"]["high"] < 1.03 * row["high"], name


@pytest.mark.arm
@pytest.mark.skipif(_ABSENT is not None, reason=str(_ABSENT))
@pytest.mark.parametrize("board", ["nrf52", "nucleo-l4r5zi"])
def test_a_row_is_what_is_measured_today(board: str, shared_dir: Path) -> None:
    if RECORDED["compiler"] != compiler_version():
        pytest.skip(f"the figures are of {RECORDED['compiler']}, here is {compiler_version()}")
    assert (shared_dir / "models" / "ad_int8.tflite").is_file()
    assert measured("ad", board) == RECORDED["rows"][f"ad {board}"]
