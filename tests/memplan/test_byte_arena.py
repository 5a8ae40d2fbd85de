"""The byte array that plans are executed in: every tensor at its place, and nothing beyond."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.ir.program import Buffer, Program
from glowmcu.memplan.build_program import build_program
from glowmcu.memplan.byte_arena import GARBAGE, ByteArena
from glowmcu.memplan.cascades import Partition
from glowmcu.memplan.planned_cascades import CascadeMemory
from tests.memplan.small_programs import Builder, Choice
from tests.memplan.streamed import lowered, program_of
from tests.memplan.streaming_models import separable


def programs() -> tuple[Program, list[Buffer]]:
    """Of three inputs, the first and the last of them outside; all are read, and cut."""
    builder = Builder()
    a, b, c = (builder.input(size) for size in (5, 8, 9))
    left, right = builder.cut(c, 4, 5)
    graph = builder.graph(builder.mix(4, a, b, left, right))
    choices = {
        node: Choice(tuple(range(len(node.inputs))))
        for node in graph.nodes
        if not node.op.aliases(node.signature)
    }
    program = build_program(graph, choices, external={a, c})
    placed = program.with_offsets({program.inputs[1]: 8, program.outputs[0]: 16})
    views = [view.buffer for view in placed.views.values()]
    return placed, [*placed.inputs, *views]


def numbers(buffer: Buffer) -> np.ndarray:
    return np.arange(1, buffer.type.element_count + 1).astype(np.int8) + len(buffer.name)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
def test_inputs_are_found_where_they_were_given_in_any_order(order: tuple[int, ...]) -> None:
    program, buffers = programs()
    arena = ByteArena(program, 24)
    for index in order:
        arena.give(program.inputs[index], numbers(program.inputs[index]))
    assert [arena.read(buffer).tolist() for buffer in program.inputs] == [
        numbers(buffer).tolist() for buffer in program.inputs
    ]
    whole = numbers(program.inputs[2]).tolist()
    assert [arena.read(buffer).tolist() for buffer in buffers[3:]] == [whole[:4], whole[4:]]
    # Behind the arena, each where words begin.
    starts = [arena.start(program.inputs[index]) for index in (0, 2)]
    assert starts[0] >= 24
    assert starts[1] >= starts[0] + 5
    assert [arena.is_inside(buffer) for buffer in program.inputs] == [False, True, False]
    assert arena.load(0, 8) == bytes([GARBAGE]) * 8


def test_nothing_is_stored_or_read_beyond() -> None:
    program, _ = programs()
    arena = ByteArena(program, 24)
    arena.store(20, b"abcd")
    assert arena.load(18, 6) == bytes([GARBAGE] * 2) + b"abcd"
    arena.spoil_bytes(20, 2)
    assert arena.load(20, 4) == bytes([GARBAGE] * 2) + b"cd"
    end = arena.start(program.inputs[2]) + 9
    assert len(arena.load(0, end)) == end
    for start, size in ((-1, 2), (0, end + 1), (end, 1)):
        with pytest.raises(AssertionError):
            arena.load(start, size)
    for start, data in ((-1, b"a"), (21, b"abcd"), (24, b"a")):
        with pytest.raises(AssertionError):
            arena.store(start, data)
    with pytest.raises(AssertionError):
        arena.write(program.inputs[1], np.zeros(7, np.int8))
    arena.write(program.inputs[1], numbers(program.inputs[1]))
    arena.spoil(program.inputs[1])
    assert arena.load(8, 8) == bytes([GARBAGE]) * 8


def test_what_a_partition_finds_is_remembered_where_it_is_told_to() -> None:
    program, memory = program_of(lowered(separable())), CascadeMemory()
    first = Partition(program, memory)
    assert first.least_peak_bytes == Partition(program).least_peak_bytes
    known = dict(memory.facts)
    assert len(known) > 3
    assert Partition(program, memory).least_peak_bytes == first.least_peak_bytes
    assert memory.facts == known
