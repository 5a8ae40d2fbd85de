"""Streamed plans run in one byte array like the graph, and no wrong one gets past both checks."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from glowmcu.goals import Goal
from glowmcu.ir.graph import Graph, VerificationError
from glowmcu.ir.program import ARENA_ALIGN, Buffer, aligned
from glowmcu.ir.verify_program import verify_program
from glowmcu.memplan.cascades import Partition
from glowmcu.memplan.planned_cascades import facts_of
from glowmcu.memplan.planner import plan_memory
from glowmcu.memplan.reuse_in_place import reuse_in_place
from glowmcu.memplan.share_views import share_views
from tests.memplan.spatial_models import SpatialModel, Window
from tests.memplan.streamed import (
    Placed,
    assert_found_by_both,
    assert_runs_like_the_graph,
    cascades,
    lowered,
    program_of,
    spatial_models,
    spread,
    streamed,
    swapped_turns,
    with_cascade,
    with_shorter_ring,
    without_lifetimes,
)
from tests.memplan.streaming_models import MODELS as STREAMING
from tests.memplan.streaming_models import residual


@settings(max_examples=40)
@given(
    spatial_models(),
    st.sampled_from(list(Goal)),
    st.sampled_from([0, 0, 100, None]),
)
def test_a_streamed_plan_gives_what_the_graph_gives_in_no_more_memory(
    model: bytes, goal: Goal, scratch: int | None
) -> None:
    graph = lowered(model)
    program = program_of(graph, goal, scratch)
    plain, plan = plan_memory(program), plan_memory(program, 0)
    found = cascades(plan.program)
    event(f"{min(len(found), 2)} cascades")
    assert plan.arena_bytes <= plain.arena_bytes
    verify_program(plan.program, aligned(plan.arena_bytes, ARENA_ALIGN))
    assert_runs_like_the_graph(graph, plain.program, plain.arena_bytes)
    assert_runs_like_the_graph(graph, plan.program, plan.arena_bytes)


def test_rings_that_take_more_than_whole_tensors_are_not_made() -> None:
    """Rows of two bytes: the rings' own alignment is more than they save."""
    model = SpatialModel()
    x = model.input(5, 2, 1)
    y = model.conv(model.depthwise(x, Window()), 1, Window((1, 1)))
    program = program_of(lowered(model.finish(model.add(x, y))), Goal.BALANCED, 100)
    plan = plan_memory(program, 0)
    assert plan.arena_bytes == plan_memory(program).arena_bytes == 32
    assert not cascades(plan.program)


@settings(max_examples=40)
@given(spatial_models(), st.sampled_from(list(Goal)), st.data())
def test_cascades_that_nobody_needs_give_what_the_graph_gives_too(
    model: bytes, goal: Goal, data: st.DataObject
) -> None:
    graph = lowered(model)
    program = program_of(graph, goal)
    firsts = st.integers(0, max(0, len(program.runs) - 2))
    candidate_ranges = st.tuples(firsts, st.integers(1, 8)).map(lambda pair: (pair[0], sum(pair)))
    wanted = data.draw(st.none() | st.lists(candidate_ranges, min_size=1, max_size=4))
    placed = streamed(program, wanted)
    stages = sum(len(cascade.stages) for cascade in cascades(placed.program))
    event(f"{min(stages, 4)} stages")
    verify_program(placed.program, placed.arena_bytes)
    assert_runs_like_the_graph(graph, placed.program, placed.arena_bytes)


def chain() -> bytes:
    """3x3 windows below each other, one of them dilated, with 1x1 layers between."""
    model = SpatialModel(1)
    x = model.conv(model.input(19, 6, 3), 8, Window(stride=(2, 1)), "RELU")
    x = model.conv(model.depthwise(x, Window()), 12, Window((1, 1)))
    x = model.conv(model.depthwise(x, Window(dilation=(2, 1))), 4, Window((1, 1)))
    return model.finish(model.pool(x, "MAX_POOL_2D", Window((2, 2), (2, 2))))


MODELS: dict[str, Callable[[], bytes]] = {"chain": chain, "residual": residual}


@cache
def planned(name: str) -> tuple[Graph, Placed]:
    """A model's streamed plan with kernels of no scratch."""
    graph = lowered(MODELS[name]())
    return graph, streamed(program_of(graph, Goal.RAM, 0))


@pytest.mark.parametrize("name", MODELS)
def test_streaming_saves_memory_and_keeps_few_rows(name: str) -> None:
    graph, plan = planned(name)
    plain = plan_memory(program_of(graph, Goal.RAM, 0))
    assert plan.arena_bytes < plain.arena_bytes
    (cascade, *_) = cascades(plan.program)
    assert any(ring.type.shape[1] > 1 for ring in cascade.rings)
    assert_runs_like_the_graph(graph, plan.program, plan.arena_bytes)


def test_a_larger_result_begins_a_distance_below_its_operand_that_the_last_row_needs() -> None:
    model = SpatialModel(3)
    inner = model.depthwise(model.input(16, 4, 8), Window())
    graph = lowered(model.finish(model.conv(inner, 24, Window((1, 1)))))
    (cascade,) = cascades(streamed(program_of(graph, Goal.RAM, 0)).program)
    (operand,), (stage,) = cascade.inputs, cascade.stages
    assert len(stage.runs) == 2
    # Row 14 of 96 bytes is written when row 14 of 32 bytes is still to be read; row 13 has been.
    assert cascade.overlaps[operand].least_gap_bytes == 15 * 96 - 14 * 32
    assert operand.size_bytes < 15 * 96 - 14 * 32 < cascade.outputs[0].size_bytes


@pytest.mark.parametrize(
    ("rows", "window", "gap"),
    [(3, 5, None), (3, 3, 3 * 32 - 16), (5, 3, 5 * 32 - 3 * 16), (5, 5, 5 * 32 - 2 * 16)],
)
def test_a_result_that_saves_no_byte_has_no_place_beside_its_operand(
    rows: int, window: int, gap: int | None
) -> None:
    """Rows of 16 bytes become rows of 32. The last one must not touch what it reads: where that is
    from the first row on, nothing is left.
    """
    model = SpatialModel(3)
    image = model.conv(model.input(rows, 4, 4), 8, Window((window, 1)))
    program = program_of(lowered(model.finish(image)), Goal.RAM, 0)
    found = Partition(reuse_in_place(share_views(program))).planned(0, 0)
    assert found is not None
    (operand,) = found.inputs
    assert found.flow.gap_bytes(operand, 32) == gap
    assert (operand in found.overlaps) == (gap is not None)


@pytest.mark.parametrize("name", MODELS)
def test_a_ring_with_a_row_less_is_found_by_both(name: str) -> None:
    graph, plan = planned(name)
    tried = 0
    for cascade in cascades(plan.program):
        for ring in cascade.rings:
            if ring.type.shape[1] > 1:
                wrong = with_shorter_ring(plan.program, cascade, ring)
                assert_found_by_both(graph, wrong, plan.arena_bytes)
                tried += 1
    assert tried


@pytest.mark.parametrize("name", MODELS)
def test_a_turn_before_the_row_that_it_needs_is_found_by_both(name: str) -> None:
    graph, plan = planned(name)
    tried = 0
    for cascade in cascades(plan.program):
        for swapped in swapped_turns(cascade)[:8]:
            wrong = with_cascade(plan.program, cascade, swapped)
            assert_found_by_both(graph, wrong, plan.arena_bytes)
            tried += 1
    assert tried


@pytest.mark.parametrize("name", MODELS)
def test_a_turn_left_out_is_found_by_both(name: str) -> None:
    graph, plan = planned(name)
    cascade = cascades(plan.program)[0]
    short = dataclasses.replace(cascade, order=cascade.order[:-1])
    wrong = with_cascade(plan.program, cascade, short)
    assert_found_by_both(graph, wrong, plan.arena_bytes)


@pytest.mark.parametrize("name", MODELS)
def test_a_result_nearer_to_its_operand_than_rows_allow_is_found_by_both(name: str) -> None:
    graph, plan = planned(name)
    tried = 0
    for cascade in cascades(plan.program):
        for operand, rule in cascade.overlaps.items():
            gap = rule.least_gap_bytes
            if is_used_elsewhere(plan, operand) or gap is None or gap <= -operand.size_bytes:
                continue
            bare = without_lifetimes(plan.program)
            offsets, arena = spread(bare)
            result = cascade.outputs[0]
            nearest = offsets[operand] - -(-gap // 4) * 4
            right = bare.with_offsets({**offsets, result: nearest})
            verify_program(right, arena)
            assert_runs_like_the_graph(graph, right, arena)
            wrong = bare.with_offsets({**offsets, result: nearest + 4})
            assert_found_by_both(graph, wrong, arena)
            tried += 1
    assert tried


def is_used_elsewhere(plan: Placed, operand: Buffer) -> bool:
    """Whether more than the cascade uses the operand's memory, or it is a view."""
    root, inner = plan.program.root(operand)
    return root is not operand or inner != 0 or operand in plan.program.outputs


def test_a_single_row_moved_into_the_ring_that_it_feeds_is_found_by_both() -> None:
    graph, plan = planned("chain")
    tried = 0
    for cascade in cascades(plan.program):
        for stage in cascade.stages:
            ring, passing = stage.result, [item.run.outputs[0] for item in stage.runs[:-1]]
            if ring not in cascade.rings or ring.type.shape[1] < 3:
                continue
            for row in passing:
                offsets = {**plan.program.offsets, row: plan.program.offsets[ring]}
                wrong = without_lifetimes(plan.program).with_offsets(offsets)
                assert_found_by_both(graph, wrong, plan.arena_bytes + row.size_bytes)
                tried += 1
    assert tried


def test_the_newest_row_of_a_ring_may_overwrite_the_row_that_a_sum_makes_it_of() -> None:
    """Rows of 64 bytes, three in the ring: the two before the newest lie in front of that row."""
    _, plan = planned("residual")
    stages = [stage for cascade in cascades(plan.program) for stage in cascade.stages]
    sums = [stage.result for stage in stages if stage.runs[-1].run.node.op.name == "add"]
    (ring,) = [buffer for buffer in sums if buffer.size_bytes == 3 * 64]
    (forbidden_offsets,) = [
        intervals
        for cascade in cascades(plan.program)
        for (_, other), intervals in cascade.forbidden_offsets.items()
        if other is ring and len(intervals) > 1
    ]
    allowed = [
        gap
        for gap in range(-3 * 64, 65)
        if all(not low < gap < high for low, high in forbidden_offsets)
    ]
    assert allowed == [*range(-3 * 64, -2 * 64 + 1), 64]


@settings(max_examples=15)
@given(spatial_models())
def test_the_verifier_finds_every_short_ring_and_every_early_turn(model: bytes) -> None:
    plan = streamed(program_of(lowered(model), Goal.SIZE, 0))
    for cascade in cascades(plan.program):
        wrongs = [
            with_shorter_ring(plan.program, cascade, ring)
            for ring in cascade.rings
            if ring.type.shape[1] > 1
        ]
        wrongs += [
            with_cascade(plan.program, cascade, swapped) for swapped in swapped_turns(cascade)[:10]
        ]
        for wrong in wrongs:
            with pytest.raises(VerificationError):
                verify_program(wrong, plan.arena_bytes)


@pytest.mark.parametrize("name", ["inverted bottlenecks", "one column", "skipped rows"])
def test_what_cascades_are_said_to_need_is_what_their_plan_takes(name: str) -> None:
    """Neither tensors that are gone count, nor ones that are read later as free."""
    program = program_of(lowered(STREAMING[name]()), Goal.RAM, 0)
    said = Partition(reuse_in_place(share_views(program))).least_peak_bytes
    plan = plan_memory(program, 0)
    assert cascades(plan.program)
    assert aligned(said) == plan.arena_bytes < plan_memory(program).arena_bytes


@pytest.mark.parametrize(
    ("name", "first", "last", "has_room"),
    [("global pooling", 0, 5, True), ("valid windows", 0, 1, False),
     ("two inputs", 0, 3, False)],
    ids=["sums", "rows", "two operands"],
)  # fmt: skip
def test_sums_that_come_late_take_the_place_of_rows_that_were_read(
    name: str, first: int, last: int, has_room: bool
) -> None:
    program = program_of(lowered(STREAMING[name]()), Goal.RAM, 0)
    found = Partition(reuse_in_place(share_views(program))).planned(first, last)
    assert found is not None
    free_bytes = facts_of(found).free_bytes
    assert (free_bytes > 0) == has_room
    assert free_bytes <= sum(buffer.size_bytes for buffer in found.inputs)
