"""Read a linked program: what to load where, its functions and constants, where steps begin.

A step marker is a symbol `glowmcu_step_<i>_<unique>`; its address is the first instruction of
step `i`. The compiler may duplicate code, so a step can have several.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Sequence
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import Any

from glowmcu.lazy_dataclass import dataclass

_MARKER = re.compile(r"glowmcu_step_(\d+)_\d+")
_WRITABLE = 2


@dataclass(frozen=True)
class Segment:
    """`data` at `address`, zeros up to `size_bytes`."""

    address: int
    data: bytes
    size_bytes: int
    writable: bool


@dataclass(frozen=True)
class Function:
    """Code of one function; `address` without the Thumb bit."""

    name: str
    address: int
    size_bytes: int


@dataclass(frozen=True)
class Constant:
    """A named object among what cannot be written."""

    name: str
    address: int
    size_bytes: int


@dataclass(frozen=True)
class SourceLine:
    """A line of C, by the file's name without its folder."""

    file: str
    line: int


@dataclass(frozen=True)
class Program:
    """A linked program. `functions` by address; `markers`: address to the step beginning there;
    `lines`: address to the C line that begins there, empty without debug information;
    `constants` by address.
    """

    segments: tuple[Segment, ...]
    functions: tuple[Function, ...]
    markers: dict[int, int]
    lines: dict[int, SourceLine] = field(default_factory=dict)
    constants: tuple[Constant, ...] = ()

    def address_of(self, function: str) -> int:
        """Address of a function that must exist."""
        found = [item.address for item in self.functions if item.name == function]
        assert found, f"the program has no function {function}"
        return found[0]

    def function_at(self, address: int) -> str:
        """Name of the function that `address` lies in, or its number in hexadecimal."""
        index = bisect.bisect_right(self.functions, address, key=lambda item: item.address) - 1
        if index >= 0:
            function = self.functions[index]
            if address < function.address + max(function.size_bytes, 1):
                return function.name
        return f"{address:#x}"

    def line_at(self, address: int) -> SourceLine | None:
        """The C line that the code at `address` was made from."""
        index = bisect.bisect_right(self._line_starts, address) - 1
        if index < 0 or self.function_at(self._line_starts[index]) != self.function_at(address):
            return None
        return self.lines[self._line_starts[index]]

    @cached_property
    def _line_starts(self) -> list[int]:
        return sorted(self.lines)

    def same_code(self, other: Program) -> bool:
        """Whether both load the same bytes to the same places."""
        return self.segments == other.segments


def read_program(elf: Path) -> Program:
    """Read `elf`, which our own linker run has just written."""
    from elftools.elf.elffile import ELFFile

    with elf.open("rb") as stream:
        file = ELFFile(stream)
        segments = tuple(
            Segment(
                part["p_vaddr"], part.data(), part["p_memsz"], bool(part["p_flags"] & _WRITABLE)
            )
            for part in file.iter_segments()
            if part["p_type"] == "PT_LOAD" and part["p_memsz"]
        )
        functions: list[Function] = []
        constants: list[Constant] = []
        markers: dict[int, int] = {}
        lines = _lines(file) if file.has_dwarf_info() else {}
        symbols: Any = file.get_section_by_name(".symtab")
        for symbol in symbols.iter_symbols():
            address = symbol["st_value"] & ~1
            match = _MARKER.fullmatch(symbol.name)
            if match:
                # Where steps without code share an address, the last one is the one that runs.
                markers[address] = max(int(match[1]), markers.get(address, 0))
            elif symbol["st_info"]["type"] == "STT_FUNC":
                functions.append(Function(symbol.name, address, symbol["st_size"]))
            elif symbol["st_info"]["type"] == "STT_OBJECT" and symbol["st_size"]:
                constants.append(Constant(symbol.name, symbol["st_value"], symbol["st_size"]))
    functions.sort(key=lambda item: (item.address, item.name))
    variables = [(part.address, part.size_bytes) for part in segments if part.writable]
    kept = [item for item in constants if not _lies_in(item.address, variables)]
    kept.sort(key=lambda item: (item.address, item.name))
    return Program(segments, tuple(functions), markers, lines, tuple(kept))


def _lies_in(address: int, places: Sequence[tuple[int, int]]) -> bool:
    """Whether `address` is in one of `places` (address, bytes)."""
    return any(start <= address < start + size for start, size in places)


def _lines(file: Any) -> dict[int, SourceLine]:
    """DWARF's line table; where several lines share an address, the last one counts.

    Sequences of functions that the linker left out begin at address 0 and are left out, too.
    """
    lines: dict[int, SourceLine] = {}
    dwarf = file.get_dwarf_info(relocate_dwarf_sections=False)
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        first = 0 if program.header.version >= 5 else 1
        names = [entry.name.decode(errors="replace") for entry in program.header.file_entry]
        begins, kept = True, False
        for entry in program.get_entries():
            state = entry.state
            if state is None:
                continue
            kept = state.address != 0 if begins else kept
            begins = state.end_sequence
            if kept and not begins and state.line:
                lines[state.address] = SourceLine(names[state.file - first], state.line)
    return lines
