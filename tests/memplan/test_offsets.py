"""Placement of blocks given as plain tuples `(start, end, size)`, both steps included."""

from __future__ import annotations

import itertools
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glowmcu.memplan.exact_offsets import exact_placement
from glowmcu.memplan.placement import (
    Block,
    Conflict,
    FirstFit,
    Placement,
    Problem,
    first_fit,
    lowest_offset,
    problem,
)
from glowmcu.memplan.search_offsets import search_offsets

#: Blocks and the arena that the search must reach.
CASES = {
    "nothing": ([], 0),
    "one": ([(0, 3, 7)], 8),
    "a chain of two halves": ([(0, 1, 8), (1, 2, 16), (2, 3, 8)], 24),
    "never together": ([(0, 1, 40), (2, 3, 40), (4, 5, 36)], 40),
    "all together": ([(0, 9, 4), (0, 9, 8), (0, 9, 12)], 24),
    "sizes are rounded up to words": ([(0, 0, 1), (0, 0, 2), (0, 0, 3)], 12),
    "nothing to store": ([(0, 1, 0), (0, 1, 16), (1, 2, 0)], 16),
    "a residual": ([(0, 2, 16), (1, 1, 16), (2, 3, 16), (3, 4, 16)], 32),
    "largest first leaves a hole": (
        [(0, 2, 12), (1, 4, 8), (3, 6, 12), (5, 8, 8), (7, 9, 12), (0, 0, 8), (9, 9, 8)],
        20,
    ),
}


def task_of(blocks: list[tuple[int, int, int]]) -> Problem:
    return problem(Block(*block) for block in blocks)


def assert_sound(task: Problem, placement: Placement) -> None:
    for block, offset in zip(task.blocks, placement.offsets, strict=True):
        assert offset >= 0
        assert offset % block.align == 0
        assert offset + block.size_bytes <= placement.arena_bytes
    for (a, at_a), (b, at_b) in itertools.combinations(
        zip(task.blocks, placement.offsets, strict=True), 2
    ):
        together = a.first <= b.last and b.first <= a.last
        apart = at_a + a.size_bytes <= at_b or at_b + b.size_bytes <= at_a
        assert not together or apart or 0 in (a.size_bytes, b.size_bytes)


@pytest.mark.parametrize(("blocks", "arena_bytes"), CASES.values(), ids=CASES)
def test_blocks_find_the_smallest_arena(blocks, arena_bytes: int) -> None:
    found = search_offsets(task_of(blocks))
    assert_sound(task_of(blocks), found.placement)
    assert found.placement.arena_bytes == arena_bytes
    assert found.optimal


def brute_force(task: Problem) -> int:
    orders = itertools.permutations(range(len(task.blocks)))
    return min(first_fit(task, order).arena_bytes for order in orders)


blocks_lists = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 4), st.integers(1, 6)).map(
        lambda item: (item[0], item[0] + item[1], 4 * item[2])
    ),
    min_size=1,
    max_size=6,
)


@given(blocks_lists)
def test_exact_search_finds_what_trying_all_orders_finds(blocks) -> None:
    task = task_of(blocks)
    best = brute_force(task)
    placement, complete = exact_placement(task, best + 1, 100_000)
    assert complete
    assert placement is not None
    assert_sound(task, placement)
    assert placement.arena_bytes == best
    assert exact_placement(task, best, 100_000) == (None, True)


#: 24 bytes are alive at every step, yet no placement has fewer than 28.
ABOVE_THE_BOUND = [
    (0, 1, 16), (0, 0, 8), (1, 4, 4), (1, 3, 4), (2, 5, 4), (2, 3, 8), (2, 4, 4), (4, 5, 12),
    (5, 5, 8),
]  # fmt: skip


def fits(blocks: list[tuple[int, int, int]], arena_bytes: int) -> bool:
    """Whether some placement exists, by trying every word for every block."""

    def extend(placed: list[tuple[int, int, int, int]]) -> bool:
        if len(placed) == len(blocks):
            return True
        first, last, size = blocks[len(placed)]
        return any(
            all(last < f or end < first or at + size <= o or o + s <= at for f, end, s, o in placed)
            and extend([*placed, (first, last, size, at)])
            for at in range(0, arena_bytes - size + 1, 4)
        )

    return extend([])


def test_a_placement_above_the_bound_is_called_optimal_only_when_search_proved_it() -> None:
    task = task_of(ABOVE_THE_BOUND)
    assert task.lower_bound_bytes == 24
    assert not fits(ABOVE_THE_BOUND, 24)
    assert fits(ABOVE_THE_BOUND, 28)
    found = search_offsets(task)
    assert (found.placement.arena_bytes, found.lower_bound_bytes, found.optimal) == (28, 28, True)
    unproved = search_offsets(task, node_budget=1)
    assert unproved.lower_bound_bytes == 24
    assert not unproved.optimal


@given(blocks_lists, st.sampled_from([4, 8]))
def test_any_order_of_first_fit_is_sound(blocks, align: int) -> None:
    task = problem(
        Block(*block, align=align if index % 2 else 4) for index, block in enumerate(blocks)
    )
    assert_sound(task, first_fit(task, range(len(blocks))))
    assert_sound(task, search_offsets(task).placement)


def test_a_weaker_conflict_lets_a_block_follow_another_at_a_safe_distance() -> None:
    blocks = (Block(0, 1, 64), Block(1, 2, 64))
    # The second may start 16 bytes below the first, or above its end.
    task = Problem(blocks, (Conflict(0, 1, -16, 64),))
    assert lowest_offset(task.neighbours[1], 4, [16, None]) == 0
    assert lowest_offset(task.neighbours[1], 4, [12, None]) == 76


@given(blocks_lists, st.randoms(use_true_random=False), st.integers(0, 300))
def test_an_order_is_placed_the_same_after_any_other(blocks, random: Random, most: int) -> None:
    task = problem(Block(*block) for block in blocks)
    fit, order = FirstFit(task), list(range(len(task.blocks)))
    for _ in range(4):
        random.shuffle(order)
        placement = fit.place(order, most)
        want = first_fit(task, order)
        assert placement == (want if want.arena_bytes <= most else None)


def test_the_same_blocks_get_the_same_offsets_every_time() -> None:
    task = task_of(ABOVE_THE_BOUND * 2)
    assert search_offsets(task) == search_offsets(task_of(ABOVE_THE_BOUND * 2))
