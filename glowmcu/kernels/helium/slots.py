"""An order for Helium's instructions in which units seldom wait.

A vector keeps its unit (loads and stores, integers, multiplier) busy for two cycles, and one
instruction issues each cycle: so a product issues where it can, and other instructions between.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property

from glowmcu.lazy_dataclass import dataclass

_REGISTER = re.compile(r"\b(?:q\d|r\d+|lr)\b")
_UPDATES = re.compile(r"\[(r\d+)(?:, #-?\d+)?\](?:!|, #)")
#: Cycles until another instruction can read a result, 1 if not listed.
_LATENCIES = {"vmlada": 3, "vshl": 2, "vshr": 2, "vqmov": 2, "vmulh": 2, "vqrdm": 2}
_MULTIPLIER = ("vmlada", "vmulh", "vqrdm")
_MEMORY = ("vldr", "vstr", "ldr", "str")
_NO_RESULT = ("vstr", "str", "vctp")
_PRODUCT = "vmlada"
#: What reads its first operand as well where two are named.
_ON_ITSELF = ("vmladava", "vmov", "vshrn", "add", "sub")
_PREDICATE = "p0"
#: How far ahead an instruction may come, and products beside which late ones are.
_AHEAD, _PACE = 64, 88


@dataclass(frozen=True)
class Slot:
    """One instruction, or several that stay together; `is_late`: it may come between others."""

    lines: tuple[str, ...]
    is_late: bool = False

    @property
    def unit(self) -> str:
        """What it keeps busy."""
        text = self.lines[-1]
        if text.startswith(_MULTIPLIER):
            return "multiplier"
        if text.startswith(_MEMORY):
            return "memory"
        return "integers" if text.startswith("v") and "q" in text else ""

    @property
    def is_product(self) -> bool:
        """Whether it adds up products."""
        return self.lines[0].startswith(_PRODUCT)

    @property
    def latency(self) -> int:
        """Until others read its result."""
        text = self.lines[0]
        return next((n for name, n in _LATENCIES.items() if text.startswith(name)), 1)

    @cached_property
    def registers(self) -> tuple[set[str], set[str]]:
        """Those that it reads, and those that it writes; predicates are one."""
        reads: set[str] = set()
        writes: set[str] = set()
        for text in self.lines:
            name, _, operands = text.partition(" ")
            named = _REGISTER.findall(operands)
            results = 0 if name.startswith(_NO_RESULT) else 1
            writes |= {*named[:results], *_UPDATES.findall(operands)}
            reads |= set(named if name.startswith(_ON_ITSELF) else named[results:])
            if name.startswith("vctp"):
                writes.add(_PREDICATE)
            elif name.startswith("vpst"):
                reads.add(_PREDICATE)
        return reads, writes


def ordered(slots: Sequence[Slot]) -> list[Slot]:
    """Those with products in an order that keeps what each reads and writes, and the late ones
    between them at an even pace.
    """
    needs = _needs(slots)
    pace = min(sum(slot.is_product for slot in slots), _PACE), sum(slot.is_late for slot in slots)
    free = {"multiplier": 1, "memory": 0, "integers": 0, "": 0}
    issued: dict[int, int] = {}
    left, products, late, cycle = list(range(len(slots))), 0, 0, 0

    def may_issue(number: int) -> bool:
        return free[slots[number].unit] <= cycle and all(
            other in issued and issued[other] + wait <= cycle
            for other, wait in needs[number].items()
        )

    while left:
        is_behind = late * pace[0] < pace[1] * products
        end = _AHEAD + next((number for number in left if not slots[number].is_late), left[0])
        near = left[: bisect_left(left, end)]
        ready = [(_rank(slots[number], is_behind), number) for number in near if may_issue(number)]
        if ready:
            best = min(ready)[1]
            issued[best] = cycle
            free[slots[best].unit] = cycle + 1 + bool(slots[best].unit)
            left.remove(best)
            products += slots[best].is_product
            late += slots[best].is_late
        cycle += 1
    return [slots[number] for number in issued]


def _rank(slot: Slot, is_behind: bool) -> int:
    """What goes first."""
    if slot.is_late:
        return 0 if is_behind else 3
    return 1 if slot.is_product else 2


def _needs(slots: Sequence[Slot]) -> list[dict[int, int]]:
    """For each slot those that it must follow, and by how many cycles."""
    writers: dict[str, int] = {}
    readers: dict[str, list[int]] = {}
    found: list[dict[int, int]] = []
    for number, slot in enumerate(slots):
        reads, writes = slot.registers
        needs = {other: 1 for name in writes for other in readers.get(name, ())}
        needs |= {writers[name]: 1 for name in writes if name in writers}
        for before in {writers[name] for name in reads if name in writers}:
            is_sum = slot.is_product and slots[before].is_product
            needs[before] = 2 if is_sum else slots[before].latency
        found.append(needs)
        for name in reads:
            readers.setdefault(name, []).append(number)
        for name in writes:
            writers[name], readers[name] = number, []
    return found
