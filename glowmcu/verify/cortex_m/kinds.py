"""Classes of instructions whose timing some core's documentation tells apart."""

from __future__ import annotations

from enum import Enum, auto
from functools import cache


class Kind(Enum):
    """Classes of instructions that some core's documentation tells apart."""

    ALU = auto()
    ADD = auto()
    """Additions and subtractions, with or without flags."""
    MOVE = auto()
    SHIFT = auto()
    """Shifts and rotations that do nothing else."""
    EXTEND = auto()
    EXTEND_ADD = auto()
    PACK = auto()
    INSERT = auto()
    """Bit fields put in or cleared."""
    EXTRACT = auto()
    """Bit fields taken out."""
    REVERSE = auto()
    SIMD = auto()
    """Everything else of the DSP extension, saturation and CLZ: no multiplications."""
    NOP = auto()
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


BRANCHES = (Kind.BRANCH, Kind.BRANCH_LINK, Kind.BRANCH_REGISTER, Kind.TABLE_BRANCH)
MULTIPLIES = (
    Kind.MULTIPLY,
    Kind.MULTIPLY_ADD,
    Kind.MULTIPLY_LONG,
    Kind.MULTIPLY_ADD_LONG,
)
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
    "ADD": Kind.ADD,
    "ADDW": Kind.ADD,
    "SUB": Kind.ADD,
    "SUBW": Kind.ADD,
    "ADR": Kind.ADD,
    "MOV": Kind.MOVE,
    "MOVW": Kind.MOVE,
    "MOVT": Kind.MOVE,
    "HINT": Kind.NOP,
    "NOP": Kind.NOP,
    **dict.fromkeys(("LSL", "LSR", "ASR", "ROR", "RRX"), Kind.SHIFT),
    **dict.fromkeys(("SXTB", "UXTB", "SXTH", "UXTH", "SXTB16", "UXTB16"), Kind.EXTEND),
    "PKHBT": Kind.PACK,
    "PKHTB": Kind.PACK,
    "BFI": Kind.INSERT,
    "BFC": Kind.INSERT,
    "SBFX": Kind.EXTRACT,
    "UBFX": Kind.EXTRACT,
    "RBIT": Kind.REVERSE,
    "SEL": Kind.SIMD,
    "CLZ": Kind.SIMD,
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
    ("SXTA", Kind.EXTEND_ADD),
    ("UXTA", Kind.EXTEND_ADD),
    ("REV", Kind.REVERSE),
    *((name, Kind.SIMD) for name in ("SADD", "SSUB", "SASX", "SSAX", "SSAT", "SH", "Q")),
    *((name, Kind.SIMD) for name in ("UADD", "USUB", "UASX", "USAX", "USAT", "UH", "UQ", "USAD")),
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


@cache
def kind_of(name: str) -> Kind:
    """The class of Capstone's `name`, written in capitals."""
    if name in _NAMES:
        return _NAMES[name]
    for beginning, kind in _BEGINNINGS:
        if name.startswith(beginning):
            return kind
    return Kind.ALU
