"""Cores that execute one instruction at a time (M0, M0+, M3, M4): costs add up but for overlaps.

cycles(block) = sum over its instructions of cost(kind) + waits - what it shares with the one before
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import field

from glowmcu.lazy_dataclass import dataclass
from glowmcu.verify.cortex_m.cost_model import BlockCost, Place, Places, Sureness
from glowmcu.verify.cortex_m.decode import Instruction
from glowmcu.verify.cortex_m.kinds import BRANCHES, MEMORY, Kind

_SINGLE = (Kind.LOAD, Kind.STORE)
_FLOATS = (Kind.FLOAT, Kind.FLOAT_MULTIPLY_ADD, Kind.FLOAT_DIVIDE)
_LOADS = (Kind.LOAD, Kind.LOAD_MULTIPLE)


@dataclass(frozen=True)
class InOrder:
    """Costs that add up.

    `cycles` by kind, 1 if not listed; memory kinds that move several words cost 1 + words.
    `refill` is added by what loads the program counter, the cost of a branch includes its own;
    `wide_target` is added where either arrives at a 32-bit instruction in two words of code.
    `bus`: loads and stores overlap, None if each costs its cycles.
    `address_stall`: an address computed by the instruction before waits 1 cycle. `folds_it`: IT is
    free after a 16-bit instruction. `float_latency`: 1 cycle more when the next instruction reads a
    float result. `wide_group`: the number of 32-bit instructions in a row, each in two words of
    code, that wait once for the fetch unit; one more of them if all are stores.
    """

    source: str
    sureness: Sureness
    cycles: Mapping[Kind, int]
    refill: int
    wide_target: int = 0
    bus: Bus | None = None
    address_stall: bool = False
    folds_it: bool = False
    float_latency: bool = False
    wide_group: int = 0

    def cost(
        self, block: Sequence[Instruction], places: Places, entry: Hashable, jumped: bool
    ) -> BlockCost:
        """As `Core.cost`."""
        before = entry if isinstance(entry, Before) and not jumped else _NOTHING
        return _cost(self, block, places, before, jumped)

    def jump(self, instruction: Instruction, target: Instruction) -> int:
        """As `Core.jump`."""
        return self.wide_target if target.wide_across_words else 0


@dataclass(frozen=True)
class Bus:
    """How loads and stores overlap.

    A load right behind a load of the same memory takes 1 cycle, a store with an immediate offset
    none; neither when the address comes from that load. A load right behind a store takes
    `behind_store` more, and a NOP right behind either is free if it would have waited.
    `indexed_joins`: also accesses that update their base overlap with the load before. `unaligned`:
    additional accesses of a word at an address with these two lowest bits; half-words at odd ones
    take one. What a store waits, the write buffer hides.
    """

    behind_store: int = 1
    indexed_joins: bool = False
    unaligned: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Before:
    """The instruction before, where it went, and how many `wide_across_words` lead up to here."""

    instruction: Instruction | None = None
    place: Place | None = None
    wide: int = 0
    stores: int = 0
    waited: bool = False


_NOTHING = Before()


def _cost(
    table: InOrder, block: Sequence[Instruction], places: Places, before: Before, jumped: bool
) -> BlockCost:
    cycles: list[int] = []
    extra = 0
    # Behind a taken branch the fetch unit starts anew: no group of wide instructions to wait for.
    counting = not jumped
    for instruction, place in zip(block, places, strict=True):
        spent = _alone(table, instruction, place, before)
        spent += table.address_stall and _waits_for_address(instruction, before.instruction)
        spent += table.float_latency and _waits_for_float(instruction, before.instruction)
        wide, stores = _group(instruction, before)
        counting = counting or wide == 0
        waited = before.waited and wide > 0
        if counting and not waited and 0 < table.wide_group <= wide - (wide == stores):
            spent, waited = spent + 1, True
        if instruction.writes_pc and instruction.kind not in BRANCHES:
            spent += table.refill
        if instruction.writes_pc and instruction.conditional:
            extra, spent = spent - 1, 1
        cycles.append(spent)
        before = Before(instruction, place, wide, stores, waited or not counting)
    return BlockCost(tuple(cycles), extra, before)


def _group(instruction: Instruction, before: Before) -> tuple[int, int]:
    """Wide instructions in a row up to and with this one, and stores among them."""
    if not instruction.wide_across_words:
        return 0, 0
    return before.wide + 1, before.stores + (instruction.kind is Kind.STORE)


def _alone(table: InOrder, instruction: Instruction, place: Place | None, before: Before) -> int:
    """Cost by kind, with the overlaps of loads and stores."""
    kind, last = instruction.kind, before.instruction
    if table.bus is not None and kind in (*_SINGLE, *_LOADS, Kind.NOP) and last is not None:
        return _on_bus(table, table.bus, instruction, place, before)
    if kind is Kind.STORE and table.bus is not None:
        return 1 if not instruction.register_offset else table.cycles[kind]
    if kind is Kind.IF_THEN and table.folds_it and last is not None and last.size_bytes == 2:
        return 0
    if kind is Kind.FLOAT_MOVE:
        return 2 if len(instruction.writes | instruction.reads) >= 3 else 1
    return _words(table, instruction)


def _words(table: InOrder, instruction: Instruction) -> int:
    if instruction.kind in MEMORY and instruction.kind not in _SINGLE:
        return 1 + instruction.words
    return table.cycles.get(instruction.kind, 1)


def _on_bus(
    table: InOrder, bus: Bus, instruction: Instruction, place: Place | None, before: Before
) -> int:
    """A load, a store or a NOP behind another instruction."""
    kind, last = instruction.kind, before.instruction
    assert last is not None
    if kind is Kind.NOP:
        waiting = last.kind is Kind.LOAD or (last.kind is Kind.STORE and last.register_offset)
        return 0 if waiting else 1
    joins = _joins(bus, instruction, place, before)
    if kind is Kind.STORE:
        return (table.cycles[kind] if instruction.register_offset else 1) - joins
    spent = _words(table, instruction)
    if last.kind is Kind.STORE:
        spent += bus.behind_store
    if kind is Kind.LOAD:
        spent += _unaligned(bus, instruction, place) - joins
    return spent


def _joins(bus: Bus, instruction: Instruction, place: Place | None, before: Before) -> bool:
    """Whether this single access shares a cycle with the load before it."""
    last = before.instruction
    if instruction.kind not in _SINGLE or last is None or last.kind is not Kind.LOAD:
        return False
    if place is not None and before.place is not None and place.memory != before.place.memory:
        return False
    if instruction.updates_base and not bus.indexed_joins:
        return False
    return not last.writes & instruction.address_registers


def _unaligned(bus: Bus, instruction: Instruction, place: Place | None) -> int:
    if place is None or instruction.access_bytes == 1:
        return 0
    if instruction.access_bytes == 2:
        return bus.unaligned.get(1, 0) and place.address % 2
    return bus.unaligned.get(place.address % 4, 0)


def _waits_for_address(instruction: Instruction, before: Instruction | None) -> bool:
    if before is None or instruction.kind not in MEMORY:
        return False
    if before.kind in MEMORY and not (before.kind is Kind.STORE and before.updates_base):
        return False
    return bool(before.writes & instruction.address_registers)


def _waits_for_float(instruction: Instruction, before: Instruction | None) -> bool:
    return before is not None and before.kind in _FLOATS and bool(before.writes & instruction.reads)
