"""The cheapest set of variants when layers share functions: local search over a weighted cost.

    cost = cycles + weight of a byte * (constants; functions, each once; the most scratch)

A move gives one node another variant, all that can take it one variant or one function, or evicts
a function: each of its users takes the variant that then costs least. The best move is made while
the cost falls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

from glowmcu.ir.graph import Node
from glowmcu.kernels.kernel import Cost, Kernel
from glowmcu.kernels.selection.choices import Candidates
from glowmcu.kernels.selection.subpixel_variants import convolution
from glowmcu.kernels.selection.transposed_variants import untransposed
from glowmcu.lazy_dataclass import dataclass

Chosen = dict[Node, Kernel]

_LADDER = 24  # doublings of a byte's weight: of a cycle to millions
#: Cost of a byte of scratch that makes the arena larger, in bytes of flash beyond its own.
_WITHOUT_ROOM = 7


class CostVector(NamedTuple):
    """Cycles and bytes, or changes of them."""

    cycles: float = 0.0
    constants: int = 0
    code: int = 0
    scratch: int = 0


@dataclass(frozen=True)
class CostWeights:
    """Cycles that a byte of constants, of code and of scratch counts as."""

    constants: float
    code: float
    scratch: float

    def weighted(self, costs: CostVector) -> float:
        """Everything in cycles."""
        return (
            costs.cycles
            + self.constants * costs.constants
            + self.code * costs.code
            + self.scratch * costs.scratch
        )

    def times(self, flash: float, code: float = 1.0) -> CostWeights:
        """Flash with `flash` times the weight, the code in it with `code` times that."""
        return CostWeights(self.constants * flash, self.code * flash * code, self.scratch)


@dataclass(frozen=True)
class Totals:
    """Cycles and bytes of a set of kernels; `flash_bytes` are constants and functions."""

    cycles: float
    flash_bytes: int
    code_bytes: int


def function_key(kernel: Kernel, cost: Cost) -> Hashable:
    """Layers with equal keys share one function."""
    return cost.code_key or untransposed(convolution(kernel))


def shared_code(kernel: Kernel, cost: Cost) -> dict[Hashable, int]:
    """Bytes that count once however many layers use them: the function, the C around it."""
    code: dict[Hashable, int] = {function_key(kernel, cost): cost.code_bytes}
    if cost.around:
        code["around", cost.around] = cost.around_bytes
    return code


class LocalSearch:
    """Candidates of a network, and the sets of them that moves lead to."""

    def __init__(self, candidates: Candidates, is_scratch_shared: bool = True) -> None:
        self.candidates = candidates
        self._is_scratch_shared = is_scratch_shared
        self._undecided = {node: found for node, found in candidates.items() if len(found) > 1}
        #: Bytes of the largest tensor: at other layers mostly that much room is left for scratch.
        self._room_bytes = max(
            (out.size_bytes for node in candidates for out in node.signature.outputs), default=0
        )
        #: By function the layers that could call it, with the variants that do.
        self._possible_users: dict[Hashable, Chosen] = {}
        #: By node and variant what `shared_code` says.
        self._shared = {
            node: {kernel: shared_code(kernel, cost) for kernel, cost in found.items()}
            for node, found in candidates.items()
        }
        self._last: tuple[tuple[Kernel, ...], _Around] | None = None
        for node, found in self._undecided.items():
            for kernel, cost in found.items():
                self._possible_users.setdefault(function_key(kernel, cost), {})[node] = kernel
        self._code_bytes: dict[Hashable, int] = {}
        for shared in self._shared.values():
            for sizes in shared.values():
                for key, size in sizes.items():
                    self._code_bytes[key] = max(self._code_bytes.get(key, 0), size)

    def totals(self, chosen: Mapping[Node, Kernel]) -> Totals:
        costs = [self.candidates[node][kernel] for node, kernel in chosen.items()]
        code = sum(self._code_bytes[key] for key in self._users(chosen))
        code += sum(cost.layer_code_bytes for cost in costs)
        flash = sum(cost.flash_bytes for cost in costs) + code
        return Totals(sum(cost.cycles for cost in costs), flash, code)

    def cheapest(self, weights: CostWeights, start: Chosen | None = None) -> Chosen:
        """The set that no move makes cheaper."""
        chosen = dict(start) if start else self._alone(weights)
        while True:
            around = self._around(chosen)
            evicted = (
                (self._change(chosen, around.users, move, around.scratch), move)
                for move in self._evictions(chosen, around.users, weights)
            )
            best = min(
                (
                    (weights.weighted(change), number, move)
                    for number, (change, move) in enumerate(chain(around.moves, evicted))
                ),
                default=None,
                key=lambda item: item[:2],
            )
            if best is None or best[0] >= -1e-6:
                return chosen
            chosen.update(best[2])

    def _around(self, chosen: Chosen) -> _Around:
        """Moves from a set: the last are kept, as heavier bytes often change nothing."""
        key = tuple(chosen.values())
        if self._last is None or self._last[0] != key:
            users, scratch = self._users(chosen), self._scratch(chosen)
            moves = [
                (self._change(chosen, users, move, scratch), move) for move in self._moves(chosen)
            ]
            self._last = key, _Around(users, scratch, moves)
        return self._last[1]

    def frontier(
        self, weights: CostWeights, code_weights: Sequence[float]
    ) -> Iterator[tuple[Totals, Chosen]]:
        """The cheapest set, then sets of ever less flash, as the weight of a byte grows."""
        cheapest = self.cheapest(weights)
        yield self.totals(cheapest), cheapest
        for code in code_weights:
            chosen = cheapest
            for step in range(_LADDER):
                chosen = self.cheapest(weights.times(2.0**step, code), chosen)
                yield self.totals(chosen), chosen

    def with_less_code(
        self, start: Chosen, weights: CostWeights, most_cycles: float
    ) -> tuple[Totals, Chosen]:
        """Code-size descent: from `start` the moves that save most code per cycle, up to
        `most_cycles`.
        """
        chosen = dict(start)
        while True:
            around, room = self._around(chosen), most_cycles - self.totals(chosen).cycles
            evicted = (
                (self._change(chosen, around.users, move, around.scratch), move)
                for move in self._evictions(chosen, around.users, weights)
            )
            best: tuple[float, int, Chosen] | None = None
            for number, (change, move) in enumerate(chain(around.moves, evicted)):
                if change.code >= 0 or change.cycles > room:
                    continue
                saving = (change.code / max(change.cycles, 1.0), number, move)
                best = saving if best is None else min(best, saving, key=lambda item: item[:2])
            if best is None:
                return self.totals(chosen), chosen
            chosen.update(best[2])

    def _alone(self, weights: CostWeights) -> Chosen:
        """Each node's best if no other layer shared its function."""
        return {
            node: min(
                found,
                key=lambda k: (
                    weights.weighted(_layer_costs(found[k]))
                    + weights.code * sum(self._shared[node][k].values())
                ),
            )
            for node, found in self.candidates.items()
        }

    def _users(self, chosen: Mapping[Node, Kernel]) -> Counter[Hashable]:
        """How many layers use each function, and the C around it."""
        return Counter(key for node, kernel in chosen.items() for key in self._shared[node][kernel])

    def _moves(self, chosen: Mapping[Node, Kernel]) -> Iterator[Chosen]:
        for kernel in dict.fromkeys(k for found in self._undecided.values() for k in found):
            yield {node: kernel for node, found in self._undecided.items() if kernel in found}
        yield from self._possible_users.values()
        for node, found in self._undecided.items():
            yield from ({node: kernel} for kernel in found if kernel is not chosen[node])

    def _evictions(
        self, chosen: Mapping[Node, Kernel], users: Counter[Hashable], weights: CostWeights
    ) -> Iterator[Chosen]:
        for key in users:
            yield self._eviction(chosen, users, key, weights)

    def _eviction(
        self,
        chosen: Mapping[Node, Kernel],
        users: Counter[Hashable],
        evicted: Hashable,
        weights: CostWeights,
    ) -> Chosen:
        """A move that evicts a function: each user takes its cheapest variant without it, for which
        functions that others use cost no code.
        """

        def cost_elsewhere(node: Node, kernel: Kernel) -> float:
            cost = self.candidates[node][kernel]
            shared = self._shared[node][kernel].items()
            unused = (size for key, size in shared if not users[key])
            return weights.weighted(_layer_costs(cost)) + weights.code * sum(unused)

        move: Chosen = {}
        for node, kernel in chosen.items():
            found = self._shared[node]
            if evicted not in found[kernel]:
                continue
            others = [k for k, shared in found.items() if evicted not in shared]
            if not others:
                return {}
            move[node] = min(others, key=partial(cost_elsewhere, node))
        return move

    def _change(
        self,
        chosen: Mapping[Node, Kernel],
        users: Counter[Hashable],
        move: Mapping[Node, Kernel],
        scratch: _Scratch,
    ) -> CostVector:
        """Change of cycles and bytes by a move; `scratch` is of all that is chosen."""
        cycles, constants, code = 0.0, 0, 0
        before, after = list[int](), list[int]()
        moved: dict[Hashable, int] = {}
        for node, kernel in move.items():
            found = self.candidates[node]
            old, new = found[chosen[node]], found[kernel]
            cycles = cycles + new.cycles - old.cycles
            constants += new.flash_bytes - old.flash_bytes
            code += new.layer_code_bytes - old.layer_code_bytes
            before.append(old.scratch_bytes)
            after.append(new.scratch_bytes)
            for key in self._shared[node][chosen[node]]:
                moved[key] = moved.get(key, 0) - 1
            for key in self._shared[node][kernel]:
                moved[key] = moved.get(key, 0) + 1
        for key, count in moved.items():
            code += self._code_bytes[key] * ((users[key] + count > 0) - (users[key] > 0))
        return CostVector(cycles, constants, code, scratch.change(before, after))

    def _scratch(self, chosen: Mapping[Node, Kernel]) -> _Scratch:
        sizes = [self.candidates[node][kernel].scratch_bytes for node, kernel in chosen.items()]
        return _Scratch(sizes, self._room_bytes, self._is_scratch_shared)


class _Around(NamedTuple):
    """A set of variants: its users of functions, its scratch, what each move would change."""

    users: Counter[Hashable]
    scratch: _Scratch
    moves: list[tuple[CostVector, Chosen]]


class _Scratch:
    """One layer's after another, so that the most counts, and what is beyond the room more; or all
    of it, if it is not shared.
    """

    def __init__(self, sizes: Sequence[int], room_bytes: int, is_shared: bool) -> None:
        self._room_bytes = room_bytes
        self._is_shared = is_shared
        self._counts = Counter(sizes)
        self._descending = sorted(self._counts, reverse=True)

    def change(self, before: Sequence[int], after: Sequence[int]) -> int:
        """Bytes more when layers that had scratch of sizes `before` have those `after`."""
        if not self._is_shared:
            return sum(after) - sum(before)
        gone = Counter(before)
        kept = next((size for size in self._descending if self._counts[size] > gone[size]), 0)
        most = self._descending[0] if self._descending else 0
        return self._total(max([kept, *after])) - self._total(most)

    def _total(self, most: int) -> int:
        return most + _WITHOUT_ROOM * max(most - self._room_bytes, 0)


def _layer_costs(cost: Cost) -> CostVector:
    """Cost of a layer itself, without the function that it may share."""
    return CostVector(cost.cycles, cost.flash_bytes, cost.layer_code_bytes, cost.scratch_bytes)
