"""Cycles that depend on how blocks follow each other: wrong guesses, jumps to unaligned code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from glowmcu.lazy_dataclass import dataclass
from glowmcu.verify.cortex_m.counting import EdgeTable
from glowmcu.verify.cortex_m.decode import Instruction
from glowmcu.verify.riscv.costs import Pipeline, Predictor, is_backward

#: The instructions of a block of the program; none for what is outside of it.
Blocks = Callable[[int], tuple[Instruction, ...]]


@dataclass
class _Branch:
    """A backward branch: how often it was taken and how often not, and a block that ends in it."""

    branch: Instruction
    block: int
    taken: int = 0
    passed: int = 0


def waits_between_blocks(
    table: Pipeline, edges: EdgeTable, sizes: Mapping[int, int], blocks: Blocks
) -> dict[int, int]:
    """Cycles by the block that ends in the jump, beyond what `cost_block` says of it."""
    waits: dict[int, int] = {}
    loops = _backward_branches(edges, sizes, blocks)
    for loop in loops.values():
        cycles = _wrong_guesses(table, loop, loops, edges, sizes, blocks)
        waits[loop.block] = waits.get(loop.block, 0) + cycles
    if table.unaligned_target:
        for block, times in _unaligned_jumps(table, edges, sizes, blocks):
            waits[block] = waits.get(block, 0) + times * table.unaligned_target
    return {block: cycles for block, cycles in waits.items() if cycles}


def _backward_branches(
    edges: EdgeTable, sizes: Mapping[int, int], blocks: Blocks
) -> dict[int, _Branch]:
    """By address."""
    found: dict[int, _Branch] = {}
    for (previous, address), times in edges.items():
        last = _end_of(previous, blocks)
        if previous is None or last is None or not is_backward(last):
            continue
        branch = found.setdefault(last.address, _Branch(last, previous))
        if address == previous + sizes[previous]:
            branch.passed += times
        else:
            branch.taken += times
    return found


def _wrong_guesses(
    table: Pipeline,
    loop: _Branch,
    loops: Mapping[int, _Branch],
    edges: EdgeTable,
    sizes: Mapping[int, int],
    blocks: Blocks,
) -> int:
    """Cycles that the guesses of one branch were wrong for.

    Who remembers the last branch only is wrong the first and the last time of an innermost loop,
    and each time that a loop around another one begins again.
    """
    late = table.taken - table.predicted
    match table.predictor:
        case Predictor.BACKWARD:
            return loop.passed * table.wrong
        case Predictor.LAST_BACKWARD if _is_innermost(loop, loops, edges, sizes, blocks):
            return min(loop.taken, loop.passed) * (late + table.wrong)
        case Predictor.LAST_BACKWARD:
            return loop.taken * late
        case _:
            return 0


def _is_innermost(
    loop: _Branch,
    loops: Mapping[int, _Branch],
    edges: EdgeTable,
    sizes: Mapping[int, int],
    blocks: Blocks,
) -> bool:
    """Whether no other backward branch is taken on the way around, and nothing called."""
    first, end = loop.branch.target, loop.branch.address
    assert first is not None
    if any(first <= at < end and other.taken for at, other in loops.items()):
        return False
    inside = {address for _, address in edges if first <= address < end}
    return not any(item.links for address in inside for item in blocks(address))


def _unaligned_jumps(
    table: Pipeline, edges: EdgeTable, sizes: Mapping[int, int], blocks: Blocks
) -> Iterator[tuple[int, int]]:
    """Blocks, and how often they jumped to 32 bits of code in two words. What was guessed right is
    fetched ahead and left out.
    """
    for (previous, address), times in edges.items():
        last = _end_of(previous, blocks)
        if previous is None or last is None or address == previous + sizes[previous]:
            continue
        if table.predictor is Predictor.LAST_BACKWARD and is_backward(last):
            continue
        target = blocks(address)
        if target and address & 2 and target[0].size_bytes == 4:
            yield previous, times


def _end_of(block: int | None, blocks: Blocks) -> Instruction | None:
    """The last instruction of a block if it can jump."""
    instructions = blocks(block) if block is not None else ()
    return instructions[-1] if instructions and instructions[-1].writes_pc else None
