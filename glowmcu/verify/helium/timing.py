"""Cycles of straight pieces of code one after the other, with what is still under way in between.

The state behind a piece is kept relative to the cycle in which the next instruction may issue. Few
states occur, so each (state, piece) is worked out once and looked up from then on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field

from glowmcu.lazy_dataclass import dataclass
from glowmcu.verify.helium.costs import MEMORY, SCALARS, STORES, HeliumCosts
from glowmcu.verify.helium.instructions import Instruction, Kind

_VECTOR_STORES = (Kind.VECTOR_STORE, Kind.SCATTER, Kind.INTERLEAVE)
_STORES = (Kind.STORE, *_VECTOR_STORES)
_APART = (Kind.GATHER, Kind.SCATTER)
_LOADS = (
    Kind.LOAD, Kind.NARROW_LOAD, Kind.LOAD_SEVERAL, Kind.VECTOR_LOAD, Kind.GATHER,
    Kind.DEINTERLEAVE,
)  # fmt: skip
_SEVERAL = (Kind.LOAD_SEVERAL, Kind.STORE)
_PRODUCTS = (Kind.VECTOR_MULTIPLY, Kind.VECTOR_FLOAT)

#: ready, ready for a store, ready as its own sum, units, last vector store, loop that is known
_Frozen = tuple[
    tuple[tuple[str, int], ...],
    tuple[tuple[str, int], ...],
    tuple[tuple[str, int], ...],
    tuple[tuple[str, int], ...],
    int | None,
    int | None,
]
START: _Frozen = ((), (), (), (), None, None)


@dataclass
class _State:
    """Cycles from which on registers and units are there, relative to `now`."""

    ready: dict[str, int]
    for_store: dict[str, int]
    for_sum: dict[str, int]
    free: dict[str, int]
    stored: int | None
    loop: int | None
    now: int = 0

    def frozen(self) -> _Frozen:
        now = self.now

        def later(times: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
            return tuple(sorted((key, at - now) for key, at in times.items() if at > now))

        stored = self.stored
        recent = stored - now if stored is not None and stored + 2 >= now else None
        return (
            later(self.ready), later(self.for_store), later(self.for_sum), later(self.free),
            recent, self.loop,
        )  # fmt: skip


def _thawed(frozen: _Frozen) -> _State:
    ready, for_store, for_sum, free, stored, loop = frozen
    return _State(dict(ready), dict(for_store), dict(for_sum), dict(free), stored, loop)


@dataclass
class Timing:
    """The cycles of one core, remembered."""

    costs: HeliumCosts
    _known: dict[tuple[_Frozen, int, bool], tuple[int, _Frozen]] = field(default_factory=dict)

    def cycles(
        self, state: _Frozen, piece: Sequence[Instruction], jumps: bool
    ) -> tuple[int, _Frozen]:
        """Of `piece`, behind which the run `jumps` or goes straight on; and the state behind it."""
        key = (state, piece[0].address, jumps)
        if key not in self._known:
            self._known[key] = self._worked_out(state, piece, jumps)
        return self._known[key]

    def _worked_out(
        self, frozen: _Frozen, piece: Sequence[Instruction], jumps: bool
    ) -> tuple[int, _Frozen]:
        state = _thawed(frozen)
        last = piece[-1]
        for instruction in piece[:-1]:
            self._issue(state, instruction)
        if last.kind is Kind.LOOP_END:
            known = state.loop == last.address
            state.loop = last.address if jumps else None
            if not (known and jumps):
                self._issue(state, last)
                state.now += self.costs.taken if jumps else 0
        else:
            self._issue(state, last)
            state.now += self.costs.taken if jumps else 0
        return state.now, state.frozen()

    def _issue(self, state: _State, instruction: Instruction) -> None:
        costs, kind = self.costs, instruction.kind
        unit = min(costs.units.get(kind, (SCALARS,)), key=lambda name: state.free.get(name, 0))
        at = max(state.now, self._operands(state, instruction), state.free.get(unit, 0))
        if (
            costs.load_after_store
            and kind in _LOADS
            and state.stored is not None
            and at == state.stored + 2
        ):
            at += 1
        busy = self._busy(instruction)
        state.free[unit] = at + busy
        state.now = at + (busy if unit == SCALARS or self._holds_up(kind) else 1)
        if kind in _VECTOR_STORES and unit in (MEMORY, STORES):
            state.stored = at
        latency = max(costs.latency.get(kind, 1), busy if self._holds_up(kind) else 1)
        if kind is Kind.GATHER:
            latency = max(latency, busy - 1)  # the next one's beats follow by half
        if instruction.shifts and costs.shifted_result:
            latency += 1
        for register in instruction.writes:
            state.ready[register] = at + latency
            state.for_store.pop(register, None)
            state.for_sum.pop(register, None)
            if kind in _PRODUCTS:
                state.for_store[register] = at + max(1, latency - costs.store_early)
            if instruction.accumulates:
                state.for_sum[register] = at + costs.sum_forwarded

    def _holds_up(self, kind: Kind) -> bool:
        """Whether nothing else issues while it works: what moves several words one by one."""
        return kind in _SEVERAL

    def _busy(self, instruction: Instruction) -> int:
        if instruction.kind in _SEVERAL and instruction.words > 1:
            return -(-instruction.words // self.costs.words_per_cycle)
        busy = self.costs.busy.get(instruction.kind, 1)
        if instruction.kind in _APART:
            return max(busy, math.ceil(instruction.elements * self.costs.element_cycles))
        return busy

    def _operands(self, state: _State, instruction: Instruction) -> int:
        """The cycle in which all that it reads is there."""
        late = 1 if instruction.shifts and self.costs.shifted_operand else 0
        found = 0
        for register in instruction.reads:
            at = state.ready.get(register, 0)
            if instruction.kind is Kind.INTERLEAVE and register[0] == "q":
                at += self.costs.interleave_early if at > 0 else 0
            elif instruction.kind in _STORES:
                at = state.for_store.get(register, at)
            elif instruction.accumulates and register in instruction.writes:
                at = state.for_sum.get(register, at)
            found = max(found, at + late if at else 0)
        return found
