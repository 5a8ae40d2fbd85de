"""What is recorded of two cores: the page follows from it, and it keeps to what is promised."""

from __future__ import annotations

from benchmarks.two_cores import AIMS, MOST_GROWTH, PAGE, page, recorded

#: Aims that are missed: two of its layers have no room for a quick kernel's scratch twice.
MISSED = {("rp2350", "ic")}


def test_the_page_is_what_was_recorded() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(recorded())


def test_arenas_are_at_most_a_tenth_larger() -> None:
    """But for lines of caches: those of the words for meetings, and four."""
    for row in recorded():
        more = 6 * 32 if row.second_core else 0
        assert row.two_arena_bytes <= MOST_GROWTH * row.one_arena_bytes + more


def test_two_cores_are_as_quick_as_was_aimed_at() -> None:
    rows = {(row.board, row.model): row.times for row in recorded()}
    slow = {
        (board, model)
        for board, models in AIMS.items()
        for model, times in models.items()
        if rows[board, model] < times
    }
    assert slow == MISSED


def test_a_slower_second_core_is_worth_its_speed() -> None:
    """A Cortex-M4 of half the clock does a fifth at most of what the Cortex-M7 does meanwhile."""
    rows = {row.model: row.times for row in recorded() if row.second_core}
    assert set(rows) == {"kws", "vww", "ic", "ad", "sww"}
    assert all(1.1 <= times <= 1.3 for times in rows.values())
