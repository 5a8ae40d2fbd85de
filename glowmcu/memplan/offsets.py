"""The pass that gives every root buffer its place in the arena."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from glowmcu.ir.program import BUFFER_ALIGN, Program
from glowmcu.lazy_dataclass import dataclass
from glowmcu.memplan.alignment import required_align
from glowmcu.memplan.overlap import Relation, relations
from glowmcu.memplan.placement import Block, Sharing, problem
from glowmcu.memplan.search_offsets import Found, search_offsets


@dataclass(frozen=True)
class Placed:
    """The program with offsets, and what the search knows about them."""

    program: Program
    found: Found


def place_buffers(program: Program) -> Placed:
    """Search offsets for the buffers of the arena, scratch included."""
    # Accelerators may want more than the words that all buffers begin at.
    wanted = any(run.operand_align > BUFFER_ALIGN for run in program.runs)
    blocks = [
        Block(
            life.first,
            life.last,
            buffer.size_bytes,
            max(buffer.align, required_align(program, buffer)) if wanted else buffer.align,
        )
        for buffer, life in program.lives.items()
    ]
    index = {buffer: number for number, buffer in enumerate(program.lives)}
    shared = [
        _sharing(blocks, index[item.operand], index[item.result], item)
        for item in relations(program)
    ]
    found = known_offsets(tuple(blocks), tuple(shared))
    offsets = dict(zip(program.lives, found.placement.offsets, strict=True))
    return Placed(program.with_offsets(offsets), found)


@lru_cache(maxsize=128)
def known_offsets(blocks: tuple[Block, ...], shared: tuple[Sharing, ...]) -> Found:
    """The search is most of a plan's time, and its question comes again and again: kernels differ
    where memory does not, and a curve of plans, other budgets and other goals have plans in common.
    """
    return search_offsets(problem(blocks, shared))


def _sharing(blocks: Sequence[Block], first: int, second: int, relation: Relation) -> Sharing:
    """The pair with the block that comes first, first."""
    forbidden = relation.forbidden
    if (blocks[first].first, first) > (blocks[second].first, second):
        first, second = second, first
        forbidden = tuple((-high, -low) for low, high in forbidden)
    return Sharing(first, second, forbidden, relation.most_shared_bytes)
