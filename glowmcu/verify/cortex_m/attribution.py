"""Turn edge counts into costs by step and by block.

A block entered during step s belongs to s up to the first step marker inside it, and from there
to the marker's step; the penalty of its taken branch belongs to whoever ran at its end. What runs
before the first marker is `outside`; what follows the last step (its epilogue) counts as that step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from glowmcu.verify.cortex_m.cost_model import cost_block
from glowmcu.verify.cortex_m.costs import Flash, InOrder, Scoreboard
from glowmcu.verify.cortex_m.counting import Counts
from glowmcu.verify.cortex_m.decode import Decoder, Instruction
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


@dataclass(frozen=True)
class _Block:
    """A block cut at its markers: (step that begins here or None, cost) and the taken penalty."""

    pieces: tuple[tuple[int | None, Cost], ...]
    taken: Cost
    text: tuple[str, ...]
    addresses: tuple[int, ...]


class Accountant:
    """Costs the runs of one program on one core; each block is decoded once."""

    def __init__(
        self,
        program: Program,
        table: InOrder | Scoreboard,
        read_code: Callable[[int, int], bytes],
        flash: Flash | None = None,
    ) -> None:
        self._flash = flash or Flash()
        self._program = program
        self._table = table
        self._read_code = read_code
        self._decoder = Decoder()
        self._blocks: dict[tuple[int, int], _Block] = {}

    def settle(self, counts: Counts) -> Account:
        """The costs of one run."""
        costs: dict[tuple[int | None, int], Cost] = {}
        executions: dict[int, int] = {}

        def charge(step: int | None, address: int, cost: Cost) -> None:
            costs[step, address] = costs.get((step, address), Cost()) + cost

        for step, edges in counts.edges.items():
            for (previous, address), times in edges.items():
                if previous is not None and address != previous + counts.sizes[previous]:
                    left = self._block(previous, counts.sizes[previous])
                    jump = Cost(0, self._flash.waits_at(address))
                    charge(step, previous, (left.taken + jump) * times)
                if not self._is_code(address):
                    continue
                executions[address] = executions.get(address, 0) + times
                owner = step
                for begins, cost in self._block(address, counts.sizes[address]).pieces:
                    owner = begins if begins is not None else owner
                    charge(owner, address, cost * times)
        for step, reads in counts.read_waits.items():
            for address, cycles in reads.items():
                charge(step, address, Cost(0, cycles))
        return self._account(counts, executions, costs)

    def cycles_of(self, address: int, size_bytes: int) -> int:
        """Of one block that goes on to the next, where nothing waits."""
        if not self._is_code(address):
            return 0
        return sum(cost.cycles for _, cost in self._block(address, size_bytes).pieces)

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
        block = self._block(address, size_bytes)
        known = [(cost.cycles, step) for step, cost in by_step.items() if step is not None]
        return BlockUse(
            address,
            self._program.function_at(address),
            executions,
            sum(by_step.values(), Cost()),
            block.text,
            block.addresses,
            tuple(step for _, step in sorted(known, key=lambda item: (-item[0], item[1]))),
        )

    def _is_code(self, address: int) -> bool:
        """False for the address that the run returns to."""
        return any(
            segment.address <= address < segment.address + segment.size_bytes
            for segment in self._program.segments
        )

    def _block(self, address: int, size_bytes: int) -> _Block:
        key = (address, size_bytes)
        if key not in self._blocks:
            instructions = self._decoder.block(self._read_code(address, size_bytes), address)
            self._blocks[key] = self._cut(instructions)
        return self._blocks[key]

    def _cut(self, instructions: tuple[Instruction, ...]) -> _Block:
        costs = cost_block(self._table, instructions)
        pieces: list[tuple[int | None, Cost]] = []
        for instruction, cycles in zip(instructions, costs.cycles, strict=True):
            marker = self._program.markers.get(instruction.address)
            if marker is not None or not pieces:
                pieces.append((marker, Cost()))
            begins, cost = pieces[-1]
            pieces[-1] = (begins, cost + Cost(1, cycles))
        text = tuple(instruction.text for instruction in instructions)
        addresses = tuple(instruction.address for instruction in instructions)
        return _Block(tuple(pieces), Cost(0, costs.taken_extra), text, addresses)
