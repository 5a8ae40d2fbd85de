"""Graphs whose rows can be streamed, their plans, and plans that are wrong in one way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import strategies as st

from glowmcu.cores import core
from glowmcu.goals import Goal
from glowmcu.ir.cascade import Cascade
from glowmcu.ir.graph import Graph, Value, VerificationError
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.operation import Array
from glowmcu.ir.program import ARENA_ALIGN, Alloc, Buffer, Dealloc, Instruction, Program, aligned
from glowmcu.ir.verify_program import verify_program
from glowmcu.kernels.kernel import Target
from glowmcu.kernels.selection.select import select_kernels
from glowmcu.lowering.passes import lower
from glowmcu.memplan.build_program import build_program
from glowmcu.memplan.cascades import Partition
from glowmcu.memplan.execute import execute_program
from glowmcu.memplan.instructions import insert_lifetimes
from glowmcu.memplan.offsets import place_buffers
from glowmcu.memplan.planned_cascades import PlannedCascade
from glowmcu.memplan.reuse_in_place import reuse_in_place
from glowmcu.memplan.share_views import share_views
from glowmcu.memplan.stream_rows import stream_rows
from glowmcu.pipeline import reference_graph
from tests.memplan.spatial_models import Image, SpatialModel, Window


def lowered(model: bytes) -> Graph:
    """The graph that kernels are selected for."""
    return lower(reference_graph(model, "model.tflite"))


def program_of(
    graph: Graph,
    goal: Goal = Goal.RAM,
    scratch: int | None = None,
    streamed_input: str | None = None,
    external: frozenset[Value] = frozenset(),
) -> Program:
    """With the kernels of a goal; `scratch`: bytes that each may take at most where it can;
    `streamed_input`: an input whose rows the application hands over; `external` those that it
    keeps.
    """
    limits = {} if scratch is None else {node.name: scratch for node in graph.nodes}
    target = Target(core("cortex-m4"), goal)
    selections = select_kernels(graph, target, scratch_limits=limits)
    return build_program(graph, selections, True, streamed_input, external)


@dataclass(frozen=True)
class Placed:
    """A program with offsets, and its arena."""

    program: Program
    arena_bytes: int


def streamed(program: Program, wanted: Sequence[tuple[int, int]] | None = None) -> Placed:
    """The plan with these ranges of runs as cascades, worthwhile or not.

    A range that cannot be one ends earlier. None: from left to right the longest ones.
    """
    before = reuse_in_place(share_views(program))
    partition, found, end = Partition(before), list[PlannedCascade](), 0
    count = len(before.runs)
    for first, last in wanted or [(index, count - 1) for index in range(count)]:
        for index in range(min(last, count - 1), first, -1):
            streams = all(run.rows is not None for run in before.runs[first : index + 1])
            planned = partition.planned(first, index) if streams and first >= end else None
            if planned is not None:
                found.append(planned)
                end = index + 1
                break
    placed = place_buffers(insert_lifetimes(stream_rows(before, found)))
    return Placed(placed.program, aligned(placed.found.placement.arena_bytes, ARENA_ALIGN))


def cascades(program: Program) -> list[Cascade]:
    """Those of a plan, in order."""
    return [step for step in program.steps if isinstance(step, Cascade)]


def arrays_for(graph: Graph, seed: int = 0) -> list[Array]:
    """Random images of full range."""
    generator = np.random.default_rng(seed)
    return [
        generator.integers(-128, 128, value.type.shape).astype(np.int8) for value in graph.inputs
    ]


def assert_runs_like_the_graph(
    graph: Graph, program: Program, arena_bytes: int, seeds: int = 1
) -> None:
    """Executed in one byte array of that size, with so many random inputs."""
    for seed in range(seeds):
        arrays = arrays_for(graph, seed)
        got = execute_program(program, graph, arrays, arena_bytes)
        for index, want in enumerate(run_graph(graph, arrays)):
            np.testing.assert_array_equal(got[index], want)


def assert_found_by_both(graph: Graph, program: Program, arena_bytes: int) -> None:
    """The verifier refuses the plan, and executing it gives something else.

    Of few wrong bytes not all inputs tell: a maximum or an activation may hide them.
    """
    with pytest.raises(VerificationError):
        verify_program(program, arena_bytes)
    with pytest.raises(AssertionError):
        assert_runs_like_the_graph(graph, program, arena_bytes, seeds=20)


def spread(program: Program) -> tuple[dict[Buffer, int], int]:
    """Offsets at which no two buffers share a byte, with room between them, and the arena."""
    offsets, end = {}, 1024
    for buffer in program.lives:
        offsets[buffer] = end
        end += -(-buffer.size_bytes // 64) * 64 + 1024
    return offsets, end


def without_lifetimes(program: Program) -> Program:
    """Without the `Alloc` and `Dealloc` of buffers that a changed plan may not have."""
    kept = [item for item in program.instructions if not isinstance(item, Alloc | Dealloc)]
    return replace(program, instructions=tuple(kept))


def with_cascade(program: Program, old: Cascade, new: Cascade) -> Program:
    """The plan with one cascade in place of another."""
    bare = without_lifetimes(program)
    items: list[Instruction] = [new if item is old else item for item in bare.instructions]
    return replace(bare, instructions=tuple(items))


def with_buffer(cascade: Cascade, old: Buffer, new: Buffer) -> Cascade:
    """The cascade on another buffer."""

    def put(buffer: Buffer) -> Buffer:
        return new if buffer is old else buffer

    def put_all(buffers: Sequence[Buffer]) -> tuple[Buffer, ...]:
        return tuple(map(put, buffers))

    stages = tuple(
        replace(
            stage,
            runs=tuple(
                replace(
                    item,
                    run=replace(
                        item.run,
                        inputs=put_all(item.run.inputs),
                        outputs=put_all(item.run.outputs),
                    ),
                )
                for item in stage.runs
            ),
            input_ring=None if stage.input_ring is None else put(stage.input_ring),
        )
        for stage in cascade.stages
    )
    return replace(
        cascade,
        stages=stages,
        rings={put(ring): stage for ring, stage in cascade.rings.items()},
        forbidden_offsets={
            (put(a), put(b)): gaps for (a, b), gaps in cascade.forbidden_offsets.items()
        },
    )


def with_shorter_ring(program: Program, cascade: Cascade, ring: Buffer) -> Program:
    """The plan with one row less in a ring, which begins a row later."""
    rows = ring.type.shape[1]
    shape = (1, rows - 1, *ring.type.shape[2:])
    shorter = Buffer(ring.name, ring.type.with_shape(shape))
    moved = with_cascade(program, cascade, with_buffer(cascade, ring, shorter))
    offsets: Mapping[Buffer, int] = {
        shorter if buffer is ring else buffer: offset for buffer, offset in program.offsets.items()
    }
    return moved.with_offsets(offsets)


def swapped_turns(cascade: Cascade) -> list[Cascade]:
    """Orders in which a stage has its turn before the row that it asked for."""
    found = []
    feeds = [
        {item for run in stage.runs for item in run.run.inputs if item in cascade.rings}
        for stage in cascade.stages
    ]
    for time, (a, b) in enumerate(zip(cascade.order, cascade.order[1:], strict=False)):
        if a != b and any(cascade.rings[ring] == a for ring in feeds[b]):
            order = [*cascade.order]
            order[time : time + 2] = b, a
            found.append(replace(cascade, order=tuple(order)))
    return found


@dataclass
class _Drawer:
    """Adds operators to a model as Hypothesis wishes."""

    draw: st.DrawFn
    model: SpatialModel
    images: list[Image]

    def step(self) -> None:
        kind = self.draw(st.sampled_from(_STEPS))
        back = self.draw(st.sampled_from([1, 1, 1, 1, 2, 3]))
        x = self.images[-min(back, len(self.images))]
        made = getattr(self, kind)(x)
        if made is not None:
            self.images.append(made)

    def _window(self, x: Image, dilated: bool = True) -> Window:
        draw = self.draw
        size = st.sampled_from([1, 2, 3, 3, 5])
        stride = st.sampled_from([1, 1, 1, 2, 3])
        window = Window(
            (draw(size), draw(size)),
            (draw(stride), draw(stride)),
            (draw(st.sampled_from([1, 1, 2])), draw(st.sampled_from([1, 1, 2])))
            if dilated
            else (1, 1),
            draw(st.sampled_from(["SAME", "SAME", "VALID"])),
        )
        fits = min(window.result_size(x.shape[:2])) >= 1
        return window if fits else replace(window, padding="SAME")

    def conv(self, x: Image) -> Image:
        activation = self.draw(st.sampled_from(["NONE", "RELU"]))
        return self.model.conv(x, self.draw(st.integers(1, 9)), self._window(x), activation)

    def pointwise(self, x: Image) -> Image:
        return self.model.conv(x, self.draw(st.integers(1, 12)), Window((1, 1)))

    def depthwise(self, x: Image) -> Image:
        return self.model.depthwise(x, self._window(x), self.draw(st.sampled_from([1, 1, 2])))

    def pool(self, x: Image) -> Image:
        kind = self.draw(st.sampled_from(["MAX_POOL_2D", "AVERAGE_POOL_2D"]))
        return self.model.pool(x, kind, self._window(x, dilated=False))

    def residual(self, x: Image) -> Image:
        """Depthwise and pointwise that the image is added to."""
        inner = self.model.depthwise(x, Window(dilation=self.draw(st.sampled_from(_DILATIONS))))
        return self.model.add(x, self.model.conv(inner, x.shape[2], Window((1, 1))))

    def join(self, x: Image) -> Image:
        pooled = self.model.pool(x, "MAX_POOL_2D", Window())
        return self.model.concat(pooled, x)

    def add(self, x: Image) -> Image | None:
        same = [other for other in self.images if other.shape == x.shape and other is not x]
        return self.model.add(x, same[0]) if same else None


_STEPS = ["conv", "pointwise", "depthwise", "depthwise", "pool", "residual", "join", "add"]
_DILATIONS = [(1, 1), (2, 1), (2, 2)]


@st.composite
def spatial_models(draw: st.DrawFn) -> bytes:
    """Chains, residual blocks and branches on images of odd sizes, several inputs and outputs."""
    model = SpatialModel(draw(st.integers(0, 99)))
    images = [
        model.input(draw(st.integers(4, 19)), draw(st.integers(1, 8)), draw(st.integers(1, 6)))
        for _ in range(draw(st.sampled_from([1, 1, 1, 2])))
    ]
    inputs = len(images)
    drawer = _Drawer(draw, model, images)
    for _ in range(draw(st.integers(2, 9))):
        drawer.step()
    made = images[inputs:] or [model.conv(images[0], 3, Window())]
    extra = draw(st.lists(st.sampled_from(made), max_size=1))
    return model.finish(made[-1], *(image for image in extra if image is not made[-1]))
