"""What each search of orders and offsets finds, and with how much work: another one is seen here.

Searches that find as small an arena may still differ in what they try; a plan has to be the same
for the same network, and so is recorded with the number of steps that led to it.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from unittest import mock

from glowmcu.ir.program import Program
from glowmcu.memplan import placement
from glowmcu.memplan.exact_offsets import exact_placement
from glowmcu.memplan.instructions import insert_lifetimes
from glowmcu.memplan.liveness import live_bytes, peak_bytes
from glowmcu.memplan.offsets import place_buffers
from glowmcu.memplan.order_model import OrderModel
from glowmcu.memplan.placement import Block, Placement, Problem, Sharing, lowest_offset, problem
from glowmcu.memplan.reuse_in_place import reuse_in_place
from glowmcu.memplan.schedule import schedule
from glowmcu.memplan.search_offsets import (
    _climb,
    _failing_first,
    _greedy,
    _rounds,
    search_offsets,
)
from glowmcu.memplan.share_views import share_views
from tests.memplan.small_programs import Builder


def blocks_of(seed: int) -> list[Block]:
    """Lives of all lengths, sizes of few kinds, some of them no whole words."""
    random = Random(seed)
    blocks = []
    for _ in range(random.randrange(6, 22)):
        first = random.randrange(12)
        last = min(first + random.choice([0, 1, 1, 2, 3, 8]), 12)
        blocks.append(Block(first, last, random.choice([4, 8, 12, 16, 17, 40, 64])))
    return blocks


def with_sharing(seed: int) -> Problem:
    """Where one block dies as another is born, these may overlap by half of the smaller one."""
    blocks = blocks_of(seed)
    shared = []
    for first, one in enumerate(blocks):
        for second, two in enumerate(blocks):
            if one.last == two.first and one.first < two.first and not (first + second) % 3:
                most = min(one.size_bytes, two.size_bytes) // 8 * 4
                shared.append(
                    Sharing(first, second, ((-two.padded_bytes + most, one.padded_bytes),), most)
                )
    return problem(blocks, shared)


def told(found: Placement) -> str:
    return f"{found.arena_bytes} at {' '.join(map(str, found.offsets))}"


def counted(search: Callable[[], Placement]) -> str:
    """With the number of places that were looked for."""
    with mock.patch.object(placement, "lowest_offset", side_effect=lowest_offset) as places:
        found = search()
    return f"{told(found)} after {places.call_count}"


def searches(task: Problem) -> list[str]:
    start, name = _greedy(task)
    lines = [f"bound {task.lower_bound_bytes}, rounds {_rounds(task, 5000)}"]
    lines.append(f"greedy {told(start)}: {name}")
    lines.append(f"failing first {counted(lambda: _failing_first(task, start, 5000))}")
    lines.append(f"climb {counted(lambda: _climb(task, start, 5000))}")
    if not task.shared:
        for budget in (1, 30, 3000):
            best, complete = exact_placement(task, start.arena_bytes + 1, budget)
            known = "none" if best is None else told(best)
            lines.append(f"exact with {budget}: {known}{' proved' if complete else ''}")
    found = search_offsets(task, 3000, 500)
    proof = "optimal" if found.optimal else "open"
    lines.append(f"all {found.placement.arena_bytes} by {found.method}, {proof}")
    return lines


def test_offsets_are_those_that_are_recorded(golden: Callable[..., None]) -> None:
    text = ""
    for seed in range(14):
        for title, task in (("apart", problem(blocks_of(seed))), ("shared", with_sharing(seed))):
            if seed < 10 or task.shared:
                text += f"{seed}, {title}\n" + "".join(f"    {each}\n" for each in searches(task))
    golden("offset_searches.txt", text)


def program_of(seed: int) -> Program:
    """Layers, sums in place, joins and cuts of a few tensors, some of them with scratch memory."""
    random, builder = Random(seed), Builder()
    values = [builder.input(random.choice([8, 16, 33])) for _ in range(random.randrange(1, 3))]
    for _ in range(random.randrange(5, 11)):
        kind, x = random.randrange(6), random.choice(values)
        if kind < 3:
            others = random.sample(values, min(len(values), random.randrange(1, 3)))
            size, scratch = random.choice([4, 16, 60, 100]), random.choice([0, 0, 24])
            values.append(builder.mix(size, *others, scratch=scratch))
        elif kind == 3:
            values.append(builder.mingle(x))
        elif kind == 4:
            values.append(builder.join(x, random.choice(values)))
        elif x.type.shape[0] > 2:
            values += builder.cut(x, 1, x.type.shape[0] - 1)
    ends = random.sample(values, min(len(values), random.randrange(1, 4)))
    return builder.program(builder.graph(*ends))


def orders(program: Program) -> list[str]:
    model = OrderModel(program)
    given = list(range(model.count))
    known = model.start_bytes, model.first_bytes, model.end_bytes, model.bound_bytes
    lines = [f"start, first, end, bound {known}, given {model.peak(given)}"]
    for budget, width in ((1000, 4), (3, 1), (1, 3)):
        with mock.patch.object(
            OrderModel, "transition", autospec=True, side_effect=OrderModel.transition
        ) as steps:
            found = schedule(program, budget, width)
        names = " ".join(run.node.name for run in found.program.runs)
        proof = "proved" if found.proved else "open"
        lines.append(
            f"{budget}, {width}: {found.given_peak_bytes} to {found.peak_bytes} {proof}, "
            f"{found.states} sets, {steps.call_count} steps: {names}"
        )
    return [*lines, *places(found.program)]


def places(ordered: Program) -> list[str]:
    """What is a view of what once results overwrite operands, and where all of it lies."""
    shared = reuse_in_place(ordered)
    views = [
        f"{view.buffer.name} {view.role.value} of {view.base.name} at {view.offset_bytes}"
        for view in shared.views.values()
    ]
    placed = place_buffers(insert_lifetimes(shared))
    offsets = [f"{buffer.name} {at}" for buffer, at in placed.program.offsets.items()]
    return [
        f"views: {', '.join(views)}",
        f"peak {peak_bytes(shared)} of {live_bytes(shared)}",
        f"arena {placed.found.placement.arena_bytes} by {placed.found.method}: "
        + ", ".join(offsets),
    ]


def test_orders_are_those_that_are_recorded(golden: Callable[..., None]) -> None:
    text = ""
    for seed in range(16):
        plain = program_of(seed)
        for title, program in (("whole", plain), ("with views", share_views(plain))):
            if program is plain and title != "whole":
                continue
            text += f"{seed}, {title}\n" + "".join(f"    {each}\n" for each in orders(program))
    golden("order_searches.txt", text)
