"""Which operands a result may overwrite: by position, by size, by where they begin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import pytest

from glowmcu.ir.graph import Rate, Value
from glowmcu.ir.operation import Signature
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.memplan.instructions import arranged
from glowmcu.memplan.order_model import OrderModel
from glowmcu.memplan.reuse_in_place import overwritable, reuse_in_place
from tests.memplan.small_programs import Builder, Mingle
from tests.support.counted import calls


@dataclass(frozen=True)
class Spread(Mingle):
    """Element-wise on operands of which some have a single element; `places` may be overwritten."""

    places: tuple[int, ...] = (0, 1)

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        return (max(type_.shape for type_ in inputs),)

    def in_place(self, signature: Signature) -> tuple[int, ...]:
        return self.places


def named(builder: Builder, *ends: Value) -> list[str]:
    """The operands that the last run may overwrite."""
    program = builder.program(builder.graph(*ends))
    return [buffer.name for buffer in overwritable(program, program.runs[-1])]


@pytest.mark.parametrize(
    ("sizes", "places", "wanted"),
    [
        ((8, 8), (0, 1), "ab"), ((8, 1), (0, 1), "a"), ((1, 8), (0, 1), "b"), ((8, 8), (1,), "b"),
        ((8, 8), (0,), "a"), ((8, 8), (), ""), ((8, 1), (1,), ""),
    ],
)  # fmt: skip
def test_operands_of_the_results_size_are_overwritten_where_the_operator_allows(
    sizes: tuple[int, int], places: tuple[int, ...], wanted: str
) -> None:
    builder = Builder()
    a, b = (builder.input(size) for size in sizes)
    (result,) = builder.add(Spread(places), a, b)
    names = {"a": "in0", "b": "in1"}
    assert named(builder, result) == [names[each] for each in wanted]


def test_neighbours_in_one_tensor_may_each_be_overwritten() -> None:
    """Parts that touch share no byte, in whichever order they are read."""
    for order in ((0, 1), (1, 0)):
        builder = Builder()
        parts = builder.cut(builder.input(16), 8, 8)
        first, second = (parts[index] for index in order)
        (result,) = builder.add(Spread((0, 1)), first, second)
        assert named(builder, result) == [first.name, second.name]


@pytest.mark.parametrize(
    ("element", "first"),
    [(ElementType.I8, 1), (ElementType.I8, 4), (ElementType.I32, 1), (ElementType.I32, 2)],
)
def test_a_part_is_overwritten_wherever_an_element_begins(element: ElementType, first: int) -> None:
    builder = Builder()
    x = builder.input(9, element)
    _, tail = builder.cut(x, first, 9 - first)
    (result,) = builder.add(Spread((0,)), tail)
    assert named(builder, result) == ["t0_1"]


@pytest.mark.parametrize(("align", "fits"), [(1, True), (2, False), (4, False)])
def test_a_reader_that_wants_words_keeps_a_result_off_odd_bytes(align: int, fits: bool) -> None:
    builder = Builder()
    x = builder.input(9)
    _, tail = builder.cut(x, 1, 8)
    (result,) = builder.add(Spread((0,)), tail)
    program = builder.program(builder.graph(builder.mix(4, result, align=align)))
    assert bool(list(overwritable(program, program.runs[0]))) == fits


def test_results_that_overwrite_in_turn_lie_where_the_first_operand_does() -> None:
    """Halves of a tensor, each overwritten twice, beside each other."""
    builder = Builder()
    x = builder.mix(16, builder.input(4))
    halves = builder.cut(x, 8, 8)
    ends = [builder.mingle(builder.mingle(half)) for half in halves]
    program = reuse_in_place(builder.program(builder.graph(builder.mix(4, *ends))))
    root = program.runs[0].outputs[0]
    spans = [program.span(run.outputs[0]) for run in program.runs[1:5]]
    assert spans == [(root, 0, 8), (root, 0, 8), (root, 8, 16), (root, 8, 16)]


def test_whole_buffers_are_overwritten_without_a_look_at_the_peak() -> None:
    """That is one at the whole program, for each of its runs."""
    builder = Builder()
    x = builder.mix(16, builder.input(4))
    for _ in range(40):
        x = builder.mingle(x)
    program = builder.program(builder.graph(builder.mix(4, x)))
    made = reuse_in_place(program)
    assert len({made.span(run.outputs[0]) for run in made.runs[:41]}) == 1
    assert calls(partial(reuse_in_place, program)) < 40 * 1000


def test_a_part_of_what_dies_is_overwritten_too() -> None:
    builder = Builder()
    _, tail = builder.cut(builder.mix(16, builder.input(4)), 8, 8)
    program = reuse_in_place(builder.program(builder.graph(builder.mix(4, builder.mingle(tail)))))
    root = program.runs[0].outputs[0]
    assert program.span(program.runs[1].outputs[0]) == (root, 8, 16)


def test_bytes_that_nobody_reads_are_alive_at_the_start_alone() -> None:
    """An input without a reader is there before the first run, and no longer."""
    builder = Builder()
    builder.input(64)
    x = builder.input(8)
    model = OrderModel(builder.program(builder.graph(builder.mix(4, x))))
    assert (model.start_bytes, model.first_bytes, model.end_bytes) == (72, 8, 4)
    assert model.bound_bytes == 72
    assert model.peak([0]) == 72


@pytest.mark.parametrize(
    ("rates", "needed"),
    [
        ((), ["x", "x", "x"]),
        (((0, 1), (0, 1), (0, 1)), ["x", "x", "x"]),
        (((0, 1), (0, 2), (1, 2)), ["x", "x first", "x"]),
        (((0, 2), (0, 2), (1, 2)), ["x last", "x first last", "x"]),
        (((1, 1), (0, 1), (0, 3)), ["x", "x last", "x"]),
    ],
    ids=["one rate", "always due", "one of the first", "each", "the middle anywhere"],
)
def test_stages_follow_each_other_but_those_that_always_compute_come_anywhere(
    rates: tuple[tuple[int, int], ...], needed: list[str]
) -> None:
    """Three runs that read one value, of stages 1, 2 and 0 in this order."""
    builder = Builder()
    x = builder.mix(4, builder.input(2))
    ends = [builder.mix(4, x) for _ in range(3)]
    graph = builder.graph(*ends)
    stages = {"n1": 1, "n2": 2, "n3": 0}
    program = builder.program(graph)
    runs = [
        replace(run, node=replace(run.node, stage=stages.get(run.node.name, 0)))
        for run in program.runs
    ]
    program = arranged(program, runs, program.views.values())
    named = [Rate(f"stage {number}", *rate) for number, rate in enumerate(rates)]
    model = OrderModel(replace(program, rates=tuple(named)))
    words = {1: "x", 2: "first", 3: "second", 4: "last"}
    found = [
        " ".join(word for bit, word in words.items() if facts.needs >> bit & 1)
        for facts in model.runs[1:]
    ]
    assert found == needed
