"""PAD goes into what reads it where that is exact, and stays elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.ir.graph import Value
from glowmcu.ir.text import print_graph
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.lowering import (
    fold_padding,
)
from glowmcu.ops.activation import Relu
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.padding import Pad
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D
from tests.ir.graphs import GraphBuilder, int8, per_channel
from tests.lowering.check_text import check_text
from tests.lowering.run_pass import names, run

SPATIAL = ((0, 0), (1, 2), (0, 3), (0, 0))


def convolution(b: GraphBuilder, x: Value, depthwise: bool = False) -> Value:
    channels = x.type.shape[3]
    shape = (1, 2, 3, channels) if depthwise else (4, 2, 3, channels)
    weights = per_channel(shape, 3 if depthwise else 0)
    data = np.random.default_rng(5).integers(-127, 128, shape).astype(np.int8)
    w = b.constant(data, weights.quantization, "w")
    bias = b.constant(np.arange(channels if depthwise else 4, dtype=np.int32))
    op = DepthwiseConv2D if depthwise else Conv2D
    return b.add(op((1, 2), (1, 1), (1, 0, 0, 1)), x, w, bias, like=int8(scale=8.0))


@pytest.mark.parametrize("depthwise", [False, True], ids=["conv_2d", "depthwise_conv_2d"])
def test_padding_with_the_zero_point_goes_into_a_convolution(depthwise: bool) -> None:
    b = GraphBuilder()
    x = b.input(int8(1, 5, 4, 3))
    padded = b.add(Pad(SPATIAL, -3), x)
    after = run(fold_padding.run, b.finish(convolution(b, padded, depthwise)))
    check_text(
        print_graph(after),
        """
        CHECK-NOT: glowmcu.pad
        CHECK: conv_2d"(%x,{{.*}}padding = array<i64: 2, 0, 2, 4>
        """,
    )


def test_padding_goes_when_all_its_readers_take_it() -> None:
    b = GraphBuilder()
    padded = b.add(Pad(SPATIAL, -3), b.input(int8(1, 5, 4, 3)))
    after = run(fold_padding.run, b.finish(convolution(b, padded), convolution(b, padded, True)))
    assert "pad" not in names(after)


def test_padding_with_the_least_value_goes_into_a_maximum() -> None:
    b = GraphBuilder()
    x = b.input(int8(1, 5, 4, 3))
    pad = Pad(((0, 0), (1, 0), (0, 1), (0, 0)), -128)
    after = run(fold_padding.run, b.finish(b.add(MaxPool2D((2, 2)), b.add(pad, x))))
    assert names(after) == ["max_pool_2d"]


def real_layer(b: GraphBuilder, x: Value, kind: str) -> Value:
    if kind == "max":
        return b.add(MaxPool2D((3, 4)), x)
    w = b.constant(np.ones((4, 2, 3, 3), np.float32), None, "w")
    return b.add(Conv2D(), x, w, b.constant(np.zeros(4, np.float32)))


@pytest.mark.parametrize(
    ("kind", "value", "goes"),
    [
        ("conv", 0.0, True),
        ("conv", 0.5, False),
        ("max", -np.inf, True),
        ("max", -float(np.finfo(np.float32).max), True),
        ("max", 0.0, False),
    ],
)
def test_padding_of_real_numbers(kind: str, value: float, goes: bool) -> None:
    b = GraphBuilder()
    x = b.input(TensorType((1, 5, 4, 3), ElementType.F32))
    padded = b.add(Pad(SPATIAL, value), x)
    after = run(fold_padding.run, b.finish(real_layer(b, padded, kind)))
    assert ("pad" not in names(after)) == goes


NO_PADDING = {
    "another value": (Pad(SPATIAL, 0), "conv"),
    "channels": (Pad(((0, 0), (0, 0), (0, 0), (0, 1)), -3), "conv"),
    "batch": (Pad(((1, 0), (0, 0), (0, 0), (0, 0)), -3), "conv"),
    "average": (Pad(SPATIAL, -3), "average"),
    "zero point under a maximum": (Pad(SPATIAL, -3), "max"),
    "maximum of padding alone": (Pad(SPATIAL, -128), "max"),
    "another reader": (Pad(SPATIAL, -3), "both"),
    "padded output": (Pad(SPATIAL, -3), "output"),
}


@pytest.mark.parametrize(("pad", "reader"), NO_PADDING.values(), ids=NO_PADDING.keys())
def test_padding_stays_where_it_is_not_exact_or_no_gain(pad: Pad, reader: str) -> None:
    b = GraphBuilder()
    padded = b.add(pad, b.input(int8(1, 5, 4, 3)))
    pools = {"average": AveragePool2D((2, 2)), "max": MaxPool2D((2, 2))}
    if reader in pools:
        outputs = (b.add(pools[reader], padded),)
    else:
        outputs = (convolution(b, padded),)
        outputs += (b.add(Relu(), padded),) if reader == "both" else ()
        outputs += (padded,) if reader == "output" else ()
    graph = b.finish(*outputs)
    assert fold_padding.run(graph) is graph
