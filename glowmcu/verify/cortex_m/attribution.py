"""Turn edge counts into costs by step and by block.

A block entered during step s belongs to s up to the first step marker inside it, and from there
to the marker's step; the penalty of its taken branch belongs to whoever ran at its end. What runs
before the first marker is `outside`; what follows the last step (its epilogue) counts as that step.
Of a branch that went both ways n and m times in a step, the smaller number was predicted wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from glowmcu.lazy_dataclass import dataclass
from glowmcu.verify.cortex_m.cost_model import BlockCost, Core, Places
from glowmcu.verify.cortex_m.costs import Flash
from glowmcu.verify.cortex_m.counting import Counts
from glowmcu.verify.cortex_m.decode import BlockDecoder, Decoder, Instruction
from glowmcu.verify.cortex_m.elf import Program


@dataclass(frozen=True)
class Cost:
    """Instructions executed and cycles modelled."""

    instructions: int = 0
    cycles: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.instructions + other.instructions, self.cycles + other.cycles)

    def __mul__(self, times: int) -> Cost:
        return Cost(self.instructions * times, self.cycles * times)


@dataclass(frozen=True)
class BlockUse:
    """A basic block of one run: where it is, how often it ran, what all its runs cost.

    `steps` are those it ran in, the one with the most cycles first.
    """

    address: int
    symbol: str
    executions: int
    cost: Cost
    text: tuple[str, ...]
    addresses: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()


@dataclass(frozen=True)
class Account:
    """Where a run's cycles went: total = outside + sum of steps = sum of blocks."""

    total: Cost
    outside: Cost
    steps: dict[int, Cost]
    blocks: tuple[BlockUse, ...]

    def cost_of_step(self, index: int) -> Cost:
        """Cost of one step, nothing for a step that never ran."""
        return self.steps.get(index, Cost())

    def hottest(self, count: int) -> tuple[BlockUse, ...]:
        """The `count` blocks that cost most cycles."""
        return tuple(sorted(self.blocks, key=lambda b: (-b.cost.cycles, b.address))[:count])


#: Costs of a block cut at its markers: (step that begins here or None, cost).
_Pieces = tuple[tuple[int | None, Cost], ...]
_Edge = tuple[int | None, int]


class Accountant:
    """Costs the runs of one program on one core; each block is decoded once."""

    def __init__(
        self,
        program: Program,
        table: Core,
        read_code: Callable[[int, int], bytes],
        flash: Flash | None = None,
        decoder: BlockDecoder | None = None,
    ) -> None:
        self._flash = flash or Flash()
        self._program = program
        self._table = table
        self._read_code = read_code
        self._decoder = decoder or Decoder()
        self._decoded: dict[tuple[int, int], tuple[Instruction, ...]] = {}
        self._exits: dict[int, BlockCost] = {}
        self._pieces: dict[tuple[_Edge, Places], _Pieces] = {}

    def decode(self, address: int, size_bytes: int) -> tuple[Instruction, ...]:
        """The instructions of a block."""
        key = (address, size_bytes)
        if key not in self._decoded:
            code = self._read_code(address, size_bytes)
            self._decoded[key] = self._decoder.block(code, address)
        return self._decoded[key]

    def settle(self, counts: Counts) -> Account:
        """The costs of one run."""
        costs: dict[tuple[int | None, int], Cost] = {}
        executions: dict[int, int] = {}

        def charge(step: int | None, address: int, cost: Cost) -> None:
            costs[step, address] = costs.get((step, address), Cost()) + cost

        for step, edges in counts.edges.items():
            for edge, times in edges.items():
                previous, address = edge
                if previous is not None and _jumps(edge, counts):
                    charge(step, previous, self._taken(edge, counts) * times)
                if not self._is_code(address):
                    continue
                executions[address] = executions.get(address, 0) + times
                for places, share in _shares(counts.places.get((step, edge), []), times):
                    owner = step
                    for begins, cost in self._entered(edge, places, counts):
                        owner = begins if begins is not None else owner
                        charge(owner, address, cost * share)
            for address, cycles in self._mispredicted(edges, counts):
                charge(step, address, Cost(0, cycles))
        for step, reads in counts.read_waits.items():
            for address, cycles in reads.items():
                charge(step, address, Cost(0, cycles))
        return self._account(counts, executions, costs)

    def cycles_of(self, address: int, size_bytes: int) -> int:
        """Of one block that goes on to the next, where nothing waits and nothing is in flight."""
        if not self._is_code(address):
            return 0
        block = self.decode(address, size_bytes)
        return sum(self._table.cost(block, _unknown(block), None, True).cycles)

    def _taken(self, edge: _Edge, counts: Counts) -> Cost:
        """What leaving a block for another than the next costs besides its instructions."""
        previous, address = edge
        assert previous is not None
        cycles = self._left(previous, counts).taken_extra + self._flash.waits_at(address)
        if self._is_code(address):
            last = self.decode(previous, counts.sizes[previous])[-1]
            cycles += self._table.jump(last, self.decode(address, counts.sizes[address])[0])
        return Cost(0, cycles)

    def _left(self, address: int, counts: Counts) -> BlockCost:
        """What a block leaves in flight, and what leaving it costs, however it was entered."""
        if address not in self._exits:
            block = self.decode(address, counts.sizes[address])
            self._exits[address] = self._table.cost(block, _unknown(block), None, True)
        return self._exits[address]

    def _entered(self, edge: _Edge, places: Places | None, counts: Counts) -> _Pieces:
        """A block's costs when it is entered by `edge` and its accesses go to `places`."""
        previous, address = edge
        block = self.decode(address, counts.sizes[address])
        places = _unknown(block) if places is None else places
        key = edge, places
        if key not in self._pieces:
            entry = None if previous is None else self._left(previous, counts).after
            jumped = previous is None or _jumps(edge, counts)
            self._pieces[key] = self._cut(block, self._table.cost(block, places, entry, jumped))
        return self._pieces[key]

    def _mispredicted(self, edges: dict[_Edge, int], counts: Counts) -> Iterator[tuple[int, int]]:
        """Cycles by block."""
        ways: dict[int, list[int]] = {}
        for edge, times in edges.items():
            if edge[0] is not None:
                ways.setdefault(edge[0], [0, 0])[_jumps(edge, counts)] += times
        for address, (fell, jumped) in ways.items():
            if fell and jumped:
                yield address, min(fell, jumped) * self._left(address, counts).mispredicted

    def _account(
        self,
        counts: Counts,
        executions: dict[int, int],
        costs: dict[tuple[int | None, int], Cost],
    ) -> Account:
        steps: dict[int | None, Cost] = {}
        for (step, _), cost in costs.items():
            steps[step] = steps.get(step, Cost()) + cost
        known = {step: steps[step] for step in sorted(s for s in steps if s is not None)}
        outside = steps.get(None, Cost())
        return Account(
            total=sum(known.values(), outside),
            outside=outside,
            steps=known,
            blocks=self._uses(counts, executions, costs),
        )

    def _uses(
        self,
        counts: Counts,
        executions: dict[int, int],
        costs: dict[tuple[int | None, int], Cost],
    ) -> tuple[BlockUse, ...]:
        by_block: dict[int, dict[int | None, Cost]] = {address: {} for address in executions}
        for (step, address), cost in costs.items():
            by_block[address][step] = cost
        return tuple(
            self._use(address, counts.sizes[address], executions[address], by_block[address])
            for address in sorted(executions)
        )

    def _use(
        self, address: int, size_bytes: int, executions: int, by_step: dict[int | None, Cost]
    ) -> BlockUse:
        block = self.decode(address, size_bytes)
        known = [(cost.cycles, step) for step, cost in by_step.items() if step is not None]
        return BlockUse(
            address,
            self._program.function_at(address),
            executions,
            sum(by_step.values(), Cost()),
            tuple(instruction.text for instruction in block),
            tuple(instruction.address for instruction in block),
            tuple(step for _, step in sorted(known, key=lambda item: (-item[0], item[1]))),
        )

    def _is_code(self, address: int) -> bool:
        """False for the address that the run returns to."""
        return any(
            segment.address <= address < segment.address + segment.size_bytes
            for segment in self._program.segments
        )

    def _cut(self, instructions: tuple[Instruction, ...], costs: BlockCost) -> _Pieces:
        pieces: list[tuple[int | None, Cost]] = []
        for instruction, cycles in zip(instructions, costs.cycles, strict=True):
            marker = self._program.markers.get(instruction.address)
            if marker is not None or not pieces:
                pieces.append((marker, Cost()))
            begins, cost = pieces[-1]
            pieces[-1] = (begins, cost + Cost(1, cycles))
        return tuple(pieces)


def _jumps(edge: _Edge, counts: Counts) -> bool:
    """Whether the second block does not follow the first in memory."""
    previous, address = edge
    assert previous is not None
    return address != previous + counts.sizes[previous]


def _shares(looks: list[Places], times: int) -> Iterator[tuple[Places | None, int]]:
    """Each look's part of `times` executions."""
    if not looks:
        yield None, times
    for number, places in enumerate(looks):
        yield places, times // len(looks) + (number < times % len(looks))


def _unknown(block: tuple[Instruction, ...]) -> Places:
    return (None,) * len(block)
