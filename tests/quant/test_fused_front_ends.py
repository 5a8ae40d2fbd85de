"""A front end that became one operator computes, in real numbers, what its nodes computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.interpreter import run_graph
from glowmcu.ops.activation import Relu
from glowmcu.ops.elementwise import Add, Mul
from glowmcu.ops.gather import Gather
from glowmcu.ops.matmul import BatchMatMul, FullyConnected
from glowmcu.ops.real_functions import Sin, Sqrt, Square
from glowmcu.ops.reduction import Sum
from glowmcu.ops.shape import Reshape
from glowmcu.ops.signal_fft import Rfft
from glowmcu.ops.slicing import Slice
from glowmcu.ops.spectrogram import Spectrogram
from glowmcu.ops.transcendental import Log
from glowmcu.ops.transpose import Transpose
from glowmcu.quant.profiling import profile_graph
from glowmcu.quant.samples import samples_of
from glowmcu.quant.spectra import Fused, _stored_bank, fuse_front_ends
from tests.ir.graphs import GraphBuilder
from tests.quant.networks import RELU, draw, real

FRAMES, LENGTH, STEP, FIRST = 3, 8, 5, 2
SAMPLES, BINS = FIRST + STEP * (FRAMES - 1) + LENGTH + 4, LENGTH // 2 + 1
PLACES = FIRST + STEP * np.arange(FRAMES)[:, np.newaxis] + np.arange(LENGTH)
BANK = np.abs(draw(3, 4, BINS))
NONE = np.zeros(4, np.float32)


class Building:
    """A signal's spectrum, and what is made of it."""

    def __init__(self, *shape: int) -> None:
        self.graph = GraphBuilder()
        self.x = self.graph.input(real(*(shape or (1, SAMPLES))), "x")
        axis = self.x.type.rank - 1
        frames = self(Gather(axis), self.x, PLACES.astype(np.int32))
        window = np.array([0, 1, 0.5, 0.25, 1, 0.75, 0.5, 0.25], np.float32)
        rows = self(Mul(), self(Reshape((FRAMES, LENGTH)), frames), window)
        self.parts = self(Rfft(LENGTH), rows, name="fft")
        pairs = self(Reshape((FRAMES, BINS, 2)), self.parts)
        self.bins = self(Sum((2,)), self(Square(), pairs), name="bins")

    def __call__(self, op: Any, *operands: Any, name: str = "") -> Value:
        values = [
            each if isinstance(each, Value) else self.graph.constant(np.asarray(each), name="c")
            for each in operands
        ]
        return self.graph.add(op, *values, like=real(1), name=name)

    def bank(self, x: Value, weights: Any = BANK) -> Value:
        return self(FullyConnected(), x, weights, NONE[: len(weights)], name="bank")

    def log(self, x: Value) -> Value:
        return self(Log(), self(Add(), x, np.float32(0.5)), name="log")

    def cut(self, x: Value, first: tuple[int, int], shape: tuple[int, int]) -> Value:
        return self(Slice(first, shape, (1, 1)), x, name="cut")


Make = Callable[[Building], Value | tuple[Value, ...]]
#: Front ends; frames, first bin and bins of the operator (no bins: it has a bank), what follows.
FUSED: dict[str, tuple[Make, tuple[int, int, int], list[str]]] = {
    "bins": (lambda b: b.bins, (3, 0, 5), ["reshape"]),
    "bins of one recording": (lambda b: b(Reshape((1, FRAMES, BINS)), b.bins), (3, 0, 5), []),
    "turned": (lambda b: b(Transpose((1, 0)), b.bins), (3, 0, 5), ["transpose", "reshape"]),
    "turned, of one recording": (
        lambda b: b(Reshape((1, BINS, FRAMES)), b(Transpose((1, 0)), b.bins)),
        (3, 0, 5), ["transpose"],
    ),
    "as many bins as frames, turned, of one recording": (
        lambda b: b(Reshape((1, 3, 3)), b(Transpose((1, 0)), b.cut(b.bins, (0, 1), (3, 3)))),
        (3, 1, 3), ["transpose"],
    ),
    "some bins": (lambda b: b.cut(b.bins, (0, 1), (3, 3)), (3, 1, 3), ["reshape"]),
    "the last bin": (lambda b: b.cut(b.bins, (0, 4), (3, 1)), (3, 4, 1), ["reshape"]),
    "the first frames": (lambda b: b.cut(b.bins, (0, 0), (2, 5)), (2, 0, 5), ["reshape"]),
    "the first frame": (lambda b: b.cut(b.bins, (0, 2), (1, 2)), (1, 2, 2), ["reshape"]),
    "magnitudes": (lambda b: b(Sqrt(), b.bins), (3, 0, 5), ["reshape"]),
    "logarithms": (lambda b: b.log(b.bins), (3, 0, 5), ["reshape"]),
    "a bank": (lambda b: b.bank(b.bins), (3, 0, 0), ["reshape"]),
    "a bank of magnitudes": (lambda b: b.bank(b(Sqrt(), b.bins)), (3, 0, 0), ["reshape"]),
    "the logarithm of a bank": (lambda b: b.log(b.bank(b.bins)), (3, 0, 0), ["reshape"]),
    "a bank less its first filter": (
        lambda b: b.cut(b.bank(b.bins), (0, 1), (3, 3)), (3, 0, 0), ["reshape"],
    ),
    "a bank less its last filter": (
        lambda b: b.cut(b.bank(b.bins), (0, 0), (3, 3)), (3, 0, 0), ["reshape"],
    ),
    "a bank in front": (
        lambda b: b(BatchMatMul(adj_y=True), BANK, b.bins), (3, 0, 0), ["transpose", "reshape"],
    ),
    "a bank of one filter": (lambda b: b.bank(b.bins, BANK[:1]), (3, 0, 0), ["reshape"]),
    "a filter of nothing": (
        lambda b: b.bank(b.bins, np.array([[0] * 5, [1] * 5, [0, 0, 2, 0, 0]], np.float32)),
        (3, 0, 0), ["reshape"],
    ),
}  # fmt: skip


def names(graph: Graph) -> list[str]:
    return [node.op.name for node in graph.nodes if node.inputs]


def fused(make: Make, *shape: int) -> tuple[Graph, Fused]:
    building = Building(*shape)
    made = make(building)
    graph = building.graph.finish(*(made if isinstance(made, tuple) else (made,)))
    found = fuse_front_ends(graph, ())
    found.graph.verify()
    return graph, found


def expect_alike(graph: Graph, found: Fused) -> None:
    """Up to what int16 leaves of windows and banks."""
    samples = draw(11, *graph.inputs[0].type.shape, scale=3.0)
    wanted, got = run_graph(graph, [samples]), run_graph(found.graph, [samples])
    for one, other in zip(wanted, got, strict=True):
        np.testing.assert_allclose(other, one, rtol=0, atol=2e-4 * float(np.abs(one).max()))


@pytest.mark.parametrize("name", FUSED)
def test_one_operator_computes_what_all_of_them_did(name: str) -> None:
    make, numbers, behind = FUSED[name]
    graph, found = fused(make)
    assert found.reasons == {}
    assert names(found.graph) == ["spectrogram", *behind]
    op = next(node.op for node in found.graph.nodes if isinstance(node.op, Spectrogram))
    assert (op.frames, op.first_bin, op.bins) == numbers
    # The window's first weight is 0: frames begin one sample later.
    assert (op.length, op.step, op.first) == (LENGTH, STEP if op.frames > 0 else 0, FIRST + 1)
    expect_alike(graph, found)


@pytest.mark.parametrize("shape", [(SAMPLES,), (1, 1, SAMPLES)])
def test_a_signal_of_other_axes_is_made_a_recording(shape: tuple[int, ...]) -> None:
    graph, found = fused(lambda b: b.bins, *shape)
    assert names(found.graph) == ["reshape", "spectrogram", "reshape"]
    expect_alike(graph, found)


#: What is read in an order that no operator gives: the last value before it is in order.
BEFORE: dict[str, tuple[Make, list[str]]] = {
    "bins backwards": (
        lambda b: b(Gather(1), b.bins, np.array([4, 3, 2, 1, 0], np.int32)), ["gather"],
    ),
    "without the first frame": (lambda b: b.cut(b.bins, (1, 0), (2, 5)), ["slice"]),
    "a bin twice": (lambda b: b(Gather(1), b.bins, np.array([0, 1, 1], np.int32)), ["gather"]),
    "the root of a bank": (lambda b: b(Sqrt(), b.bank(b.bins)), ["sqrt"]),
}  # fmt: skip


@pytest.mark.parametrize("name", BEFORE)
def test_the_last_value_that_an_operator_gives_is_fused(name: str) -> None:
    make, left = BEFORE[name]
    graph, found = fused(make)
    assert names(found.graph) == ["spectrogram", "reshape", *left]
    expect_alike(graph, found)


def test_every_value_that_others_read_has_an_operator_of_its_own() -> None:
    graph, found = fused(lambda b: (b.bins, b(Sin(), b.log(b.bank(b.bins)))))
    assert sorted(names(found.graph)) == ["reshape", "reshape", "sin", "spectrogram", "spectrogram"]
    expect_alike(graph, found)
    assert [len(parts) for parts in found.parts.values()] == [7, 10]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda b: (b.bins, b(Sin(), b.parts)), "re^2 + im^2 alone"),
        (lambda b: b(Sin(), b.parts), "re^2 + im^2 alone"),
        (lambda b: b.parts, "re^2 + im^2 alone"),
    ],
)
def test_parts_that_others_read_keep_the_transform(make: Make, words: str) -> None:
    graph, found = fused(make)
    assert found.graph is graph
    ((node, reason),) = found.reasons.items()
    assert node.name == "fft"
    assert words in reason


def test_frames_of_no_signal_keep_the_transform() -> None:
    building = GraphBuilder()
    rows = building.input(real(FRAMES, LENGTH))
    parts = building.add(Rfft(LENGTH), rows, like=real(1))
    squares = building.add(Square(), building.add(Reshape((FRAMES, BINS, 2)), parts))
    graph = building.finish(building.add(Sum((2,)), squares))
    found = fuse_front_ends(graph, ())
    assert found.graph is graph
    assert "not cut from one signal" in next(iter(found.reasons.values()))


@pytest.mark.parametrize("kept", ["bins", "fft", "log", "end", ""])
def test_a_node_that_is_kept_keeps_all_that_its_front_end_has(kept: str) -> None:
    building = Building()
    graph = building.graph.finish(building(Sin(), building.log(building.bins), name="end"))
    nodes = [node for node in graph.nodes if node.name == kept]
    assert len(nodes) == (kept != "")
    found = fuse_front_ends(graph, nodes)
    assert ("spectrogram" in names(found.graph)) == (kept in ("end", ""))
    assert found.reasons == {}


def test_graphs_without_a_transform_of_real_numbers_stay_as_they_are() -> None:
    graph = GraphBuilder()
    finished = graph.finish(graph.add(Relu(RELU), graph.input(real(1, 4))))
    assert fuse_front_ends(finished, ()).graph is finished


def test_a_profile_goes_with_the_front_end() -> None:
    graph, found = fused(lambda b: b(Sin(), b.log(b.bins), name="end"))
    profile = profile_graph(graph, samples_of(graph, draw(5, 6, SAMPLES)))
    tensors = found.profile(graph, profile).tensors
    assert tensors["log/features"] == profile.tensors["log"]
    assert tensors["end"] == profile.tensors["end"]
    # The samples as one recording, and the window: of what went in.
    assert tensors["x"] == profile.tensors["x"]
    assert set(tensors) == {"x", "log", "log/features", "end"}


def test_names_of_nodes_that_went_into_a_front_end_mean_the_front_end() -> None:
    _, found = fused(lambda b: b(Sin(), b.log(b.bins), name="end"))
    assert found.names(["bins"]) == ("log",)
    assert found.names(["end", "bins", "log"]) == ("end", "log")
    assert found.names(["nobody"]) == ("nobody",)
    assert found.names(["signal_rfft", "sin"]) == ("log", "sin")


@pytest.mark.parametrize("scale", [1e-6, 1.0, 5e4])
def test_weights_of_a_bank_take_15_bits_and_sums_16(scale: float) -> None:
    bank = scale * np.array([[0, 1, 0.5], [1, 1, 1], [0.25, 1, 0.75], [0, 0, 0]])
    stored, how = _stored_bank(bank)
    assert stored.dtype == np.int16
    assert how.axis == 0
    assert stored.max(axis=1).tolist() == [32767, 21844, 32766, 0]
    assert (stored.sum(axis=1, dtype=np.int64) < 2**16).all()
    for row, numbers, unit in zip(stored, bank, how.scales, strict=True):
        np.testing.assert_allclose(row * unit, numbers, rtol=0, atol=0.51 * unit)
    assert how.scales[3] == 1.0
