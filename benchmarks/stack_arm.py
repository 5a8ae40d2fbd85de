"""How far single functions of Arm code take the stack pointer down."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from benchmarks.stack_code import Frame, FunctionWalk, Instruction, StackError

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
_MOST_CASES = 1024
_READS_LIST = ("pop", "ldmia", "vpop", "vldmia")


def _base(item: Instruction) -> str:
    """The mnemonic without width suffix and condition."""
    name = item.name.partition(".")[0]
    found = _PLAIN_NAME.match(name)
    return found[1] if found and name not in ("bls", "ble", "blt", "bics") else name


class ArmFunction(FunctionWalk):
    """Thumb instructions, as disassembled by GNU binutils."""

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
        item = self._instruction(address)
        moved = distance + self._moved(item)
        self.own = max(self.own, moved)
        base, operands = _base(item), item.operands
        returns = (base in ("pop", "ldmia") and "pc" in operands) or (
            base == "bx" and operands == "lr"
        )
        if returns or (base == "ldr" and operands.startswith("pc, [sp")):
            if _base(item) != item.name.partition(".")[0]:
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
        yield self._onwards(item), moved

    def _is_far_jump(self, item: Instruction) -> bool:
        """Whether `bl` of Armv6-M is a branch that reaches farther: to a place in the function."""
        inside = self.entry < item.target < self.code.ends[self.entry]
        return _base(item) == "bl" and inside and item.target not in self.names

    def _call(self, item: Instruction, distance: int) -> Iterator[tuple[int, int]]:
        if _base(item) == "blx" and "<" not in item.operands:
            self.calls.add((distance, None))
        else:
            if self._is_far_jump(item):
                yield item.target, distance
                return
            name = self._name_at(item)
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
