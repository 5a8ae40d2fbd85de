"""What is traced back to a spectrum is, element by element, what the graph computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from glowmcu.ir.graph import Graph, Value
from glowmcu.ops.activation import Relu
from glowmcu.ops.division import Div, Pow
from glowmcu.ops.elementwise import Add, Maximum, Minimum, Mul, Sub
from glowmcu.ops.gather import Gather
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.matmul import BatchMatMul, FullyConnected
from glowmcu.ops.padding import Pad
from glowmcu.ops.real_functions import Power, Sin, Sqrt, Square
from glowmcu.ops.reduction import Mean, ReduceSumSquare, Sum
from glowmcu.ops.shape import Reshape
from glowmcu.ops.signal_fft import Rfft
from glowmcu.ops.slicing import Slice, Split
from glowmcu.ops.transcendental import Log
from glowmcu.ops.transpose import Transpose
from glowmcu.quant.side_by_side import run_tensors
from glowmcu.quant.spectrum_traces import Chain, Kind, Trace, traces_of
from tests.ir.graphs import GraphBuilder
from tests.quant.networks import real

Floats = npt.NDArray[np.float64]
FRAMES, SAMPLES, BINS = 3, 8, 5
FREE = (-3.4028234663852886e38, 3.4028234663852886e38)


class Building:
    """A graph from samples on; methods make constants and nodes of floats."""

    def __init__(self) -> None:
        self.graph = GraphBuilder()
        self.x = self.graph.input(real(FRAMES, SAMPLES), "x")
        self.parts = self(Rfft(SAMPLES), self.x)

    def __call__(self, op: Any, *operands: Any) -> Value:
        values = [
            each if isinstance(each, Value) else self.graph.constant(np.asarray(each), name="c")
            for each in operands
        ]
        return self.graph.add(op, *values, like=real(1))

    def bins(self) -> Value:
        """Squared magnitudes, (frames, bins)."""
        return self(Sum((2,)), self(Square(), self.pairs()))

    def pairs(self) -> Value:
        return self(Reshape((FRAMES, BINS, 2)), self.parts)


def value_of(trace: Trace, parts: Floats) -> Floats:
    """The trace's own meaning."""
    if trace.kind is Kind.FEATURES:
        chain = trace.chain
        sums = (parts.reshape(FRAMES, BINS, 2) ** 2).sum(axis=2)
        sums = np.sqrt(sums) if chain.of_roots else sums
        sums = sums if chain.bank is None else sums @ chain.bank.T
        assert sums.shape[-1] == trace.width
        numbers = chained(chain, sums)
    else:
        assert trace.width == parts.shape[-1]
        numbers = parts**2 if trace.kind is Kind.SQUARES else parts
    flat = np.concatenate([[0.0], numbers.reshape(-1)])
    return np.asarray(flat[trace.places] * trace.factors)


def chained(chain: Chain, sums: Floats) -> Floats:
    """`Chain`, as its docstring has it."""
    made = np.clip(chain.gain * sums + chain.floor, chain.low, chain.high)
    if chain.is_logarithm:
        return np.asarray(np.log(made) * chain.slope + chain.offset)
    return np.asarray(made**chain.exponent)


def both(graph: Graph, value: Value) -> tuple[Floats, Floats] | None:
    """What the trace says, and what is computed; None where the value has no trace."""
    trace = traces_of(graph).get(value)
    if trace is None:
        return None
    samples = np.random.default_rng(5).normal(0, 3, (FRAMES, SAMPLES)).astype(np.float32)
    tensors = run_tensors(graph, [samples])
    spectrum = next(node.output for node in graph.nodes if isinstance(node.op, Rfft))
    parts = tensors[spectrum].astype(np.float64)
    return value_of(trace, parts), tensors[value].astype(np.float64)


RANDOM = np.random.default_rng(1)
BANK = np.abs(RANDOM.normal(size=(4, BINS))).astype(np.float32)
#: Factors of real and imaginary parts that differ by the last bit, and by more.
NEARLY = np.array([[0.3, 0.3 * (1 + 1e-7)], [0.3, 0.3 * (1 + 1e-5)]], np.float32)
BIAS = np.full(4, 0.25, np.float32)
WINDOW = RANDOM.normal(size=10).astype(np.float32)
HALF = np.float32(0.5)
Make = Callable[[Building], Value]


def picks(places: list[int]) -> npt.NDArray[np.int32]:
    return np.array(places, np.int32)


def fully(b: Building, x: Value, weights: Any = BANK, bias: Any = BIAS, clamp: Any = FREE) -> Value:
    return b(FullyConnected(clamp=clamp), x, weights, bias)


def by_itself(b: Building, x: Value) -> Value:
    return b(Mul(), x, x)


def squared(b: Building) -> Value:
    return b(Square(), b.parts)


def side(b: Building, which: int, make: Any = None) -> Value:
    """Real or imaginary parts alone, (frames, bins)."""
    return b(Slice((0, which), (FRAMES, BINS), (1, 2)), make or b.parts)


#: By name: values that are traced, of parts, squares, or features.
TRACED: dict[str, tuple[Kind, Make]] = {
    "parts": (Kind.PARTS, lambda b: b.parts),
    "times a window": (Kind.PARTS, lambda b: b(Mul(), b.parts, WINDOW)),
    "a window times": (Kind.PARTS, lambda b: b(Mul(), WINDOW, b.parts)),
    "turned": (Kind.PARTS, lambda b: b(Transpose((1, 0)), b(Mul(), b.parts, WINDOW))),
    "cut": (Kind.PARTS, lambda b: b(Slice((1, 2), (2, 6), (1, 1)), b.parts)),
    "picked": (Kind.PARTS, lambda b: b(Gather(1), b.parts, picks([4, 1, 1]))),
    "padded with nothing": (
        Kind.PARTS, lambda b: b(Pad(((0, 1), (2, 0))), b(Mul(), b.parts, WINDOW)),
    ),
    "joined": (
        Kind.PARTS, lambda b: b(Concatenation(0), b.parts, b(Mul(), b.parts, WINDOW)),
    ),
    "plus nothing": (
        Kind.PARTS, lambda b: b(Add(), b.parts, b(Mul(), b.parts, np.float32(0))),
    ),
    "nothing plus": (
        Kind.PARTS, lambda b: b(Add(), b(Mul(), b.parts, np.float32(0)), b.parts),
    ),
    "less nothing": (
        Kind.PARTS, lambda b: b(Sub(), b.parts, b(Mul(), b.parts, np.float32(0))),
    ),
    "nothing less": (
        Kind.PARTS, lambda b: b(Sub(), b(Mul(), b.parts, np.float32(0)), b.parts),
    ),
    "squares": (Kind.SQUARES, lambda b: b(Square(), b(Mul(), b.parts, WINDOW))),
    "to the power of two": (Kind.SQUARES, lambda b: b(Power(2.0), b.parts)),
    "to the second": (Kind.SQUARES, lambda b: b(Pow(), b.parts, np.float32(2))),
    "to the second, written ten times": (
        Kind.SQUARES, lambda b: b(Pow(), b.parts, np.full(10, 2, np.float32)),
    ),
    "times itself": (Kind.SQUARES, lambda b: b(Mul(), b.parts, b.parts)),
    "squares turned": (Kind.SQUARES, lambda b: b(Transpose((1, 0)), squared(b))),
    "bins": (Kind.FEATURES, lambda b: b.bins()),
    "bins, scaled before": (
        Kind.FEATURES, lambda b: b(Sum((2,)), b(Square(), b(Mul(), b.pairs(), HALF))),
    ),
    "bins by one reduction": (Kind.FEATURES, lambda b: b(ReduceSumSquare((2,)), b.pairs())),
    "bins that keep an axis": (Kind.FEATURES, lambda b: b(Sum((2,), True), b(Square(), b.pairs()))),
    "bins that keep an axis, turned": (
        Kind.FEATURES,
        lambda b: b(Transpose((2, 1, 0)), b(Sum((2,), True), b(Square(), b.pairs()))),
    ),
    "bins of two halves": (
        Kind.FEATURES, lambda b: b(Add(), b(Square(), side(b, 0)), b(Square(), side(b, 1))),
    ),
    "bins the other way round": (
        Kind.FEATURES, lambda b: b(Add(), side(b, 1, squared(b)), side(b, 0, squared(b))),
    ),
    "magnitudes": (Kind.FEATURES, lambda b: b(Sqrt(), b.bins())),
    "magnitudes by a power": (Kind.FEATURES, lambda b: b(Power(0.5), b.bins())),
    "squared again": (Kind.FEATURES, lambda b: b(Square(), b(Sqrt(), b.bins()))),
    "magnitudes times themselves": (
        Kind.FEATURES, lambda b: by_itself(b, b(Sqrt(), b.bins())),
    ),
    "times": (Kind.FEATURES, lambda b: b(Mul(), b.bins(), HALF)),
    "divided": (Kind.FEATURES, lambda b: b(Div(), b.bins(), np.float32(4))),
    "plus": (Kind.FEATURES, lambda b: b(Add(), b.bins(), HALF)),
    "plus, then times": (Kind.FEATURES, lambda b: b(Mul(), b(Add(), b.bins(), HALF), HALF)),
    "plus in front": (Kind.FEATURES, lambda b: b(Add(), HALF, b.bins())),
    "magnitudes plus": (Kind.FEATURES, lambda b: b(Add(), b(Sqrt(), b.bins()), HALF)),
    "scaled magnitudes plus": (
        Kind.FEATURES, lambda b: b(Add(), b(Mul(), b(Sqrt(), b.bins()), HALF), HALF),
    ),
    "at least": (Kind.FEATURES, lambda b: b(Maximum(), b.bins(), np.float32(3))),
    "at most": (Kind.FEATURES, lambda b: b(Minimum(), b.bins(), np.float32(30))),
    "at most, then times": (
        Kind.FEATURES, lambda b: b(Mul(), b(Minimum(), b.bins(), np.float32(30)), HALF),
    ),
    "at least, then the root, then times": (
        Kind.FEATURES,
        lambda b: b(Mul(), b(Sqrt(), b(Maximum(), b.bins(), np.float32(3))), HALF),
    ),
    "magnitudes at most": (
        Kind.FEATURES, lambda b: b(Minimum(), b(Sqrt(), b.bins()), np.float32(4)),
    ),
    "clamped": (Kind.FEATURES, lambda b: b(Relu((2.0, 20.0)), b.bins())),
    "clamped by an operator": (Kind.FEATURES, lambda b: b(Mul((2.0, 9.0)), b.bins(), HALF)),
    "logarithm": (Kind.FEATURES, lambda b: b(Log(), b(Add(), b.bins(), HALF))),
    "logarithm of magnitudes": (Kind.FEATURES, lambda b: b(Log(), b(Sqrt(), b.bins()))),
    "decibels": (
        Kind.FEATURES,
        lambda b: b(Add(), b(Mul(), b(Log(), b(Add(), b.bins(), HALF)), np.float32(-4)), HALF),
    ),
    "decibels, offset first": (
        Kind.FEATURES,
        lambda b: b(Mul(), b(Sub(), b(Log(), b(Add(), b.bins(), HALF)), HALF), np.float32(4)),
    ),
    "a number less the logarithm": (
        Kind.FEATURES, lambda b: b(Sub(), HALF, b(Log(), b(Add(), b.bins(), HALF))),
    ),
    "a bank": (Kind.FEATURES, lambda b: fully(b, b.bins())),
    "a bank of magnitudes": (Kind.FEATURES, lambda b: fully(b, b(Sqrt(), b.bins()))),
    "a bank of scaled magnitudes": (
        Kind.FEATURES, lambda b: fully(b, b(Mul(), b(Sqrt(), b.bins()), HALF)),
    ),
    "a bank of bins in another order": (
        Kind.FEATURES, lambda b: fully(b, b(Gather(1), b.bins(), picks([4, 3, 2, 1, 0]))),
    ),
    "a bank of a bin twice": (
        Kind.FEATURES, lambda b: fully(b, b(Gather(1), b.bins(), picks([4, 3, 4, 1, 0]))),
    ),
    "a bank of some bins": (
        Kind.FEATURES,
        lambda b: fully(b, b(Slice((1, 1), (2, 3), (1, 1)), b.bins()), BANK[:, :3]),
    ),
    "a clamped bank": (Kind.FEATURES, lambda b: fully(b, b.bins(), clamp=(0.5, 9.0))),
    "a bank by a product": (
        Kind.FEATURES, lambda b: b(BatchMatMul(), b.bins(), np.ascontiguousarray(BANK.T)),
    ),
    "a bank by a turned product": (
        Kind.FEATURES, lambda b: b(BatchMatMul(adj_y=True), b.bins(), BANK),
    ),
    "a bank in front": (
        Kind.FEATURES, lambda b: b(BatchMatMul(), BANK, b(Transpose((1, 0)), b.bins())),
    ),
    "a bank in front of turned bins": (
        Kind.FEATURES, lambda b: b(BatchMatMul(adj_y=True), BANK, b.bins()),
    ),
    "a turned bank in front": (
        Kind.FEATURES,
        lambda b: b(BatchMatMul(adj_x=True, adj_y=True), np.ascontiguousarray(BANK.T), b.bins()),
    ),
    "a bank behind turned bins": (
        Kind.FEATURES,
        lambda b: b(BatchMatMul(adj_x=True, adj_y=True), b(Transpose((1, 0)), b.bins()), BANK),
    ),
    "bins of parts that float32 scaled alike": (
        Kind.FEATURES, lambda b: b(Sum((2,)), b(Square(), b(Mul(), b.pairs(), NEARLY[0]))),
    ),
    "a bank of bins with an axis more": (
        Kind.FEATURES, lambda b: fully(b, b(Reshape((1, FRAMES, BINS)), b.bins())),
    ),
    "a bank with an axis more": (
        Kind.FEATURES,
        lambda b: b(BatchMatMul(), b(Reshape((1, FRAMES, BINS)), b.bins()), BANK.T[np.newaxis]),
    ),
    "the logarithm of a bank, turned": (
        Kind.FEATURES, lambda b: b(Transpose((1, 0)), b(Log(), fully(b, b.bins()))),
    ),
}  # fmt: skip
#: What is not: where it would be another function, or nobody has needed it.
LEFT: dict[str, Make] = {
    "broadcast": lambda b: b(Mul(), b(Reshape((FRAMES, 1, 10)), b.parts), np.ones((2, 10), "f4")),
    "a sum of parts": lambda b: b(Add(), b.parts, b.parts),
    "padded with ones": lambda b: b(Pad(((0, 0), (1, 0)), 1.0), b.parts),
    "the third power": lambda b: b(Power(3.0), b.parts),
    "two powers": lambda b: b(Pow(), b.parts, np.array([2, 1] * 5, np.float32)),
    "clamped parts": lambda b: b(Mul((0.0, 9.0)), b.parts, WINDOW),
    "a sine": lambda b: b(Sin(), b.parts),
    "joined with squares": lambda b: b(Concatenation(0), b.parts, squared(b)),
    "joined with a constant": lambda b: b(Concatenation(0), b.parts, np.ones((1, 10), "f4")),
    "a sum of a part twice": lambda b: b(Add(), side(b, 0, squared(b)), side(b, 0, squared(b))),
    "a sum of neighbours": lambda b: b(
        Sum((2,)),
        b(Square(), b(Reshape((FRAMES, 4, 2)), b(Slice((0, 1), (3, 8), (1, 1)), b.parts))),
    ),
    "a sum of weighted squares": lambda b: b(
        Sum((2,)), b(Square(), b(Mul(), b.pairs(), np.array([1, 2], np.float32)))
    ),
    "a sum of squares of other shapes": lambda b: b(
        Add(), squared(b), b(Slice((0, 0), (1, 10), (1, 1)), squared(b))
    ),
    "squares less squares": lambda b: b(Sub(), side(b, 0, squared(b)), side(b, 1, squared(b))),
    "squares times squares": lambda b: b(Mul(), side(b, 0, squared(b)), side(b, 1, squared(b))),
    "the greater of two squares": lambda b: b(
        Maximum(), side(b, 0, squared(b)), side(b, 1, squared(b))
    ),
    "the sum of a square and a part": lambda b: b(Add(), side(b, 0, squared(b)), side(b, 1)),
    "a sum of squares scaled nearly alike": lambda b: b(
        Sum((2,)), b(Square(), b(Mul(), b.pairs(), NEARLY[1]))
    ),
    "a sum of squares of nothing": lambda b: b(
        Sum((2,)), b(Square(), b(Mul(), b.pairs(), np.float32(0)))
    ),
    "parts times others": lambda b: b(Mul(), side(b, 0), side(b, 1)),
    "parts times themselves, clamped": lambda b: b(Mul((0.0, 9.0)), b.parts, b.parts),
    "halves": lambda b: b.graph.add_many(Split(1, (4, 6)), b.parts, like=real(1))[0],
    "a mean": lambda b: b(Mean((2,)), b(Square(), b.pairs())),
    "a sum of all": lambda b: b(Sum((1, 2)), b(Square(), b.pairs())),
    "a sum of frames": lambda b: b(Sum((0,)), b(Square(), b.pairs())),
    "clamped squares": lambda b: b(Add((0.0, 9.0)), side(b, 0, squared(b)), side(b, 1, squared(b))),
    "less than nothing": lambda b: b(Mul(), b.bins(), np.float32(-1)),
    "times nothing": lambda b: b(Mul(), b.bins(), np.float32(0)),
    "minus": lambda b: b(Sub(), b.bins(), HALF),
    "plus what is no number": lambda b: b(Add(), b.bins(), np.float32(np.nan)),
    "at most what is no number": lambda b: b(Minimum(), b.bins(), np.float32(np.nan)),
    "a number less bins": lambda b: b(Sub(), HALF, b.bins()),
    "divided into": lambda b: b(Div(), HALF, b.bins()),
    "times other numbers": lambda b: b(Mul(), b.bins(), np.arange(1, 6, dtype="f4")),
    "squared bins": lambda b: b(Square(), b.bins()),
    "magnitudes times others": lambda b: b(
        Mul(), b(Sqrt(), b.bins()), b(Sqrt(), b(Mul(), b.bins(), HALF))
    ),
    "magnitudes times bins": lambda b: b(Mul(), b(Sqrt(), b.bins()), b.bins()),
    "the third root": lambda b: b(Power(1 / 3), b.bins()),
    "a power of a number": lambda b: b(Pow(), np.float32(0.5), b.bins()),
    "plus what was cut": lambda b: b(Add(), b(Maximum(), b.bins(), np.float32(3)), HALF),
    "plus what was cut above": lambda b: b(Add(), b(Minimum(), b.bins(), np.float32(30)), HALF),
    "a clamp that leaves one number": lambda b: b(Minimum(), b.bins(), np.float32(0)),
    "cut to nothing": lambda b: b(
        Minimum(), b(Maximum(), b.bins(), np.float32(3)), np.float32(2)
    ),
    "two logarithms": lambda b: b(Log(), b(Log(), b(Add(), b.bins(), np.float32(9)))),
    "a root of a logarithm": lambda b: b(Sqrt(), b(Log(), b(Add(), b.bins(), np.float32(9)))),
    "a clamped logarithm": lambda b: b(
        Relu((0.0, 9.0)), b(Log(), b(Add(), b.bins(), np.float32(9)))
    ),
    "bins plus bins": lambda b: b(Add(), b.bins(), b.bins()),
    "a bank with a number below nothing": lambda b: fully(b, b.bins(), -BANK),
    "a bank with a number a little below nothing": lambda b: fully(
        b, b.bins(), BANK - np.eye(4, BINS, dtype="f4") * (BANK + np.float32(0.01))
    ),
    "two banks beside each other": lambda b: b(
        BatchMatMul(), b(Reshape((1, FRAMES, BINS)), b.bins()), np.stack([BANK.T, BANK.T])
    ),
    "a bank with different biases": lambda b: fully(b, b.bins(), BANK, np.arange(4, dtype="f4")),
    "a bank with a bias below nothing": lambda b: fully(b, b.bins(), BANK, -BIAS),
    "two banks": lambda b: fully(b, fully(b, b.bins()), BANK[:, :4]),
    "a bank of what has a floor": lambda b: fully(b, b(Add(), b.bins(), HALF)),
    "a bank of what is cut": lambda b: fully(b, b(Maximum(), b.bins(), np.float32(3))),
    "a bank of what is cut above": lambda b: fully(b, b(Minimum(), b.bins(), np.float32(30))),
    "a bank of logarithms": lambda b: fully(b, b(Log(), b.bins())),
    "a bank across frames": lambda b: fully(
        b, b(Transpose((1, 0)), b.bins()), BANK[:, :FRAMES]
    ),
    "a bank of rows of two frames": lambda b: fully(
        b, b(Reshape((1, 5)), b(Slice((0, 0), (1, 5), (1, 1)), b(Reshape((1, 15)), b(
            Transpose((1, 0)), b.bins())))),
    ),
    "a bank of other bins a row": lambda b: fully(
        b, b(Concatenation(0), b.bins(), b(Gather(1), b.bins(), picks([4, 3, 2, 1, 0])))
    ),
    "weights that are the bins": lambda b: b(
        FullyConnected(clamp=FREE), BANK, b.bins(), np.zeros(FRAMES, np.float32)
    ),
}  # fmt: skip


def expect_traced(kind: Kind, make: Make) -> None:
    """That what is traced of a function is of its kind and what the function computes."""
    building = Building()
    value = make(building)
    graph = building.graph.finish(value)
    found = both(graph, value)
    assert found is not None
    assert traces_of(graph)[value].kind is kind
    np.testing.assert_allclose(*found, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("name", TRACED)
def test_what_is_traced_is_what_is_computed(name: str) -> None:
    expect_traced(*TRACED[name])


@pytest.mark.parametrize("name", LEFT)
def test_what_is_another_function_ends_the_trace(name: str) -> None:
    building = Building()
    value = LEFT[name](building)
    graph = building.graph.finish(value)
    assert value not in traces_of(graph)
    traces = traces_of(graph)
    for each in traces:
        found = both(graph, each)
        assert found is not None
        np.testing.assert_allclose(*found, rtol=2e-5, atol=1e-5)
