"""Cycles of one basic block: cycles(block) = sum over its instructions, plus the taken branch.

Costs are given instruction by instruction, so that a block can be cut at a step marker. What
happens between blocks (a load still in flight at the end) is left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from glowmcu.verify.cortex_m.costs import InOrder, Scoreboard
from glowmcu.verify.cortex_m.decode import MEMORY, Instruction, Kind


@dataclass(frozen=True)
class BlockCost:
    """Cycles of each instruction when the block falls through, and what leaving it early adds."""

    cycles: tuple[int, ...]
    taken_extra: int


def cost_block(table: InOrder | Scoreboard, block: Sequence[Instruction]) -> BlockCost:
    """What running `block` once costs on the core of `table`."""
    if isinstance(table, InOrder):
        return _in_order(table, block)
    return _scoreboard(table, block)


_BRANCHES = (Kind.BRANCH, Kind.BRANCH_LINK, Kind.BRANCH_REGISTER, Kind.TABLE_BRANCH)
_SINGLE = (Kind.LOAD, Kind.STORE)
_FLOATS = (Kind.FLOAT, Kind.FLOAT_MULTIPLY_ADD, Kind.FLOAT_DIVIDE)


def _in_order(table: InOrder, block: Sequence[Instruction]) -> BlockCost:
    cycles: list[int] = []
    before: Instruction | None = None
    extra = 0
    for instruction in block:
        spent = _alone(table, instruction, before)
        if table.address_stall and _waits_for_address(instruction, before):
            spent += 1
        if table.float_latency and _waits_for_float(instruction, before):
            spent += 1
        if instruction.writes_pc and instruction.kind not in _BRANCHES:
            spent += table.refill
        if instruction.writes_pc and instruction.conditional:
            extra, spent = spent - 1, 1
        cycles.append(spent)
        before = instruction
    return BlockCost(tuple(cycles), extra)


def _alone(table: InOrder, instruction: Instruction, before: Instruction | None) -> int:
    """Cost by kind, with the overlaps of loads and stores."""
    kind = instruction.kind
    if kind in _SINGLE and table.pipelined_loads:
        piped = _is_pipelined(instruction, before)
        if kind is Kind.STORE:
            return 1 if piped or not instruction.register_offset else table.cycles[kind]
        return 1 if piped and not instruction.updates_base else table.cycles[kind]
    if kind in MEMORY and kind not in _SINGLE:
        return 1 + instruction.words
    if kind is Kind.IF_THEN and table.folds_it and before is not None and before.size_bytes == 2:
        return 0
    if kind is Kind.FLOAT_MOVE:
        return 2 if len(instruction.writes | instruction.reads) >= 3 else 1
    return table.cycles.get(kind, 1)


def _is_pipelined(instruction: Instruction, before: Instruction | None) -> bool:
    """Whether this access shares a cycle with the load before it."""
    return (
        before is not None
        and before.kind is Kind.LOAD
        and not before.updates_base
        and not before.writes & instruction.address_registers
    )


def _waits_for_address(instruction: Instruction, before: Instruction | None) -> bool:
    return (
        before is not None
        and instruction.kind in MEMORY
        and before.kind not in MEMORY
        and bool(before.writes & instruction.address_registers)
    )


def _waits_for_float(instruction: Instruction, before: Instruction | None) -> bool:
    return before is not None and before.kind in _FLOATS and bool(before.writes & instruction.reads)


_MULTIPLIES = (
    Kind.MULTIPLY,
    Kind.MULTIPLY_ADD,
    Kind.MULTIPLY_LONG,
    Kind.MULTIPLY_ADD_LONG,
)
_LOADS = (Kind.LOAD, Kind.LOAD_MULTIPLE, Kind.FLOAT_LOAD)


def _scoreboard(table: Scoreboard, block: Sequence[Instruction]) -> BlockCost:
    """Each instruction is charged with the cycles by which it moved the end of the block."""
    cycles: list[int] = []
    ready: dict[int, int] = {}
    group: list[Instruction] = []
    now = 0  # the cycle in which `group` issues
    end = 0
    extra = 0
    for instruction in block:
        earliest = max((ready.get(register, 0) for register in instruction.reads), default=0)
        if not group or earliest > now or not _goes_with(table, instruction, group):
            now, group = max(end, earliest), []
        group.append(instruction)
        busy = _busy(table, instruction)
        latency = max(busy, table.latency.get(instruction.kind, 1))
        for register in instruction.writes:
            ready[register] = now + latency
        spent = max(end, now + busy) - end
        end += spent
        if instruction.writes_pc:
            if instruction.conditional:
                extra = table.taken
            else:
                spent, end = spent + table.taken, end + table.taken
        cycles.append(spent)
    return BlockCost(tuple(cycles), extra)


def _busy(table: Scoreboard, instruction: Instruction) -> int:
    if instruction.kind is Kind.IF_THEN:
        return 0
    if instruction.kind in MEMORY and instruction.words > 1:
        return max(1, math.ceil((1 + instruction.words) / table.words_per_cycle))
    return table.busy.get(instruction.kind, 1)


def _goes_with(table: Scoreboard, instruction: Instruction, group: Sequence[Instruction]) -> bool:
    """Whether `instruction` can issue in the same cycle as those of `group` before it."""
    together = [*group, instruction]
    if any(item.writes & instruction.reads for item in group):
        return False
    if sum(item.kind is not Kind.IF_THEN for item in together) > table.width:
        return False
    if any(_busy(table, item) > 1 for item in together):
        return False
    memory = [item.kind for item in together if item.kind in MEMORY]
    stores = [kind for kind in memory if kind not in _LOADS]
    return (
        len(memory) <= table.memory_slots
        and len(stores) <= 1
        and sum(item.kind in _MULTIPLIES for item in together) <= 1
        and sum(item.kind in _BRANCHES for item in together) <= 1
        and sum(item.shifts for item in together) <= 1
    )
