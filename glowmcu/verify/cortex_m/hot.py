"""The basic blocks in which a bundle spends its time, with their code and C lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from glowmcu.board import Board
from glowmcu.lazy_dataclass import dataclass
from glowmcu.verify.cortex_m.attribution import BlockUse
from glowmcu.verify.cortex_m.elf import Program
from glowmcu.verify.measurement import Array, Measurement
from glowmcu.verify.modelled import modelled_core


@dataclass(frozen=True)
class CodeLine:
    """One instruction, and the C it was made from: empty and 0 if that is not known."""

    address: int
    text: str
    file: str = ""
    line: int = 0


@dataclass(frozen=True)
class HotBlock:
    """A basic block: straight code from where something jumps to. `share` is of all cycles.

    `layers` are indices of the steps it ran in, the one with the most cycles first. Blocks may
    overlap: what is jumped into the middle of has two.
    """

    function: str
    address: int
    executions: int
    instructions: int
    cycles: int
    share: float
    layers: tuple[int, ...]
    code: tuple[CodeLine, ...]


def hottest_blocks(
    bundle_dir: Path,
    inputs: Sequence[Array],
    core_name: str,
    count: int,
    wait_states: int = 0,
    region_waits: Mapping[str, int] | None = None,
    board: Board | None = None,
    memory_of: Board | None = None,
) -> tuple[Measurement, tuple[HotBlock, ...]]:
    """One inference, and the `count` blocks with the most cycles; errors as of the core's
    executor.
    """
    executor = modelled_core(
        core_name, board, wait_states=wait_states, region_waits=region_waits, debug_lines=True,
        memory_of=memory_of,
    )  # fmt: skip
    (found,) = executor.measure(bundle_dir, [inputs])
    assert found.account is not None and found.program is not None
    total = found.account.total.cycles
    hottest = found.account.hottest(count)
    return found.measurement, tuple(_hot_block(use, found.program, total) for use in hottest)


def _hot_block(use: BlockUse, program: Program, total_cycles: int) -> HotBlock:
    code = []
    for address, text in zip(use.addresses, use.text, strict=True):
        place = program.line_at(address)
        code.append(CodeLine(address, text, *((place.file, place.line) if place else ())))
    cost = use.cost
    share = cost.cycles / max(total_cycles, 1)
    return HotBlock(
        use.symbol, use.address, use.executions, cost.instructions, cost.cycles, share, use.steps,
        tuple(code),
    )  # fmt: skip
