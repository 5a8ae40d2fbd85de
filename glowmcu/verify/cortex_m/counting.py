"""Count which basic block follows which, separately for each step: all that costing needs.

Counting edges instead of instructions keeps the callback short: one per executed block.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from glowmcu.verify.cortex_m.machine import RETURN_ADDRESS, Machine

EdgeTable = dict[tuple[int | None, int], int]


@dataclass
class Counts:
    """`edges[step][previous, block]` = how often `block` ran after `previous`.

    `step` is the one that ran when the block was entered (None before the first), `previous` None
    at the start; blocks are known by address. `sizes`: bytes of each block.
    """

    edges: dict[int | None, EdgeTable] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)


class EdgeCounter:
    """Attaches to a machine once; `begin` gives the counts of a run, `end` completes them."""

    def __init__(self, machine: Machine) -> None:
        counts = Counts()
        table: EdgeTable = {}
        previous: int | None = None

        def begin() -> Counts:
            nonlocal counts, table, previous
            counts, previous = Counts(), None
            table = counts.edges.setdefault(None, {})
            return counts

        def enter_step(step: int) -> None:
            nonlocal table
            table = counts.edges.setdefault(step, {})

        def count(_uc: Any, address: int, size: int, _data: Any) -> None:
            nonlocal previous
            edge = (previous, address)
            if edge in table:
                table[edge] += 1
            else:
                table[edge] = 1
                counts.sizes[address] = size
            previous = address

        def end() -> None:
            count(None, RETURN_ADDRESS, 0, None)

        self.begin = begin
        self.end = end
        machine.on_step = enter_step
        machine.add_block_hook(count)
