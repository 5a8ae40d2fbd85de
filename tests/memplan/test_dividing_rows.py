"""How a run is divided between two cores: each rule by its bytes, and the choice by its costs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from glowmcu.ir.division import Phase, Place, Turn
from glowmcu.ir.kernel_code import RowRule
from glowmcu.memplan.divide_rows import (
    Costs,
    Layout,
    Operand,
    best_phases,
    one_phase,
    stash_range,
    walk,
    with_stash,
)

COSTS = Costs(unit=10.0, call=3.0, meeting=5.0)


def always(first: int, end: int, number: int, distance: int) -> bool:
    return True


def never(first: int, end: int, number: int, distance: int) -> bool:
    return False


def window(units: int, gap: int | None, extent: int = 3, unit_bytes: int = 4) -> Layout:
    """Rows of `unit_bytes` under windows of an image of rows as long."""
    rule = RowRule(1, extent // 2, extent, units)
    return Layout(units, unit_bytes, (Operand(rule, units * unit_bytes),), (gap,))


def bytes_read(layout: Layout, first: int, end: int) -> set[int]:
    """From the result's start, one row at a time."""
    found: set[int] = set()
    for operand, gap in zip(layout.operands, layout.gaps, strict=True):
        if gap is None:
            continue
        rows = [range(operand.size_bytes)] if operand.rule is None and first < end else []
        if operand.rule is not None:
            pitch = operand.size_bytes // operand.rule.rows
            rows = [
                range(operand.rule.first(unit) * pitch, operand.rule.end(unit) * pitch)
                for unit in range(first, end)
            ]
        found.update(byte + gap for row in rows for byte in row)
    return found


LAYOUTS = {
    "in place": window(6, 0), "a row below": window(6, 4), "two rows below": window(6, 8),
    "a byte above": window(6, -1), "far away": window(6, 100), "nowhere": window(6, None),
    "single rows in place": window(5, 0, extent=1),
    "all of an operand": Layout(4, 3, (Operand(None, 5),), (6,)),
    "two operands": Layout(
        5, 2, (Operand(RowRule(1, 0, 1, 5), 10), Operand(RowRule(1, 1, 3, 5), 20)), (None, 4)
    ),
    "a stride": Layout(4, 2, (Operand(RowRule(2, 1, 3, 8), 16),), (2,)),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYOUTS)
def test_what_disturbs_whom_follows_from_the_bytes(name: str) -> None:
    layout = LAYOUTS[name]
    for first in range(layout.units):
        for end in range(first + 1, layout.units + 1):
            written = layout.written(first, end)
            assert written == (first * layout.unit_bytes, end * layout.unit_bytes)
            own = set(range(*written))
            for start in range(layout.units + 1):
                for stop in range(start, layout.units + 1):
                    meets = bool(own & bytes_read(layout, start, stop))
                    assert layout.disturbs(written, start, stop) == meets
                    if start < stop:
                        other = set(range(*layout.written(start, stop)))
                        meets |= bool(other & bytes_read(layout, first, end))
                        assert layout.are_apart((first, end), (start, stop)) == (not meets)
            overlaps = bool(own & bytes_read(layout, first, end))
            assert layout.can_take(first, end, always)
            assert layout.can_take(first, end, never) == (not overlaps)


def test_a_kernel_promises_for_the_distance_from_what_it_writes_to_what_it_reads() -> None:
    asked = []

    def note(first: int, end: int, number: int, distance: int) -> bool:
        asked.append((first, end, number, distance))
        return number == 0

    layout = Layout(
        5, 4, (Operand(RowRule(1, 1, 3, 5), 20), Operand(None, 40)), (3, -2)
    )  # fmt: skip
    assert not layout.can_take(2, 4, note)
    # Row 1 begins 4 bytes into an operand that lies 3 above the result; unit 2 begins at byte 8.
    assert asked == [(2, 4, 0, 4 + 3 - 8), (2, 4, 1, -2 - 8)]


@pytest.mark.parametrize(
    ("phases", "pixels", "cycles"),
    [
        ([((Turn(0, 3),), (Turn(3, 5),))], 2, 2 * 5 + 3 + 30),
        ([((Turn(0, 3),), ()), ((Turn(3, 4),), (Turn(4, 6),))], 2, 3 * 5 + 33 + 23),
        # Three units of a pixel each are two pairs; of three pixels each they are five.
        ([((Turn(0, 3),), ())], 1, 2 * 5 + 3 + 40), ([((Turn(0, 3),), ())], 3, 2 * 5 + 3 + 100 / 3),
        ([((Turn(0, 1, Place.STASH),), ()), ((Turn(0, 1, Place.FROM_STASH),), ())], 2, 15 + 13),
        ([((Turn(0, 2), Turn(5, 6)), ())], 2, 10 + 23 + 13), ([], 2, 5),
    ],
)  # fmt: skip
def test_a_way_costs_its_slower_core_its_calls_and_its_meetings(
    phases: list[Phase], pixels: int, cycles: float
) -> None:
    assert Costs(10.0, 3.0, 5.0, pixels).of(phases) == pytest.approx(cycles)


@pytest.mark.parametrize(("units", "split", "middle"), [(6, 0, 3), (7, 0, 4), (7, 2, 2), (1, 0, 1)])
def test_halves_meet_in_the_middle_or_where_they_are_told_to(
    units: int, split: int, middle: int
) -> None:
    layout = Layout(units, 4, (Operand(None, 4),), (None,), split)
    assert one_phase(layout, never) == (((Turn(0, middle),), (Turn(middle, units),)),)


def sequences(layout: Layout, first: int = 0) -> Iterator[tuple[Phase, ...]]:
    """All ways from row to row: a core alone, or two halves whose rows are nobody else's."""
    if first == layout.units:
        yield ()
        return
    for end in range(first + 1, layout.units + 1):
        if set(range(*layout.written(first, end))) & bytes_read(layout, end, layout.units):
            continue
        split = first + (end - first + 1) // 2
        phases: list[Phase] = [((Turn(first, end),), ())]
        if split < end and layout.are_apart((first, split), (split, end)):
            phases.append(((Turn(first, split),), (Turn(split, end),)))
        for phase in phases:
            for rest in sequences(layout, end):
                yield (phase, *rest)


@pytest.mark.parametrize("limit", [1, 2, 3, 9])
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_walk_is_the_quickest_of_all_that_hold(name: str, limit: int) -> None:
    """The kernel promises for so many units at a call."""

    def promise(first: int, end: int, number: int, distance: int) -> bool:
        return end - first <= limit

    layout = LAYOUTS[name]
    ways = [
        phases
        for phases in sequences(layout)
        if all(layout.can_take(t.first, t.end, promise) for p in phases for c in p for t in c)
    ]
    found = walk(layout, promise, COSTS)
    assert (found is None) == (not ways)
    if found is not None:
        assert COSTS.of(found) == min(map(COSTS.of, ways))
        best = best_phases(layout, promise, 0, COSTS)
        assert best == (one_phase(layout, promise) or found)


def test_a_walk_has_sixteen_phases_at_most() -> None:
    def promise(first: int, end: int, number: int, distance: int) -> bool:
        return end - first <= 1

    for units, found in ((16, True), (17, False)):
        layout = window(units, 0, extent=1)
        alone = Layout(units, 4, layout.operands, (0,))
        ways = walk(alone, lambda *of: of[1] - of[0] <= 1, Costs(10.0, 3.0, 0.0))
        assert ways is not None
        assert len(ways) == (units + 1) // 2
        single = walk(window(units, 4), promise, COSTS)
        assert (single is not None) == found
        assert single is None or len(single) == units


def least_stash(layout: Layout) -> int | None:
    """How many rows at the middle have to be out of the way, by the bytes of either half."""
    units = layout.units
    for count in range(1, units - 1):
        for above in ((units - count + 1) // 2, (units - count) // 2):
            below = above + count
            for split in (above, below):
                upper = set(range(*layout.written(0, split)))
                lower = set(range(*layout.written(split, units)))
                upper &= bytes_read(layout, below, units)
                lower &= bytes_read(layout, 0, above)
                if not upper | lower:
                    return count
    return None


@pytest.mark.parametrize("units", [3, 6, 7, 12])
@pytest.mark.parametrize("gap", [-8, -4, 0, 3, 4, 5, 8, 9, 16])
def test_as_few_rows_as_will_do_go_to_the_stash(units: int, gap: int) -> None:
    layout = window(units, gap)
    needed = least_stash(layout)
    for most in (0, 1, 2, 3, units):
        found = with_stash(layout, always, most)
        assert (found is not None) == (needed is not None and needed <= most)
        if found is None:
            continue
        first, end = stash_range(found)
        assert end - first == needed
        assert abs((units - end) - first) <= 1
        computed, copied = list[int](), list[int]()
        for turn in (turn for phase in found for turns in phase for turn in turns):
            (computed if turn.computes else copied).extend(range(turn.first, turn.end))
        assert sorted(computed) == list(range(units))
        assert sorted(copied) == list(range(first, end))
        # Who has fewer rows afterwards computes more of the stash.
        shares = [sum(t.end - t.first for t in turns if t.computes) for turns in found[0]]
        assert shares[0] - shares[1] == (end - first) % 2 * (1 if units - end > first else -1)


def test_halves_that_may_not_write_over_what_they_read_have_no_use_for_a_stash() -> None:
    assert with_stash(window(6, 4), always, 6) is not None
    for refused in ((0, 2), (4, 6)):
        assert with_stash(window(6, 4), lambda a, b, *_: (a, b) != refused, 2) is None  # noqa: B023


def test_without_a_stash_no_rows_are_in_it() -> None:
    assert stash_range([((Turn(0, 3),), (Turn(3, 5),))]) == (0, 0)
