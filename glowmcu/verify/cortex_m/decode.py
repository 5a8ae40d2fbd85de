"""Machine code to `Instruction`: only what decides how long an instruction takes.

Capstone disassembles; what it does not know (a few Armv8-M instructions) counts as arithmetic of
the right length, so instruction counts stay exact. Which registers an instruction reads is looked
up in its operands, too: Capstone's own answer leaves out sources of PKH, SXTA, SSAT and the sums
that SMLAL goes on with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any, Protocol

from glowmcu.lazy_dataclass import dataclass
from glowmcu.verify.cortex_m.kinds import BRANCHES, MEMORY, MULTIPLIES, Kind, kind_of


@dataclass(frozen=True)
class Sum:
    """A number that an instruction forms: base + (index << left) + constant."""

    base: int | None = None
    index: int | None = None
    left: int = 0
    constant: int = 0

    @property
    def registers(self) -> frozenset[int]:
        """What it is formed from."""
        return frozenset(part for part in (self.base, self.index) if part is not None)


@dataclass(frozen=True)
class Instruction:
    """One instruction. Registers are Capstone's numbers.

    `words` is the number of 32-bit words that a memory instruction moves, `access_bytes` the size
    of one access, `place` its address if that is a sum. `address_registers` form its address;
    `updates_base` = pre- or post-indexed. `sums` are registers whose new value is a simple sum, the
    new base among them. `shifts` = the last operand is shifted, `shifted_constant` = a constant
    that is eight bits at an odd place. `early` are registers that are shifted or taken apart before
    the arithmetic, `accumulates` those that products are added to. `conditional` = inside an IT
    block, or a branch with a condition. `writes_pc` = continues elsewhere when executed. Of RISC-V
    only: `target` is where a jump goes whose distance is in it, `links` = it leaves a return
    address.
    """

    address: int
    size_bytes: int
    text: str
    kind: Kind
    reads: frozenset[int] = frozenset()
    writes: frozenset[int] = frozenset()
    address_registers: frozenset[int] = frozenset()
    words: int = 0
    access_bytes: int = 4
    place: Sum | None = None
    sums: tuple[tuple[int, Sum], ...] = field(default=(), hash=False)
    early: frozenset[int] = frozenset()
    accumulates: frozenset[int] = frozenset()
    conditional: bool = False
    updates_base: bool = False
    register_offset: bool = False
    shifts: bool = False
    shifted_constant: bool = False
    sets_flags: bool = False
    writes_pc: bool = False
    target: int | None = None
    links: bool = False

    @property
    def wide_across_words(self) -> bool:
        """Whether it is a 32-bit instruction that lies in two words of code."""
        return self.size_bytes == 4 and self.address % 4 == 2


class BlockDecoder(Protocol):
    """Disassembles blocks of some architecture's code."""

    def block(self, code: bytes, address: int) -> tuple[Instruction, ...]:
        """The instructions of one basic block, all of `code`."""


#: The first of several operands that are only written.
_WRITTEN = {Kind.MULTIPLY_LONG: 2}
_SOURCES_BY_OPERANDS = (
    *MULTIPLIES,
    Kind.PACK,
    Kind.EXTEND,
    Kind.EXTEND_ADD,
    Kind.SIMD,
    Kind.SHIFT,
    Kind.ALU,
)
#: Kinds whose last register operand is shifted or taken apart before anything else happens.
_EARLY = (Kind.PACK, Kind.EXTEND_ADD, Kind.INSERT, Kind.EXTRACT, Kind.REVERSE)


class Decoder:
    """Disassembles blocks of Thumb code."""

    def __init__(self) -> None:
        import capstone
        from capstone import arm

        self._arm = arm
        mode = capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS | capstone.CS_MODE_V8
        self._capstone = capstone.Cs(capstone.CS_ARCH_ARM, mode)
        self._capstone.detail = True
        self._names = {
            value: name.removeprefix("ARM_INS_")
            for name, value in vars(arm).items()
            if name.startswith("ARM_INS_")
        }
        self._double_registers = range(arm.ARM_REG_D0, arm.ARM_REG_D31 + 1)

    def block(self, code: bytes, address: int) -> tuple[Instruction, ...]:
        """The instructions of one basic block, all of `code`."""
        found: list[Instruction] = []
        offset = 0
        while offset < len(code):
            for item in self._capstone.disasm(code[offset:], address + offset):
                found.append(self._instruction(item))
                offset += item.size
            if offset < len(code):
                size = 4 if code[offset + 1] >= 0xE8 else 2
                found.append(Instruction(address + offset, size, "(unknown)", Kind.ALU))
                offset += size
        return tuple(found)

    def _instruction(self, item: Any) -> Instruction:
        arm = self._arm
        name = self._names[item.id]
        kind = kind_of(name)
        reads, writes = map(frozenset, item.regs_access())
        compares = item.id in (arm.ARM_INS_CBZ, arm.ARM_INS_CBNZ)
        memory = [operand.mem for operand in item.operands if operand.type == arm.ARM_OP_MEM]
        registers = [o.reg for o in item.operands if o.type == arm.ARM_OP_REG]
        place = self._place(item, memory)
        return Instruction(
            address=item.address,
            size_bytes=item.size,
            text=f"{item.mnemonic} {item.op_str}".rstrip(),
            kind=kind,
            reads=reads | self._sources(name, kind, registers),
            writes=writes | frozenset(registers[1:] if kind is Kind.FLOAT_LOAD else ()),
            address_registers=self._address_registers(item, kind, memory),
            words=self._words(item, kind),
            access_bytes=_access_bytes(name) if kind in MEMORY else 4,
            place=place,
            sums=tuple(self._sums(item, kind, place)),
            early=self._early(item, kind, registers),
            accumulates=_accumulators(name, kind, registers),
            conditional=compares or self._has_condition(item, kind),
            updates_base=bool(item.writeback),
            register_offset=any(part.index != 0 for part in memory),
            shifts=any(operand.shift.type != 0 for operand in item.operands),
            shifted_constant=_is_shifted_constant(bytes(item.bytes)),
            sets_flags=bool(item.update_flags) or arm.ARM_REG_CPSR in writes,
            writes_pc=kind in BRANCHES or arm.ARM_REG_PC in writes,
        )

    def _sources(self, name: str, kind: Kind, registers: Sequence[int]) -> frozenset[int]:
        """Registers that are read, where the operands tell: all but the first."""
        if kind not in _SOURCES_BY_OPERANDS:
            return frozenset()
        return frozenset(registers[_WRITTEN.get(kind, 1) :]) | _accumulators(name, kind, registers)

    def _early(self, item: Any, kind: Kind, registers: Sequence[int]) -> frozenset[int]:
        shifted = [o.reg for o in item.operands if o.shift.type != 0]
        if kind in (*MEMORY, Kind.EXTEND, Kind.SHIFT):
            return frozenset()
        return frozenset(shifted + (list(registers[-1:]) if kind in _EARLY else []))

    def _place(self, item: Any, memory: Sequence[Any]) -> Sum | None:
        arm = self._arm
        if not memory:
            return None
        (part, *_) = memory
        if part.base == arm.ARM_REG_PC:
            return Sum(constant=((item.address + 4) & ~3) + part.disp)
        shift = next((o.shift.value for o in item.operands if o.type == arm.ARM_OP_MEM), 0)
        return Sum(part.base, part.index or None, shift, part.disp)

    def _sums(self, item: Any, kind: Kind, place: Sum | None) -> Iterator[tuple[int, Sum]]:
        """Registers that get a simple sum: copies, additions of constants, new bases."""
        arm, operands = self._arm, item.operands
        if place is not None and item.writeback and place.base is not None:
            step = operands[-1].imm if operands[-1].type == arm.ARM_OP_IMM else place.constant
            yield place.base, Sum(place.base, constant=step)
        if kind not in (Kind.ADD, Kind.MOVE) or self._names[item.id] == "MOVT":
            return
        target, *rest = operands
        right, here = rest[-1], (item.address + 4) & ~3
        left = rest[0] if len(rest) == 2 else target
        if right.type == arm.ARM_OP_IMM:
            step = -right.imm if self._names[item.id].startswith("SUB") else right.imm
            if self._names[item.id] == "ADR" or left.reg == arm.ARM_REG_PC:
                yield target.reg, Sum(constant=here + step)
            else:
                yield target.reg, Sum(None if kind is Kind.MOVE else left.reg, constant=step)
        elif kind is Kind.MOVE:
            yield target.reg, Sum(right.reg)
        elif self._names[item.id].startswith("ADD") and right.shift.type in (0, arm.ARM_SFT_LSL):
            yield target.reg, Sum(left.reg, right.reg, right.shift.value)

    def _has_condition(self, item: Any, kind: Kind) -> bool:
        always = (self._arm.ARM_CC_AL, self._arm.ARM_CC_INVALID)
        return kind is not Kind.IF_THEN and item.cc not in always

    def _address_registers(self, item: Any, kind: Kind, memory: Sequence[Any]) -> frozenset[int]:
        if memory:
            return frozenset(part.base for part in memory) | frozenset(
                part.index for part in memory if part.index
            )
        if kind in MEMORY:  # LDM, STM, PUSH, POP: the base is the first operand or the stack
            stack = item.id in (
                self._arm.ARM_INS_PUSH,
                self._arm.ARM_INS_POP,
                self._arm.ARM_INS_VPUSH,
                self._arm.ARM_INS_VPOP,
            )
            return frozenset((self._arm.ARM_REG_SP if stack else item.operands[0].reg,))
        return frozenset()

    def _words(self, item: Any, kind: Kind) -> int:
        """Words moved: D registers count two; the base register of LDM and STM is no data."""
        if kind not in MEMORY:
            return 0
        registers = [
            operand.reg for operand in item.operands if operand.type == self._arm.ARM_OP_REG
        ]
        words = sum(2 if number in self._double_registers else 1 for number in registers)
        has_base = kind not in (Kind.LOAD, Kind.STORE) and item.mnemonic.lstrip("v").startswith(
            ("ldm", "stm")
        )
        return words - 1 if has_base else words


def _access_bytes(name: str) -> int:
    """Of LDRB, LDRSB, STRB one, of LDRH and its like two."""
    single = name.startswith(("LDR", "STR")) and not name.endswith(("D", "EX"))
    kind = name.removesuffix("T")[-1]
    return {"B": 1, "H": 2}.get(kind, 4) if single else 4


def _accumulators(name: str, kind: Kind, registers: Sequence[int]) -> frozenset[int]:
    """What products, or extended bytes, are added to."""
    if kind is Kind.MULTIPLY_ADD_LONG or name.startswith(("SMLAL", "SMLSLD")):
        return frozenset(registers[:2])
    if kind in (Kind.MULTIPLY, Kind.MULTIPLY_ADD) and len(registers) == 4:
        return frozenset(registers[3:]) - frozenset(registers[1:3])
    if kind is Kind.EXTEND_ADD:
        return frozenset(registers[1:2]) - frozenset(registers[2:])
    if kind is Kind.FLOAT_MULTIPLY_ADD:
        return frozenset(registers[:1]) - frozenset(registers[1:])
    return frozenset()


def _is_shifted_constant(code: bytes) -> bool:
    """A modified immediate whose eight bits are rotated, not repeated and not at the bottom."""
    if len(code) != 4:
        return False
    first, second = int.from_bytes(code[:2], "little"), int.from_bytes(code[2:], "little")
    modified = first & 0xFA00 == 0xF000 and not second & 0x8000
    return modified and bool(first & 0x0400 or second & 0x4000)
