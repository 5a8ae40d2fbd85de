"""Where traces of a spectrum end: operands that do not fit, one condition of a rule at a time."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.ir.graph import Value
from glowmcu.ops.division import Div, Pow
from glowmcu.ops.elementwise import Add, Maximum, Mul, SquaredDifference, Sub
from glowmcu.ops.gather import Gather
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.matmul import BatchMatMul
from glowmcu.ops.padding import Pad
from glowmcu.ops.real_functions import Sqrt, Square
from glowmcu.ops.reduction import Sum
from glowmcu.ops.shape import Reshape
from glowmcu.ops.signal_fft import Rfft
from glowmcu.ops.slicing import Slice
from glowmcu.quant.spectrum_traces import Kind, traces_of
from tests.ir.graphs import GraphBuilder
from tests.quant.networks import real
from tests.quant.test_spectrum_traces import (
    BANK,
    BINS,
    FRAMES,
    HALF,
    SAMPLES,
    TRACED,
    WINDOW,
    Building,
    Make,
    expect_traced,
    fully,
    picks,
    side,
    squared,
)

NOTHING = np.float32(0)
SOME = np.array([0, 1] * 5, np.float32)
NO_BIAS = np.zeros(4, np.float32)


def nothing(b: Building) -> Value:
    return b(Mul(), b.parts, NOTHING)


def roots(b: Building) -> Value:
    return b(Sqrt(), b.bins())


def twice(b: Building, op: Add | SquaredDifference, x: Value) -> Value:
    return b(op, x, x)


def joined(b: Building, *values: Value | np.ndarray) -> Value:
    return b(Concatenation(0), *values)


#: What is traced, beside the cases of test_spectrum_traces.py.
MORE: dict[str, tuple[Kind, Make]] = {
    "nothing less a window": (
        Kind.PARTS, lambda b: b(Sub(), nothing(b), b(Mul(), b.parts, WINDOW)),
    ),
    "parts plus squares of nothing": (
        Kind.PARTS, lambda b: b(Add(), b.parts, b(Square(), nothing(b))),
    ),
    "parts plus a row of nothing": (
        Kind.PARTS, lambda b: b(Add(), b.parts, b(Slice((0, 0), (1, 10), (1, 1)), nothing(b))),
    ),
    "bins joined with the same": (
        Kind.FEATURES, lambda b: joined(b, *[b.bins()] * 2),
    ),
    "parts joined with squares' parts": (Kind.PARTS, lambda b: joined(b, b.parts, nothing(b))),
}  # fmt: skip
#: What is not.
ENDS: dict[str, Make] = {
    "parts to the power of parts": lambda b: b(Pow(), b.parts, b.parts),
    "the greater of parts and two": lambda b: b(Maximum(), b.parts, np.float32(2)),
    "parts plus a number": lambda b: b(Add(), b.parts, HALF),
    "parts less themselves, squared": lambda b: twice(b, SquaredDifference(), b.parts),
    "plus nothing, clamped": lambda b: b(Add((0.0, 9.0)), b.parts, nothing(b)),
    "nothing plus, clamped": lambda b: b(Add((0.0, 9.0)), nothing(b), b.parts),
    "a sum of parts of which some are nothing": lambda b: b(
        Add(), b.parts, b(Mul(), b.parts, SOME)
    ),
    "a sum of some parts and all": lambda b: b(Add(), b(Mul(), b.parts, SOME), b.parts),
    "a row plus nothing in rows": lambda b: b(
        Add(), b(Slice((0, 0), (1, 10), (1, 1)), b.parts), nothing(b)
    ),
    "times what is no constant": lambda b: b(
        Mul(), b.parts, b(Pad(((0, 0), (0, 2))), b.x)
    ),
    "joined with what is no constant": lambda b: joined(b, b.parts, b(Pad(((0, 0), (0, 2))), b.x)),
    "joined behind a constant": lambda b: joined(b, np.ones((1, 10), "f4"), b.parts),
    "joined with scaled bins": lambda b: joined(b, b.bins(), b(Mul(), b.bins(), HALF)),
    "squares plus a number": lambda b: b(Add(), squared(b), HALF),
    "pairs and others": lambda b: b(
        Sum((2,)), b(Reshape((FRAMES, 2, 2)), b(Gather(1), squared(b), picks([0, 1, 2, 4])))
    ),
    "a sum of neighbours that keeps an axis": lambda b: b(
        Sum((2,), True), b(Reshape((FRAMES, 2, 2)), b(Gather(1), squared(b), picks([1, 2, 3, 4])))
    ),
    "plus, with an axis more": lambda b: b(Add(), b.bins(), np.full((1, 1, 1), 0.5, "f4")),
    "magnitudes plus themselves": lambda b: twice(b, Add(), roots(b)),
    "the greater of bins and magnitudes": lambda b: b(Maximum(), b.bins(), roots(b)),
    "bins to several powers": lambda b: b(
        Pow(), b.bins(), np.array([0.5, 0.5, 1, 0.5, 0.5], "f4")
    ),
    "divided by nothing": lambda b: b(Div(), b.bins(), NOTHING),
    "two banks without biases": lambda b: fully(
        b, fully(b, b.bins(), BANK, NO_BIAS), BANK[:, :4], NO_BIAS
    ),
    "a bank of roots of a bank": lambda b: fully(
        b, b(Sqrt(), fully(b, b.bins(), BANK, NO_BIAS)), BANK[:, :4], NO_BIAS
    ),
    "a bank with a bin as a bias": lambda b: fully(
        b, b.bins(), BANK, b(Reshape((4,)), b(Slice((0, 0), (1, 4), (1, 1)), b.bins()))
    ),
    "bins times bins": lambda b: b(BatchMatMul(adj_y=True), b.bins(), b.bins()),
    "a bank with infinity": lambda b: fully(
        b, b.bins(), np.where(np.eye(4, BINS) > 0, np.inf, BANK).astype("f4")
    ),
    "weights that are as many bins": lambda b: fully(
        b, b.graph.constant(BANK[:3]), b.bins(), NO_BIAS[:3]
    ),
    "a side times a side": lambda b: b(Mul(), side(b, 0, squared(b)), HALF),
}  # fmt: skip


@pytest.mark.parametrize("name", MORE)
def test_what_is_traced_is_what_is_computed(name: str) -> None:
    expect_traced(*MORE[name])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ENDS)
def test_one_operand_that_does_not_fit_ends_the_trace(name: str) -> None:
    building = Building()
    value = ENDS[name](building)
    assert value not in traces_of(building.graph.finish(value))


@pytest.mark.parametrize("name", TRACED)
def test_a_trace_knows_the_traced_value_before_it(name: str) -> None:
    building = Building()
    value = TRACED[name][1](building)
    graph = building.graph.finish(value)
    traces = traces_of(graph)
    for each, trace in traces.items():
        producer = graph.producers[each]
        if producer is trace.source:
            assert trace.before is building.x
        else:
            assert trace.before in traces
            assert trace.before in producer.inputs


def test_parts_of_two_spectra_are_not_joined() -> None:
    building = Building()
    other = building(Rfft(SAMPLES), building(Mul(), building.x, HALF))
    value = joined(building, building.parts, other)
    traces = traces_of(building.graph.finish(value))
    assert value not in traces
    assert traces[building.parts].source is not traces[other].source


def test_a_spectrum_of_any_rank_is_as_wide_as_its_rows() -> None:
    graph = GraphBuilder()
    x = graph.input(real(2, 3, 8), "x")
    parts = graph.add(Rfft(8), x, like=real(1))
    trace = traces_of(graph.finish(parts))[parts]
    assert trace.width == parts.type.shape[-1] == 10
    assert trace.places.tolist() == np.arange(1, 61).reshape(2, 3, 10).tolist()
