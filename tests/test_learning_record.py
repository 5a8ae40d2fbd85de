"""What learning costs, as recorded, against what was aimed at; and the page that says it."""

from __future__ import annotations

from benchmarks.learning import (
    CASES,
    MOST_ARENA,
    MOST_BLOCKS_ARENA,
    MOST_CYCLES,
    PAGE,
    page,
    recorded,
)


def test_the_page_shows_what_is_recorded() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(recorded())


def test_every_case_is_recorded() -> None:
    found = [(r.board, r.model, r.train, r.numbers, r.what) for r in recorded()]
    assert found == list(CASES)


def test_the_last_layer_of_kws_learns_within_what_was_aimed_at() -> None:
    rows = [row for row in recorded() if (row.model, row.train) == ("kws", "last=1")]
    assert len(rows) == 4
    for row in rows:
        assert row.arena_times <= MOST_ARENA
        assert row.cycles_times <= MOST_CYCLES


def test_a_quarter_of_the_last_two_blocks_of_kws_learns_within_what_was_aimed_at() -> None:
    rows = [row for row in recorded() if row.train == "last=5,channels=25%"]
    assert [row.model for row in rows] == ["kws"]
    assert rows[0].arena_times < MOST_BLOCKS_ARENA


def test_fixed_point_takes_less_of_everything_where_there_is_no_fpu() -> None:
    """Of cycles, and of memory where convolutions learn."""
    rows = {(r.board, r.model, r.train, r.numbers): r for r in recorded()}
    for (board, model, train, numbers), fixed in rows.items():
        # A block in float32 takes minutes to emulate without an FPU.
        if numbers == "fixed" and (board, model, train, "float32") in rows:
            real = rows[board, model, train, "float32"]
            if train != "last=1":
                assert fixed.arena_bytes < 0.4 * real.arena_bytes
            if board == "rp2040":
                assert fixed.learning_cycles < real.learning_cycles
