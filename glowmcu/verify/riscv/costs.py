"""What instructions cost on RISC-V cores, as data, and what a basic block costs by that.

All are pipelines that issue one instruction a cycle, in order. README.md says how sure each is.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import field
from enum import Enum, auto

from glowmcu.lazy_dataclass import dataclass
from glowmcu.verify.cortex_m.cost_model import BlockCost, Places, Sureness
from glowmcu.verify.cortex_m.decode import Instruction
from glowmcu.verify.cortex_m.kinds import Kind


class Predictor(Enum):
    """How a core guesses where a conditional branch goes; the others it guesses not taken."""

    NONE = auto()
    BACKWARD = auto()
    """Backward branches are taken."""
    LAST_BACKWARD = auto()
    """The backward branch that was taken last is taken again, until it is not."""


_APPROXIMATE = Sureness(0.85, 1.15, "no cycle table is published; good for comparing kernels")


@dataclass(frozen=True)
class Pipeline:
    """`cycles` by kind, 1 if not listed. `waits` = cycles that the next instruction waits where
    it reads the result; a store's data is not waited for with `stores_late`.

    `direct`, `jump_register` and `taken` are what jumps and conditional branches take beyond their
    cycle where they go on elsewhere, `predicted` instead of `taken` if that was guessed;
    `wrong` = what one takes that was guessed taken and is not. `unaligned_target`: more for a jump
    to 32 bits of code that are not aligned to 4 bytes.
    """

    source: str
    cycles: dict[Kind, int] = field(default_factory=dict)
    waits: dict[Kind, int] = field(default_factory=dict)
    stores_late: bool = False
    direct: int = 1
    jump_register: int = 1
    taken: int = 1
    predictor: Predictor = Predictor.NONE
    predicted: int = 0
    wrong: int = 0
    unaligned_target: int = 0
    sureness: Sureness = _APPROXIMATE

    def cost(
        self, block: Sequence[Instruction], places: Places, entry: Hashable, jumped: bool
    ) -> BlockCost:
        """What running `block` once costs, however it was entered."""
        return cost_block(self, block)

    def jump(self, instruction: Instruction, target: Instruction) -> int:
        """Nothing here: `branches.py` knows the targets."""
        return 0


HAZARD3 = Pipeline(
    source="Hazard3's documentation, Instruction Cycle Counts and Branch Predictor, in the "
    "configuration for speed that the RP2350 has; divisions without sign correction",
    cycles={Kind.DIVIDE: 18},
    waits={Kind.LOAD: 1},
    stores_late=True,
    predictor=Predictor.LAST_BACKWARD,
    wrong=1,
    unaligned_target=1,
    sureness=Sureness(0.98, 1.02, "its documentation is complete; loops that are left midway"),
)

ESP32_C3 = Pipeline(
    source="approximation: ESP32-C3 Technical Reference Manual, chapter ESP-RISC-V CPU (four "
    "stages, in order, single-cycle 32-bit multiplier), which gives no cycle table",
    cycles={Kind.DIVIDE: 33},
    waits={Kind.LOAD: 1},
    direct=1,
    jump_register=2,
    taken=2,
)

BUMBLEBEE = Pipeline(
    source="approximation: Bumblebee Core Brief Manual (GD32VF103: two stages of variable length, "
    "in order, simple branch predictor, prefetch of two instructions), which gives no cycle table",
    cycles={Kind.DIVIDE: 33},
    waits={Kind.LOAD: 1},
    direct=1,
    jump_register=2,
    taken=2,
    predictor=Predictor.BACKWARD,
    predicted=1,
    wrong=2,
)

#: The instruction sets stand for the chip that most boards with them have.
_CORES = {"hazard3": HAZARD3, "rv32imc": ESP32_C3, "rv32imac": BUMBLEBEE}


def pipeline(core_name: str) -> Pipeline:
    """The costs of a RISC-V core."""
    return _CORES[core_name]


def cost_block(table: Pipeline, block: Sequence[Instruction]) -> BlockCost:
    """What running `block` once costs. Of backward conditional branches, which predictors know, it
    is the cost as guessed right: `branches.py` adds the wrong ones.
    """
    cycles: list[int] = []
    before: Instruction | None = None
    extra = 0
    for instruction in block:
        spent = table.cycles.get(instruction.kind, 1)
        if before is not None and before.writes & _needed(table, instruction):
            spent += table.waits.get(before.kind, 0)
        if instruction.conditional:
            extra = taken_extra(table, instruction)
        elif instruction.writes_pc:
            goes = instruction.kind is Kind.BRANCH_REGISTER
            spent += table.jump_register if goes else table.direct
        cycles.append(spent)
        before = instruction
    return BlockCost(tuple(cycles), extra, None)


def is_backward(instruction: Instruction) -> bool:
    """A conditional branch that repeats a loop."""
    target = instruction.target
    return instruction.conditional and target is not None and target <= instruction.address


def taken_extra(table: Pipeline, branch: Instruction) -> int:
    """What `branch` takes beyond its cycle if it is taken and the predictor does its best."""
    predicts = table.predictor is not Predictor.NONE and is_backward(branch)
    return table.predicted if predicts else table.taken


def _needed(table: Pipeline, instruction: Instruction) -> frozenset[int]:
    """Registers that must be there when the instruction begins."""
    if instruction.kind is Kind.STORE and table.stores_late:
        return instruction.address_registers
    return instruction.reads
