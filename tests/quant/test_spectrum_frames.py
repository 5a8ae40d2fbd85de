"""Frames of a signal are found by which sample each element is, and told from what is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from glowmcu.ir.graph import Value
from glowmcu.ops.activation import Abs
from glowmcu.ops.elementwise import Add, Mul
from glowmcu.ops.gather import Gather
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.padding import Pad
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Split
from glowmcu.ops.transpose import Transpose
from glowmcu.quant.spectrum_frames import Frames, frames_of
from tests.ir.graphs import GraphBuilder
from tests.quant.networks import real

SAMPLES, LENGTH = 24, 4
WINDOW = np.array([0.25, -1.0, 0.5, 0.125], np.float32)


def places(first: int, step: int, count: int, length: int = LENGTH) -> npt.NDArray[np.int32]:
    rows = first + step * np.arange(count)[:, np.newaxis] + np.arange(length)
    return rows.astype(np.int32)


class Building:
    """A signal, frames of it, and a window on these."""

    def __init__(self, *shape: int) -> None:
        self.graph = GraphBuilder()
        self.signal = self.graph.input(real(*(shape or (1, SAMPLES))), "signal")

    def constant(self, data: Any) -> Value:
        return self.graph.constant(np.asarray(data))

    def gathered(self, x: Value, rows: npt.NDArray[np.int32]) -> Value:
        return self.graph.add(Gather(x.type.rank - 1), x, self.constant(rows), like=real(1))

    def times(self, x: Value, factors: Any = WINDOW) -> Value:
        return self.graph.add(Mul(), x, self.constant(np.asarray(factors, np.float32)))

    def found(self, framed: Value) -> Frames | None:
        return frames_of(self.graph.finish(framed), framed)


def of_places(rows: npt.NDArray[np.int32], window: Any = WINDOW) -> Frames | None:
    building = Building()
    return building.found(building.times(building.gathered(building.signal, rows), window))


@pytest.mark.parametrize(
    ("first", "step", "count"),
    [(0, 1, 5), (0, 4, 6), (1, 1, 2), (3, 5, 4), (0, 2, 1), (20, 1, 1), (2, 7, 3)],
)
def test_frames_are_known_by_their_first_sample_and_their_step(
    first: int, step: int, count: int
) -> None:
    found = of_places(places(first, step, count))
    assert found is not None
    assert (found.signal.name, found.first, found.count) == ("signal", first, count)
    # A single frame has no next one: any step will do that is one.
    assert found.step == (step if count > 1 else LENGTH)
    assert found.scale == float(np.float32(1.0 / 32767))
    assert found.window.dtype == np.int16
    assert found.window.tolist() == np.rint(WINDOW / np.float64(found.scale)).tolist()


@pytest.mark.parametrize(
    ("window", "first", "length"),
    [
        ([0, 1, 0.5, 0], 1, 2), ([0, 0, 0, -2], 3, 1), ([3, 0, 0, 1], 0, 4),
        ([1e-5, 1, 1, 1e-5], 1, 2), ([1, 2.0**-15, 2.0**-17, 0], 0, 2),
    ],
)  # fmt: skip
def test_a_window_is_stored_without_the_zeros_at_its_ends(
    window: list[float], first: int, length: int
) -> None:
    found = of_places(places(2, 5, 3), window)
    assert found is not None
    largest = max(map(abs, window))
    assert (found.first, found.step, found.window.size) == (2 + first, 5, length)
    assert np.abs(found.window).max() == 32767
    kept = np.array(window[first : first + length])
    np.testing.assert_allclose(found.window * found.scale, kept, rtol=0, atol=largest / 65000)


def test_frames_are_not_seen_through_what_computes() -> None:
    """Absolute values of a signal are no signal; behind them, frames are of these."""
    building = Building()
    absolute = building.graph.add(Abs(), building.signal)
    framed = building.times(building.gathered(absolute, places(0, 4, 3)))
    found = building.found(framed)
    assert found is not None
    assert found.signal is absolute
    building = Building()
    rows = building.gathered(building.signal, places(0, 4, 3))
    assert building.found(building.times(building.graph.add(Abs(), rows))) is None


def test_frames_of_which_some_are_computed_are_none() -> None:
    """Absolute values of places would be the same places."""
    for computed in (False, True):
        building = Building()
        x = building.signal
        y = building.graph.add(Abs(), x) if computed else x
        parts = building.gathered(x, places(0, 4, 2)), building.gathered(y, places(8, 4, 1))
        joined = building.graph.add(Concatenation(1), *parts, like=real(1))
        assert (building.found(building.times(joined)) is None) == computed


def test_constants_alone_are_no_signal() -> None:
    building = Building()
    numbers = building.constant(np.arange(SAMPLES, dtype=np.float32)[np.newaxis])
    rows = building.constant(places(0, 4, 3))
    gathered = building.graph.add(Gather(1), numbers, rows, like=real(1))
    for framed in (gathered, building.times(gathered)):
        assert building.found(framed) is None


def test_frames_end_with_their_signal_whatever_is_put_behind_it() -> None:
    """A number that looks like the place of one more sample is none."""
    building = Building(1, 4)
    padded = building.graph.add(Pad(((0, 0), (0, 1)), 5.0), building.signal)
    framed = building.times(building.gathered(padded, places(0, 1, 2)))
    found = building.found(framed)
    assert found is not None
    assert found.signal is padded
    assert found.count == 2


#: Places of which no frames follow each other at equal steps.
IRREGULAR = {
    "the same frame again": places(3, 0, 3),
    "frames backwards": places(9, -2, 4),
    "samples backwards": places(0, 4, 3)[:, ::-1],
    "a step that changes": np.concatenate([places(0, 3, 2), places(7, 3, 2)]),
    "every other sample": places(0, 4, 3) * 2,
    "a sample twice": places(0, 4, 3) // 2 * 2,
}


@pytest.mark.parametrize("name", IRREGULAR)
def test_other_places_of_the_signal_are_no_frames_of_it(name: str) -> None:
    found = of_places(np.ascontiguousarray(IRREGULAR[name]))
    assert found is None or found.signal.name != "signal"


@pytest.mark.parametrize("factors", [np.zeros(4), [[1, 2, 3, 4], [1, 2, 3, 5], [1, 2, 3, 4]]])
def test_a_window_that_is_none_or_changes_frames_nothing(factors: Any) -> None:
    building = Building()
    framed = building.times(building.gathered(building.signal, places(0, 4, 3)), factors)
    found = building.found(framed)
    # What is multiplied already is a signal like any other, of which these are no frames.
    assert found is None or found.signal.name not in ("signal", "gather1")


def test_two_channels_are_no_signal() -> None:
    building = Building(2, SAMPLES)
    assert (
        building.found(building.times(building.gathered(building.signal, places(0, 4, 3)))) is None
    )


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 6), st.integers(1, 6), st.integers(2, 3), st.integers(0, 5), st.booleans())
@example(0, 1, 2, 1, False)
@example(0, 2, 3, 3, True)
@example(1, 2, 3, 3, True)
def test_frames_are_those_of_the_farthest_signal_that_they_do_not_leave(
    first: int, step: int, count: int, padding: int, silent: bool
) -> None:
    """A window that starts with zeros may stand on samples that are none."""
    building = Building()
    padded = building.graph.add(Pad(((0, 0), (padding, 0))), building.signal, name="padded")
    window = np.array([0, 0, 1, 1], np.float32) if silent else WINDOW
    found = building.found(
        building.times(building.gathered(padded, places(first, step, count)), window)
    )
    assert found is not None
    begin = first + (2 if silent else 0)
    if begin >= padding:
        assert (found.signal.name, found.first) == ("signal", begin - padding)
    else:
        assert (found.signal.name, found.first) == ("padded", begin)
    assert (found.step, found.count) == (step, count)


def test_frames_are_seen_through_whatever_only_moves_samples() -> None:
    building = Building()
    graph = building.graph
    turned = graph.add(Transpose((1, 0)), building.signal)
    flat = graph.add(Reshape((1, SAMPLES)), turned)
    halves = [
        building.gathered(flat, np.arange(start, start + SAMPLES // 2).astype(np.int32))
        for start in (0, SAMPLES // 2)
    ]
    whole = graph.add(Concatenation(1), *halves)
    found = building.found(building.times(building.gathered(whole, places(1, 3, 5))))
    assert found is not None
    assert (found.signal.name, found.first, found.step) == ("signal", 1, 3)


#: What stands between the signal and its frames, and is a signal itself.
OPAQUE = {
    "a sum": lambda b: b.graph.add(Add(), b.signal, b.constant(np.float32(1)), name="made"),
    "a clamp": lambda b: b.graph.add(
        Mul((0.0, 1.0)), b.signal, b.constant(np.float32(2)), name="made"
    ),
    "padding with ones": lambda b: b.graph.add(Pad(((0, 0), (1, 0)), 1.0), b.signal, name="made"),
    "its square": lambda b: b.graph.add(Mul(), b.signal, b.signal, name="made"),
}


@pytest.mark.parametrize("name", OPAQUE)
def test_what_computes_is_not_seen_through(name: str) -> None:
    building = Building()
    made = OPAQUE[name](building)
    found = building.found(building.times(building.gathered(made, places(0, 4, 3))))
    assert found is not None
    assert found.signal is made
    assert found.first == 0


def test_a_factor_of_every_sample_is_part_of_the_window() -> None:
    building = Building()
    louder = building.times(building.signal, np.float32(-4))
    found = building.found(building.times(building.gathered(louder, places(0, 4, 3))))
    assert found is not None
    assert found.signal.name == "signal"
    np.testing.assert_allclose(found.window * found.scale, -4 * WINDOW, rtol=0, atol=1e-4)


def test_a_factor_that_makes_rows_of_samples_is_not_seen_through() -> None:
    building = Building()
    rows = building.times(building.signal, np.ones((3, 1)))
    assert building.found(rows) is None


@pytest.mark.parametrize("part", [0, 1])
def test_a_part_of_a_split_is_a_signal_of_its_own(part: int) -> None:
    building = Building()
    halves = building.graph.add_many(Split(1, (12, 12)), building.signal)
    framed = building.times(building.gathered(halves[part], places(1, 2, 3)))
    found = building.found(framed)
    assert found is not None
    assert found.signal is halves[part]
    assert (found.first, found.step, found.count) == (1, 2, 3)
