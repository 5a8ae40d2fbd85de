"""From the instructions of a run, in order, to what each step and each basic block cost.

A run is cut where something jumps from or to, and at step markers. The pieces go through the
timing one after the other, so that what is under way at the end of one counts in the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

import numpy as np

from glowmcu.lazy_dataclass import dataclass
from glowmcu.verify.cortex_m.attribution import Account, BlockUse, Cost
from glowmcu.verify.cortex_m.elf import Program
from glowmcu.verify.helium.instructions import Instruction
from glowmcu.verify.helium.timing import START, Timing
from glowmcu.verify.helium.trace import Addresses


@dataclass
class _Use:
    """Of one piece in one step."""

    executions: int = 0
    cycles: int = 0


@dataclass
class Accounting:
    """Settles the runs of one program on one core."""

    program: Program
    code: Mapping[int, Instruction]
    timing: Timing
    _addresses: Addresses = field(init=False)
    _sizes: Addresses = field(init=False)

    def __post_init__(self) -> None:
        self._addresses = np.array(sorted(self.code), np.uint32)
        sizes = [self.code[int(address)].size_bytes for address in self._addresses]
        self._sizes = np.array(sizes, np.uint32)

    def settle(self, run: Addresses) -> Account:
        """Costs of `run`, the addresses of its instructions: outside, by step, and by block."""
        begins, goes_on = self._cut(run)
        ends = np.append(begins[1:], len(run))
        pieces: dict[int, tuple[Instruction, ...]] = {}
        uses: dict[tuple[int | None, int], _Use] = {}
        step: int | None = None
        state = START
        for first, end in zip(begins.tolist(), ends.tolist(), strict=True):
            address = int(run[first])
            step = self.program.markers.get(address, step)
            if address not in pieces:
                pieces[address] = tuple(self.code[int(at)] for at in run[first:end])
            jumps = not goes_on[end - 1]
            cycles, state = self.timing.cycles(state, pieces[address], jumps)
            use = uses.setdefault((step, address), _Use())
            use.executions += 1
            use.cycles += cycles
        return self._account(pieces, uses)

    def _cut(self, run: Addresses) -> tuple[np.ndarray[tuple[int], np.dtype[np.intp]], list[bool]]:
        """Where pieces begin in `run`, and after which instructions it goes straight on."""
        places = np.searchsorted(self._addresses, run)
        known = np.minimum(places, len(self._addresses) - 1)
        assert (self._addresses[known] == run).all(), "objdump does not show what was executed"
        straight = np.append(run[:-1] + self._sizes[places[:-1]] == run[1:], True)
        jumped_from = np.zeros(len(self._addresses), np.bool_)
        jumped_to = np.zeros(len(self._addresses), np.bool_)
        jumped_from[places[~straight]] = True
        jumped_to[places[1:][~straight[:-1]]] = True
        jumped_to[np.isin(self._addresses, list(self.program.markers))] = True
        begins = jumped_to[places]
        begins[0] = True
        begins[1:] |= jumped_from[places[:-1]]
        return np.flatnonzero(begins), straight.tolist()

    def _account(
        self,
        pieces: Mapping[int, tuple[Instruction, ...]],
        uses: Mapping[tuple[int | None, int], _Use],
    ) -> Account:
        steps: dict[int | None, Cost] = {}
        by_block: dict[int, dict[int | None, Cost]] = {address: {} for address in pieces}
        executions = dict.fromkeys(pieces, 0)
        for (step, address), use in uses.items():
            cost = Cost(use.executions * len(pieces[address]), use.cycles)
            steps[step] = steps.get(step, Cost()) + cost
            by_block[address][step] = cost
            executions[address] += use.executions
        known = {step: steps[step] for step in sorted(s for s in steps if s is not None)}
        outside = steps.get(None, Cost())
        blocks = tuple(
            self._block_use(address, pieces[address], executions[address], by_block[address])
            for address in sorted(pieces)
        )
        return Account(sum(known.values(), outside), outside, known, blocks)

    def _block_use(
        self,
        address: int,
        piece: tuple[Instruction, ...],
        executions: int,
        by_step: Mapping[int | None, Cost],
    ) -> BlockUse:
        known = [(cost.cycles, step) for step, cost in by_step.items() if step is not None]
        return BlockUse(
            address,
            self.program.function_at(address),
            executions,
            sum(by_step.values(), Cost()),
            tuple(instruction.text for instruction in piece),
            tuple(instruction.address for instruction in piece),
            tuple(step for _, step in sorted(known, key=lambda item: (-item[0], item[1]))),
        )
