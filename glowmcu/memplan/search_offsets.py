"""Offsets: first fit in several orders, those orders mended by what fails, then exact search.

Each stage runs only while the arena is above the lower bound. All are deterministic: fixed seeds
and counts, never a clock.
"""

from __future__ import annotations

import random

from glowmcu.lazy_dataclass import dataclass
from glowmcu.memplan.exact_offsets import exact_placement
from glowmcu.memplan.placement import FirstFit, Placement, Problem, first_fit

#: Orders that each way of mending tries, times blocks and conflicts: seconds stay seconds.
CLIMB_WORK = 500_000
#: Orders in a row that lead no lower: the most that was needed is 1,261, of kws at `ram`.
CLIMB_PATIENCE = 1_500
#: Partial placements that the exact search may look at.
NODE_BUDGET = 20_000
#: Blocks of which mending orders finds less than one more order to begin with.
_MANY = 48


@dataclass(frozen=True)
class Found:
    """The best placement, the bytes that none can go below, and which search found it."""

    placement: Placement
    lower_bound_bytes: int
    method: str

    @property
    def optimal(self) -> bool:
        return self.placement.arena_bytes == self.lower_bound_bytes


def search_offsets(
    task: Problem, climb_work: int = CLIMB_WORK, node_budget: int = NODE_BUDGET
) -> Found:
    """The lowest placement that the searches find."""
    bound = task.lower_bound_bytes
    best, method = _greedy(task)
    for mend, name in ((_failing_first, "failing first"), (_climb, "hill climbing")):
        if best.arena_bytes > bound:
            mended = mend(task, best, climb_work)
            if mended.arena_bytes < best.arena_bytes:
                best, method = mended, name
    if best.arena_bytes > bound and not task.shared:
        exact, complete = exact_placement(task, best.arena_bytes, node_budget)
        if exact is not None:
            best, method = exact, "exact search"
        if complete:
            bound = best.arena_bytes
    return Found(best, bound, method)


def _greedy(task: Problem) -> tuple[Placement, str]:
    blocks = task.blocks
    sharing = {index for item in task.shared for index in (item.first, item.second)}
    keys = {
        "largest first": lambda i: (-blocks[i].size_bytes, blocks[i].first, i),
        "largest area first": lambda i: (-blocks[i].size_bytes * _steps(task, i), i),
        "first come": lambda i: (blocks[i].first, -blocks[i].size_bytes, i),
        "last sharer first": lambda i: (
            (0, -blocks[i].first, i) if i in sharing else (1, -blocks[i].size_bytes, i)
        ),
        "longest life first": lambda i: (-_steps(task, i), -blocks[i].size_bytes, i),
    }
    if len(blocks) >= _MANY:
        # A result lies below the operand that it overwrites: it has to be there first.
        keys["largest of the last first"] = lambda i: (-blocks[i].size_bytes, -blocks[i].first, i)
    found = [
        (first_fit(task, sorted(range(len(blocks)), key=key)), name) for name, key in keys.items()
    ]
    return min(found, key=lambda item: item[0].arena_bytes)


def _steps(task: Problem, index: int) -> int:
    return task.blocks[index].last - task.blocks[index].first + 1


def _failing_first(task: Problem, start: Placement, work: int) -> Placement:
    """Blocks that end above the bound go first the next time: good for hundreds of blocks.

    An order that comes again would be followed by those that followed it before.
    """
    order = sorted(range(len(task.blocks)), key=lambda i: (start.offsets[i], i))
    best, fit, seen = start, FirstFit(task), set[tuple[int, ...]]()
    for _ in range(_rounds(task, work)):
        placement = fit.place(order)
        assert placement is not None
        if placement.arena_bytes < best.arena_bytes:
            best = placement
        ends = placement.ends(task)
        failing = [index for index in order if ends[index] > task.lower_bound_bytes]
        seen.add(tuple(order))
        order = failing + [index for index in order if ends[index] <= task.lower_bound_bytes]
        if not failing or tuple(order) in seen:
            break
    return best


def _rounds(task: Problem, work: int) -> int:
    return work // (1 + sum(map(len, task.neighbours)) + len(task.blocks))


def _climb(task: Problem, start: Placement, work: int) -> Placement:
    """Move blocks that reach the top, or lie under one that does, to earlier turns."""
    generator, fit = random.Random(0), FirstFit(task)
    order = sorted(range(len(task.blocks)), key=lambda i: (start.offsets[i], i))
    best = current = first_fit(task, order)
    if start.arena_bytes < best.arena_bytes:
        best = start
    blamed, failed = _blamed(task, current), set[tuple[int, int]]()
    last = 0
    for turn in range(_rounds(task, work)):
        if turn - last > CLIMB_PATIENCE:
            break
        move = generator.choice(blamed), generator.randrange(len(order))
        if move in failed:
            continue
        changed = order.copy()
        changed.remove(move[0])
        changed.insert(move[1], move[0])
        placement = fit.place(changed, current.arena_bytes)
        if placement is None:
            failed.add(move)
            continue
        order, current = changed, placement
        blamed, failed = _blamed(task, current), set()
        if current.arena_bytes < best.arena_bytes:
            best, last = current, turn
        if best.arena_bytes == task.lower_bound_bytes:
            break
    return best


def _blamed(task: Problem, placement: Placement) -> list[int]:
    """Blocks that reach the top and their neighbours."""
    ends = placement.ends(task)
    top = [index for index, end in enumerate(ends) if end == placement.arena_bytes]
    return sorted({*top, *(other for index in top for other, _, _ in task.neighbours[index])})
