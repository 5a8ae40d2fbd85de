"""Learn where the accesses of a block go, by doing its sums from the registers it is entered with.

Looking at every access would make a run several times slower. Instead a few entries of each block
in each step are looked at: registers then, and the additions, copies and loads of pointers inside
the block, give the addresses of most loads and stores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from glowmcu.lazy_dataclass import dataclass
from glowmcu.verify.cortex_m.cost_model import Place, Places
from glowmcu.verify.cortex_m.decode import Instruction, Sum
from glowmcu.verify.cortex_m.kinds import Kind
from glowmcu.verify.cortex_m.machine import Machine, memory_at

Edge = tuple[int | None, int]
Found = dict[tuple[int | None, Edge], list[Places]]

#: Which entries of a block by one edge are looked at, counted from 0.
LOOKED_AT = frozenset((0, 5, 47))


@dataclass
class PlaceLearner:
    """Attaches to a machine; `found[step, edge]` = places by instruction, once for each look."""

    machine: Machine
    decode: Callable[[int, int], tuple[Instruction, ...]]
    found: Found = field(default_factory=dict)
    _plans: dict[tuple[int, int], _Plan] = field(default_factory=dict)

    def begin(self) -> Found:
        """Forget what was found, for a run that comes."""
        self.found = {}
        return self.found

    def look(self, edge: Edge, size_bytes: int) -> None:
        """The block that `edge` leads to is about to run."""
        key = edge[1], size_bytes
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = _plan(self.decode(*key))
        if plan.accesses:
            places = _follow(plan, self.machine)
            self.found.setdefault((self.machine.step, edge), []).append(places)


@dataclass(frozen=True)
class _Plan:
    """What has to be followed of a block of `length` instructions: those that have an address, and
    those that change a register which one is formed from. `pointers` are loads of such registers.
    """

    length: int
    accesses: bool
    steps: tuple[tuple[int, Instruction], ...]
    pointers: frozenset[int]


def _plan(block: tuple[Instruction, ...]) -> _Plan:
    wanted: set[int] = set()
    steps = []
    pointers = set()
    for number in reversed(range(len(block))):
        instruction = block[number]
        if instruction.place is None and not instruction.writes & wanted:
            continue
        if instruction.kind is Kind.LOAD and instruction.writes & wanted:
            pointers.add(number)
        for register, total in instruction.sums:
            if register in wanted:
                wanted |= total.registers
        if instruction.place is not None:
            wanted |= instruction.place.registers
        steps.append((number, instruction))
    accesses = any(instruction.place is not None for instruction in block)
    return _Plan(len(block), accesses, tuple(reversed(steps)), frozenset(pointers))


def _follow(plan: _Plan, machine: Machine) -> Places:
    values: dict[int, int | None] = {}

    def value(total: Sum) -> int | None:
        found = total.constant
        for register, left in ((total.base, 0), (total.index, total.left)):
            if register is None:
                continue
            if register not in values:
                values[register] = machine.register(register)
            known = values[register]
            if known is None:
                return None
            found += known << left
        return found & 0xFFFFFFFF

    places: list[Place | None] = [None] * plan.length
    stored: set[int] = set()
    for number, instruction in plan.steps:
        address = value(instruction.place) if instruction.place is not None else None
        loaded = None
        if address is not None:
            places[number] = Place(memory_at(address), address % 8)
            if instruction.kind is Kind.STORE:
                stored.add(address // 4)
            elif number in plan.pointers and instruction.access_bytes == 4:
                loaded = None if address // 4 in stored else machine.word_at(address)
        new = {register: value(total) for register, total in instruction.sums}
        for register in instruction.writes:
            values[register] = new.get(register, loaded)
    return tuple(places)
