"""What a run fetched, read and wrote, in order, and the waits that replays of it find.

An event is one number, so that recording it is one call: address << 8 | what happened. Events are
replayed in pieces, so that a long run needs no more memory than a short one.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from glowmcu.verify.memory_system.replayer import Replayer

#: What happened, in the low byte: a read or write of so many bytes, a block begins, a step begins.
WRITE, BLOCK, STEP = 0x40, 0x80, 0x81
_PIECE = 1 << 18

BlockCost = Callable[[int], tuple[int, int]]
"""Bytes of the block at an address, and its cycles where nothing waits."""


@dataclass
class Waits:
    """`by_step[step][block]` = cycles that the block waited in that step, None before the first.

    A block that a step begins in waits for its code in the step before, as it was fetched by then.
    """

    by_step: dict[int | None, dict[int, int]] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """Of all steps."""
        return sum(map(self.of_step, self.by_step))

    def of_step(self, step: int | None) -> int:
        """Cycles that one step waited."""
        return sum(self.by_step.get(step, {}).values())

    def of_block(self, address: int) -> int:
        """Cycles that one block waited in all steps."""
        return sum(blocks.get(address, 0) for blocks in self.by_step.values())


class Trace:
    """One run, seen by several replayers at once. `record` takes the next event."""

    def __init__(self, replayers: Sequence[Replayer], block_cost: BlockCost) -> None:
        self._replayers = tuple(replayers)
        self._block_cost = block_cost
        self._costs: dict[int, tuple[int, int]] = {}
        self._events = array("Q")
        self._step: int | None = None
        self._block = 0
        self._waits = tuple(Waits() for _ in self._replayers)
        #: A function without `self`, for it is called for each event.
        self.record: Callable[[int], None] = self._events.append

    def begin_block(self, address: int) -> None:
        """A block is entered, to which all accesses up to the next one belong."""
        self.record(address << 8 | BLOCK)
        if len(self._events) > _PIECE:
            self._replay()

    def begin_step(self, step: int) -> None:
        """Another step of the bundle begins, within the block."""
        self.record(step << 8 | STEP)

    def read(self, address: int, size_bytes: int) -> None:
        """Data is read."""
        self.record(address << 8 | size_bytes)

    def write(self, address: int, size_bytes: int) -> None:
        """Data is written."""
        self.record(address << 8 | WRITE | size_bytes)

    def finish(self) -> tuple[Waits, ...]:
        """What each replayer found, the last event included."""
        self._replay()
        return self._waits

    def _replay(self) -> None:
        for event in self._events:
            if event & 0xFF == BLOCK and event >> 8 not in self._costs:
                self._costs[event >> 8] = self._block_cost(event >> 8)
        ends = [self._replay_on(*pair) for pair in zip(self._replayers, self._waits, strict=True)]
        self._step, self._block = ends[-1] if ends else (None, 0)
        del self._events[:]

    def _replay_on(self, replayer: Replayer, waits: Waits) -> tuple[int | None, int]:
        """The step and the block that the events end in."""
        fetch, read, costs = replayer.fetch, replayer.read, self._costs
        step, block = self._step, self._block
        found = waits.by_step.setdefault(step, {})
        for event in self._events:
            what, address = event & 0xFF, event >> 8
            if what < WRITE:
                cycles = read(address, what)
            elif what == BLOCK:
                block = address
                cycles = fetch(address, *costs[address])
            elif what == STEP:
                step = address
                found = waits.by_step.setdefault(step, {})
                continue
            else:
                replayer.write(address, what - WRITE)
                continue
            if cycles:
                found[block] = found.get(block, 0) + cycles
        return step, block
