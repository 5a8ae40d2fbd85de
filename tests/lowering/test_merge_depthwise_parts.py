"""Depthwise convolutions of parts of the channels become one, with every bit as before."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import run_graph
from glowmcu.lowering import merge_depthwise_parts
from glowmcu.ops.convolution import DepthwiseConv2D
from glowmcu.pipeline import reference_graph
from tests.support.oracle import run_tflm

PASS = merge_depthwise_parts.run
_SCALE = 0.05


class Mixed:
    """An image whose channels are split, read through windows of several heights, and joined."""

    def __init__(
        self,
        taps: tuple[int, ...],
        channels: tuple[int, ...],
        per_channel: bool = True,
        stride: int = 1,
        skipped: tuple[int, ...] | None = None,
        scales: tuple[float, ...] | None = None,
        dtype: str = "int8",
    ) -> None:
        self.random = np.random.default_rng(len(taps))
        self.b = ModelBuilder()
        self.dtype, self.stride = dtype, stride
        total, height = sum(channels), 4 + max(taps) * 2
        x = self.b.input("x", [1, height, 3, total], dtype, *self._scale(_SCALE, -3))
        parts = [
            self.b.tensor(f"part{i}", [1, height, 3, n], dtype, *self._scale(_SCALE, -3))
            for i, n in enumerate(channels)
        ]
        sizes = self.b.constant("sizes", np.array(channels, np.int32))
        axis = self.b.constant("axis", np.array(3, np.int32))
        self.b.op("SPLIT_V", [x, sizes, axis], parts, {"num_splits": len(parts)})
        self.parts, self.results = parts, []
        rows = (height - max(taps) - max(skipped or (0,))) // stride
        for i, (n, k) in enumerate(zip(channels, taps, strict=True)):
            first = max(taps) - k if skipped is None else skipped[i]
            used = (rows - 1) * stride + k
            scale = _SCALE if scales is None else scales[i]
            self.results.append(self._depthwise(i, n, k, first, used, rows, per_channel, scale))
        shape = [1, rows, 3, total]
        self.joined = self.b.tensor("joined", shape, dtype, *self._scale(_SCALE, 4))
        self.b.op("CONCATENATION", self.results, [self.joined], {"axis": 3})

    def _scale(self, scale: float, point: int) -> tuple[float | None, int]:
        return (None, 0) if self.dtype == "float32" else (scale, point)

    def _depthwise(
        self, i: int, n: int, k: int, first: int, used: int, rows: int, per_channel: bool,
        scale: float,
    ) -> object:  # fmt: skip
        b = self.b
        ends = np.array([[0, first, 0, 0], [1, first + used, 3, n], [1] * 4], np.int32)
        constants = [b.constant(f"c{i}{j}", item) for j, item in enumerate(ends)]
        slab = b.tensor(f"rows{i}", [1, used, 3, n], self.dtype, *self._scale(_SCALE, -3))
        b.op("STRIDED_SLICE", [self.parts[i], *constants], [slab], {})
        w_scales = [0.01 * (1 + j + i) for j in range(n)] if per_channel else [0.02]
        taps = self.random.integers(-127, 128, (1, k, 1, n))
        bias = self.random.integers(-900, 900, n)
        if self.dtype == "float32":
            w = b.constant(f"w{i}", taps.astype(np.float32))
            bias_ref = b.constant(f"b{i}", bias.astype(np.float32))
        else:
            w = b.constant(f"w{i}", taps.astype(np.int8), w_scales, 0, 3)
            b_scales = [_SCALE * one for one in w_scales]
            bias_ref = b.constant(f"b{i}", bias.astype(np.int32), b_scales, 0, 0)
        result = b.tensor(f"y{i}", [1, rows, 3, n], self.dtype, *self._scale(scale, 4))
        options = {"padding": "VALID", "stride_h": self.stride, "stride_w": 1,
                   "depth_multiplier": 1}  # fmt: skip
        b.op("DEPTHWISE_CONV_2D", [slab, w, bias_ref], [result], options)
        return result

    def finish(self) -> bytes:
        self.b.output(self.joined)
        return self.b.finish()


def depthwise(graph: Graph) -> int:
    return sum(isinstance(node.op, DepthwiseConv2D) for node in graph.nodes)


MERGED: dict[str, Callable[[], Mixed]] = {
    "two heights": lambda: Mixed((5, 7), (4, 4)),
    "three heights": lambda: Mixed((7, 6, 8), (3, 5, 2)),
    "one scale a tensor": lambda: Mixed((5, 6), (4, 8), per_channel=False),
    "every second row": lambda: Mixed((3, 4), (2, 2), stride=2),
    "windows that begin together": lambda: Mixed((5, 7), (4, 4), skipped=(0, 0)),
    "windows that begin below the first row": lambda: Mixed((5, 6), (4, 4), skipped=(3, 2)),
    "real numbers": lambda: Mixed((5, 7), (4, 4), dtype="float32"),
}


@pytest.mark.parametrize("name", MERGED)
def test_parts_become_one(name: str) -> None:
    model = MERGED[name]().finish()
    before = reference_graph(model, "m.tflite")
    after = PASS(before)
    after.verify()
    assert depthwise(after) == 1
    x = before.inputs[0].type
    random = np.random.default_rng(5)
    data = random.integers(-128, 128, x.shape).astype(x.element.numpy)
    (got,), (want,) = run_graph(after, [data]), run_graph(before, [data])
    if x.element.is_float:
        assert np.abs(got - want).max() <= 1e-5 * np.abs(want).max()
        return
    assert np.array_equal(got, want)
    (tflm,) = run_tflm(model, [data])  # type: ignore[misc]
    assert np.array_equal(got, tflm)


def with_other_reader() -> Mixed:
    mixed = Mixed((5, 7), (4, 4))
    mixed.b.output(mixed.results[0])
    return mixed


APART: dict[str, Callable[[], Mixed]] = {
    "a part is read elsewhere": with_other_reader,
    "most taps would be zeros": lambda: Mixed((2, 9), (8, 8)),
}


@pytest.mark.parametrize("name", APART)
def test_other_parts_stay(name: str) -> None:
    before = reference_graph(APART[name]().finish(), "m.tflite")
    assert depthwise(PASS(before)) == depthwise(before) == 2


def test_channels_in_another_order_stay() -> None:
    mixed = Mixed((5, 7), (4, 4))
    shape = list(mixed.joined.shape)
    turned = mixed.b.tensor("turned", shape, "int8", _SCALE, 4)
    mixed.b.op("CONCATENATION", mixed.results[::-1], [turned], {"axis": 3})
    mixed.joined = turned
    before = reference_graph(mixed.finish(), "m.tflite")
    assert depthwise(PASS(before)) == 2
