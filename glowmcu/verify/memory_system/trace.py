"""What a run fetched, read and wrote, in order, and the waits that replays of it find.

An event is one number, so that recording it is one call: address << 8 | what happened. Events are
replayed in pieces, so that a long run needs no more memory than a short one.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import field

import numpy as np
import numpy.typing as npt

from glowmcu.board.memory_timing import MemoryTiming
from glowmcu.lazy_dataclass import dataclass
from glowmcu.verify.memory_system.cache import Ints
from glowmcu.verify.memory_system.layout import MemoryLayout
from glowmcu.verify.memory_system.replayer import Replayer
from glowmcu.verify.memory_system.touches import BLOCK, STEP, WRITE, BlockCost

_PIECE = 1 << 18
_NO_STEP = -1


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

    def add(self, step: int | None, block: int, cycles: int) -> None:
        """That many more."""
        blocks = self.by_step.setdefault(step, {})
        blocks[block] = blocks.get(block, 0) + cycles


class Trace:
    """One run, replayed with each of `timings`. `record` takes the next event."""

    def __init__(
        self, timings: Sequence[MemoryTiming], layout: MemoryLayout, block_cost: BlockCost
    ) -> None:
        self._replayers = [Replayer(timing, layout, block_cost) for timing in timings]
        self._waits = tuple(Waits() for _ in timings)
        self._events = array("Q")
        self._step, self._block = _NO_STEP, 0
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
        """What each replay found, the last event included."""
        self._replay()
        return self._waits

    def _replay(self) -> None:
        events = np.array(self._events, np.uint64)
        del self._events[:]
        if len(events) == 0:
            return
        owners, which = self._owners(events)
        for replayer, waits in zip(self._replayers, self._waits, strict=True):
            found = np.zeros(len(owners), np.int64)
            np.add.at(found, which, replayer.replay(events))
            for index in np.flatnonzero(found).tolist():
                step, block = owners[index]
                waits.add(None if step == _NO_STEP else step, block, int(found[index]))

    def _owners(self, events: npt.NDArray[np.uint64]) -> tuple[list[tuple[int, int]], Ints]:
        """Steps and blocks, and which of these pairs each event belongs to."""
        kinds, values = (events & 0xFF).astype(np.int64), (events >> 8).astype(np.int64)
        block = _latest(kinds == BLOCK, values, self._block)
        step = _latest(kinds == STEP, values, self._step)
        self._block, self._step = int(block[-1]), int(step[-1])
        # Steps are few: a pair is one number.
        pairs, which = np.unique((step + 1) << 40 | block, return_inverse=True)
        return [((p >> 40) - 1, p & ((1 << 40) - 1)) for p in pairs.tolist()], which


def _latest(begins: npt.NDArray[np.bool_], values: Ints, before: int) -> Ints:
    """At each event the value of the last one that begins something; `before` the first one."""
    last = np.maximum.accumulate(np.where(begins, np.arange(len(values)), -1))
    return np.where(last < 0, before, values[last])
