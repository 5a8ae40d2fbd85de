"""RISC-V machine code to `Instruction`: which registers it reads and writes, where it jumps.

Capstone disassembles, which gives the text; for RISC-V it does not say which operand is written,
and it does not know the bit manipulation extensions, so that fields are read from the bits.
Registers are 1 to 31; the zero register is none.
"""

from __future__ import annotations

from glowmcu.verify.cortex_m.decode import Instruction
from glowmcu.verify.cortex_m.kinds import Kind
from glowmcu.verify.riscv.bit_manipulation import find_operation
from glowmcu.verify.riscv.compressed import Fields, compressed_fields, signed

RETURN_REGISTER = 1

_NAMES = (
    *("zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1"),
    *(f"a{number}" for number in range(8)),
    *(f"s{number}" for number in range(2, 12)),
    *(f"t{number}" for number in range(3, 7)),
)


class Decoder:
    """Disassembles blocks of 32-bit RISC-V code."""

    def __init__(self) -> None:
        import capstone

        mode = capstone.CS_MODE_RISCV32 | capstone.CS_MODE_RISCVC
        self._capstone = capstone.Cs(capstone.CS_ARCH_RISCV, mode)

    def block(self, code: bytes, address: int) -> tuple[Instruction, ...]:
        """The instructions of one basic block, all of `code`."""
        found: list[Instruction] = []
        offset = 0
        while offset < len(code):
            size = 4 if code[offset] & 3 == 3 else 2
            found.append(self._instruction(code[offset : offset + size], address + offset))
            offset += size
        return tuple(found)

    def _instruction(self, code: bytes, address: int) -> Instruction:
        word = int.from_bytes(code, "little")
        fields = _fields(word) if len(code) == 4 else compressed_fields(word)
        jumps = fields.kind in (Kind.BRANCH, Kind.BRANCH_LINK, Kind.BRANCH_REGISTER)
        return Instruction(
            address=address,
            size_bytes=len(code),
            text=self._text(code, word, address),
            kind=fields.kind,
            reads=frozenset(fields.reads) - {0},
            writes=frozenset(fields.writes) - {0},
            address_registers=frozenset(fields.address) - {0},
            words=1 if fields.kind in (Kind.LOAD, Kind.STORE) else 0,
            conditional=fields.kind is Kind.BRANCH,
            writes_pc=jumps,
            target=None if fields.distance is None else address + fields.distance,
            links=jumps and RETURN_REGISTER in fields.writes,
        )

    def _text(self, code: bytes, word: int, address: int) -> str:
        for item in self._capstone.disasm(code, address):
            return f"{item.mnemonic} {item.op_str}".rstrip()
        operation = find_operation(word) if len(code) == 4 else None
        if operation is None:
            return "(unknown)"
        names = [_NAMES[word >> 7 & 31], _NAMES[word >> 15 & 31]]
        last = word >> 20 & 31
        if operation.has_second:
            names.append(str(last) if operation.is_immediate else _NAMES[last])
        return f"{operation.name} {', '.join(names)}"


_MULTIPLY_FUNCTIONS = (
    Kind.MULTIPLY,
    *[Kind.MULTIPLY_LONG] * 3,
    *[Kind.DIVIDE] * 4,
)


def _fields(word: int) -> Fields:
    """Of an instruction of 32 bits."""
    rd, rs1, rs2 = word >> 7 & 31, word >> 15 & 31, word >> 20 & 31
    match word & 0x7F:
        case 0x37 | 0x17:  # LUI, AUIPC
            return Fields(Kind.ALU, (), (rd,))
        case 0x6F:
            return Fields(Kind.BRANCH_LINK, (), (rd,), distance=_jump_distance(word))
        case 0x67:
            return Fields(Kind.BRANCH_REGISTER, (rs1,), (rd,))
        case 0x63:
            return Fields(Kind.BRANCH, (rs1, rs2), (), distance=_branch_distance(word))
        case 0x03:
            return Fields(Kind.LOAD, (rs1,), (rd,), address=(rs1,))
        case 0x23:
            return Fields(Kind.STORE, (rs1, rs2), (), address=(rs1,))
        case 0x13:
            return Fields(Kind.ALU, (rs1,), (rd,))
        case 0x33 if word >> 25 == 1:
            return Fields(_MULTIPLY_FUNCTIONS[word >> 12 & 7], (rs1, rs2), (rd,))
        case 0x33:
            return Fields(Kind.ALU, (rs1, rs2), (rd,))
        case 0x2F:  # atomic memory operations: of no use to a bundle
            return Fields(Kind.SYSTEM, (rs1, rs2), (rd,), address=(rs1,))
        case 0x0F:
            return Fields(Kind.BARRIER, (), ())
        case _:
            return Fields(Kind.SYSTEM, (rs1,), (rd,))


def _jump_distance(word: int) -> int:
    bits = (word >> 31 & 1) << 20 | (word >> 12 & 0xFF) << 12 | (word >> 20 & 1) << 11
    return signed(bits | (word >> 21 & 0x3FF) << 1, 21)


def _branch_distance(word: int) -> int:
    bits = (word >> 31 & 1) << 12 | (word >> 7 & 1) << 11 | (word >> 25 & 0x3F) << 5
    return signed(bits | (word >> 8 & 0xF) << 1, 13)
