"""What planning asks of a program, each by a case small enough to be read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from glowmcu.ir.program import Buffer
from glowmcu.memplan.candidate_ranges import CandidateRanges
from glowmcu.memplan.order_model import _Keys
from glowmcu.memplan.placement import lowest_offset
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
