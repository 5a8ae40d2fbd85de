"""What is known of each range of runs, and the cascades of each plan: another one is seen here.

A plan with wrong facts still computes right, in more bytes or with more work than it needs.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

from glowmcu.goals import Goal
from glowmcu.ir.cascade import Cascade
from glowmcu.ir.program import Buffer, Program
from glowmcu.memplan.cascades import Partition
from glowmcu.memplan.planned_cascades import PlannedCascade, facts_of
from glowmcu.memplan.planner import plan_memory
from glowmcu.memplan.reuse_in_place import reuse_in_place
from glowmcu.memplan.share_views import share_views
from glowmcu.memplan.strip_search import promising_strips
from glowmcu.memplan.strips import extra_macs
from tests.memplan.streamed import cascades, lowered, program_of, streamed
from tests.memplan.streaming_models import MODELS
from tests.memplan.test_strips import residual_halos

NAMES = (
    "residual blocks with a stride", "valid windows", "global pooling", "joined branches",
    "two inputs", "skipped rows",
)  # fmt: skip
#: Budgets as shares of what a plan of whole tensors needs: the least, some, enough for all.
_SHARES = 0, 6, 8, 9


def told_cascade(found: PlannedCascade) -> str:
    facts = facts_of(found)
    return (
        f"{found.first} to {found.last}: rings {list(found.ring_rows.values())}, local "
        f"{facts.local_bytes}, own {facts.own_bytes}, result {facts.result_bytes}, beside "
        f"{list(facts.beside_bytes)}, free {facts.free_bytes}, work {facts.streamed_work}"
    )


def partition_lines(program: Program) -> list[str]:
    partition = Partition(program)
    count = len(program.runs)
    rest = [partition.rest_peak_bytes(first) for first in range(count)]
    lines = [f"least {partition.least_peak_bytes}, from each run on {rest}"]
    for first in range(count):
        for last in range(first, count):
            found = partition.planned(first, last)
            lines += [told_cascade(found)] if found is not None else []
    whole = max(rest)
    for share in _SHARES:
        chosen = [f"{item.first} to {item.last}" for item in partition.best(whole * share // 8)]
        lines.append(f"within {share}/8: {', '.join(chosen)}")
    return lines


def cascade_lines(cascade: Cascade) -> list[str]:
    turns = " ".join(f"{stage}x{len(list(same))}" for stage, same in groupby(cascade.order))
    names: dict[Buffer, str] = {}

    def name(buffer: Buffer) -> str:
        return names.setdefault(buffer, f"b{len(names)} {buffer.size_bytes}")

    forbidden = [
        f"{name(a)} - {name(b)} {list(gaps)}" for (a, b), gaps in cascade.forbidden_offsets.items()
    ]
    overlaps = [f"{name(a)} {rule.least_gap_bytes}" for a, rule in cascade.overlaps.items()]
    return [
        f"turns {turns}",
        f"forbidden offsets {'; '.join(forbidden)}",
        f"overlaps {'; '.join(overlaps)}",
    ]


def test_cascades_are_those_that_are_recorded(golden: Callable[..., None]) -> None:
    text = ""
    for name in NAMES:
        program = program_of(lowered(MODELS[name]()), Goal.RAM, 0)
        lines = partition_lines(reuse_in_place(share_views(program)))
        longest = streamed(program)
        lines.append(f"the longest cascades in {longest.arena_bytes}")
        for cascade in cascades(longest.program):
            lines += cascade_lines(cascade)
        plan = plan_memory(program, 0)
        lines.append(f"plan in {plan.arena_bytes}, bound {plan.lower_bound_bytes}")
        lines += [f"{item.name} {item.before_bytes} to {item.after_bytes}: {item.note}"
                  for item in plan.reports]  # fmt: skip
        text += f"{name}\n" + "".join(f"    {line}\n" for line in lines)
    golden("cascades.txt", text)


def test_strips_are_those_that_are_recorded(golden: Callable[..., None]) -> None:
    graph = lowered(residual_halos())
    program = program_of(graph, Goal.RAM, 0, external=frozenset(graph.inputs))
    text = ""
    for strips in promising_strips(graph, program, graph.inputs, 4):
        shapes = [node.output.type.shape for node in strips.nodes if node.macs]
        text += f"{extra_macs(strips, graph)} products again, layers of {shapes}\n"
    golden("strips.txt", text)
