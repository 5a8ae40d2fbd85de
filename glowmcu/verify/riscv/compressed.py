"""The fields of 16-bit instructions (the C extension, as 32-bit cores without FPU have it)."""

from __future__ import annotations

from glowmcu.lazy_dataclass import dataclass
from glowmcu.verify.cortex_m.kinds import Kind

_RA, _SP = 1, 2


@dataclass(frozen=True)
class Fields:
    """Registers that an instruction reads and writes, those of its address among the read ones, and
    how many bytes it jumps.
    """

    kind: Kind
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    address: tuple[int, ...] = ()
    distance: int | None = None


def signed(bits: int, width: int) -> int:
    """`bits` as a number in two's complement of `width` bits."""
    return bits - ((bits >> (width - 1) & 1) << width)


def compressed_fields(word: int) -> Fields:
    """Of the instruction `word` of 16 bits; what is none is arithmetic, as it executes nothing."""
    return (_memory, _arithmetic, _registers)[word & 3](word, word >> 13)


def _memory(word: int, function: int) -> Fields:
    low, high = 8 + (word >> 2 & 7), 8 + (word >> 7 & 7)
    match function:
        case 2:
            return Fields(Kind.LOAD, (high,), (low,), address=(high,))
        case 6:
            return Fields(Kind.STORE, (high, low), (), address=(high,))
        case _:  # C.ADDI4SPN
            return Fields(Kind.ALU, (_SP,), (low,))


def _arithmetic(word: int, function: int) -> Fields:
    rd, high, low = word >> 7 & 31, 8 + (word >> 7 & 7), 8 + (word >> 2 & 7)
    match function:
        case 1:
            return Fields(Kind.BRANCH_LINK, (), (_RA,), distance=_jump_distance(word))
        case 2:
            return Fields(Kind.ALU, (), (rd,))
        case 3:
            return Fields(Kind.ALU, (_SP,) if rd == _SP else (), (rd,))
        case 4:
            second = (low,) if word >> 10 & 3 == 3 else ()
            return Fields(Kind.ALU, (high, *second), (high,))
        case 5:
            return Fields(Kind.BRANCH_LINK, (), (), distance=_jump_distance(word))
        case 6 | 7:
            return Fields(Kind.BRANCH, (high,), (), distance=_branch_distance(word))
        case _:
            return Fields(Kind.ALU, (rd,), (rd,))


def _registers(word: int, function: int) -> Fields:
    rd, second, adds = word >> 7 & 31, word >> 2 & 31, word >> 12 & 1
    match function:
        case 2:
            return Fields(Kind.LOAD, (_SP,), (rd,), address=(_SP,))
        case 6:
            return Fields(Kind.STORE, (_SP, second), (), address=(_SP,))
        case 4 if second:
            return Fields(Kind.ALU, (rd, second) if adds else (second,), (rd,))
        case 4 if rd:
            return Fields(Kind.BRANCH_REGISTER, (rd,), (_RA,) if adds else ())
        case 4:
            return Fields(Kind.SYSTEM, (), ())
        case _:
            return Fields(Kind.ALU, (rd,), (rd,))


def _jump_distance(word: int) -> int:
    places = ((12, 11), (11, 4), (10, 9), (9, 8), (8, 10), (7, 6), (6, 7), (5, 3), (4, 2), (3, 1))
    bits = sum((word >> source & 1) << place for source, place in (*places, (2, 5)))
    return signed(bits, 12)


def _branch_distance(word: int) -> int:
    places = ((12, 8), (11, 4), (10, 3), (6, 7), (5, 6), (4, 2), (3, 1), (2, 5))
    return signed(sum((word >> source & 1) << place for source, place in places), 9)
