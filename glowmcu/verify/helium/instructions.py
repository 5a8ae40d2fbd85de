"""A linked program's instructions, Helium included, to the few facts that timing depends on.

The compiler's own objdump disassembles: Capstone 5 does not know the vector instructions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import Enum, auto
from pathlib import Path

from glowmcu.cores import Core
from glowmcu.lazy_dataclass import dataclass
from glowmcu.verify import toolchain


class Kind(Enum):
    """What does the work; names that begin with VECTOR take a vector's beats."""

    SCALAR = auto()
    MULTIPLY = auto()
    DIVIDE = auto()
    LOAD = auto()
    NARROW_LOAD = auto()
    """Of a byte or half a word."""
    LOAD_SEVERAL = auto()
    STORE = auto()
    BRANCH = auto()
    LOOP_END = auto()
    FLOAT = auto()
    FLOAT_MULTIPLY_ADD = auto()
    VECTOR_LOAD = auto()
    VECTOR_STORE = auto()
    GATHER = auto()
    """A vector of elements from addresses of their own."""
    SCATTER = auto()
    DEINTERLEAVE = auto()
    """A quarter, or half, of what fills four, or two, vectors in turn."""
    INTERLEAVE = auto()
    VECTOR_INTEGER = auto()
    VECTOR_SHIFT = auto()
    """Shifts that round, narrow or widen, and moves that do."""
    VECTOR_BITS = auto()
    VECTOR_MOVE = auto()
    VECTOR_MULTIPLY = auto()
    VECTOR_SUM = auto()
    """A multiplication whose products are added up in a general-purpose register."""
    VECTOR_FLOAT = auto()


@dataclass(frozen=True)
class Instruction:
    """One instruction. `words` of 32 bits that several loads or stores move; `accumulates` = its
    first register is the sum that it adds to; `shifts` = an operand is shifted on its way;
    `elements` that have addresses of their own.
    """

    address: int
    size_bytes: int
    text: str
    kind: Kind
    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    words: int = 1
    accumulates: bool = False
    shifts: bool = False
    elements: int = 1


_LINE = re.compile(r"^\s*([0-9a-f]+):\t((?:[0-9a-f]{4} ?)+)\s*\t(\S+)(?:\s+(.*))?$")
_REGISTER = re.compile(r"\b(r1[0-5]|r\d|sl|fp|ip|sp|lr|pc|q[0-7]|d\d+|s[0-9]+)\b")
_SAME = {"sl": "r10", "fp": "r11", "ip": "r12", "sp": "r13", "lr": "r14", "pc": "r15"}
_CONDITIONS = "eq|ne|cs|cc|hs|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le"
_BRANCH = re.compile(rf"(b|bl|blx|bx|bxns|blxns|cbn?z|tbb|tbh)({_CONDITIONS})?(\.[nw])?")
_TWO_RESULTS = ("smlal", "smull", "umlal", "umull", "umaal", "asrl", "lsll", "lsrl", "ldrd")
_NO_RESULT = re.compile(
    r"(cmp|cmn|tst|teq|nop|it|dsb|dmb|isb|vpst|vpt|vctp|vcmp|vmsr|msr|svc|bkpt)"
)
#: With two operands the first one is read as well; `movt` keeps half of it.
_ON_ITSELF = (
    "add", "adc", "sub", "sbc", "rsb", "and", "orr", "eor", "bic", "orn", "mul", "lsl", "lsr",
    "asr", "ror", "movt",
)  # fmt: skip

_VECTOR_BITS = ("vand", "vorr", "veor", "vbic", "vorn", "vrev", "vmvn", "vpsel")
_VECTOR_SHIFTS = (
    "vrsh",
    "vqrsh",
    "vqsh",
    "vshr",
    "vshl",
    "vsli",
    "vsri",
    "vmovl",
    "vmovn",
    "vqmov",
)
_VECTOR_PRODUCTS = ("vmul", "vmla", "vmls", "vqdm", "vqrdm", "vrmul", "vqmul", "vrmla", "vabav")
_SCALAR_LOADS = (Kind.LOAD, Kind.LOAD_SEVERAL)
#: A vector of addresses, or of offsets.
_ADDRESSES = re.compile(r"\[[^]]*\bq[0-7]\b")
_FLOATS = ("f16", "f32")
_ACCUMULATING = (
    "vmlava", "vmladava", "vmlaldava", "vmlalva", "vmla.", "vmlas.", "vfma", "vfms",
    "mla", "mls", "smla", "smmla", "umlal",
)  # fmt: skip


def disassemble(elf: Path, core: Core) -> Mapping[int, Instruction]:
    """Every instruction of `elf` by address. Raises GM614 if objdump does not run."""
    arguments = ["-d", "-m", core.architecture, str(elf)]
    found: dict[int, Instruction] = {}
    for line in toolchain.binutil("objdump", arguments, core.flags).splitlines():
        instruction = read_line(line)
        if instruction is not None:
            found[instruction.address] = instruction
    return found


def read_line(line: str) -> Instruction | None:
    """The instruction that a line of objdump's shows, None for headings and data."""
    match = _LINE.match(line)
    if match is None or match[3].startswith("."):
        return None
    name = match[3]
    operands = re.split(r"\s*[@;<]", match[4] or "")[0].strip()
    text = f"{name} {operands}".strip()
    size = len(match[2].replace(" ", "")) // 2
    kind = _kind(name, operands)
    reads, writes = _registers(name, operands, kind)
    registers = _REGISTER.findall(operands)
    return Instruction(
        address=int(match[1], 16),
        size_bytes=size,
        text=text,
        kind=kind,
        reads=reads,
        writes=writes,
        words=_words(name, registers),
        accumulates=_accumulates(name),
        shifts=not name.startswith("v")
        and bool(re.search(r", (lsl|lsr|asr|ror) #[1-9]", operands)),
        elements=_elements(name) if kind in (Kind.GATHER, Kind.SCATTER) else 1,
    )


def _kind(name: str, operands: str) -> Kind:
    plain = name.partition(".")[0]
    if plain in ("le", "letp"):
        return Kind.LOOP_END
    if _BRANCH.fullmatch(name):
        return Kind.BRANCH
    if plain.startswith("v"):
        return _vector_kind(plain, name, operands)
    if plain.startswith(("ldm", "pop", "ldrd")):
        return Kind.LOAD_SEVERAL
    if plain.startswith(("ldrb", "ldrh", "ldrsb", "ldrsh")):
        return Kind.NARROW_LOAD
    if plain.startswith("ldr"):
        return Kind.LOAD
    if plain.startswith(("st", "push")):
        return Kind.STORE
    if plain.startswith(("sdiv", "udiv")):
        return Kind.DIVIDE
    if plain.startswith(("mul", "mla", "mls", "sml", "smm", "smu", "smull", "umull", "uml", "uma")):
        return Kind.MULTIPLY
    return Kind.SCALAR


def _vector_kind(plain: str, name: str, operands: str) -> Kind:
    is_vector = bool(re.search(r"\bq[0-7]\b", operands))
    if plain.startswith(("vldr", "vldm", "vpop", "vld")):
        several = plain.startswith(("vldm", "vpop"))
        return _load_kind(plain, operands) if is_vector else _SCALAR_LOADS[several]
    if plain.startswith(("vstr", "vstm", "vpush", "vst")):
        return _store_kind(plain, operands) if is_vector else Kind.STORE
    if plain.startswith(("vpst", "vctp", "vmsr", "vmrs")):
        return Kind.SCALAR
    if not is_vector:
        multiplies = plain.startswith(("vfm", "vfnm", "vmla", "vmls", "vdiv", "vsqrt"))
        return Kind.FLOAT_MULTIPLY_ADD if multiplies else Kind.FLOAT
    if plain.startswith(("vmladav", "vmlav", "vmlald", "vmlalv", "vrmlald", "vmlsdav", "vaddv")):
        return Kind.VECTOR_SUM
    if plain.startswith("vfm") or name.endswith(_FLOATS):
        return Kind.VECTOR_FLOAT
    if plain.startswith(_VECTOR_PRODUCTS):
        return Kind.VECTOR_MULTIPLY
    if plain.startswith(_VECTOR_SHIFTS):
        return Kind.VECTOR_SHIFT
    if plain.startswith(_VECTOR_BITS):
        return Kind.VECTOR_BITS
    return Kind.VECTOR_MOVE if plain == "vmov" else Kind.VECTOR_INTEGER


def _load_kind(plain: str, operands: str) -> Kind:
    if plain.startswith(("vld2", "vld4")):
        return Kind.DEINTERLEAVE
    return Kind.GATHER if _ADDRESSES.search(operands) else Kind.VECTOR_LOAD


def _store_kind(plain: str, operands: str) -> Kind:
    if plain.startswith(("vst2", "vst4")):
        return Kind.INTERLEAVE
    return Kind.SCATTER if _ADDRESSES.search(operands) else Kind.VECTOR_STORE


def _elements(name: str) -> int:
    """Of a vector, whose elements' size is the end of the name."""
    return 128 // int(name.rpartition(".")[2].lstrip("usif"))


def _accumulates(name: str) -> bool:
    return name.startswith(_ACCUMULATING)


def _words(name: str, registers: Sequence[str]) -> int:
    """Of instructions that move several; a D register counts two."""
    if name.startswith(("ldrd", "strd")):
        return 2
    if not name.startswith(("ldm", "stm", "push", "pop", "vpush", "vpop", "vldm", "vstm")):
        return 1
    moved = registers[1:] if name.startswith(("ldm", "stm", "vldm", "vstm")) else registers
    return max(1, sum(2 if register.startswith("d") else 1 for register in moved))


def _registers(name: str, operands: str, kind: Kind) -> tuple[frozenset[str], frozenset[str]]:
    """What it reads and writes. A destination that keeps a part of its lanes is read, too."""
    parts = _top_level(operands)
    named = [[_whole(register) for register in _REGISTER.findall(part)] for part in parts]
    everything = [register for part in named for register in part]
    written: list[str] = []
    read = list(everything)
    stores = (Kind.STORE, Kind.VECTOR_STORE, Kind.SCATTER, Kind.INTERLEAVE)
    if kind in stores or kind is Kind.BRANCH or _NO_RESULT.match(name):
        written = _updated_base(parts)
    elif kind is Kind.DEINTERLEAVE:
        written = [*named[0], *_updated_base(parts)]
    elif name.startswith(("ldm", "vldm")):
        written, read = everything[1:], everything[:1]
        written += everything[:1] if "!" in operands else []
    elif name.startswith(("pop", "vpop")):
        written, read = [*everything, "r13"], ["r13"]
    elif kind is Kind.LOOP_END:
        written = everything
    elif everything:
        results = 2 if name.startswith(_TWO_RESULTS) or _moves_two(name, parts) else 1
        written = everything[:results]
        keeps = _accumulates(name) or "nt." in name or "nb." in name or "[" in parts[0]
        keeps = keeps or (len(parts) == 2 and name.startswith(_ON_ITSELF))
        keeps = keeps or (len(parts) == 2 and "shl" in name and _is_core(parts[1]))
        keeps = keeps or name.startswith(("asrl", "lsll", "lsrl", "smlal", "umlal", "vsli", "vsri"))
        read = everything if keeps else everything[results:]
        written += _updated_base(parts)
    return frozenset(read), frozenset(written)


def _moves_two(name: str, parts: Sequence[str]) -> bool:
    return name.startswith("vmov") and len(parts) >= 3 and _is_core(parts[0]) and _is_core(parts[1])


def _is_core(part: str) -> bool:
    return bool(re.fullmatch(r"r\d+|sl|fp|ip|lr", part))


def _updated_base(parts: Sequence[str]) -> list[str]:
    """The base register that pre- or post-indexing changes."""
    for index, part in enumerate(parts):
        indexed = part.startswith("[") and (part.endswith("!") or index + 1 < len(parts))
        if indexed or (index == 0 and part.endswith("!")):
            return [_whole(register) for register in _REGISTER.findall(part)[:1]]
    return []


def _top_level(operands: str) -> list[str]:
    """Operands, split at the commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for position, letter in enumerate(operands):
        depth += (letter in "[{") - (letter in "]}")
        if letter == "," and depth == 0:
            parts.append(operands[start:position].strip())
            start = position + 1
    return [*parts, operands[start:].strip()]


def _whole(register: str) -> str:
    """The register file's name: of a D or S register the vector that it is a part of."""
    if register in _SAME:
        return _SAME[register]
    if register.startswith("d"):
        return f"q{int(register[1:]) // 2}"
    if register.startswith("s"):
        return f"q{int(register[1:]) // 4}"
    return register
