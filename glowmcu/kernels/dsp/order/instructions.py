"""A line of assembly to the few facts that its place in a block depends on.

What is not known here (branches, tables, conditional instructions) is None: nothing passes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum, auto

from glowmcu.lazy_dataclass import dataclass

FLAGS = "flags"
_REGISTER = re.compile(r"(?:r(?:1[0-2]|[0-9])|sp|lr)\b")
_LINE = re.compile(r"([a-z0-9]+)(?:\.[nw])?\s+(.*?)\s*(?:/\*.*\*/)?\s*")
_ADDRESS = re.compile(r"(.*?),?\s*\[(\w+)(?:,\s*(.*?))?\](!?)(?:,\s*(.*))?")
_SEVERAL = re.compile(r"(\w+)(!?),\s*\{(.*)\}")
_SUM = re.compile(r"[0-9+*\- ]+")


class Kind(Enum):
    """What an instruction needs of the core."""

    ARITHMETIC = auto()
    SHIFT = auto()
    SIMD = auto()
    """Extensions, saturations."""
    TAKEN_APART = auto()
    """The same, behind the shifter: halves packed, fields, sums of extensions."""
    PRODUCT = auto()
    LOAD = auto()
    STORE = auto()
    SEVERAL = auto()
    """Loads and stores of several words."""


class Use(Enum):
    """What an operand is needed for."""

    ARITHMETIC = auto()
    EARLY = auto()
    ADDRESS = auto()
    FACTOR = auto()
    SUM = auto()
    STORED = auto()


@dataclass(frozen=True)
class Instruction:
    """One instruction. `words` and `bytes` of what it moves; `place` is the distance from `base`
    where both are known.
    """

    text: str
    kind: Kind
    reads: tuple[tuple[str, Use], ...]
    writes: tuple[str, ...]
    shifts: bool = False
    stores: bool = False
    words: int = 1
    bytes: int = 4
    base: str = ""
    place: int | None = None
    new_base: str = ""

    @property
    def is_memory(self) -> bool:
        return self.kind in (Kind.LOAD, Kind.STORE, Kind.SEVERAL)

    @property
    def sets_all_flags(self) -> bool:
        """Whether nothing of the flags before it is left."""
        return self.text.split()[0].split(".")[0] in ("adds", "subs", "cmp", "cmn")


_SUMS_OF_PRODUCTS = ("smlad", "smladx", "smlabb", "smlabt", "smlatb", "smlatt", "smmla", "smmlar",
                     "smlawb", "smlawt", "mla")  # fmt: skip
_LONG_SUMS_OF_PRODUCTS = ("smlald", "smlaldx", "smlal")
_PRODUCTS = ("smuad", "smuadx", "smmul", "smmulr", "smulbb", "smulbt", "smultb", "smultt", "smulwb",
             "smulwt", "mul")  # fmt: skip
_SIMD = ("sxtb16", "uxtb16", "sxtb", "uxtb", "sxth", "uxth", "ssat", "usat")
_TAKEN_APART = ("pkhbt", "pkhtb", "uxtah", "sxtah", "ubfx", "sbfx")
_ARITHMETIC = ("add", "addw", "sub", "subw", "and", "orr", "eor", "bic", "rsb", "mov", "movw",
               "mvn")  # fmt: skip
_SHIFTS = ("lsl", "lsr", "asr", "ror")
_COMPARISONS = ("cmp", "cmn", "tst")
_LOADS = {"ldr": 4, "ldrh": 2, "ldrsh": 2, "ldrb": 1, "ldrsb": 1}
_STORES = {"str": 4, "strh": 2, "strb": 1}


def read_line(text: str) -> Instruction | None:
    """The instruction of a line, None if nothing may pass it."""
    match = _LINE.fullmatch(text)
    if match is None or re.search(r"\bpc\b", match[2]):
        return None
    name, operands = match[1], match[2]
    if name in (*_LOADS, *_STORES, "ldrd", "strd"):
        return _access(text, name, operands)
    if name in ("ldm", "ldmia", "stm", "stmia"):
        return _several(text, name, operands)
    return _computing(text, name, [part.strip() for part in operands.split(",")])


def _access(text: str, name: str, operands: str) -> Instruction | None:
    match = _ADDRESS.fullmatch(operands)
    if match is None:
        return None
    data = tuple(part.strip() for part in match[1].split(","))
    base, offset, moves = match[2], match[3] or "#0", bool(match[4] or match[5])
    index = _registers([offset])
    stores = name.startswith("st")
    reads = [(base, Use.ADDRESS), *((register, Use.ADDRESS) for register in index)]
    reads += [(register, Use.STORED) for register in data if stores]
    writes = (() if stores else data) + ((base,) if moves else ())
    size = 4 if name[-1] == "d" else (_STORES if stores else _LOADS)[name]
    kind = Kind.SEVERAL if name[-1] == "d" else Kind.STORE if stores else Kind.LOAD
    place = None if index or match[4] else _number(offset)
    return Instruction(
        text, kind, tuple(reads), writes, stores=stores, words=len(data), bytes=size, base=base,
        place=place, new_base=base if moves else "",
    )  # fmt: skip


def _several(text: str, name: str, operands: str) -> Instruction | None:
    match = _SEVERAL.fullmatch(operands)
    if match is None:
        return None
    base, moves, data = match[1], bool(match[2]), tuple(_listed(match[3]))
    stores = name.startswith("st")
    reads = [(base, Use.ADDRESS), *((register, Use.STORED) for register in data if stores)]
    writes = (() if stores else data) + ((base,) if moves else ())
    return Instruction(
        text, Kind.SEVERAL, tuple(reads), writes, stores=stores, words=len(data), base=base,
        place=0, new_base=base if moves else "",
    )  # fmt: skip


def _listed(text: str) -> Iterator[str]:
    """Registers of a list with ranges."""
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if last:
            yield from (f"r{number}" for number in range(int(first[1:]), int(last[1:]) + 1))
        else:
            yield first


def _computing(text: str, name: str, operands: Sequence[str]) -> Instruction | None:
    registers = _registers(operands)
    shifts = any(re.match(r"(lsl|lsr|asr|ror)\b", operand) for operand in operands[1:])
    if name in _SUMS_OF_PRODUCTS and len(registers) == 4:
        written, first, second, start = registers
        factors = ((first, Use.FACTOR), (second, Use.FACTOR))
        sums = () if start in (first, second) else ((start, Use.SUM),)
        return Instruction(text, Kind.PRODUCT, (*factors, *sums), (written,))
    if name in _LONG_SUMS_OF_PRODUCTS and len(registers) == 4:
        added = tuple((register, Use.SUM) for register in registers[:2])
        multiplied = tuple((register, Use.FACTOR) for register in registers[2:])
        return Instruction(text, Kind.PRODUCT, (*multiplied, *added), registers[:2])
    if name in _PRODUCTS:
        sources = registers[1:] if len(registers) > 2 else registers
        uses = tuple((register, Use.FACTOR) for register in sources)
        return Instruction(text, Kind.PRODUCT, uses, registers[:1])
    if name in _TAKEN_APART:
        uses = _last_early(registers[1:])
        return Instruction(text, Kind.TAKEN_APART, uses, registers[:1], shifts)
    if name in _SIMD:
        use = Use.EARLY if shifts and name.endswith("sat") else Use.ARITHMETIC
        return Instruction(text, Kind.SIMD, ((registers[1], use),), registers[:1], shifts)
    return _arithmetic(text, name, operands, registers, shifts)


def _arithmetic(
    text: str, name: str, operands: Sequence[str], registers: tuple[str, ...], shifts: bool
) -> Instruction | None:
    plain = name.removesuffix("s")
    flags = (FLAGS,) if name in _COMPARISONS or plain != name else ()
    writes: tuple[str, ...]
    if name in _COMPARISONS:
        sources, writes = registers, flags
    elif plain in (*_ARITHMETIC, *_SHIFTS):
        is_copy = plain in ("mov", "movw", "mvn")
        both = len(operands) == 2 and not is_copy
        sources, writes = registers[0 if both else 1 :], (registers[0], *flags)
    elif name == "movt":
        sources, writes = registers, registers
    else:
        return None
    if shifts and plain not in _SHIFTS:
        uses = _last_early(sources)
    else:
        uses = tuple((r, Use.ARITHMETIC) for r in sources)
    kind = Kind.SHIFT if plain in _SHIFTS else Kind.ARITHMETIC
    return Instruction(text, kind, uses, writes, shifts and kind is Kind.ARITHMETIC)


def _last_early(sources: tuple[str, ...]) -> tuple[tuple[str, Use], ...]:
    return (*((register, Use.ARITHMETIC) for register in sources[:-1]), (sources[-1], Use.EARLY))


def _registers(operands: Sequence[str]) -> tuple[str, ...]:
    return tuple(register for operand in operands for register in _REGISTER.findall(operand))


def _number(offset: str) -> int | None:
    """A constant distance; that of a repeated line is the first one's."""
    text = re.sub(r"\\\w+", "0", offset).removeprefix("#").strip()
    if not _SUM.fullmatch(text):
        return None
    total = 0
    for part in text.replace("-", "+-").split("+"):
        product = 1
        for factor in part.split("*"):
            product *= int(factor)
        total += product
    return total
