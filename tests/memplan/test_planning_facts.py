"""What planning asks of a program, each by a case small enough to be read."""

from __future__ import annotations

import random
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from glowmcu.ir.program import Buffer
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.memplan import search_offsets
from glowmcu.memplan.build_program import _holds_wide
from glowmcu.memplan.candidate_ranges import CandidateRanges
from glowmcu.memplan.order_model import _Keys
from glowmcu.memplan.placement import Block, first_fit, lowest_offset, problem
from glowmcu.memplan.streamed_input import rows_do_not_last
from glowmcu.memplan.strips import _splits
from glowmcu.ops.convolution import Conv2D
from glowmcu.ops.elementwise import Add
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Split
from tests.ir.graphs import GraphBuilder, int8
from tests.memplan.small_programs import Builder, i8


@pytest.mark.parametrize(
    ("first", "last", "all_of_them"),
    [(0, 2, True), (0, 3, True), (0, 1, False), (1, 2, False), (1, 1, False)],
)
def test_a_stretch_reads_a_streamed_input_where_no_other_run_does(
    first: int, last: int, all_of_them: bool
) -> None:
    """The first and the third of four runs read it."""
    builder = Builder()
    x = builder.input(8)
    one = builder.mix(8, x)
    two = builder.mix(8, one)
    three = builder.mix(8, two, x)
    program = builder.program(builder.graph(builder.mix(4, three)))
    ranges = CandidateRanges(program)
    ranges.streamed_input = program.runs[0].inputs[0]
    assert ranges.readers[ranges.streamed_input] == [0, 2]
    assert ranges._reads_streamed_input(first, last) == all_of_them


@pytest.mark.parametrize("read", ["by a run", "in pieces too", "outside"])
def test_a_stretch_ends_at_what_others_than_runs_read(read: str) -> None:
    """A run that reads a piece of a tensor is no reader of the tensor."""
    builder = Builder()
    first = builder.mix(8, builder.input(8))
    results = [builder.mix(4, first)]
    if read == "in pieces too":
        results += [builder.mix(4, piece) for piece in builder.cut(first, 3, 5)]
    elif read == "outside":
        results.append(first)
    ranges = CandidateRanges(builder.program(builder.graph(*results)))
    rows: Any = "row by row"
    ranges.runs = tuple(replace(run, rows=rows) for run in ranges.runs)
    lasts = [candidate.last for candidate, _ in ranges.from_run(0, 2)]
    assert lasts == ([0, 1] if read == "by a run" else [0])


def test_states_in_a_larger_buffer_are_apart_from_what_lies_beside_them() -> None:
    root, alone = Buffer("root", i8(100)), Buffer("alone", i8(40))
    spans: dict[Buffer, tuple[Buffer, int, int]] = {
        Buffer("first", i8(20)): (root, 10, 30), Buffer("second", i8(10)): (root, 50, 60),
    }  # fmt: skip
    states = [SimpleNamespace(buffer=buffer) for buffer in spans]
    within, across, behind = (Buffer(name, i8(8)) for name in ("within", "across", "behind"))
    spans |= {
        within: (root, 12, 20), across: (root, 25, 33), behind: (root, 60, 68),
        alone: (alone, 0, 40),
    }  # fmt: skip
    program: Any = SimpleNamespace(states=states, span=spans.__getitem__)
    keys = _Keys(program)
    assert [keys.of(state.buffer) for state in states] == [[(root, False)]] * 2
    assert keys.of(within) == [(root, False)]
    assert keys.of(across) == keys.of(behind) == [(root, False), (root, True)]
    assert keys.of(alone) == [(alone, False)]
    sizes = {key: keys.size_bytes(key) for key in ((root, False), (root, True), (alone, False))}
    assert list(sizes.values()) == [30, 70, 40]


@pytest.mark.parametrize(
    ("spans", "offset"),
    [
        ([], 0), ([(-1, 10)], 12), ([(-20, -4)], 0), ([(0, 9)], 0), ([(16, 30)], 0),
        ([(-1, 8), (7, 20)], 20), ([(-1, 8), (8, 20)], 8), ([(-1, 30), (4, 9)], 32),
        ([(-9, 0), (-1, 5)], 8),
    ],
)  # fmt: skip
def test_the_lowest_offset_is_the_first_that_no_neighbour_forbids(
    spans: list[tuple[int, int]], offset: int
) -> None:
    """A multiple of four; it may be either end of what a neighbour forbids."""
    near = [(other, low - 1000, high - 1000) for other, (low, high) in enumerate(spans)]
    assert lowest_offset(near, 4, [1000] * len(spans)) == offset


@pytest.mark.parametrize("is_whole", [False, True])
def test_rows_that_are_gone_are_told_by_the_last_of_their_readers(is_whole: bool) -> None:
    """And by the first layer before it, if there is one, that needs its operands whole."""
    builder = Builder()
    x = builder.input(8)
    one = builder.mix(8, x)
    three = builder.mix(8, builder.mix(8, one), x)
    program = builder.program(builder.graph(builder.mix(4, three)))
    rows: Any = SimpleNamespace()
    runs = [replace(run, rows=None if is_whole and i == 1 else rows)
            for i, run in enumerate(program.runs)]  # fmt: skip
    streamed: Any = SimpleNamespace(buffer=program.runs[0].inputs[0])
    changed: Any = SimpleNamespace(name=program.name, runs=runs, streamed_input=streamed)
    (problem,) = rows_do_not_last(changed, [0, 2]).problems
    assert problem.code == "GM409"
    assert problem.message.startswith("input 'in0' cannot be streamed: ")
    assert f'"{runs[2].node.name}" reads' in problem.message
    assert (f'only after mix "{runs[1].node.name}"' in problem.message) == is_whole
    assert ("do not last until" in problem.message) == (not is_whole)


def test_a_climb_that_gains_nothing_ends_by_its_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """In turns after the last gain, of which each chooses a block and a place for it."""
    task = problem([Block(0, 2, 40), Block(1, 3, 40), Block(2, 4, 40), Block(0, 0, 8)])
    start = first_fit(task, range(4))
    vars(task)["lower_bound_bytes"] = 1  # which no placement reaches
    turns: list[int] = []

    class Counting(random.Random):
        def choice(self, seq: Any) -> Any:
            turns.append(1)
            return super().choice(seq)

    monkeypatch.setattr(search_offsets.random, "Random", Counting)
    for patience in (5, 40):
        turns.clear()
        monkeypatch.setattr(search_offsets, "CLIMB_PATIENCE", patience)
        found = search_offsets._climb(task, start, 100_000)
        assert found.arena_bytes == start.arena_bytes
        assert len(turns) == patience + 1


def loop_over(*graphs: Any) -> Any:
    """A node that has graphs of its own, as far as that is asked of it."""
    return SimpleNamespace(outputs=(), op=SimpleNamespace(inner_graphs=lambda: graphs))


def of_elements(*elements: ElementType, results: tuple[ElementType, ...] = ()) -> Any:
    values = [SimpleNamespace(type=TensorType((2,), each)) for each in results]
    inner = SimpleNamespace(outputs=values, op=SimpleNamespace(inner_graphs=lambda: ()))
    inputs = [SimpleNamespace(type=TensorType((2,), each)) for each in elements]
    return SimpleNamespace(inputs=inputs, nodes=[inner])


def test_a_loop_holds_words_of_64_bits_where_any_graph_in_it_has_them() -> None:
    narrow = of_elements(ElementType.I32, ElementType.I8, results=(ElementType.F32,))
    read = of_elements(ElementType.I8, ElementType.I64, results=(ElementType.F32,))
    made = of_elements(ElementType.I8, results=(ElementType.F32, ElementType.I64))
    around = SimpleNamespace(inputs=(), nodes=[loop_over(narrow), loop_over(made)])
    assert not _holds_wide(loop_over())
    assert not _holds_wide(loop_over(narrow))
    assert not _holds_wide(loop_over(SimpleNamespace(inputs=(), nodes=[loop_over(narrow)])))
    for graphs in ([read], [made], [narrow, made], [around]):
        assert _holds_wide(loop_over(*graphs))


#: Operators, shapes of computed operands and of constants; whether columns follow from columns.
SPLIT: dict[str, tuple[Any, list[tuple[int, ...]], list[tuple[int, ...]], bool]] = {
    "a sum of images": (Add(), [(1, 4, 5, 3), (1, 4, 5, 3)], [], True),
    "a sum with a row": (Add(), [(1, 4, 5, 3), (1, 4, 1, 3)], [], False),
    "a sum of two recordings": (Add(), [(2, 4, 5, 3), (2, 4, 5, 3)], [], False),
    "a sum of rows": (Add(), [(4, 5), (4, 5)], [], False),
    "a sum with a vector": (Add(), [(1, 4, 5, 3)], [(3,)], True),
    "a sum with a number for each row": (Add(), [(1, 4, 5, 3)], [(1, 4, 1, 3)], True),
    "a sum with a number for each column": (Add(), [(1, 4, 5, 3)], [(1, 1, 5, 3)], False),
    "a layer": (Conv2D(), [(1, 4, 5, 3)], [(2, 1, 1, 3), (2,)], True),
    "a layer of two recordings": (Conv2D(), [(2, 4, 5, 3)], [(2, 1, 1, 3), (2,)], False),
    "a layer of computed weights": (Conv2D(), [(1, 4, 5, 3), (2, 1, 1, 3)], [(2,)], False),
    "parts": (Split(3, (1, 2)), [(1, 4, 5, 3)], [], False),
    "a shape": (Reshape((1, 5, 4, 3)), [(1, 4, 5, 3)], [], False),
}  # fmt: skip


@pytest.mark.parametrize("name", SPLIT)
def test_columns_of_a_result_follow_from_columns_of_images(name: str) -> None:
    op, computed, constants, wanted = SPLIT[name]
    builder = GraphBuilder()
    operands = [
        builder.input(int8(*shape, zero_point=0), f"x{i}") for i, shape in enumerate(computed)
    ]
    for shape in constants:
        dtype = np.int32 if isinstance(op, Conv2D) and len(shape) == 1 else np.int8
        operands.append(builder.constant(np.ones(shape, dtype), Quantization((0.5,), (0,))))
    outputs = builder.add_many(op, *operands)
    graph = builder.finish(*outputs)
    assert _splits(graph, builder.nodes[-1]) == wanted
