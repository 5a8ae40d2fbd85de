"""Zba, Zbb, Zbs and Zbkb, which Unicorn's RISC-V lacks: the meaning of each instruction.

An instruction is known by its bits outside of the registers, which `_REGISTERS` or, where the
second operand is an immediate or part of the name, `_ONE_REGISTER` leave.
Source: RISC-V Bit-Manipulation ISA-extensions 1.0.0, RISC-V Cryptography Extensions Volume I.
"""

from __future__ import annotations

from collections.abc import Callable

from glowmcu.lazy_dataclass import dataclass

_WORD = 0xFFFFFFFF
_REGISTERS = 0xFE00707F
_ONE_REGISTER = 0xFFF0707F

Meaning = Callable[[int, int], int]


@dataclass(frozen=True)
class Operation:
    """`meaning` of the first operand and the second (a register, or the number in its place), as
    words; more than 32 bits of its result are cut off.
    """

    name: str
    meaning: Meaning
    has_second: bool = True
    is_immediate: bool = False


def find_operation(word: int) -> Operation | None:
    """What the 32-bit instruction `word` does, None for one of another extension."""
    return _TABLE.get(word & _ONE_REGISTER) or _TABLE.get(word & _REGISTERS)


def _signed(word: int, bits: int = 32) -> int:
    word &= (1 << bits) - 1
    return word - (word >> (bits - 1) << bits)


def _left(word: int, count: int) -> int:
    count &= 31
    return word << count | word >> (32 - count)


def _right(word: int, count: int) -> int:
    return _left(word, -count)


def _bytes(word: int) -> bytes:
    return word.to_bytes(4, "little")


def _or_combined(word: int) -> int:
    return int.from_bytes(bytes(255 if byte else 0 for byte in _bytes(word)), "little")


def _reversed_bits(word: int) -> int:
    turned = bytes(int(f"{byte:08b}"[::-1], 2) for byte in _bytes(word))
    return int.from_bytes(turned, "little")


def _zipped(word: int) -> int:
    return sum((word >> i & 1) << 2 * i | (word >> (16 + i) & 1) << 2 * i + 1 for i in range(16))


def _unzipped(word: int) -> int:
    return sum((word >> 2 * i & 1) << i | (word >> 2 * i + 1 & 1) << 16 + i for i in range(16))


#: Function of seven bits, function of three, name, meaning: `rd = rs1 ? rs2`. ZEXT.H is PACK with
#: the zero register.
_OF_TWO: tuple[tuple[int, int, str, Meaning], ...] = (
    (0x10, 2, "sh1add", lambda a, b: (a << 1) + b),
    (0x10, 4, "sh2add", lambda a, b: (a << 2) + b),
    (0x10, 6, "sh3add", lambda a, b: (a << 3) + b),
    (0x20, 7, "andn", lambda a, b: a & ~b),
    (0x20, 6, "orn", lambda a, b: a | ~b),
    (0x20, 4, "xnor", lambda a, b: ~(a ^ b)),
    (0x05, 4, "min", lambda a, b: min(_signed(a), _signed(b))),
    (0x05, 5, "minu", min),
    (0x05, 6, "max", lambda a, b: max(_signed(a), _signed(b))),
    (0x05, 7, "maxu", max),
    (0x30, 1, "rol", _left),
    (0x30, 5, "ror", _right),
    (0x24, 1, "bclr", lambda a, b: a & ~(1 << (b & 31))),
    (0x24, 5, "bext", lambda a, b: a >> (b & 31) & 1),
    (0x34, 1, "binv", lambda a, b: a ^ 1 << (b & 31)),
    (0x14, 1, "bset", lambda a, b: a | 1 << (b & 31)),
    (0x04, 4, "pack", lambda a, b: a & 0xFFFF | b << 16),
    (0x04, 7, "packh", lambda a, b: a & 0xFF | (b & 0xFF) << 8),
)
#: The same with a number of five bits in the place of the second register.
_WITH_NUMBER = {"ror": "rori", "bclr": "bclri", "bext": "bexti", "binv": "binvi", "bset": "bseti"}
#: Upper twelve bits, function of three, name, meaning: `rd = ? rs1`.
_OF_ONE: tuple[tuple[int, int, str, Callable[[int], int]], ...] = (
    (0x600, 1, "clz", lambda a: 32 - a.bit_length()),
    (0x601, 1, "ctz", lambda a: (a & -a).bit_length() - 1 if a else 32),
    (0x602, 1, "cpop", lambda a: a.bit_count()),
    (0x604, 1, "sext.b", lambda a: _signed(a, 8)),
    (0x605, 1, "sext.h", lambda a: _signed(a, 16)),
    (0x287, 5, "orc.b", _or_combined),
    (0x698, 5, "rev8", lambda a: int.from_bytes(_bytes(a), "big")),
    (0x687, 5, "brev8", _reversed_bits),
    (0x08F, 1, "zip", _zipped),
    (0x08F, 5, "unzip", _unzipped),
)
_TABLE: dict[int, Operation] = {}


def _of_the_first(meaning: Callable[[int], int]) -> Meaning:
    return lambda a, _b: meaning(a)


def _fill_table() -> None:
    for upper, function, name, meaning in _OF_TWO:
        bits = upper << 25 | function << 12
        _TABLE[bits | 0x33] = Operation(name, meaning)
        if name in _WITH_NUMBER:
            _TABLE[bits | 0x13] = Operation(_WITH_NUMBER[name], meaning, is_immediate=True)
    for upper, function, name, of_one in _OF_ONE:
        bits = upper << 20 | function << 12 | 0x13
        _TABLE[bits] = Operation(name, _of_the_first(of_one), has_second=False)


_fill_table()


def perform(word: int, read: Callable[[int], int], write: Callable[[int, int], None]) -> bool:
    """Execute the instruction `word` on registers by number; False if it is none of these."""
    operation = find_operation(word)
    if operation is None:
        return False
    second = word >> 20 & 31
    if operation.has_second and not operation.is_immediate:
        second = read(second)
    write(word >> 7 & 31, operation.meaning(read(word >> 15 & 31), second) & _WORD)
    return True
