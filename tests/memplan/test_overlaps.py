"""Results that begin in their operands: as near as rows allow, and no nearer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import event, given, settings

from glowmcu.cores import core
from glowmcu.goals import Goal
from glowmcu.ir.cascade import Cascade
from glowmcu.ir.graph import Graph, Node, State, Value
from glowmcu.ir.kernel_code import Overlap
from glowmcu.ir.program import Buffer, Program, Run, View, ViewRole
from glowmcu.ir.verify_program import verify_program
from glowmcu.kernels.kernel import Target
from glowmcu.kernels.selection.select import select_kernels
from glowmcu.memplan.build_program import build_program
from glowmcu.memplan.overlap import Relation, forbidden_differences, relations
from glowmcu.memplan.planner import plan_memory
from glowmcu.memplan.share_views import share_views
from glowmcu.ops.assign import Assign
from tests.memplan.small_programs import Builder, Choice, Mingle, Mix, i8
from tests.memplan.spatial_models import SpatialModel, Window
from tests.memplan.streamed import (
    assert_found_by_both,
    assert_runs_like_the_graph,
    cascades,
    lowered,
    spatial_models,
    spread,
    without_lifetimes,
)
from tests.memplan.streamed import program_of as kernels_of
from tests.memplan.streaming_models import MODELS


def row_by_row(node: Node, position: int) -> Overlap:
    """What a kernel promises that reads all that a row needs before it writes the row."""
    operand, result = node.inputs[position].type, node.output.type
    pitch, row = operand.size_bytes // operand.shape[1], result.size_bytes // result.shape[1]
    gaps = []
    for y in range(1, result.shape[1]):
        window = node.op.input_rows(node.signature, y, y + 1)[position]
        gaps.append(y * row - (0 if window is None else window.first) * pitch)
    return Overlap(max(gaps, default=-operand.size_bytes))


def program_of(graph: Graph, with_overlaps: bool = True) -> Program:
    """Kernels without scratch that hold constants themselves."""
    choices: dict[Node, Choice] = {}
    for node in graph.nodes:
        if not node.inputs or node.op.aliases(node.signature):
            continue
        held = tuple(
            position
            for position, value in enumerate(node.inputs)
            if graph.constant_data(value) is None
        )
        overlaps: Mapping[int, Overlap] = {}
        if with_overlaps and all(node.inputs[p].type.rank == 4 for p in held):
            overlaps = {position: row_by_row(node, position) for position in held}
        choices[node] = Choice(held, overlaps=overlaps)
    return build_program(graph, choices)


@settings(max_examples=40)
@given(spatial_models())
def test_a_plan_with_overlaps_gives_what_the_graph_gives_in_no_more_memory(model: bytes) -> None:
    graph = lowered(model)
    plain, plan = plan_memory(program_of(graph, False)), plan_memory(program_of(graph))
    event(f"saved: {plan.arena_bytes < plain.arena_bytes}")
    assert plan.arena_bytes <= plain.arena_bytes
    verify_program(plan.program, plan.arena_bytes)
    assert_runs_like_the_graph(graph, plan.program, plan.arena_bytes)


@pytest.mark.parametrize("is_outside", [False, True], ids=["arena", "outside"])
def test_results_of_a_cascade_lie_in_its_input_where_that_is_in_the_arena(
    is_outside: bool,
) -> None:
    graph = lowered(MODELS["separable, odd size"]())
    external = frozenset(graph.inputs if is_outside else ())
    plan = plan_memory(kernels_of(graph, Goal.RAM, external=external), 0)
    (x,) = plan.program.inputs
    said = [a for item in cascades(plan.program) for a, _ in item.forbidden_offsets]
    assert x in said, "the cascade has rules for its input in any case"
    found = [relation.operand for relation in relations(plan.program)]
    assert found
    assert (x in found) != is_outside


def pooled() -> bytes:
    model = SpatialModel(21)
    return model.finish(model.pool(model.input(9, 8, 4), "MAX_POOL_2D", Window((2, 2), (2, 2))))


def strided() -> bytes:
    model = SpatialModel(22)
    return model.finish(model.conv(model.input(13, 6, 3), 8, Window(stride=(2, 2))))


def widened() -> bytes:
    """The result is larger than the operand."""
    model = SpatialModel(23)
    return model.finish(model.conv(model.input(10, 5, 4), 12, Window((1, 1))))


def dilated() -> bytes:
    model = SpatialModel(24)
    return model.finish(model.depthwise(model.input(12, 6, 4), Window(dilation=(3, 1))))


@pytest.mark.parametrize("model", [pooled, strided, widened, dilated], ids=lambda m: m.__name__)
def test_a_result_nearer_than_its_kernel_promises_is_found_by_both(model: object) -> None:
    assert callable(model)
    graph = lowered(model())
    program = without_lifetimes(program_of(graph))
    (run,) = program.runs
    (operand,), (result,) = run.inputs, run.outputs
    gap = run.overlaps[0].least_gap_bytes
    assert gap is not None
    assert -operand.size_bytes < gap < result.size_bytes
    offsets, arena = spread(program)
    nearest = offsets[operand] - -(-gap // 4) * 4
    right = program.with_offsets({**offsets, result: nearest})
    verify_program(right, arena)
    assert_runs_like_the_graph(graph, right, arena, seeds=3)
    wrong = program.with_offsets({**offsets, result: nearest + 4})
    assert_found_by_both(graph, wrong, arena)


def test_a_result_that_shares_bytes_without_any_promise_is_found_by_both() -> None:
    graph = lowered(strided())
    program = without_lifetimes(program_of(graph, with_overlaps=False))
    (run,) = program.runs
    offsets, arena = spread(program)
    near = offsets[run.inputs[0]] - run.outputs[0].size_bytes + 4
    wrong = program.with_offsets({**offsets, run.outputs[0]: near})
    assert_found_by_both(graph, wrong, arena)


@pytest.mark.parametrize(("shift", "is_right"), [(0, True), (4, False), (-4, False)])
def test_a_promise_for_the_same_place_is_none_for_another(shift: int, is_right: bool) -> None:
    builder = Builder()
    x = builder.input(16)
    graph = builder.graph(builder.mingle(x))
    choice = Choice((0,), overlaps={0: Overlap(None, only_gap_bytes=0)})
    program = build_program(graph, dict.fromkeys(graph.nodes, choice))
    (run,) = program.runs
    assert isinstance(run, Run)
    assert isinstance(run.node.op, Mingle)
    offsets, arena = spread(program)
    placed = program.with_offsets({**offsets, run.outputs[0]: offsets[run.inputs[0]] + shift})
    if is_right:
        verify_program(placed, arena)
        assert_runs_like_the_graph(graph, placed, arena)
    else:
        assert_found_by_both(graph, placed, arena)


def test_a_layer_whose_windows_lie_in_the_padding_has_kernels_with_promises() -> None:
    model = SpatialModel(25)
    x = model.input(1, 5, 12)
    window = Window((2, 1), dilation=(2, 1))
    graph = lowered(model.finish(model.depthwise(x, window)))
    (node,) = (node for node in graph.nodes if node.op.name == "depthwise_conv_2d")
    for goal in Goal:
        target = Target(core("cortex-m4"), goal)
        promises = select_kernels(graph, target)[node].overlaps
        # Nothing is ever read: the result may lie anywhere.
        assert promises[0].is_kept(-node.inputs[0].type.size_bytes)


def program_with(choice: Choice, builder: Builder, *outputs: Value) -> Program:
    graph = builder.graph(*outputs)
    return build_program(graph, dict.fromkeys(graph.nodes, choice))


def test_a_result_that_may_lie_in_its_operand_is_related_to_it() -> None:
    builder = Builder()
    x = builder.input(16)
    choice = Choice((0,), overlaps={0: Overlap(4)})
    program = program_with(choice, builder, builder.mix(8, x))
    (found,) = relations(program)
    assert (found.operand, found.result) == (program.inputs[0], program.outputs[0])
    assert found.forbidden == ((-4, 16),)


def test_a_result_keeps_out_of_an_operand_in_which_another_result_lies() -> None:
    """The other result is written at the same step, whether anybody reads it or not."""
    builder = Builder()
    x = builder.input(16)
    first, second = builder.add(Mix(((8,), (16,))), x)
    choice = Choice((0,), overlaps={0: Overlap(4)})
    program = program_with(choice, builder, first)
    operand, other = program.inputs[0], program.runs[0].outputs[1]
    assert other.name == second.name
    assert [found.operand for found in relations(program)] == [operand]
    view = View(other, operand, 0, ViewRole.OVERWRITE)
    assert relations(program.with_instructions([view, *program.instructions])) == []


def test_a_result_keeps_out_of_an_operand_in_which_its_scratch_lies() -> None:
    builder = Builder()
    x = builder.input(16)
    choice = Choice((0,), scratch_bytes=8, overlaps={0: Overlap(4)})
    program = program_with(choice, builder, builder.mix(8, x))
    (scratch,) = (run.scratch for run in program.runs)
    assert scratch is not None
    assert len(relations(program)) == 1
    view = View(scratch, program.inputs[0], 0, ViewRole.OVERWRITE)
    assert relations(program.with_instructions([view, *program.instructions])) == []


def test_a_part_of_a_result_counts_from_where_it_begins() -> None:
    builder = Builder()
    x, y = builder.input(16), builder.input(16)
    late = builder.mix(8, x)
    graph = builder.graph(builder.join(builder.mix(12, y), late))
    choices = {
        node: Choice(tuple(range(len(node.inputs))), overlaps={0: Overlap(4)})
        for node in graph.nodes
    }
    program = build_program(graph, choices)
    view = View(program.runs[0].outputs[0], program.outputs[0], 12, ViewRole.PART)
    program = program.with_instructions([view, *program.instructions])
    found = {item.operand.name: item.forbidden for item in relations(program)}
    assert found["in0"] == ((-4 - 12, 16 - 12),)


@pytest.mark.parametrize(
    ("sizes", "others", "is_related"),
    [
        ((16,), (), True), ((8, 8), (), False), ((4, 8, 4), (), False), ((16,), (8, 8), False),
        ((8, 8), (16,), False),
    ],
)  # fmt: skip
def test_a_cascade_knows_of_a_root_that_one_input_alone_fills(
    sizes: tuple[int, ...], others: tuple[int, ...], is_related: bool
) -> None:
    """What it says of rows that were read is of all bytes of the root then."""
    builder = Builder()
    x, y = builder.input(16), builder.input(4)
    parts = [builder.cut(x, *each)[0] for each in (sizes, others) if each]
    result = builder.mix(8, *parts, y)
    program = builder.program(builder.graph(result))
    (run,) = program.runs
    cascade = Cascade((), (), run.inputs, run.outputs, {}, {(run.inputs[0], run.outputs[0]): ()})
    program = replace(
        program, instructions=tuple(cascade if i is run else i for i in program.instructions)
    )
    assert (() in [item.forbidden for item in relations(program)]) == is_related


def test_each_pair_of_buffers_of_which_one_has_a_state_is_related_once() -> None:
    """Beside the state's 8 bytes new ones are there from the first run to the second."""
    builder = Builder()
    x, old = builder.input(12), builder.input(8)
    joined = builder.join(old, builder.mix(4, x))
    graph = builder.graph(builder.mix(5, joined), builder.add(Assign(), old)[0])
    graph = replace(graph, states=(State(old, np.zeros(8, np.int8)),))
    program = share_views(builder.program(graph))
    found = {(item.operand.name, item.result.name): item.forbidden for item in relations(program)}
    assert len(found) == len(relations(program))
    assert found == {
        ("in0", "t1_0"): ((-8, 12), (-12, 4)),  # 12 bytes, before 8 and before 4 at place 8
        ("t1_0", "mark of a stream"): ((-4, 8), (4, 12)),
        ("t1_0", "t2_0"): ((-8, 8), (0, 12)),  # 5 bytes, which begin at words
    }


@pytest.mark.parametrize("gaps", [(4, 8), (8, 4), (4, 4, 8), (4, 8, 4), (8, 4, 4)])
def test_promises_that_differ_for_one_buffer_are_none(gaps: tuple[int, ...]) -> None:
    builder = Builder()
    x = builder.input(16)
    overlaps = {position: Overlap(gap) for position, gap in enumerate(gaps)}
    choice = Choice(tuple(overlaps), overlaps=overlaps)
    assert relations(program_with(choice, builder, builder.mix(8, *[x] * len(gaps)))) == []


def test_promises_that_agree_for_one_buffer_count() -> None:
    builder = Builder()
    x = builder.input(16)
    choice = Choice((0, 1), overlaps={0: Overlap(4), 1: Overlap(4)})
    (found,) = relations(program_with(choice, builder, builder.mix(8, x, x)))
    assert set(found.forbidden) == {(-4, 16)}


#: A result of 8 bytes (5 in words) and an operand of 16 (13 in words).
DISTANCES = {
    "no promise": (None, ((-8, 16),)),
    "a promise for the same place alone": (Overlap(None, 0), ((-8, 0), (0, 16))),
    "a word below": (Overlap(4), ((-4, 16),)),
    "a word above": (Overlap(-4), ((4, 16),)),
    "a byte before the end": (Overlap(-15), ((15, 16),)),
    "anywhere": (Overlap(-16), ()),
    "farther than apart": (Overlap(100), ((-8, 16),)),
    "a word below alone": (Overlap(None, 4), ((-8, -4), (-4, 16))),
    "no word": (Overlap(None, 3), ((-8, 16),)),
    "apart alone": (Overlap(None, 8), ((-8, 16),)),
    "above alone": (Overlap(None, -4), ((-8, 4), (4, 16))),
    "behind alone": (Overlap(None, -16), ((-8, 16),)),
    "one that is safe anyway": (Overlap(2, 4), ((-2, 16),)),
    "both": (Overlap(2, 0), ((-2, 0), (0, 16))),
}


@pytest.mark.parametrize(("rule", "forbidden"), DISTANCES.values(), ids=DISTANCES)
@pytest.mark.parametrize("sizes", [(8, 16), (5, 13)])
def test_what_a_promise_forbids_is_between_these_distances(
    rule: Overlap | None, forbidden: tuple[tuple[int, int], ...], sizes: tuple[int, int]
) -> None:
    assert forbidden_differences(rule, *sizes) == forbidden


SHARED = {
    "apart": (8, 16, ((-8, 16),), 0),
    "a word": (8, 16, ((-4, 16),), 4),
    "the end of the operand": (8, 16, ((-8, 12),), 4),
    "in place alone": (8, 16, ((-8, 0), (0, 16)), 8),
    "all of the result": (8, 16, (), 8),
    "all of the operand": (16, 8, (), 8),
    "all of the operand, which ends first": (16, 8, ((-8, 8),), 8),
    "two promises": (8, 16, ((-8, 10), (-4, 12)), 4),
}


@pytest.mark.parametrize(("result", "operand", "forbidden", "best"), SHARED.values(), ids=SHARED)
def test_the_most_that_two_buffers_share_is_known(
    result: int, operand: int, forbidden: tuple[tuple[int, int], ...], best: int
) -> None:
    buffers = Buffer("operand", i8(operand)), Buffer("result", i8(result))
    relation = Relation(*buffers, forbidden)
    assert relation.most_shared_bytes == best
    for low, high in forbidden:
        assert not relation.allows(low + 1)
        assert not relation.allows(high - 1)
    edges = range(-result, operand + 1)
    shared = [min(at + result, operand) - max(at, 0) for at in edges if relation.allows(at)]
    assert max(shared) == best
