"""How deep the functions of a linked program dig into the stack, found without running it.

Every path of every function is walked through the disassembly with the stack pointer's distance
from where it was on entry; calls, also through pointers, lead to the functions that they reach:

    depth(f) = max(own frame, distance at a call + depth(callee))

That holds for C, for functions that are assembly and for those of libgcc and the C library alike.
Whatever is not understood (a stack pointer that is computed, recursion) is an error, not a guess.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from benchmarks.stack_arm import ArmFunction
from benchmarks.stack_code import Code, Frame, FunctionWalk, StackError, instructions
from benchmarks.stack_riscv import RiscVFunction
from glowmcu.verify.cortex_m.elf import read_program
from glowmcu.verify.toolchain import run_gcc

_RELOCATION = re.compile(
    r"^\s*([0-9a-f]+):? (?:R_ARM_(?:ABS32|THM_MOVW_ABS_NC)|R_RISCV_(?:32|HI20|PCREL_HI20))\s+(\S+)$"
)
#: Who takes an address in data.
_DATA = ""


@dataclass(frozen=True)
class StackWalk:
    """The functions of a program; `taken`: whose addresses each of them takes, and data."""

    code: Code
    taken: Mapping[str, frozenset[str]]
    instruction_set: type[FunctionWalk]

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
            self._frames[function] = self.instruction_set(
                self.code, self._entries[function]
            ).frame()
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


def walk(elf: Path, core_flags: Sequence[str]) -> StackWalk:
    """All functions of a program that was linked with `--emit-relocs` for such a core."""
    objdump = run_gcc([*core_flags, "-print-prog-name=objdump"], ()).strip()
    is_riscv = any(flag.startswith("-march=rv") for flag in core_flags)
    spelling = ("-M", "no-aliases") if is_riscv else ()
    text, relocations = (
        subprocess.run(
            [objdump, kind, *spelling, "--no-show-raw-insn", str(elf)],
            capture_output=True, text=True, check=True,
        ).stdout
        for kind in ("-dr", "-r")
    )  # fmt: skip
    program = read_program(elf)
    names = {item.address: item.name for item in reversed(program.functions)}
    ends = {item.address: item.address + item.size_bytes for item in program.functions}
    lines = {item.address: item for item in instructions(text)}
    code = Code(lines, names, ends, program.segments)
    known, taken = set(names.values()), dict[str, set[str]]()
    data = relocations.partition("[.rodata]")[2].partition("RELOCATION")[0]
    for lines, in_code in ((text, True), (data, False)):
        for match in filter(None, map(_RELOCATION.match, lines.splitlines())):
            if match[2] in known:
                place = program.function_at(int(match[1], 16)) if in_code else _DATA
                taken.setdefault(place, set()).add(match[2])
    frozen = {name: frozenset(items) for name, items in taken.items()}
    return StackWalk(code, frozen, RiscVFunction if is_riscv else ArmFunction)
