"""How far single functions of RISC-V code take the stack pointer down."""

from __future__ import annotations

import re
from collections.abc import Iterator

from benchmarks.stack_code import Frame, FunctionWalk, Instruction, StackError

_IMMEDIATE = re.compile(r"(-?(?:0x[0-9a-f]+|\d+))$")
_PLACE = re.compile(r"(-?\d+)\((\w+)\)$")
_CONDITIONS = ("beq", "bne", "blt", "bge", "bltu", "bgeu", "beqz", "bnez")
#: How many instructions before may have made the constant that moves the stack pointer.
_NEAR = 8


class RiscVFunction(FunctionWalk):
    """RV32 instructions, as disassembled by GNU binutils without aliases."""

    def frame(self) -> Frame:
        """A jump by a register is a switch where code is left that nothing else reaches; else the
        function ends by calling a pointer.
        """
        found = super().frame()
        if self.switches and not self._has_cases:
            self.calls.add((self.switches[0], None))
            found = Frame(self.own, frozenset(self.calls))
        return found

    _has_cases = False

    def _cases_left(self, seen: dict[int, int]) -> list[tuple[int, int]]:
        found = super()._cases_left(seen)
        self._has_cases |= bool(found)
        return found

    def _after(self, address: int, distance: int) -> Iterator[tuple[int, int]]:
        item = self._instruction(address)
        moved = distance + self._moved(item)
        self.own = max(self.own, moved)
        name, operands = item.name.removeprefix("c."), item.operands
        first = operands.partition(",")[0]
        if name in ("jal", "j"):
            yield from self._jump(item, moved, is_call=name == "jal" and first != "zero")
        elif name in ("jalr", "jr"):
            is_call = item.name == "c.jalr" or (item.name == "jalr" and first != "zero")
            target = "ra" if is_call else operands.removeprefix("zero,")
            table = self._table(item)
            if table is not None:
                yield table, moved
            if is_call:
                if table is None:
                    self.calls.add((moved, None))
                yield self._onwards(item), moved
            elif table is None and target not in ("ra", "0(ra)"):
                self.switches.append(moved)
        elif name in _CONDITIONS:
            yield from self._jump(item, moved, is_call=False)
            yield self._onwards(item), moved
        elif name not in ("ebreak", "unimp"):
            yield self._onwards(item), moved

    def _jump(self, item: Instruction, moved: int, is_call: bool) -> Iterator[tuple[int, int]]:
        """To a function, or to a place in this one."""
        if is_call:
            self.calls.add((moved, self._name_at(item)))
            yield self._onwards(item), moved
        elif item.target in self.names and item.target != self.entry:
            self.calls.add((moved, self.names[item.target]))
        else:
            yield item.target, moved

    def _table(self, item: Instruction) -> int | None:
        """Where rows of code begin of which the jump takes one: `auipc t0,0`, `add t0,t0,t1` and
        `jalr 360(t0)`, as newlib's memset has them. None of any other jump by a register.
        """
        found = _PLACE.search(item.operands)
        if found is None:
            return None
        made: list[tuple[str, int]] = []
        for at in self._before(item):
            line = self.by_address[at]
            operands = line.operands.split(",")
            if operands[0] == found[2]:
                made.append((line.name.removeprefix("c."), at))
        if [name for name, _ in made[-2:]] != ["auipc", "add"]:
            return None
        at = made[-2][1]
        high = int(self.by_address[at].operands.partition(",")[2], 0)
        return at + (high << 12) + int(found[1])

    def _before(self, item: Instruction) -> list[int]:
        """Addresses of the instructions before it."""
        return sorted(at for at in self.by_address if self.entry <= at < item.address)[-_NEAR:]

    def _moved(self, item: Instruction) -> int:
        """By how much an instruction takes the stack pointer down."""
        name, operands = item.name.removeprefix("c."), item.operands.split(",")
        if operands[0] != "sp" or name[0] in "b" or name in ("sw", "sb", "sh", "swsp"):
            return 0
        if name in ("addi", "addi16sp"):
            return -int(operands[-1], 0)
        if name in ("add", "sub"):
            value = self._constant(item, operands[-1])
            return -value if name == "add" else value
        raise StackError(f"{item.address:#x}: {item.name} {item.operands}")

    def _constant(self, item: Instruction, register: str) -> int:
        """What instructions before have put into the register."""
        value: int | None = None
        for at in self._before(item):
            line = self.by_address[at]
            found = _IMMEDIATE.search(line.operands)
            name, operands = line.name.removeprefix("c."), line.operands.split(",")
            if operands[0] != register or found is None:
                continue
            number = int(found[1], 0)
            if name == "lui":
                value = (number << 12) - (1 << 32 if number & 0x80000 else 0)
            elif name == "li" or (name == "addi" and operands[1] == "zero"):
                value = number
            elif name == "addi" and value is not None:
                value += number
        if value is None:
            raise StackError(f"{item.address:#x}: {item.name} {item.operands}")
        return value
