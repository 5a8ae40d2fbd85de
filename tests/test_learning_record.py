"""What learning costs, as recorded, against what was aimed at; and the page that says it."""

from __future__ import annotations

from benchmarks.learning import CASES, MOST_ARENA, MOST_CYCLES, PAGE, page, recorded


def test_the_page_shows_what_is_recorded() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(recorded())


def test_every_case_is_recorded() -> None:
    assert [(row.model, row.train, row.what) for row in recorded()] == list(CASES)


def test_the_last_layer_of_kws_learns_within_what_was_aimed_at() -> None:
    row = recorded()[0]
    assert (row.model, row.train) == ("kws", "last=1")
    assert row.arena_times <= MOST_ARENA
    assert row.cycles_times <= MOST_CYCLES
