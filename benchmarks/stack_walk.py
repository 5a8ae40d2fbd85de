"""How deep the functions of a linked Arm program dig into the stack, found without running it.

Every path of every function is walked through the disassembly with the stack pointer's distance
from where it was on entry; calls, also through pointers, lead to the functions that they reach:

    depth(f) = max(own frame, distance at a call + depth(callee))

That holds for C, for functions that are assembly and for those of libgcc and the C library alike.
Whatever is not understood (a stack pointer that is computed, recursion) is an error, not a guess.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from glowmcu.verify.cortex_m.elf import Segment, read_program
from glowmcu.verify.toolchain import run_gcc

_LINE = re.compile(r"^\s*([0-9a-f]+):\t([a-z0-9.]+)(?:\t(.*))?$")
_RELOCATION = re.compile(r"^\s*([0-9a-f]+):? R_ARM_(?:ABS32|THM_MOVW_ABS_NC)\s+(\S+)$")
_TARGET = re.compile(r"\b([0-9a-f]+) <")
_CONDITION = "eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le"
_PLAIN_NAME = re.compile(rf"^(b|bx|bl|blx|pop|ldmia|ldr)({_CONDITION})$")
_IMMEDIATE = re.compile(r"#(-?\d+)")
#: What a byte, halfword or word of a switch's table counts, by libgcc's helper for Armv6-M.
_CASES = {
    "__gnu_thumb1_case_uqi": (1, False), "__gnu_thumb1_case_sqi": (1, True),
    "__gnu_thumb1_case_uhi": (2, False), "__gnu_thumb1_case_shi": (2, True),
    "__gnu_thumb1_case_si": (4, True),
}  # fmt: skip
_WRITES_LIST = ("push", "stmdb", "vpush", "vstmdb")
#: These name the stack pointer first without changing it.
_SPARES_SP = ("cmp", "cmn", "tst", "ldm", "stm", "str", "vldm", "vstm")
#: Who takes an address in data.
_DATA = ""
_MOST_CASES = 1024
_READS_LIST = ("pop", "ldmia", "vpop", "vldmia")


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
    def base(self) -> str:
        """The mnemonic without width suffix and condition."""
        name = self.name.partition(".")[0]
        found = _PLAIN_NAME.match(name)
        return found[1] if found and name not in ("bls", "ble", "blt", "bics") else name

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


@dataclass(frozen=True)
class StackWalk:
    """The functions of a program; `taken`: whose addresses each of them takes, and data."""

    code: _Code
    taken: Mapping[str, frozenset[str]]

    def depth(self, function: str) -> int:
        """Bytes below the stack pointer at the function's entry that it may write."""
        return self._depth(function, (), frozenset())

    def below(self, function: str) -> int:
        """The deepest of what it calls, without the function's own frame."""
        path, known = (function,), self._taken_by(function)
        calls = self.frame(function).calls
        return max((self._reached(callee, path, known) for _, callee in calls), default=0)

    def frame(self, function: str) -> Frame:
        """The function by itself."""
        if function not in self._frames:
            self._frames[function] = _Function(self.code, self._entries[function]).frame()
        return self._frames[function]

    def has(self, function: str) -> bool:
        """Whether the program has the function."""
        return function in self._entries

    @property
    def names(self) -> tuple[str, ...]:
        """All functions of the program."""
        return tuple(self._entries)

    @cached_property
    def _entries(self) -> dict[str, int]:
        return {name: at for at, name in self.code.names.items()}

    @cached_property
    def _frames(self) -> dict[str, Frame]:
        return {}

    @cached_property
    def _known(self) -> dict[tuple[str, frozenset[str]], int]:
        return {}

    def _taken_by(self, function: str) -> frozenset[str]:
        return self.taken.get(function, frozenset())

    def _depth(self, function: str, callers: tuple[str, ...], known: frozenset[str]) -> int:
        """`known` are the functions that callers may have passed as pointers."""
        if function in callers:
            raise StackError(f"recursion: {' -> '.join((*callers, function))}")
        known |= self._taken_by(function)
        key = function, known
        if key not in self._known:
            frame, path = self.frame(function), (*callers, function)
            calls = (at + self._reached(callee, path, known) for at, callee in frame.calls)
            self._known[key] = max((frame.own_bytes, *calls))
        return self._known[key]

    def _reached(self, callee: str | None, path: tuple[str, ...], known: frozenset[str]) -> int:
        if callee is not None:
            return self._depth(callee, path, known)
        others = sorted((known | self._taken_by(_DATA)) - {*path})
        if not others:
            raise StackError(f"{path[-1]} calls a pointer that none of its callers passes")
        return max(self._depth(name, path, known) for name in others)


def walk(elf: Path) -> StackWalk:
    """All functions of a program that was linked with `--emit-relocs`."""
    objdump = run_gcc(["-print-prog-name=objdump"], ()).strip()
    text, relocations = (
        subprocess.run(
            [objdump, kind, "--no-show-raw-insn", str(elf)], capture_output=True, text=True,
            check=True,
        ).stdout
        for kind in ("-dr", "-r")
    )  # fmt: skip
    program = read_program(elf)
    names = {item.address: item.name for item in reversed(program.functions)}
    ends = {item.address: item.address + item.size_bytes for item in program.functions}
    lines = {item.address: item for item in _instructions(text)}
    code = _Code(lines, names, ends, program.segments)
    known, taken = set(names.values()), dict[str, set[str]]()
    data = relocations.partition("[.rodata]")[2].partition("RELOCATION")[0]
    for lines, in_code in ((text, True), (data, False)):
        for match in filter(None, map(_RELOCATION.match, lines.splitlines())):
            if match[2] in known:
                place = program.function_at(int(match[1], 16)) if in_code else _DATA
                taken.setdefault(place, set()).add(match[2])
    return StackWalk(code, {name: frozenset(items) for name, items in taken.items()})


def _instructions(text: str) -> Iterator[Instruction]:
    """The lines of a disassembly that are code."""
    found = [match for match in map(_LINE.match, text.splitlines()) if match]
    addresses = [int(match[1], 16) for match in found]
    for match, address, behind in zip(found, addresses, [*addresses[1:], -1], strict=True):
        if not match[2].startswith("."):
            operands = re.split(r"\s[@;]", match[3] or "")[0].strip()
            yield Instruction(address, match[2], operands, behind)


@dataclass(frozen=True)
class _Code:
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


class _Function:
    """Walks one function."""

    def __init__(self, code: _Code, entry: int) -> None:
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
            if item is not None and item.base != "nop" and at not in self.walked:
                self.walked.add(at)
                return [(at, seen.setdefault(at, self.switches[0]))]
        return []

    def _unwound(self, seen: Mapping[int, int]) -> Frame:
        """Of a function that pushes in a loop and calls nothing: what its end takes back."""
        at = max(seen)
        while at in self.by_address and "pc}" not in self.by_address[at].operands:
            at = self.by_address[at].next
        last, before = self.by_address.get(at), self._before(at)
        if self.calls or last is None or before is None:
            raise StackError(f"{self.names[self.entry]}: a loop that moves the stack pointer")
        return Frame(-self._moved(last) - self._moved(before), frozenset())

    def _before(self, address: int) -> Instruction | None:
        near = (self.by_address.get(at) for at in (address - 2, address - 4))
        return next((line for line in near if line and line.next == address), None)

    def _after(self, address: int, distance: int) -> Iterator[tuple[int, int]]:
        """Where the instruction leads to, with the distances there."""
        item = self.by_address.get(address)
        if item is None:
            raise StackError(f"no instruction at {address:#x}, from {self.names[self.entry]}")
        moved = distance + self._moved(item)
        self.own = max(self.own, moved)
        base, operands = item.base, item.operands
        returns = (base in ("pop", "ldmia") and "pc" in operands) or (
            base == "bx" and operands == "lr"
        )
        if returns or (base == "ldr" and operands.startswith("pc, [sp")):
            if item.base != item.name.partition(".")[0]:
                yield item.next, distance
        elif base in ("bl", "blx"):
            yield from self._call(item, distance)
        elif base in ("mov", "add") and operands.startswith("pc,"):
            self.switches.append(moved)  # of Armv6-M: the table is of addresses
        elif base == "bx" or (base == "ldr" and operands.startswith("pc,")):
            if self._jumps_inside(item):
                yield item.next, moved
            else:
                self.calls.add((distance, None))
        elif base in ("tbb", "tbh"):
            size = 1 if base == "tbb" else 2
            first = item.address + 4
            yield from ((to, moved) for to in self._cases(first, first, size, False, 2))
        elif base in ("udf", "bkpt"):
            return
        else:
            yield from self._onward(item, distance, moved)

    def _jumps_inside(self, item: Instruction) -> bool:
        """Whether assembly enters an unrolled loop behind: its address was made from the pc, just
        before or where the function begins, and was in its frame then.
        """
        before = [self.by_address.get(item.address - 2 * step) for step in range(1, 24)]
        load = f"{item.operands}, [sp, #"
        if any(line and line.operands.startswith(load) for line in before[:12]):
            before += [self.by_address.get(self.entry + 2 * step) for step in range(8)]
        return any(line and ", pc, #" in line.operands for line in before)

    def _onward(self, item: Instruction, distance: int, moved: int) -> Iterator[tuple[int, int]]:
        """Branches, and instructions that are none."""
        name = item.name.partition(".")[0]
        branches = name[0] == "b" and name[1:] in ("", *_CONDITION.split("|"))
        loops = name in ("le", "letp", "wls", "wlstp", "cbz", "cbnz")
        if branches or loops:
            if item.target in self.names and item.target != self.entry:
                self.calls.add((moved, self.names[item.target]))
            else:
                yield item.target, moved
            if name == "b":
                return
        if item.next < 0:
            raise StackError(f"{self.names[self.entry]} runs past its end")
        yield item.next, moved

    def _is_far_jump(self, item: Instruction) -> bool:
        """Whether `bl` of Armv6-M is a branch that reaches farther: to a place in the function."""
        inside = self.entry < item.target < self.code.ends[self.entry]
        return item.base == "bl" and inside and item.target not in self.names

    def _nowhere(self, item: Instruction) -> str:
        raise StackError(f"{item.address:#x}: {item.name} {item.operands} leads to no function")

    def _call(self, item: Instruction, distance: int) -> Iterator[tuple[int, int]]:
        if item.base == "blx" and "<" not in item.operands:
            self.calls.add((distance, None))
        else:
            if self._is_far_jump(item):
                yield item.target, distance
                return
            name = self.names.get(item.target) or self._nowhere(item)
            if name in _CASES:
                size, signed = _CASES[name]
                self.calls.add((distance, name))
                base, unit = item.address + 4, 1 if size == 4 else 2
                cases = self._cases(base, base, size, signed, unit)
                yield from ((to, distance) for to in cases)
                return
            self.calls.add((distance, name))
        if item.next >= 0 and item.next in self.by_address:
            yield item.next, distance

    def _cases(self, table: int, base: int, size: int, signed: bool, unit: int) -> set[int]:
        """Targets of a switch: its table ends where the first of them begins."""
        table += -table % size
        base = table if size == 4 else base
        targets: set[int] = set()
        behind = table + _MOST_CASES * size
        while table not in self.by_address and table < behind:
            to = base + unit * self.code.read(table, size, signed)
            if to in self.by_address:
                targets.add(to)
            table += size
        return targets

    def _moved(self, item: Instruction) -> int:
        """By how much an instruction takes the stack pointer down."""
        name, operands = item.name.partition(".")[0], item.operands
        if name.startswith(_WRITES_LIST) and (name[-4:] == "push" or operands.startswith("sp!")):
            return _list_bytes(operands)
        if name.startswith(_READS_LIST) and ("pop" in name or operands.startswith("sp!")):
            return -_list_bytes(operands)
        if re.match(r"^(sub|add)[sw]?$", name) and re.match(r"^sp\b", operands):
            found = _IMMEDIATE.search(operands)
            value = int(found[1]) if found else self._added(item)
            return value if name.startswith("sub") else -value
        if found := re.search(r"\[sp, #(-?\d+)\]!|\[sp\], #(-?\d+)", operands):
            return -int(found[1] or found[2])
        if operands.startswith("sp, ") and not name.startswith(_SPARES_SP):
            raise StackError(f"{item.address:#x}: {item.name} {operands}")
        return 0

    def _added(self, item: Instruction) -> int:
        """The constant of `add sp, rN` on Armv6-M: rN was loaded just before."""
        register = item.operands.split(",")[-1].strip()
        before = [at for at in self.by_address if at < item.address]
        for at in sorted(before, reverse=True)[:6]:
            loads = self.by_address[at]
            if loads.operands.startswith(f"{register}, [pc"):
                found = re.search(r"#(\d+)", loads.operands)
                if found:
                    return self.code.read((at + 4 & -4) + int(found[1]), 4, True)
            if loads.operands.startswith(f"{register},") and loads.name.startswith("mov"):
                found = _IMMEDIATE.search(loads.operands)
                if found:
                    return int(found[1])
        raise StackError(f"{item.address:#x}: {item.name} {item.operands}")


def _list_bytes(operands: str) -> int:
    """Bytes of a register list such as `{r4-r6, lr}` or `{d8-d9}`."""
    inner = operands[operands.index("{") + 1 : operands.index("}")]
    total = 0
    for part in inner.replace(" ", "").split(","):
        first, _, last = part.partition("-")
        count = _number(last) - _number(first) + 1 if last else 1
        total += count * (8 if first[0] == "d" else 4)
    return total


def _number(register: str) -> int:
    return {"sl": 10, "fp": 11, "ip": 12}.get(register) or int(register[1:])
