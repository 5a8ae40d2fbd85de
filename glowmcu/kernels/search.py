"""The cheapest set of variants when layers share functions: local search over prices.

    price = cycles + worth of a byte * (constants + functions, each once) + worth * scratch

A move gives one node another variant, all that can take it one variant, or empties a function: its
users go where they cost least. The best move is made while the price falls. Limits become prices:
sets are found for ever dearer bytes, and the best of those within the limits is taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from glowmcu.goals import Goal
from glowmcu.ir.graph import Node
from glowmcu.kernels.choices import Candidates
from glowmcu.kernels.kernel import Cost, Kernel

Chosen = dict[Node, Kernel]

#: A kilobyte of flash for so many hundredths of the cycles; of nothing but speed, next to nothing.
_WORTH_OF_KILOBYTE = {Goal.BALANCED: 0.01, Goal.SPEED: 1e-5, Goal.SIZE: 0.01, Goal.RAM: 0.01}
#: The goal `size` may take so many times the cycles of `balanced`.
SIZE_SLOWDOWN = 1.5
_LADDER = 24  # doublings of a byte's worth: of a cycle to millions
_ENDLESS = 1 << 62
_PRECIOUS = 1e6  # cycles a byte


@dataclass(frozen=True)
class Worth:
    """Cycles that a byte of flash and a byte of scratch are worth."""

    flash: float
    scratch: float


@dataclass(frozen=True)
class Totals:
    """Of a set: cycles; flash = constants and functions."""

    cycles: float
    flash_bytes: int
    code_bytes: int


def function_key(kernel: Kernel, cost: Cost) -> Hashable:
    """Layers with equal keys share one function."""
    return cost.code_key or kernel


def cheapest_set(candidates: Candidates, goal: Goal, flash_budget: int | None = None) -> Chosen:
    """One variant a node, by the goal and within the budget for constants and functions.

    The smallest set that was found where none is within the budget.
    """
    search = _Search(candidates)
    worth = goal_worth(candidates, goal)
    if goal is not Goal.SIZE and flash_budget is None:
        return search.cheapest(worth)
    sets = [(search.totals(chosen), chosen) for chosen in search.frontier(worth)]
    if goal is Goal.SIZE:
        most = SIZE_SLOWDOWN * sets[0][0].cycles
        quick = [(totals, chosen) for totals, chosen in sets if totals.cycles <= most]
        sets = sorted(quick, key=lambda item: item[0].flash_bytes) + sets
    within = [item for item in sets if item[0].flash_bytes <= (flash_budget or _ENDLESS)]
    if not within:
        return min(sets, key=lambda item: item[0].flash_bytes)[1]
    return within[0][1] if goal is Goal.SIZE else min(within, key=lambda item: item[0].cycles)[1]


def goal_worth(candidates: Candidates, goal: Goal) -> Worth:
    """What the goal gives for a byte, by the cycles of the quickest set."""
    fastest = sum(min(cost.cycles for cost in found.values()) for found in candidates.values())
    flash = fastest * _WORTH_OF_KILOBYTE[goal] / 1024.0
    return Worth(flash, _PRECIOUS if goal is Goal.RAM else flash)


def set_totals(candidates: Candidates, chosen: Mapping[Node, Kernel]) -> Totals:
    """What a set comes to."""
    return _Search(candidates).totals(chosen)


class _Search:
    def __init__(self, candidates: Candidates) -> None:
        self._candidates = candidates
        self._contested = {node: found for node, found in candidates.items() if len(found) > 1}
        self._code_bytes: dict[Hashable, int] = {}
        for found in candidates.values():
            for kernel, cost in found.items():
                key = function_key(kernel, cost)
                self._code_bytes[key] = max(self._code_bytes.get(key, 0), cost.code_bytes)

    def totals(self, chosen: Mapping[Node, Kernel]) -> Totals:
        costs = [self._candidates[node][kernel] for node, kernel in chosen.items()]
        code = sum(self._code_bytes[key] for key in self._users(chosen))
        code += sum(cost.layer_code_bytes for cost in costs)
        flash = sum(cost.flash_bytes for cost in costs) + code
        return Totals(sum(cost.cycles for cost in costs), flash, code)

    def cheapest(self, worth: Worth, start: Chosen | None = None) -> Chosen:
        """The set that no move makes cheaper."""
        chosen = dict(start) if start else self._alone(worth)
        while True:
            users = self._users(chosen)
            best = min(
                (
                    (self._change(chosen, users, move, worth), number, move)
                    for number, move in enumerate(self._moves(chosen, users, worth))
                ),
                default=None,
                key=lambda item: item[:2],
            )
            if best is None or best[0] >= -1e-6:
                return chosen
            chosen.update(best[2])

    def frontier(self, worth: Worth) -> Iterator[Chosen]:
        """Sets of ever less flash, as a byte is worth more and more."""
        chosen = self.cheapest(worth)
        yield chosen
        for step in range(1, _LADDER):
            chosen = self.cheapest(Worth(max(worth.flash, 1e-3) * 2.0**step, worth.scratch), chosen)
            yield chosen

    def _alone(self, worth: Worth) -> Chosen:
        """Each node's best if no other layer shared its function."""
        return {
            node: min(
                found,
                key=lambda k: _layer_price(found[k], worth) + worth.flash * found[k].code_bytes,
            )
            for node, found in self._candidates.items()
        }

    def _users(self, chosen: Mapping[Node, Kernel]) -> Counter[Hashable]:
        """How many layers use each function."""
        return Counter(
            function_key(kernel, self._candidates[node][kernel]) for node, kernel in chosen.items()
        )

    def _moves(
        self, chosen: Mapping[Node, Kernel], users: Counter[Hashable], worth: Worth
    ) -> Iterator[Chosen]:
        for kernel in dict.fromkeys(k for found in self._contested.values() for k in found):
            yield {node: kernel for node, found in self._contested.items() if kernel in found}
        for node, found in self._contested.items():
            yield from ({node: kernel} for kernel in found if kernel is not chosen[node])
        for key in users:
            yield self._emptied(chosen, users, key, worth)

    def _emptied(
        self,
        chosen: Mapping[Node, Kernel],
        users: Counter[Hashable],
        emptied: Hashable,
        worth: Worth,
    ) -> Chosen:
        """Every user of a function where it costs least elsewhere; used functions are paid."""

        def price(node: Node, kernel: Kernel) -> float:
            cost = self._candidates[node][kernel]
            is_paid = users[function_key(kernel, cost)] > 0
            return _layer_price(cost, worth) + (0.0 if is_paid else worth.flash * cost.code_bytes)

        move: Chosen = {}
        for node, kernel in chosen.items():
            found = self._candidates[node]
            if function_key(kernel, found[kernel]) != emptied:
                continue
            others = [k for k in found if function_key(k, found[k]) != emptied]
            if not others:
                return {}
            move[node] = min(others, key=partial(price, node))
        return move

    def _change(
        self,
        chosen: Mapping[Node, Kernel],
        users: Counter[Hashable],
        move: Mapping[Node, Kernel],
        worth: Worth,
    ) -> float:
        """By how much a move changes the price."""
        price = 0.0
        moved: Counter[Hashable] = Counter()
        for node, kernel in move.items():
            old, new = self._candidates[node][chosen[node]], self._candidates[node][kernel]
            price += _layer_price(new, worth) - _layer_price(old, worth)
            moved[function_key(chosen[node], old)] -= 1
            moved[function_key(kernel, new)] += 1
        for key, change in moved.items():
            before, after = users[key] > 0, users[key] + change > 0
            price += worth.flash * self._code_bytes[key] * (after - before)
        return price


def _layer_price(cost: Cost, worth: Worth) -> float:
    return (
        cost.cycles
        + worth.flash * (cost.flash_bytes + cost.layer_code_bytes)
        + worth.scratch * cost.scratch_bytes
    )
