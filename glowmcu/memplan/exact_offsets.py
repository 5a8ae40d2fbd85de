"""Branch and bound over placements, for blocks that exclude each other in full.

Any placement can be pushed down until every block lies at 0 or on one that it excludes; sorted by
offset, each block then lies at the lowest place that those before it leave. So blocks are tried in
every order of rising offset. A branch ends when, at some step, the blocks that are still to come
cannot fit above the ones placed.
"""

from __future__ import annotations

from glowmcu.ir.program import aligned
from glowmcu.memplan.placement import Placement, Problem


def exact_placement(
    task: Problem, below_bytes: int, node_budget: int
) -> tuple[Placement | None, bool]:
    """The best placement under `below_bytes` that was found, and whether no better one exists."""
    search = _Search(task, below_bytes, node_budget)
    complete = search.run()
    placement = task.placement(search.best) if search.best is not None else None
    return placement, complete


class _Search:
    def __init__(self, task: Problem, below_bytes: int, node_budget: int) -> None:
        self.task = task
        self.best: list[int] | None = None
        self.best_bytes = below_bytes
        self.nodes_left = node_budget
        self.crowds_of = [
            [number for number, crowd in enumerate(task.crowds) if index in crowd]
            for index in range(len(task.blocks))
        ]
        self.excluded = [
            tuple(dict.fromkeys(other for other, _, _ in near)) for near in task.neighbours
        ]
        #: Per crowd: bytes still to be placed, and the top of those placed.
        self.waiting = [
            sum(task.blocks[index].padded_bytes for index in crowd) for crowd in task.crowds
        ]
        self.tops = [0] * len(task.crowds)
        self.floors = [0] * len(task.blocks)
        self.offsets: list[int | None] = [None] * len(task.blocks)

    def run(self) -> bool:
        """Depth first, without recursion: models have hundreds of blocks."""
        stack = [iter(self._choices(0, -1))]
        undo: list[tuple[int, list[int], list[tuple[int, int]]]] = []
        while stack:
            choice = next(stack[-1], None)
            if choice is None:
                stack.pop()
                if undo:
                    self._unplace(*undo.pop())
                continue
            if self.nodes_left == 0:
                return False
            self.nodes_left -= 1
            place, index = choice
            if place + self.task.blocks[index].padded_bytes >= self.best_bytes:
                continue
            undo.append(self._place(index, place))
            if len(undo) == len(self.offsets):
                self._record()
            fits = self._bound(place) < self.best_bytes
            stack.append(iter(self._choices(place, index) if fits else ()))
        return True

    def _choices(self, last_place: int, last_index: int) -> list[tuple[int, int]]:
        """Blocks that may come next, lowest first, larger ones first among equals."""
        found = []
        for index, offset in enumerate(self.offsets):
            if offset is not None:
                continue
            place = aligned(self.floors[index], self.task.blocks[index].align)
            if (place, index) > (last_place, last_index):
                found.append((place, -self.task.blocks[index].padded_bytes, index))
        return [(place, index) for place, _, index in sorted(found)]

    def _place(self, index: int, place: int) -> tuple[int, list[int], list[tuple[int, int]]]:
        block = self.task.blocks[index]
        tops = [self.tops[crowd] for crowd in self.crowds_of[index]]
        self.offsets[index] = place
        for crowd in self.crowds_of[index]:
            self.waiting[crowd] -= block.padded_bytes
            self.tops[crowd] = place + block.padded_bytes
        floors = []
        for other in self.excluded[index]:
            if self.offsets[other] is None:
                floors.append((other, self.floors[other]))
                self.floors[other] = max(self.floors[other], place + block.padded_bytes)
        return index, tops, floors

    def _unplace(self, index: int, tops: list[int], floors: list[tuple[int, int]]) -> None:
        self.offsets[index] = None
        for crowd, top in zip(self.crowds_of[index], tops, strict=True):
            self.waiting[crowd] += self.task.blocks[index].padded_bytes
            self.tops[crowd] = top
        for other, floor in floors:
            self.floors[other] = floor

    def _bound(self, place: int) -> int:
        return max(
            max(top, place) + waiting for top, waiting in zip(self.tops, self.waiting, strict=True)
        )

    def _record(self) -> None:
        offsets = [offset for offset in self.offsets if offset is not None]
        assert len(offsets) == len(self.offsets)
        placement = self.task.placement(offsets)
        if placement.arena_bytes < self.best_bytes:
            self.best, self.best_bytes = offsets, placement.arena_bytes
