"""`python -m benchmarks.issue_slots MODEL [--core C] [--blocks N]`: why cycles pass in hot blocks.

Of the blocks that cost most: in which cycle each instruction issues on the modelled core, what goes
with the one before, and what the others waited for. At the end products, pairs and lost cycles.
Blocks are taken by themselves, places of loads as unknown.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import glowmcu
from benchmarks.models import MODELS, TARGETS, Model
from glowmcu.verify.cortex_m.attribution import BlockUse
from glowmcu.verify.cortex_m.costs import cost_table
from glowmcu.verify.cortex_m.decode import Decoder, Instruction
from glowmcu.verify.cortex_m.dual_issue import DualIssue, InFlight, _Issue, needs
from glowmcu.verify.cortex_m.elf import Program
from glowmcu.verify.cortex_m.executor import CortexM
from glowmcu.verify.cortex_m.kinds import MULTIPLIES
from glowmcu.verify.verification import seeded_inputs


@dataclass(frozen=True)
class Slot:
    """An instruction, the cycle it issues in, cycles lost before it, and what for."""

    instruction: Instruction
    cycle: int
    lost: int
    why: str


def slots(table: DualIssue, block: Sequence[Instruction]) -> Iterator[Slot]:
    """One for each instruction of a block that begins with nothing in flight."""
    issue = _Issue(table, InFlight(), True)
    for instruction in block:
        end, alone = issue.end, len(issue.group) == 1
        there, what = max(
            ((issue._there(*need), need[1]) for need in needs(instruction)), default=(0, "")
        )
        issue.add(instruction, None)
        if len(issue.group) == 2:
            yield Slot(instruction, issue.now, 0, "goes with it")
        elif there > end:
            yield Slot(instruction, issue.now, there - end, f"waits for its {what}")
        elif alone and there > issue.now - 1:
            yield Slot(instruction, issue.now, 0, f"its {what} is not there a cycle sooner")
        else:
            yield Slot(instruction, issue.now, 0, "cannot go with it" if alone else "")


def _hot(model: Model, core: str, count: int) -> tuple[Program, tuple[BlockUse, ...]]:
    board = next(target.board for target in TARGETS if target.core == core)
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work) / model.name
        bundle = glowmcu.compile(model.path, board=board, output=folder, name=model.name)
        (found,) = CortexM(core).measure(folder, [seeded_inputs(bundle.manifest, 1)])
        assert found.account is not None
        assert found.program is not None
        return found.program, found.account.hottest(count)


def _tell(table: DualIssue, use: BlockUse, block: Sequence[Instruction]) -> None:
    found = list(slots(table, block))
    print(f"{use.symbol} {use.address:#x}: {use.executions} times, {use.cost.cycles} cycles")
    for slot in found:
        lost = f"({slot.lost} lost) " if slot.lost else ""
        print(f"  {slot.cycle:4} {slot.instruction.text:34} {lost}{slot.why}")
    products = sum(slot.instruction.kind in MULTIPLIES for slot in found)
    pairs = sum(slot.why == "goes with it" for slot in found)
    print(
        f"  {len(found)} instructions in {found[-1].cycle + 1} cycles: {products} products, "
        f"{pairs} pairs, {sum(slot.lost for slot in found)} cycles lost\n"
    )


def _code(program: Program, use: BlockUse) -> tuple[Instruction, ...]:
    """The block's instructions."""
    segment = next(
        part for part in program.segments
        if part.address <= use.address < part.address + part.size_bytes
    )  # fmt: skip
    start = use.address - segment.address
    code = bytes(segment.data[start : use.addresses[-1] - segment.address + 4])
    return Decoder().block(code, use.address)[: len(use.addresses)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=[model.name for model in MODELS])
    parser.add_argument("--core", choices=("cortex-m7", "cortex-m33"), default="cortex-m7")
    parser.add_argument("--blocks", type=int, default=5)
    options = parser.parse_args()
    table = cost_table(options.core)
    assert isinstance(table, DualIssue)
    model = next(model for model in MODELS if model.name == options.model)
    program, uses = _hot(model, options.core, options.blocks)
    for use in uses:
        _tell(table, use, _code(program, use))


if __name__ == "__main__":
    main()
