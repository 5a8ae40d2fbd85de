"""Machine code as a walk through it sees it, and what is the same on every instruction set."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from glowmcu.verify.cortex_m.elf import Segment

_LINE = re.compile(r"^\s*([0-9a-f]+):\t([a-z0-9.]+)(?:\t(.*))?$")
_TARGET = re.compile(r"\b([0-9a-f]+) <")


class StackError(Exception):
    """The program does something with its stack that this walk does not understand."""


@dataclass(frozen=True)
class Instruction:
    """One line of the disassembly; `next` is the address after it."""

    address: int
    name: str
    operands: str
    next: int

    @property
    def target(self) -> int:
        """The address that a branch names."""
        found = _TARGET.search(self.operands)
        if found is None:
            raise StackError(f"{self.address:#x}: {self.name} {self.operands}")
        return int(found[1], 16)


@dataclass(frozen=True)
class Frame:
    """One function: the most of its own, and (distance, callee) of each call.

    The callee None is whatever a pointer leads to.
    """

    own_bytes: int
    calls: frozenset[tuple[int, str | None]]


def instructions(text: str) -> Iterator[Instruction]:
    """The lines of a disassembly that are code."""
    found = [match for match in map(_LINE.match, text.splitlines()) if match]
    addresses = [int(match[1], 16) for match in found]
    for match, address, behind in zip(found, addresses, [*addresses[1:], -1], strict=True):
        if not match[2].startswith("."):
            operands = re.split(r"\s(?:[@;]|#\s)", match[3] or "")[0].strip()
            yield Instruction(address, match[2], operands, behind)


@dataclass(frozen=True)
class Code:
    """A program: its instructions, and names and ends of its functions, by address."""

    lines: Mapping[int, Instruction]
    names: Mapping[int, str]
    ends: Mapping[int, int]
    segments: tuple[Segment, ...]

    def read(self, address: int, size: int, signed: bool) -> int:
        for segment in self.segments:
            at = address - segment.address
            if 0 <= at <= len(segment.data) - size:
                return int.from_bytes(segment.data[at : at + size], "little", signed=signed)
        raise StackError(f"nothing is at {address:#x}")


class FunctionWalk(ABC):
    """Walks one function; an instruction set says what its instructions do."""

    def __init__(self, code: Code, entry: int) -> None:
        self.by_address, self.names = code.lines, code.names
        self.code = code
        self.entry = entry
        self.own = 0
        self.walked: set[int] = {entry}
        self.calls: set[tuple[int, str | None]] = set()
        self.switches: list[int] = []

    def frame(self) -> Frame:
        """Every reachable instruction, with the distance that it always has."""
        todo, seen = [(self.entry, 0)], {self.entry: 0}
        while todo or (self.switches and (todo := self._cases_left(seen))):
            for address, distance in self._after(*todo.pop()):
                if seen.setdefault(address, distance) != distance:
                    return self._unwound(seen)
                if address not in self.walked:
                    self.walked.add(address)
                    todo.append((address, distance))
        return Frame(self.own, frozenset(self.calls))

    def _cases_left(self, seen: dict[int, int]) -> list[tuple[int, int]]:
        """The first code of a function with a switch that was not reached otherwise.

        No case begins with a nop, which fills up before the constants behind the code.
        """
        for at in range(self.entry, self.code.ends[self.entry], 2):
            item = self.by_address.get(at)
            if item is not None and "nop" not in item.name and at not in self.walked:
                self.walked.add(at)
                return [(at, seen.setdefault(at, self.switches[0]))]
        return []

    def _unwound(self, seen: Mapping[int, int]) -> Frame:
        """Where an instruction is reached with two distances."""
        raise StackError(f"{self.names[self.entry]}: a loop that moves the stack pointer")

    @abstractmethod
    def _after(self, address: int, distance: int) -> Iterator[tuple[int, int]]:
        """Where the instruction leads to, with the distances there."""

    def _instruction(self, address: int) -> Instruction:
        item = self.by_address.get(address)
        if item is None:
            raise StackError(f"no instruction at {address:#x}, from {self.names[self.entry]}")
        return item

    def _onwards(self, item: Instruction) -> int:
        """The address after it."""
        if item.next < 0:
            raise StackError(f"{self.names[self.entry]} runs past its end")
        return item.next

    def _name_at(self, item: Instruction) -> str:
        """Of the function that it calls."""
        if item.target not in self.names:
            raise StackError(f"{item.address:#x}: {item.name} {item.operands} leads to no function")
        return self.names[item.target]
