"""Kernels with the plan that was made for them, and what that comes to."""

from __future__ import annotations

from functools import cached_property

from glowmcu.ir.cascade import Cascade
from glowmcu.ir.graph import Graph, Node
from glowmcu.ir.run_progress import RunProgress
from glowmcu.kernels.selection.select import Selection, code_bytes
from glowmcu.lazy_dataclass import dataclass
from glowmcu.memplan.planner import ARENA_ALIGN, Plan, aligned

#: Least cycles of a cascade on a Cortex-M4: per turn, and per byte of a row that moves up.
_TURN_CYCLES, _MOVED_BYTE_CYCLES = 35.0, 0.4


@dataclass(frozen=True, eq=False)
class FittedPlan:
    """Kernels and their plan. `graph` is the one given, or that with strips.

    `extra_macs`: multiply-accumulates that strips compute again in their halos. `stream_to`: bytes
    of arena that streaming aimed at. `progress`: state of a run that may be done in parts.
    `saved_cycles`: cycles that a second core takes over.
    """

    selections: dict[Node, Selection]
    plan: Plan
    graph: Graph
    extra_macs: int = 0
    stream_to: int | None = None
    progress: RunProgress | None = None
    saved_cycles: float = 0.0

    @property
    def arena_bytes(self) -> int:
        """Bytes of the arena that the application provides, a multiple of 16."""
        if self.progress is not None:
            return self.progress.arena_bytes
        return aligned(self.plan.arena_bytes, ARENA_ALIGN)

    @property
    def arena_lower_bound_bytes(self) -> int:
        """Bytes that no plan of these kernels is below, a multiple of 16."""
        always = self.progress.size_bytes if self.progress is not None else 0
        return aligned(self.plan.lower_bound_bytes + always, ARENA_ALIGN)

    @cached_property
    def cycles(self) -> float:
        """Estimated cycles of one inference, with what it costs to compute row by row."""
        cascades = (step for step in self.plan.program.steps if isinstance(step, Cascade))
        whole = sum(map(_turn_cycles, cascades)) + sum(
            item.row_cycles if node in self.cascaded else item.cost.cycles
            for node, item in self.selections.items()
        )
        return whole - self.saved_cycles

    @cached_property
    def board_cycles(self) -> tuple[float, ...]:
        """`cycles` with the waits for the board's memories, by each of its timings, as far as they
        are known; nothing without any.
        """
        targets = [item.target for item in self.selections.values() if item.target is not None]
        memories = targets[0].waits if targets else None
        if memories is None:
            return ()
        code = code_bytes(self.selections.values())
        totals = [self.cycles + code * byte for byte in memories.code_byte]
        for node, item in self.selections.items():
            rows = item.row_kernel if node in self.cascaded else None
            waits = (rows.cost if rows is not None else item.cost).waits
            if waits is not None:
                totals = [total + more for total, more in zip(totals, waits, strict=True)]
        return tuple(totals)

    @cached_property
    def flash_bytes(self) -> int:
        """Estimated bytes of constants and code."""
        constants = 0
        for node, chosen in self.selections.items():
            rows = chosen.row_kernel if node in self.cascaded else None
            constants += (rows.cost if rows is not None else chosen.cost).flash_bytes
        return constants + code_bytes(self.selections.values())

    @cached_property
    def cascaded(self) -> frozenset[Node]:
        """The nodes in cascades."""
        steps = self.plan.program.steps
        return frozenset(
            run.node for step in steps if isinstance(step, Cascade) for run in step.runs
        )


def _turn_cycles(cascade: Cascade) -> float:
    """Cycles beside the kernels: to find the stage of each turn, to move rows of rings up."""
    moved = sum(
        cascade.stages[stage].rows * (ring.size_bytes - ring.size_bytes // ring.type.shape[1])
        for ring, stage in cascade.rings.items()
    )
    return _TURN_CYCLES * len(cascade.order) + _MOVED_BYTE_CYCLES * moved
