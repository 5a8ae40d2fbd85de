"""Which instructions of a dual-issue core go together in one cycle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import Enum, auto

from glowmcu.lazy_dataclass import dataclass
from glowmcu.verify.cortex_m.cost_model import Place
from glowmcu.verify.cortex_m.decode import Instruction
from glowmcu.verify.cortex_m.kinds import BRANCHES, MEMORY, Kind

_SEVERAL_WORDS = (Kind.LOAD_MULTIPLE, Kind.STORE_MULTIPLE)


class Unit(Enum):
    """What there is one of."""

    MULTIPLIER_OR_STORE = auto()
    """The register file has ports for a product or a store, not for both."""
    SIMD = auto()
    SHIFTER = auto()
    BRANCH = auto()
    FLOAT = auto()
    FLOAT_MOVES = auto()
    NOBODY = auto()
    """Used by those that go alone."""


@dataclass(frozen=True)
class Pairing:
    """`units` by kind; `shifted` of an operand or constant that is shifted; `first_only` = kinds
    that go in the first slot. `narrow_second`: only 16-bit instructions pair, and of these only
    `second` kinds behind another. `banks` = memories' banks of a word each, of which two loads
    need different ones.
    """

    units: Mapping[Kind, frozenset[Unit]] = field(default_factory=dict)
    shifted: frozenset[Unit] = frozenset()
    first_only: frozenset[Kind] = frozenset()
    narrow_second: bool = False
    second: frozenset[Kind] = frozenset()
    banks: int = 1


Group = Sequence[tuple[Instruction, Place | None]]


def goes_with(
    pairing: Pairing, instruction: Instruction, place: Place | None, group: Group
) -> bool:
    """Whether `instruction` can issue in the same cycle as the one of `group` before it."""
    if len(group) != 1:
        return False
    ((first, first_place),) = group
    if pairing.narrow_second:
        narrow = first.size_bytes == instruction.size_bytes == 2
        return narrow and instruction.kind in pairing.second and not first.writes_pc
    if first.writes_pc and not first.conditional:
        return False
    if instruction.kind in pairing.first_only or _alone(first) or _alone(instruction):
        return False
    if _units(pairing, first, first=True) & _units(pairing, instruction, first=False):
        return False
    if first.kind is instruction.kind is Kind.LOAD:
        return not _same_bank(pairing, (first, first_place), (instruction, place))
    return True


def _alone(instruction: Instruction) -> bool:
    several = instruction.kind in MEMORY and instruction.words > 1
    return several or instruction.kind in (*_SEVERAL_WORDS, Kind.BARRIER, Kind.SYSTEM)


def _units(pairing: Pairing, instruction: Instruction, first: bool) -> frozenset[Unit]:
    units = pairing.units.get(instruction.kind, frozenset())
    if instruction.kind in BRANCHES:
        return units | {Unit.BRANCH}
    if instruction.kind is Kind.SHIFT and not first:
        return frozenset()
    shifted = instruction.shifts or instruction.shifted_constant
    return units | pairing.shifted if shifted and instruction.kind not in MEMORY else units


def _same_bank(
    pairing: Pairing,
    first: tuple[Instruction, Place | None],
    second: tuple[Instruction, Place | None],
) -> bool:
    """Of two loads; those of unknown places go together where one base does not tell otherwise."""
    if pairing.banks < 2:
        return True
    if first[1] is not None and second[1] is not None:
        words = first[1].address // 4, second[1].address // 4
    else:
        sums = first[0].place, second[0].place
        if sums[0] is None or sums[1] is None or sums[0].index or sums[1].index:
            return False
        if sums[0].base != sums[1].base or first[0].updates_base:
            return False
        words = sums[0].constant // 4, sums[1].constant // 4
    return (words[0] - words[1]) % pairing.banks == 0
