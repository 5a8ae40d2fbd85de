"""Checks of runs that two cores share. A failure is our bug: VerificationError.

First by bytes: in no phase does one core touch what the other writes, nor write to a line of
caches that the other writes to, where one of them has caches for itself. Then by tokens, as
`verify_program.py` does it: the turns are taken with the first core first, and once more with the
second core first, and every byte that is read must be there in both orders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from glowmcu.ir.division import (
    Accesses,
    Division,
    Phase,
    Place,
    Turn,
    accesses,
    input_part,
    lines_of,
    meet,
    unit_bytes,
)
from glowmcu.ir.graph import VerificationError
from glowmcu.ir.instructions import Buffer, Run

Tokens = npt.NDArray[Any]
_NOBODY = -1


class DivisionMachine:
    """One divided run on symbolic memory. `start` gives a buffer's first byte in the arena, None
    outside of it, `content` the tokens of a whole tensor. Caches that one core has for itself have
    lines of `line_bytes`, 1 if there are none.
    """

    def __init__(
        self,
        run: Run,
        memory: Tokens,
        start: Callable[[Buffer], int | None],
        content: Callable[[Buffer], Tokens],
        line_bytes: int = 1,
    ) -> None:
        assert run.division is not None
        self.line_bytes = line_bytes
        self.run, self.division = run, run.division
        self.memory, self.start, self.content = memory, start, content

    def check(self) -> None:
        """Raise VerificationError unless any timing of the cores gives the result."""
        self._check_units()
        for number, phase in enumerate(self.division.phases):
            self._check_apart(number, phase)
        before = self.memory.copy()
        results = []
        for order in ((0, 1), (1, 0)):
            self.memory[:] = before
            self._take_turns(order)
            results.append(self.memory.copy())
        if not np.array_equal(results[0], results[1]):
            raise self._failure("the arena depends on which core is first")

    def _failure(self, text: str) -> VerificationError:
        return VerificationError(f"{self.run.node.name!r} on two cores: {text}")

    def _check_units(self) -> None:
        """Each unit is computed once and gets to the result once, never before it is there."""
        computed = np.zeros(self.division.units, np.int64)
        placed = np.zeros(self.division.units, np.int64)
        stashed: dict[int, tuple[int, int]] = {}
        for phase, core, turn in self._turns():
            units = range(turn.first, turn.end)
            if not 0 <= turn.first < turn.end <= self.division.units:
                raise self._failure(f"there are no units {turn.first} to {turn.end}")
            if turn.computes:
                computed[turn.first : turn.end] += 1
            if turn.place is Place.STASH:
                self._check_stash(turn)
                stashed |= dict.fromkeys(units, (phase, core))
                continue
            placed[turn.first : turn.end] += 1
            if turn.place is Place.FROM_STASH:
                for unit in units:
                    when, who = stashed.get(unit, (phase, 1 - core))
                    if when == phase and who != core:
                        raise self._failure(f"unit {unit} is copied before it is there")
        if (computed != 1).any() or (placed != 1).any():
            raise self._failure("not every unit is computed once")

    def _check_stash(self, turn: Turn) -> None:
        division = self.division
        size = unit_bytes(self.run, division)
        room = 0 if division.stash is None else division.stash.size_bytes
        first, end = turn.first - division.stash_first, turn.end - division.stash_first
        if first < 0 or end * size > room:
            raise self._failure("the stash is too small")

    def _turns(self) -> Iterator[tuple[int, int, Turn]]:
        for number, phase in enumerate(self.division.phases):
            for core, turns in enumerate(phase):
                for turn in turns:
                    yield number, core, turn

    def _accesses(self, core: int, turn: Turn) -> Accesses:
        return accesses(self.run, self.division, turn, core, self.start)

    def _check_apart(self, number: int, phase: Phase) -> None:
        """No byte that one core writes is read or written by the other, and no line by both."""
        mine, others = ([self._accesses(core, turn) for turn in phase[core]] for core in (0, 1))
        for a, b in product(mine, others):
            for one, other in ((a, b), (b, a)):
                touched = (*other.reads, *other.writes)
                for written, found in product(one.writes, touched):
                    if meet(written, found):
                        raise self._failure(
                            f"in phase {number} one core writes bytes {written[0]}..{written[1]}, "
                            f"of which the other uses {found[0]}..{found[1]}"
                        )
            for written, found in product(a.writes, b.writes):
                if meet(lines_of(written, self.line_bytes), lines_of(found, self.line_bytes)):
                    raise self._failure(
                        f"in phase {number} both cores write to a line of {self.line_bytes} bytes: "
                        f"{written[0]}..{written[1]} and {found[0]}..{found[1]}"
                    )

    def _take_turns(self, order: tuple[int, int]) -> None:
        for phase in self.division.phases:
            for core in order:
                for turn in phase[core]:
                    self._take(core, turn)
        result = self._slice(self.run.outputs[0])
        if not np.array_equal(self.memory[result], self.content(self.run.outputs[0])):
            raise self._failure("the result does not last")

    def _slice(self, buffer: Buffer) -> slice:
        start = self.start(buffer)
        assert start is not None
        return slice(start, start + buffer.size_bytes)

    def _take(self, core: int, turn: Turn) -> None:
        """Read what the turn needs, then write what it makes; scratch holds nothing before."""
        found = self._accesses(core, turn)
        size = unit_bytes(self.run, self.division)
        whole = self.content(self.run.outputs[0])
        tokens = whole[turn.first * size : turn.end * size]
        target = slice(*found.writes[0])
        if not turn.computes:
            if not np.array_equal(self.memory[slice(*found.reads[0])], tokens):
                raise self._failure(f"units {turn.first} to {turn.end} are not in the stash")
            self.memory[target] = tokens
            return
        for scratch in found.writes[1:]:
            self.memory[slice(*scratch)] = _NOBODY
        self._check_reads(turn, found.writes[0])
        self.memory[target] = tokens

    def _check_reads(self, turn: Turn, written: tuple[int, int]) -> None:
        for number, buffer in enumerate(self.run.inputs):
            start = self.start(buffer)
            if start is None:
                continue
            low, high = input_part(self.division, number, buffer.size_bytes, turn)
            wanted = self.content(buffer)[low:high]
            if not np.array_equal(self.memory[start + low : start + high], wanted):
                raise self._failure(
                    f"units {turn.first} to {turn.end} are made of rows of {buffer.name!r} that "
                    "are not or no longer there"
                )
            if meet(written, (start + low, start + high)):
                self._check_promise(turn, number, start + low - written[0])

    def _check_promise(self, turn: Turn, number: int, gap: int) -> None:
        """A piece that writes over what it reads has a kernel that reads it in time."""
        rules = self.division.overlaps.get((turn.first, turn.end), {})
        rule = rules.get(self.run.positions[number])
        if rule is None or not rule.is_kept(gap):
            raise self._failure(f"units {turn.first} to {turn.end} overwrite what they are made of")


def is_divided(run: Run) -> bool:
    """Whether two cores compute it, each its turns."""
    division: Division | None = run.division
    return division is not None and bool(division.phases)
