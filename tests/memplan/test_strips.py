"""Early layers in strips: the same results from narrower rows, and no wrong halo passes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from glowmcu.compilation import Options
from glowmcu.goals import Budgets, Goal
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Graph, VerificationError
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.program import ARENA_ALIGN, Program, View, ViewRole, aligned
from glowmcu.ir.text import parse_program, print_program
from glowmcu.ir.types import Shape
from glowmcu.ir.verify_program import verify_program
from glowmcu.memplan.planner import plan_memory
from glowmcu.memplan.strips import (
    StripArea,
    _narrowed,
    extra_macs,
    split_into_strips,
    strip_areas,
)
from glowmcu.ops.elementwise import Add
from glowmcu.ops.pooling import MaxPool2D
from glowmcu.ops.registry import load_operations
from glowmcu.ops.slicing import Slice
from glowmcu.ops.stack import Member, Stack
from glowmcu.verify.cortex_m.executor import CortexM
from tests.ir.graphs import GraphBuilder
from tests.lowering.layers import UNIT, unit
from tests.memplan.spatial_models import SpatialModel, Window
from tests.memplan.streamed import (
    Placed,
    arrays_for,
    assert_found_by_both,
    assert_runs_like_the_graph,
    cascades,
    lowered,
    program_of,
    spatial_models,
    with_shorter_ring,
)
from tests.support import dead_bytes
from tests.support.check_model import check_model, expect_equal, random_inputs, write_bundle

POINT = Window((1, 1))


def early_layers() -> bytes:
    """A large image that becomes small fast: what strips are for."""
    model = SpatialModel(7)
    x = model.conv(model.input(24, 32, 3), 8, Window(stride=(2, 2)), "RELU")
    x = model.conv(model.depthwise(x, Window()), 8, POINT, "RELU")
    x = model.conv(model.depthwise(x, Window(stride=(2, 2))), 8, POINT, "RELU")
    x = model.conv(model.depthwise(x, Window(stride=(2, 2))), 12, POINT, "RELU")
    return model.finish(model.conv(x, 2, Window((3, 4), padding="VALID")))


def residual_halos() -> bytes:
    """A sum whose operands need different columns in the halo."""
    model = SpatialModel(8)
    x = model.conv(model.input(14, 17, 2), 6, Window(), "RELU")
    inner = model.conv(x, 6, Window(dilation=(1, 2)), "RELU")
    x = model.add(model.conv(inner, 6, Window()), x, "RELU")
    return model.finish(model.conv(x, 3, Window(stride=(2, 3))))


def area_at(graph: Graph, node: int) -> StripArea:
    """The area that ends in the result of this image layer, counted from the first."""
    return strip_areas(graph, graph.inputs)[node]


def placed(graph: Graph, goal: Goal = Goal.BALANCED) -> Placed:
    plan = plan_memory(program_of(graph, goal, external=frozenset(graph.inputs)), 0)
    return Placed(plan.program, aligned(plan.arena_bytes, ARENA_ALIGN))


def columns(program: Program) -> list[View]:
    return [view for view in program.views.values() if view.role is ViewRole.COLUMNS]


def assert_same_results(graph: Graph, other: Graph) -> None:
    for seed in range(2):
        arrays = arrays_for(graph, seed)
        for got, want in zip(run_graph(other, arrays), run_graph(graph, arrays), strict=True):
            np.testing.assert_array_equal(got, want)


@settings(max_examples=20)
@given(spatial_models(), st.integers(0, 9), st.integers(2, 4), st.sampled_from(list(Goal)))
def test_strips_give_what_the_whole_gives_in_one_byte_array(
    model: bytes, which: int, count: int, goal: Goal
) -> None:
    graph = lowered(model)
    areas = strip_areas(graph, graph.inputs)
    assume(areas)
    area = areas[which % len(areas)]
    strips = split_into_strips(graph, area, min(count, area.width))
    strips.verify()
    assert_same_results(graph, strips)
    found = placed(strips, goal)
    event("columns in place" if columns(found.program) else "strips copied together")
    verify_program(found.program, found.arena_bytes)
    assert_runs_like_the_graph(strips, found.program, found.arena_bytes)


@pytest.mark.parametrize("model", [early_layers, residual_halos])
@pytest.mark.parametrize("count", [2, 3])
def test_strips_are_columns_of_their_result_and_the_text_says_so(model: object, count: int) -> None:
    assert callable(model)
    graph = lowered(model())
    strips = split_into_strips(graph, area_at(graph, -1), count)
    program = placed(strips).program
    assert len(columns(program)) == count
    pitches = {item.row_pitch for item in cascades(program) if item.row_pitch}
    assert len(pitches) == 1
    text = print_program(program)
    assert print_program(parse_program(text, load_operations())) == text


def test_layers_that_do_not_stream_put_strips_together_with_a_copy() -> None:
    graph = lowered(early_layers())
    strips = split_into_strips(graph, area_at(graph, 3), 2)
    plan = plan_memory(program_of(strips, external=frozenset(graph.inputs)))
    assert not columns(plan.program)
    assert_runs_like_the_graph(strips, plan.program, plan.arena_bytes)


def test_only_what_hands_on_one_tensor_and_reads_what_can_be_read_again_is_cut() -> None:
    graph = lowered(residual_halos())
    ends = [area.end for area in strip_areas(graph, graph.inputs)]
    image_layers = [node.output for node in graph.nodes if node.output.type.rank == 4]
    made = [value for value in image_layers if graph.constant_data(value) is None]
    # The first convolution, the sum and what follows; not the inside of the block.
    assert [made.index(end) for end in ends] == [0, 3, 4]
    assert strip_areas(graph, ()) == []


CONSTANTS = {
    "one value": ((1,), True),
    "a channel each": ((2,), True),
    "a row each": ((1, 4, 1, 2), True),
    "a column each": ((1, 1, 6, 1), False),
    "a column and a channel each": ((6, 2), False),
    "a whole image": ((1, 4, 6, 2), False),
}


@pytest.mark.parametrize(("shape", "is_cut"), CONSTANTS.values(), ids=CONSTANTS)
def test_a_constant_that_differs_by_column_is_not_cut(shape: Shape, is_cut: bool) -> None:
    b = GraphBuilder()
    x = b.input(unit(1, 4, 6, 2))
    constant = b.constant(np.ones(shape, np.int8), UNIT)
    graph = b.finish(b.add(Add(), b.add(MaxPool2D((1, 1)), x), constant))
    ends = [area.end for area in strip_areas(graph, graph.inputs)]
    assert ends == [node.output for node in graph.nodes if node.inputs][: 1 + is_cut]
    for area in strip_areas(graph, graph.inputs):
        strips = split_into_strips(graph, area, 3)
        strips.verify()
        assert_same_results(graph, strips)


def test_the_columns_of_the_halo_are_what_is_computed_again() -> None:
    model = SpatialModel(1)
    x = model.conv(model.input(8, 8, 1), 1, Window())
    graph = lowered(model.finish(model.conv(x, 1, Window())))
    strips = split_into_strips(graph, area_at(graph, 1), 2)
    # Each strip needs one column of the first layer beyond its four: 8 rows of 9 products.
    assert extra_macs(strips, graph) == 2 * 8 * 9


@pytest.mark.parametrize("shift", [-1, 1])
def test_a_halo_that_lacks_a_column_is_noticed(shift: int) -> None:
    graph = lowered(early_layers())
    strips = split_into_strips(graph, area_at(graph, 3), 3)
    (cut,) = [
        node
        for node in strips.nodes
        if isinstance(node.op, Slice)
        and node.op.begin[2] > 0
        and node.op.size[2] + node.op.begin[2] < 32
    ]
    assert isinstance(cut.op, Slice)
    begin = (*cut.op.begin[:2], cut.op.begin[2] + shift, 0)
    wrong = replace(cut, op=replace(cut.op, begin=begin))
    changed = strips.replace([wrong if node is cut else node for node in strips.nodes])
    changed.verify()
    with pytest.raises(AssertionError):
        assert_same_results(graph, changed)


def test_members_of_a_stack_are_as_narrow_as_its_result() -> None:
    wide = unit(1, 4, 6, 2)
    stack = Stack((Member(Add(), (0, 0), wide), Member(Add(), (1, 0), wide)))
    b = GraphBuilder()
    graph = b.finish(b.add(stack, b.input(wide)))
    op, columns = _narrowed(graph.nodes[0], (2, 5))
    assert columns == (2, 5)
    assert isinstance(op, Stack)
    assert [member.type for member in op.members] == [unit(1, 4, 3, 2)] * 2


def strip_plan() -> tuple[Graph, Placed]:
    graph = lowered(early_layers())
    strips = split_into_strips(graph, area_at(graph, 3), 2)
    return strips, placed(strips)


@pytest.mark.parametrize("step", [-8, 8])
def test_columns_that_begin_beside_their_place_are_found_by_both_checks(step: int) -> None:
    graph, plan = strip_plan()
    view = columns(plan.program)[1 if step < 0 else 0]
    moved = replace(view, offset_bytes=view.offset_bytes + step)
    items = [moved if item is view else item for item in plan.program.instructions]
    wrong = replace(plan.program, instructions=tuple(items))
    assert_found_by_both(graph, wrong, plan.arena_bytes)


def test_rows_of_columns_at_another_distance_are_found_by_both_checks() -> None:
    graph, plan = strip_plan()
    cascade = next(item for item in cascades(plan.program) if item.row_pitch)
    wrong = replace(cascade, row_pitch=cascade.row_pitch - 8)
    items = [wrong if item is cascade else item for item in plan.program.instructions]
    changed = replace(plan.program, instructions=tuple(items))
    assert_found_by_both(graph, changed, plan.arena_bytes)


def test_a_ring_of_a_strip_that_lacks_a_row_is_found_by_both_checks() -> None:
    graph, plan = strip_plan()
    tall = [
        (item, ring)
        for item in cascades(plan.program)
        for ring in item.rings
        if ring.type.shape[1] > 1
    ]
    assert tall
    for cascade, ring in tall:
        wrong = with_shorter_ring(plan.program, cascade, ring)
        assert_found_by_both(graph, wrong, plan.arena_bytes)


def test_a_run_cannot_make_columns_as_a_whole() -> None:
    graph = lowered(early_layers())
    strips = split_into_strips(graph, area_at(graph, 3), 2)
    program = program_of(strips, external=frozenset(graph.inputs))
    join = next(run for run in program.runs if run.node.op.name == "concatenation")
    view = View(join.inputs[0], join.outputs[0], 40, ViewRole.COLUMNS)
    with pytest.raises(VerificationError):
        verify_program(program.with_instructions([view, *program.instructions]))


def test_a_budget_is_kept_by_strips_and_the_bundle_says_what_they_cost(tmp_path: Path) -> None:
    data = early_layers()
    (name,) = (value.name for value in lowered(data).inputs)
    options = Options(
        "m",
        goal=Goal.RAM,
        core="cortex-m4",
        inputs=InputOptions(external=(name,)),
        budgets=Budgets(arena_bytes=1000),
        simplify=False,
        wants_curve=True,
    )
    compilation = check_model(data, options=options)
    macs = sum(node.macs for node in lowered(data).nodes)
    manifest = compilation.manifest
    assert any(view.role is ViewRole.COLUMNS for view in compilation.plan.program.views.values())
    assert manifest.extra_macs > 0
    assert manifest.macs == macs + manifest.extra_macs
    assert any(point.extra_macs == manifest.extra_macs for point in compilation.curve)
    assert all(point.macs == macs + point.extra_macs for point in compilation.curve)
    unsplit = [point.arena_bytes for point in compilation.curve if not point.extra_macs]
    assert manifest.arena_bytes <= 1000 < min(unsplit)
    bundle = write_bundle(compilation, tmp_path / "bundle")
    assert "of them again in the halos of strips" in (bundle / "m.h").read_text()
    sets = random_inputs(compilation, 1)
    want = run_graph(compilation.imported, sets[0])
    (got,) = CortexM("cortex-m4", count=False).run(bundle, sets[:1])
    expect_equal(got.outputs[0], want[0], "on a modelled core")
    text = dead_bytes.hook_text(compilation.plan.program, manifest.arena_bytes)
    (here,) = dead_bytes.build(bundle, text, tmp_path, undefined=False).run(bundle, sets[:1])
    expect_equal(here[0], want[0], "with dead bytes destroyed")
