"""Concatenations in place where that is more than a question of bytes: states, other results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest

from glowmcu.ir.graph import State, Value
from glowmcu.ir.operation import Array, Rounding, Signature
from glowmcu.ir.program import Program, ViewRole
from glowmcu.ir.types import Shape, TensorType
from glowmcu.ir.verify_program import verify_program
from glowmcu.memplan.liveness import peak_bytes
from glowmcu.memplan.order_model import OrderModel, old_values
from glowmcu.memplan.reuse_in_place import overwritable
from glowmcu.memplan.share_views import share_views
from glowmcu.ops.assign import Assign
from tests.memplan.small_programs import Builder, Join, Mingle


@dataclass(frozen=True)
class JoinAndCount(Join):
    """A concatenation, and how many elements it has."""

    name = "join_and_count"

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        return (*super().infer(inputs), (1,))

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        joined = np.concatenate(inputs)
        return joined, np.array([joined.size], joined.dtype)


def test_who_makes_something_else_besides_runs_with_all_of_its_operands_in_place() -> None:
    builder = Builder()
    x = builder.input(4)
    joined, count = builder.add(JoinAndCount(), builder.mix(3, x), builder.mix(5, x))
    program = share_views(builder.program(builder.graph(joined, count)))
    assert len(program.views) == 2
    assert [run.outputs[-1].name for run in program.runs] == ["t0_0", "t1_0", "t2_1"]
    verify_program(program)


#: From a queue's old rows and the new ones to results, and last to what the queue becomes.
Use = Callable[[Builder, Value], tuple[Value, ...]]


def moved_up(builder: Builder, joined: Value) -> Value:
    return builder.add(Assign(), builder.cut(joined, 4, 8)[1])[0]


def read_then_kept(builder: Builder, joined: Value) -> tuple[Value, Value]:
    return builder.mix(5, joined), moved_up(builder, joined)


def kept_then_read(builder: Builder, joined: Value) -> tuple[Value, Value]:
    kept = moved_up(builder, joined)
    return builder.mix(5, joined), kept


def given_out(builder: Builder, joined: Value) -> tuple[Value, Value]:
    return joined, moved_up(builder, joined)


def given_out_beside_another(builder: Builder, joined: Value) -> tuple[Value, Value, Value]:
    return builder.mix(5, joined), joined, moved_up(builder, joined)


def others_kept_then_read(builder: Builder, joined: Value) -> tuple[Value, Value]:
    kept = builder.mix(8, builder.inputs[0])
    return builder.mix(5, joined), kept


def kept_then_new_rows_read(builder: Builder, joined: Value) -> tuple[Value, Value]:
    kept = moved_up(builder, joined)
    return builder.mix(5, builder.cut(joined, 8, 4)[1]), kept


def queue(use: Use) -> Program:
    builder = Builder()
    x, state = builder.input(4), builder.input(8)
    graph = builder.graph(*use(builder, builder.join(state, x)))
    graph = replace(graph, states=(State(state, np.zeros(8, np.int8)),))
    return builder.program(graph)


@pytest.mark.parametrize(
    ("use", "is_in_place"),
    [
        (read_then_kept, True), (kept_then_read, False), (given_out, False),
        (given_out_beside_another, False), (others_kept_then_read, False),
        (kept_then_new_rows_read, True),
    ],
    ids=lambda item: getattr(item, "__name__", ""),
)  # fmt: skip
def test_a_queue_is_in_place_unless_its_old_rows_are_read_behind_the_new_value(
    use: Use, is_in_place: bool
) -> None:
    """Its old rows and the new ones lie behind each other then, whatever the peak."""
    program = share_views(queue(use))
    parts = {
        view.buffer.name: (view.base.name, view.offset_bytes)
        for view in program.views.values()
        if view.role is ViewRole.PART
    }
    assert parts == ({"in1": ("t0_0", 0), "in0": ("t0_0", 8)} if is_in_place else {})


@pytest.mark.parametrize("is_state", [False, True])
def test_a_state_is_in_place_even_where_that_takes_more_bytes(is_state: bool) -> None:
    """Some of the new rows come late: until then their place in the queue was room for others."""
    builder = Builder()
    x, old = builder.input(4), builder.input(8)
    early = builder.mix(40, x)
    late = builder.mix(40, builder.mix(200, builder.mix(200, early)))
    joined = builder.join(old, early, late)
    ends = builder.mix(5, joined), moved_up(builder, joined)
    graph = builder.graph(*ends)
    if is_state:
        graph = replace(graph, states=(State(old, np.zeros(8, np.int8)),))
    program = builder.program(graph)
    shared = share_views(program)
    parts = [view.buffer.name for view in shared.views.values() if view.role is ViewRole.PART]
    assert parts == (["in1", "t0_0", "t3_0"] if is_state else [])
    assert (peak_bytes(shared) > peak_bytes(program)) == is_state


@dataclass(frozen=True)
class Framed(Mingle):
    """As long as its first operand, which it may overwrite; the second stands at its beginning."""

    name = "framed"

    def in_place(self, signature: Signature) -> tuple[int, ...]:
        return (0,)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        first, second = inputs
        return (np.concatenate([second, first[second.size :]]),)

    def contained_operands(self, signature: Signature) -> Mapping[int, int]:
        return {1: 0}


def test_what_others_are_parts_of_overwrites_no_operand() -> None:
    builder = Builder()
    x = builder.input(4)
    (y,) = builder.add(Framed(), builder.mix(8, x), builder.mix(4, x))
    program = builder.program(builder.graph(y))
    assert [buffer.name for buffer in overwritable(program, program.runs[-1])] == ["t0_0"]
    shared = share_views(program)
    assert [view.buffer.name for view in shared.views.values()] == ["t1_0"]
    assert list(overwritable(shared, shared.runs[-1])) == []


def test_an_old_value_is_seen_by_slices_of_it_and_of_what_it_is_a_part_of() -> None:
    builder = Builder()
    x, state = builder.input(8), builder.input(8)
    (first, _), (other, _) = builder.cut(state, 4, 4), builder.cut(x, 4, 4)
    joined = builder.join(state, builder.mix(4, first))
    tail = builder.cut(joined, 8, 4)[1]
    end = builder.mix(3, tail, other)
    graph = builder.graph(end, builder.mix(8, x))
    graph = replace(graph, states=(State(state, np.zeros(8, np.int8)),))
    program = builder.program(graph)
    (kept,) = program.states
    before = {buffer.name for buffer in old_values(program, kept.buffer)}
    assert before == {"in1", "t0_0", "t0_1"}
    after = {buffer.name for buffer in old_values(share_views(program), kept.buffer)}
    assert after == before | {joined.name, "t4_0", "t4_1"}


@pytest.mark.parametrize(("is_output", "bound"), [(False, 12), (True, 16)])
def test_what_is_given_out_is_not_overwritten_in_any_order(is_output: bool, bound: int) -> None:
    """A sum of 8 bytes beside its operand, or over it, and a result of 4."""
    builder = Builder()
    x = builder.mix(8, builder.input(2))
    end = builder.mix(4, builder.mingle(x))
    graph = builder.graph(end, x) if is_output else builder.graph(end)
    assert OrderModel(builder.program(graph)).bound_bytes == bound


def test_the_new_value_of_a_state_is_no_part_of_anything() -> None:
    """It lies where the state does; who joins it copies it."""
    builder = Builder()
    x, state = builder.input(4), builder.input(8)
    new = builder.mix(8, x)
    joined = builder.join(new, builder.mix(4, x))
    half = builder.join(builder.cut(new, 4, 4)[0], builder.mix(5, x))
    graph = builder.graph(builder.mix(2, joined, half), new)
    plain = share_views(builder.program(graph))
    graph = replace(graph, states=(State(state, np.zeros(8, np.int8)),))
    shared = share_views(builder.program(graph))
    parts = [
        [view.buffer.name for view in program.views.values() if view.role is ViewRole.PART]
        for program in (plain, shared)
    ]
    assert parts == [["t0_0", "t1_0", "t4_0"], ["t1_0", "t4_0"]]
