"""The pass that gives every root buffer its place in the arena.

Where two cores share runs and one has caches of its own, a buffer has lines to itself, and begins
so far into the first of them that another line begins where the cores meet in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from glowmcu.ir.program import BUFFER_ALIGN, Buffer, Program, aligned
from glowmcu.lazy_dataclass import dataclass
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
    line, leads = program.line_bytes, _leads(program)
    blocks = [
        Block(
            life.first,
            life.last,
            aligned(leads.get(buffer, 0) + buffer.size_bytes, line),
            max(line, buffer.align, program.required_align(buffer) if wanted else 1),
        )
        for buffer, life in program.lives.items()
    ]
    index = {buffer: number for number, buffer in enumerate(program.lives)}
    shared = [
        _sharing(blocks, index[item.operand], index[item.result], _in_lines(item, leads, line))
        for item in relations(program)
    ]
    # Blocks of lines may have the rest of a line in common at either end.
    shared = [replace(item, most_bytes=item.most_bytes + 2 * (line - 1)) for item in shared]
    found = known_offsets(tuple(blocks), tuple(shared))
    starts = zip(program.lives, found.placement.offsets, strict=True)
    offsets = {buffer: start + leads.get(buffer, 0) for buffer, start in starts}
    return Placed(program.with_offsets(offsets), found)


def _leads(program: Program) -> dict[Buffer, int]:
    """How far into a line roots begin in which two cores meet, where kernels can read that."""
    leads: dict[Buffer, int] = {}
    for run in program.runs:
        if program.line_bytes == 1 or run.division is None:
            continue
        root, inner = program.root(run.outputs[0])
        lead = -(inner + run.division.line_at) % program.line_bytes
        if lead % max(BUFFER_ALIGN, root.align, program.required_align(root)) == 0:
            leads.setdefault(root, lead)
    return leads


def _in_lines(relation: Relation, leads: dict[Buffer, int], line_bytes: int) -> Relation:
    """The same of the blocks of lines in which operand and result lie."""
    nearer = leads.get(relation.operand, 0) - leads.get(relation.result, 0)
    if line_bytes == 1 or nearer == 0:
        return relation
    forbidden = tuple((low + nearer, high + nearer) for low, high in relation.forbidden)
    return replace(relation, forbidden=forbidden)


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
