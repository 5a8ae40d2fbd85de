"""The arena: which buffers share bytes, in which order runs come, and where every buffer lies.

Passes in order: views, order, in place, lifetimes, offsets. Whether a concatenation gains from
sharing depends on the order and the best order on what is shared, so both are tried first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from glowmcu.ir.program import ARENA_ALIGN, Program, aligned
from glowmcu.ir.verify_program import verify_program
from glowmcu.lazy_dataclass import dataclass
from glowmcu.memplan.cascades import NEVER, Partition
from glowmcu.memplan.instructions import insert_lifetimes
from glowmcu.memplan.liveness import live_bytes, peak_bytes, peak_with_input
from glowmcu.memplan.offsets import place_buffers
from glowmcu.memplan.planned_cascades import CascadeMemory, PlannedCascade
from glowmcu.memplan.reports import PassReport
from glowmcu.memplan.reuse_in_place import reuse_in_place
from glowmcu.memplan.schedule import OrderMemory, Schedule, schedule
from glowmcu.memplan.share_by_arena import share_by_arena
from glowmcu.memplan.share_columns import share_columns
from glowmcu.memplan.share_views import share_views
from glowmcu.memplan.stream_rows import stream_rows

__all__ = ["ARENA_ALIGN", "PassReport", "Plan", "aligned", "live_bytes", "plan_memory"]


@dataclass(frozen=True, eq=False)
class PlanMemory:
    """Orders and cascades that plans of one network have in common, found once."""

    orders: OrderMemory = field(default_factory=OrderMemory)
    cascades: CascadeMemory = field(default_factory=CascadeMemory)


@dataclass(frozen=True)
class Plan:
    """A program with offsets.

    `lower_bound_bytes` is what no placement of these buffers in this order can go below;
    `order_proved`: no order of these runs has a lower peak.
    """

    program: Program
    arena_bytes: int
    lower_bound_bytes: int
    order_proved: bool = False
    reports: tuple[PassReport, ...] = ()

    @property
    def optimal(self) -> bool:
        return self.arena_bytes == self.lower_bound_bytes


def plan_memory(
    program: Program, stream_to: int | None = None, memory: PlanMemory | None = None,
    apart: bool = False,
) -> Plan:  # fmt: skip
    """Share, order and place the buffers of a program; the result is verified.

    With `stream_to`, runs that can pass on rows do so until the arena has about that many bytes (0:
    as few as possible). Without, only those do that take the rows of a streamed input. `memory`:
    orders and cascades of other plans, used again. No result overwrites an operand if they are to
    stay `apart`. Raises GM409 if a streamed input cannot be.
    """
    verify_program(program)
    scheduled, reports = _share_and_order(program, memory)
    in_place = scheduled.program if apart else reuse_in_place(scheduled.program)
    reports.append(_in_place_report(scheduled.program, in_place))
    plan = None
    if stream_to is not None or program.streamed_input is not None:
        budget = NEVER - 1 if stream_to is None else stream_to
        known = memory.cascades if memory is not None else None
        columns, cascades = _cascades(in_place, program, budget, known)
        streamed = stream_rows(columns, cascades)
        note = f"{sum(item.last - item.first + 1 for item in cascades)} layers in cascades"
        before, after = peak_bytes(columns), peak_with_input(streamed)
        passes = [*reports, PassReport("stream_rows", before, after, note)]
        if program.streamed_input is not None:
            note = f"rows of {program.streamed_input.buffer.name!r} come from the application"
            passes.append(PassReport("push_input", after, peak_bytes(streamed), note))
        plan = _placed(streamed, scheduled.proved, passes)
    # Rings of small tensors, and the counters of their rows, may take more than the tensors do.
    # A result may lie over its operands, no more: an arena has half of the peak at least.
    small = plan is not None and peak_bytes(in_place) <= 2 * plan.arena_bytes
    if plan is None or (program.streamed_input is None and small):
        whole = _placed(in_place, scheduled.proved, reports)
        plan = whole if plan is None or whole.arena_bytes < plan.arena_bytes else plan
    verify_program(plan.program, aligned(plan.arena_bytes, ARENA_ALIGN))
    return plan


def _placed(program: Program, order_proved: bool, reports: Sequence[PassReport]) -> Plan:
    placed = place_buffers(insert_lifetimes(program))
    found = placed.found
    total = sum(aligned(buffer.size_bytes) for buffer in program.lives)
    verdict = "proved optimal" if found.optimal else f"lower bound {found.lower_bound_bytes}"
    note = f"{found.method}, {verdict}"
    arena_bytes = found.placement.arena_bytes
    offsets = PassReport("offsets", total, arena_bytes, note)
    return Plan(
        placed.program, arena_bytes, found.lower_bound_bytes, order_proved, (*reports, offsets)
    )


def _cascades(
    scheduled: Program, given: Program, stream_to: int, memory: CascadeMemory | None
) -> tuple[Program, list[PlannedCascade]]:
    """The program in which strips are columns of what they make together, and what streams of it.

    Strips come in the order given: the best one for whole tensors tears them apart.
    """
    shared = reuse_in_place(share_views(given))
    columns = share_columns(shared)
    if columns is not shared:
        partition = Partition(columns, memory)
        if partition.least_peak_bytes < NEVER:
            return columns, partition.best(stream_to)
    return scheduled, Partition(scheduled, memory).best(stream_to)


def _share_and_order(
    program: Program, memory: PlanMemory | None
) -> tuple[Schedule, list[PassReport]]:
    orders = memory.orders if memory is not None else None
    shared = share_by_arena(program) if program.rates else share_views(program)
    best = schedule(shared, memory=orders)
    if shared is not program and not program.rates:
        ordered = schedule(program, memory=orders).program
        late = share_views(ordered)
        other = schedule(late, memory=orders)
        if other.peak_bytes < best.peak_bytes:
            program, shared, best = ordered, late, other
    runs = len(program.runs) - len(shared.runs)
    proof = "proved optimal" if best.proved else "best found"
    states = f" after {best.states} sets of runs" if best.states else ""
    return best, [
        PassReport(
            "share_views", peak_bytes(program), peak_bytes(shared), f"{runs} copies not made"
        ),
        PassReport("schedule", best.given_peak_bytes, best.peak_bytes, f"order {proof}{states}"),
    ]


def _in_place_report(before: Program, after: Program) -> PassReport:
    count = len(after.views) - len(before.views)
    return PassReport(
        "reuse_in_place", peak_bytes(before), peak_bytes(after), f"{count} results in place"
    )
