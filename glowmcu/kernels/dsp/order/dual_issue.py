"""The order of a block that a Cortex-M7 runs in the fewest cycles: what is ready, two at a time.

A list schedule: in each cycle the one or two instructions that may issue together and from which
the longest chain of others hangs; then again with other priorities, and the best is taken.
Registers are given, so that a word is loaded for the next step as soon as its register was read for
the last time in this one: loads come to stand beside products. Latencies are those of
verify/cortex_m/dual_issue_cores.py, whose model measures what comes of it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations
from math import inf

from glowmcu.kernels.dsp.order.instructions import FLAGS, Instruction, Kind, Use
from glowmcu.lazy_dataclass import dataclass

#: Cycles from issue until an instruction can issue that uses the result, by what gives it.
_LATE = {Use.ARITHMETIC: 1, Use.EARLY: 2, Use.ADDRESS: 2, Use.FACTOR: 1, Use.SUM: 0, Use.STORED: 0}
_PRODUCT = {
    Use.ARITHMETIC: 2, Use.EARLY: 3, Use.ADDRESS: 3, Use.FACTOR: 2, Use.SUM: 1, Use.STORED: 1,
}  # fmt: skip
_WORD = {Use.ARITHMETIC: 1, Use.EARLY: 2, Use.ADDRESS: 2, Use.FACTOR: 2, Use.SUM: 1, Use.STORED: 0}
_NARROW = {
    Use.ARITHMETIC: 2, Use.EARLY: 3, Use.ADDRESS: 3, Use.FACTOR: 2, Use.SUM: 1, Use.STORED: 0,
}  # fmt: skip
_BASE = {Use.ARITHMETIC: 0, Use.EARLY: 1, Use.ADDRESS: 1, Use.FACTOR: 0, Use.SUM: 0, Use.STORED: 0}

#: What there is one of, by kind; and what a shifted operand takes.
_PORTS, _SIMD_UNIT, _SHIFTER = 1, 2, 4
_UNITS = {
    Kind.PRODUCT: _PORTS, Kind.STORE: _PORTS, Kind.SIMD: _SIMD_UNIT,
    Kind.TAKEN_APART: _SIMD_UNIT | _SHIFTER, Kind.SHIFT: _SHIFTER,
}  # fmt: skip
#: Ready instructions that are compared; priorities added to products and stores, in cycles.
_LOOKED_AT, _PORT_PRIORITIES = 6, (0, 3, 12)
#: Tries at most, instructions that all tries look at together, and by how many cycles heights are
#: off in a try.
_MOST_TRIES, _TRIED, _OFF = 40, 8000, 4.0

Edges = list[dict[int, int]]


@dataclass(frozen=True)
class Order:
    """Instructions by their places in the block, and the cycles until a branch behind them has
    issued, which goes with the last one if that is alone.
    """

    places: tuple[int, ...]
    cycles: int


def best_order(block: Sequence[Instruction], apart: tuple[str, ...] = ()) -> Order:
    """The shortest of what it is and a list schedule for each priority of products and stores.

    Loads from the bases `apart` meet no store from another base.
    """
    edges = _edges(block, apart)
    found = [as_it_is(block, edges)]
    tries = len(_PORT_PRIORITIES) + min(_MOST_TRIES, _TRIED // len(block))
    found += (_scheduled(block, edges, number) for number in range(tries))
    return min(found, key=lambda order: order.cycles)


def as_it_is(block: Sequence[Instruction], edges: Edges | None = None) -> Order:
    """The order that the block has."""
    before = _before(_edges(block) if edges is None else edges)
    issued: list[int] = []
    now, group = -1, 0
    end = 0
    for place, instruction in enumerate(block):
        earliest = max((issued[i] + late for i, late in before[place].items()), default=0)
        joins = group == 1 and earliest <= now and goes_with(block[place - 1], instruction)
        if not joins:
            now, group = max(end, earliest), 0
        group += 1
        issued.append(now)
        end = max(end, now + _busy(instruction))
    return Order(tuple(range(len(block))), end + (group == 2))


def goes_with(first: Instruction, second: Instruction) -> bool:
    """Whether both issue in one cycle, the operands being there."""
    if Kind.SEVERAL in (first.kind, second.kind):
        return False
    if second.kind in (Kind.SIMD, Kind.TAKEN_APART):
        return False
    units = _UNITS.get(first.kind, 0) | (_SHIFTER if first.shifts else 0)
    others = _UNITS.get(second.kind, 0) | (_SHIFTER if second.shifts else 0)
    if second.kind is Kind.SHIFT:
        others = 0
    if units & others:
        return False
    if first.kind is second.kind is Kind.LOAD:
        if first.base != second.base or None in (first.place, second.place):
            return False
        assert first.place is not None and second.place is not None
        return (first.place // 4 - second.place // 4) % 2 == 1 and not first.new_base
    return True


def _busy(instruction: Instruction) -> int:
    return -(-instruction.words // 2) if instruction.kind is Kind.SEVERAL else 1


def _late(first: Instruction, register: str, use: Use) -> int:
    if register == FLAGS:
        return 1
    if register == first.new_base:
        return _BASE[use]
    if first.kind is Kind.PRODUCT:
        return _PRODUCT[use]
    if first.kind in (Kind.LOAD, Kind.SEVERAL):
        more = _busy(first) - 1
        return (_WORD if first.bytes == 4 else _NARROW)[use] + more
    return _LATE[use]


def _edges(block: Sequence[Instruction], apart: tuple[str, ...] = ()) -> Edges:
    """For each place those behind it that wait for it, and how many cycles.

    Flags are read behind the block alone: where its last instruction that sets any sets them all,
    the order of those before it does not count.
    """
    edges: Edges = [{} for _ in block]
    writer: dict[str, int] = {}
    readers: dict[str, list[int]] = {}

    def waits(place: int, behind: int, cycles: int) -> None:
        if place != behind:
            edges[place][behind] = max(cycles, edges[place].get(behind, 0))

    setters = [place for place, instruction in enumerate(block) if FLAGS in instruction.writes]
    last_alone = bool(setters) and block[setters[-1]].sets_all_flags
    for setter in setters[:-1] if last_alone else ():
        waits(setter, setters[-1], 1)
    for place, instruction in enumerate(block):
        for register, use in instruction.reads:
            if register in writer:
                waits(writer[register], place, _late(block[writer[register]], register, use))
            readers.setdefault(register, []).append(place)
        written = set(instruction.writes) - ({FLAGS} if last_alone else set())
        for register in sorted(written):
            for reader in readers.pop(register, []):
                waits(reader, place, 0)
            if register in writer:
                waits(writer[register], place, 1)
        writer.update(dict.fromkeys(written, place))
    accesses = [place for place, instruction in enumerate(block) if instruction.is_memory]
    for first, second in combinations(accesses, 2):
        if _may_meet(block[first], block[second], apart):
            waits(first, second, 0)
    return edges


def _may_meet(first: Instruction, second: Instruction, apart: tuple[str, ...]) -> bool:
    """Whether one stores what the other touches; the stack frame is nobody else's."""
    if not (first.stores or second.stores):
        return False
    if first.base != second.base and {first.base, second.base} & {"sp", *apart}:
        return False
    if first.base == "sp" and None not in (first.place, second.place):
        assert first.place is not None and second.place is not None
        ends = first.place + 4 * first.words, second.place + 4 * second.words
        return first.place < ends[1] and second.place < ends[0]
    return True


def _before(edges: Edges) -> Edges:
    before: Edges = [{} for _ in edges]
    for place, behind in enumerate(edges):
        for other, cycles in behind.items():
            before[other][place] = cycles
    return before


def _heights(block: Sequence[Instruction], edges: Edges) -> list[int]:
    """Cycles from an instruction to the end of the block, by the longest chain."""
    heights = [0] * len(block)
    for place in reversed(range(len(block))):
        behind = (heights[other] + cycles for other, cycles in edges[place].items())
        heights[place] = max(behind, default=_busy(block[place]))
    return heights


class _Scheduled:
    """A list schedule under way: `ready` are places that wait for cycles at most."""

    def __init__(self, block: Sequence[Instruction], edges: Edges, number: int) -> None:
        self.block, self.edges = block, edges
        self.port_priority = _PORT_PRIORITIES[number % len(_PORT_PRIORITIES)]
        self.heights: list[float] = [*_heights(block, edges)]
        if number >= len(_PORT_PRIORITIES):
            generator = random.Random(number)
            self.heights = [h + _OFF * (2 * generator.random() - 1) for h in self.heights]
        self.missing = [len(before) for before in _before(edges)]
        self.earliest = [0] * len(block)
        self.ready = [place for place, count in enumerate(self.missing) if count == 0]
        self.places: list[int] = []

    def issue(self, place: int, now: int) -> None:
        """Put it next."""
        self.places.append(place)
        self.ready.remove(place)
        for behind, cycles in self.edges[place].items():
            self.earliest[behind] = max(self.earliest[behind], now + cycles)
            self.missing[behind] -= 1
            if self.missing[behind] == 0:
                self.ready.append(behind)

    def pair(self, now: int) -> tuple[int, int | None]:
        """What issues now: the best instruction, or the best two that go together."""
        there = [place for place in self.ready if self.earliest[place] <= now]
        there.sort(key=lambda place: (-self.heights[place], place))
        best: tuple[float, int, int | None] = (-inf, there[0], None)
        for first in there[:_LOOKED_AT]:
            alone = self._value(first)
            best = max(best, (alone, first, None), key=lambda each: each[0])
            for second in [*there[:_LOOKED_AT], *self._freed_by(first, now)]:
                if second == first or not goes_with(self.block[first], self.block[second]):
                    continue
                value = alone + self._value(second)
                best = max(best, (value, first, second), key=lambda each: each[0])
        return best[1], best[2]

    def _value(self, place: int) -> float:
        takes_port = self.block[place].kind in (Kind.PRODUCT, Kind.STORE)
        return self.heights[place] + 1 + self.port_priority * takes_port - place / 65536

    def _freed_by(self, first: int, now: int) -> list[int]:
        """What waits for `first` alone, and not a cycle."""
        return [
            behind
            for behind, cycles in self.edges[first].items()
            if cycles == 0 and self.missing[behind] == 1 and self.earliest[behind] <= now
        ]


def _scheduled(block: Sequence[Instruction], edges: Edges, number: int) -> Order:
    state = _Scheduled(block, edges, number)
    now = end = 0
    second = None
    while state.ready:
        now = max(end, min(state.earliest[place] for place in state.ready))
        first, second = state.pair(now)
        state.issue(first, now)
        if second is not None:
            state.issue(second, now)
        end = now + _busy(block[first])
    return Order(tuple(state.places), end + (second is not None))
