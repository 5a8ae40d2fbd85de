"""Machine code to `Instruction`: only what decides how long an instruction takes.

Capstone disassembles; what it does not know (a few Armv8-M instructions) counts as arithmetic of
the right length, so instruction counts stay exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
from typing import Any


class Kind(Enum):
    """Classes of instructions that some core's documentation tells apart."""

    ALU = auto()
    MULTIPLY = auto()
    """32-bit product, and the DSP extension's products and sums of them."""
    MULTIPLY_ADD = auto()
    MULTIPLY_LONG = auto()
    MULTIPLY_ADD_LONG = auto()
    DIVIDE = auto()
    LOAD = auto()
    STORE = auto()
    LOAD_MULTIPLE = auto()
    STORE_MULTIPLE = auto()
    BRANCH = auto()
    BRANCH_LINK = auto()
    BRANCH_REGISTER = auto()
    TABLE_BRANCH = auto()
    IF_THEN = auto()
    BARRIER = auto()
    SYSTEM = auto()
    FLOAT = auto()
    FLOAT_MULTIPLY_ADD = auto()
    FLOAT_DIVIDE = auto()
    FLOAT_MOVE = auto()
    FLOAT_LOAD = auto()
    FLOAT_STORE = auto()


MEMORY = frozenset(
    (
        Kind.LOAD,
        Kind.STORE,
        Kind.LOAD_MULTIPLE,
        Kind.STORE_MULTIPLE,
        Kind.FLOAT_LOAD,
        Kind.FLOAT_STORE,
    )
)

# Capstone's name of an instruction, complete or (second table) its beginning.
_NAMES = {
    "B": Kind.BRANCH,
    "CBZ": Kind.BRANCH,
    "CBNZ": Kind.BRANCH,
    "BL": Kind.BRANCH_LINK,
    "BLX": Kind.BRANCH_REGISTER,
    "BX": Kind.BRANCH_REGISTER,
    "BXNS": Kind.BRANCH_REGISTER,
    "BLXNS": Kind.BRANCH_REGISTER,
    "TBB": Kind.TABLE_BRANCH,
    "TBH": Kind.TABLE_BRANCH,
    "IT": Kind.IF_THEN,
    "MUL": Kind.MULTIPLY,
    "MLA": Kind.MULTIPLY_ADD,
    "MLS": Kind.MULTIPLY_ADD,
    "SMULL": Kind.MULTIPLY_LONG,
    "UMULL": Kind.MULTIPLY_LONG,
    "SMLAL": Kind.MULTIPLY_ADD_LONG,
    "UMLAL": Kind.MULTIPLY_ADD_LONG,
    "UMAAL": Kind.MULTIPLY_ADD_LONG,
    "SDIV": Kind.DIVIDE,
    "UDIV": Kind.DIVIDE,
    "LDRD": Kind.LOAD_MULTIPLE,
    "STRD": Kind.STORE_MULTIPLE,
    "POP": Kind.LOAD_MULTIPLE,
    "PUSH": Kind.STORE_MULTIPLE,
    "VPOP": Kind.FLOAT_LOAD,
    "VPUSH": Kind.FLOAT_STORE,
    "VMOV": Kind.FLOAT_MOVE,
    "VMRS": Kind.FLOAT_MOVE,
    "VMSR": Kind.FLOAT_MOVE,
    "DMB": Kind.BARRIER,
    "DSB": Kind.BARRIER,
    "ISB": Kind.BARRIER,
    "MRS": Kind.SYSTEM,
    "MSR": Kind.SYSTEM,
}
_BEGINNINGS = (
    ("LDM", Kind.LOAD_MULTIPLE),
    ("STM", Kind.STORE_MULTIPLE),
    ("LD", Kind.LOAD),
    ("ST", Kind.STORE),
    ("SML", Kind.MULTIPLY),
    ("SMM", Kind.MULTIPLY),
    ("SMU", Kind.MULTIPLY),
    ("VLD", Kind.FLOAT_LOAD),
    ("VST", Kind.FLOAT_STORE),
    ("VMLA", Kind.FLOAT_MULTIPLY_ADD),
    ("VMLS", Kind.FLOAT_MULTIPLY_ADD),
    ("VNML", Kind.FLOAT_MULTIPLY_ADD),
    ("VFM", Kind.FLOAT_MULTIPLY_ADD),
    ("VFNM", Kind.FLOAT_MULTIPLY_ADD),
    ("VDIV", Kind.FLOAT_DIVIDE),
    ("VSQRT", Kind.FLOAT_DIVIDE),
    ("V", Kind.FLOAT),
)


@dataclass(frozen=True)
class Instruction:
    """One instruction. Registers are Capstone's numbers.

    `words` is the number of 32-bit words that a memory instruction moves. `address_registers`
    form its address; `updates_base` = pre- or post-indexed. `shifts` = the last operand is shifted.
    `conditional` = inside an IT block, or a branch with a condition. `writes_pc` = continues
    elsewhere when executed.
    """

    address: int
    size_bytes: int
    text: str
    kind: Kind
    reads: frozenset[int] = frozenset()
    writes: frozenset[int] = frozenset()
    address_registers: frozenset[int] = frozenset()
    words: int = 0
    conditional: bool = False
    updates_base: bool = False
    register_offset: bool = False
    shifts: bool = False
    writes_pc: bool = False


class Decoder:
    """Disassembles blocks of Thumb code."""

    def __init__(self) -> None:
        import capstone
        from capstone import arm

        self._arm = arm
        mode = capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS | capstone.CS_MODE_V8
        self._capstone = capstone.Cs(capstone.CS_ARCH_ARM, mode)
        self._capstone.detail = True
        self._kinds = {
            value: _kind(name.removeprefix("ARM_INS_"))
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
        kind = self._kinds[item.id]
        reads, writes = item.regs_access()
        compares = item.id in (arm.ARM_INS_CBZ, arm.ARM_INS_CBNZ)
        memory = [operand.mem for operand in item.operands if operand.type == arm.ARM_OP_MEM]
        jumps = kind in (Kind.BRANCH, Kind.BRANCH_LINK, Kind.BRANCH_REGISTER, Kind.TABLE_BRANCH)
        return Instruction(
            address=item.address,
            size_bytes=item.size,
            text=f"{item.mnemonic} {item.op_str}".rstrip(),
            kind=kind,
            reads=frozenset(reads),
            writes=frozenset(writes),
            address_registers=self._address_registers(item, kind, memory),
            words=self._words(item, kind),
            conditional=compares or self._has_condition(item, kind),
            updates_base=bool(item.writeback),
            register_offset=any(part.index != 0 for part in memory),
            shifts=any(operand.shift.type != 0 for operand in item.operands),
            writes_pc=jumps or arm.ARM_REG_PC in writes,
        )

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


@cache
def _kind(name: str) -> Kind:
    if name in _NAMES:
        return _NAMES[name]
    for beginning, kind in _BEGINNINGS:
        if name.startswith(beginning):
            return kind
    return Kind.ALU
