"""Which scale and zero point every tensor gets, and what stays float, from given ranges."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.operation import Constant
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.activation import Relu
from glowmcu.ops.comparison import Greater, Select
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.elementwise import Add, Maximum, Mul, Sub
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.matmul import BatchMatMul, FullyConnected
from glowmcu.ops.normalization import LogSoftmax, Softmax
from glowmcu.ops.padding import Pad
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D
from glowmcu.ops.real_functions import Sin
from glowmcu.ops.reduction import Mean
from glowmcu.ops.shape import Reshape
from glowmcu.ops.transcendental import Logistic, Tanh
from glowmcu.ops.transpose import Transpose
from glowmcu.quant.options import Interface, QuantizationOptions
from glowmcu.quant.profile import ChannelProfile, Profile, TensorProfile, profiled_values
from glowmcu.quant.quantizer import quantize_graph
from glowmcu.quant.ranges import Calibration
from glowmcu.quant.schemas import Schema
from tests.ir.graphs import GraphBuilder
from tests.quant.networks import RELU, real

FREE = (-3.4028234663852886e38, 3.4028234663852886e38)


class Network(GraphBuilder):
    """A float network; weights follow from their names."""

    def x(self, *shape: int) -> Value:
        return self.input(real(*shape), f"x{len(self.inputs)}")

    def weights(self, name: str, *shape: int) -> Value:
        random = np.random.default_rng(zlib.crc32(name.encode()))
        return self.constant(random.integers(-40, 41, shape).astype(np.float32) / 32, name=name)

    def __call__(self, op: Any, *operands: Value, name: str = "", like: Any = None) -> Value:
        return self.add(op, *operands, name=name, like=like or real(1))

    def fully(self, x: Value, outputs: int, name: str, clamp: Any = FREE) -> Value:
        w = self.weights(f"{name}.w", outputs, x.type.shape[-1])
        return self(FullyConnected(clamp), x, w, self.weights(f"{name}.b", outputs), name=name)

    def conv(self, x: Value, outputs: int, name: str, clamp: Any = RELU) -> Value:
        w = self.weights(f"{name}.w", outputs, 1, 1, x.type.shape[-1])
        b = self.weights(f"{name}.b", outputs)
        return self(Conv2D(clamp=clamp), x, w, b, name=name)

    def depthwise(self, x: Value, name: str) -> Value:
        w = self.weights(f"{name}.w", 1, 1, 1, x.type.shape[-1])
        b = self.weights(f"{name}.b", x.type.shape[-1])
        return self(DepthwiseConv2D(clamp=FREE), x, w, b, name=name)


Make = Callable[[Network], Value | tuple[Value, ...]]


def joined(n: Network, fixed: bool) -> Value:
    """Of two layers, or of one and what mathematics fixes."""
    x = n.x(2, 4)
    other = n(Logistic(), x, name="s") if fixed else n.fully(x, 4, "b")
    return n.fully(n(Concatenation(1), n.fully(x, 4, "a"), other, name="j"), 3, "y")


def both_fixed(n: Network) -> Value:
    x = n.x(2, 4)
    ends = n(Logistic(), x, name="s"), n(Tanh(), x, name="t")
    return n.fully(n(Concatenation(1), *ends, name="j"), 3, "y")


def alike(n: Network) -> Value:
    x = n.x(2, 4)
    ends = n(Logistic(), x, name="s"), n(Logistic(), n(Relu(RELU), x, name="r"), name="t")
    return n.fully(n(Concatenation(1), *ends, name="j"), 3, "y")


def chain(n: Network) -> Value:
    x = n.conv(n.x(1, 4, 4, 2), 4, "c")
    x = n(MaxPool2D(kernel=(2, 2), strides=(2, 2)), x, name="m")
    x = n(Transpose((0, 2, 1, 3)), x, name="t")
    x = n(Pad(((0, 0), (1, 0), (0, 0), (0, 0))), x, name="p")
    x = n.depthwise(x, "d")
    x = n(AveragePool2D(kernel=(3, 2)), x, name="a")
    return n(Softmax(), n.fully(n(Reshape((1, 4)), x, name="f"), 3, "l"), name="y")


def residual(n: Network) -> Value:
    x = n.conv(n.x(1, 2, 2, 3), 3, "c")
    x = n(Add(RELU), x, n.conv(x, 3, "e", FREE), name="s")
    return n(Mean((1, 2)), n(Mul(), x, n(Logistic(), x, name="g"), name="q"), name="y")


def compared(n: Network) -> Value:
    a, b = n.fully(n.x(2, 4), 3, "a"), n.fully(n.x(2, 4), 3, "b")
    mask = n(Greater(), a, b, name="k", like=TensorType((1,), ElementType.BOOL))
    return n(Select(), mask, a, b, name="y")


def replaced(n: Network, constant: float) -> Value:
    """Where `a` is the greater, a number of its own."""
    a = n.fully(n.x(2, 4), 3, "a")
    mask = n(Greater(), a, n.x(2, 3), name="k", like=TensorType((1,), ElementType.BOOL))
    other = n.constant(np.full((1, 1), constant, np.float32), name="c")
    return n(Select(), mask, other, a, name="y")


def attention(n: Network) -> Value:
    x = n.x(1, 3, 4)
    scores = n(BatchMatMul(adj_y=True), x, n(Tanh(), x, name="k"), name="s")
    return n(BatchMatMul(), n(Softmax(), scores, name="p"), x, name="y")


def several(n: Network) -> tuple[Value, ...]:
    x = n.x(2, 4)
    a = n.fully(x, 3, "a")
    return a, n(Reshape((6,)), a, name="r"), n(LogSoftmax(), a, name="l"), x


NETWORKS: dict[str, Make] = {
    "a layer": lambda n: n.fully(n.x(2, 4), 3, "y"),
    "a layer with a ReLU6": lambda n: n.fully(n.x(2, 4), 3, "y", (0.0, 6.0)),
    "layers that move and pool": chain,
    "a residual": residual,
    "parts that are joined": lambda n: joined(n, False),
    "parts of which one is fixed": lambda n: joined(n, True),
    "parts that are fixed differently": both_fixed,
    "parts that are fixed alike": alike,
    "the greater of two": lambda n: n(
        Maximum(), n.fully(n.x(2, 4), 3, "a"), n.fully(n.x(2, 4), 3, "b"), name="y"
    ),
    "a choice": compared,
    "a constant in places of a tensor": lambda n: replaced(n, 100.0),
    "a constant some thousand times as large": lambda n: replaced(n, 5000.0),
    "a constant beyond what samples hold": lambda n: replaced(n, 3e38),
    "attention": attention,
    "several outputs": several,
    "an operator without int8": lambda n: n.fully(n(Sin(), n.x(2, 4), name="i"), 3, "y"),
    "a constant operand": lambda n: n(Sub(), n.x(2, 3), n.weights("c", 3), name="y"),
    "a constant in front": lambda n: n(Sub(), n.weights("c", 3), n.x(2, 3), name="y"),
    "a layer of one weight": lambda n: n.fully(n.x(1, 1), 1, "y"),
    "an input and nothing else": lambda n: n.x(2, 3),
}
SYMMETRIC = Calibration(schema=Schema.SYMMETRIC)
OPTIONS: dict[str, tuple[QuantizationOptions, tuple[str, ...]]] = {
    "by default": (QuantizationOptions(), tuple(NETWORKS)),
    "float outside": (
        QuantizationOptions(interface=Interface.FLOAT),
        ("a layer", "several outputs", "an input and nothing else", "an operator without int8"),
    ),
    "symmetric": (
        QuantizationOptions(calibration=SYMMETRIC), ("a layer", "a residual", "a constant operand")
    ),
    "one scale": (
        QuantizationOptions(per_channel=False), ("a layer", "layers that move and pool")
    ),
    "some float": (
        QuantizationOptions(keep_float=("max_pool_2d", "c", "l")),
        ("layers that move and pool",),
    ),
    "softmax float": (QuantizationOptions(keep_float=("softmax",)), ("attention",)),
    "layers int16": (
        QuantizationOptions(int16=("fully_connected",)),
        ("layers that move and pool", "several outputs", "parts that are joined"),
    ),
    "sums int16": (QuantizationOptions(int16=("add",)), ("a residual",)),
    "biases as they are": (QuantizationOptions(bias_correction=False), ("a layer", "a residual")),
    "equalized": (QuantizationOptions(equalization=True), ("layers that move and pool",)),
}  # fmt: skip


def profile_of(graph: Graph) -> Profile:
    """Made up: every tensor has a range of its own, by its name, and channels within it."""
    tensors = {}
    for value, name in profiled_values(graph).items():
        number = zlib.crc32(name.encode()) % 64
        low, high = -(number % 8) / 4, (1 + number // 8) / 2
        count = value.type.shape[-1] if value.type.shape else 1
        highs = np.linspace(high / 2, high, count).astype(np.float32)
        channels = ChannelProfile(np.full(count, low, np.float32), highs, highs / 4)
        tensors[name] = TensorProfile(value.type.shape, 8, low, high, high / 4, 0.5, None, channels)
    return Profile("", "", 1, tensors)


def told(graph: Graph) -> str:
    lines = [f"    {value.name}{_type(value.type)}" for value in graph.inputs]
    for node in graph.nodes:
        line = f"    {node.output.name}{_type(node.output.type)}"
        if isinstance(node.op, Constant):
            data = graph.constant_data(node.output)
            assert data is not None
            line += " " + " ".join(f"{number:g}" for number in data.reshape(-1)[:16].tolist())
        else:
            clamp = getattr(node.op, "clamp", None)
            limits = "" if clamp in (None, FREE) else " [{:.4g}, {:.4g}]".format(*clamp)
            line += f" = {node.op.name}{limits} " + " ".join(v.name for v in node.inputs)
        lines.append(line)
    return "\n".join([*lines, "    -> " + " ".join(value.name for value in graph.outputs)])


def _type(type_: TensorType) -> str:
    if type_.quantization is None:
        return f":{type_.element.value}"
    scales = "/".join(f"{scale:.4g}" for scale in type_.quantization.scales)
    points = "/".join(sorted(set(map(str, type_.quantization.zero_points))))
    axis = "" if type_.quantization.axis is None else f"@{type_.quantization.axis}"
    return f":{type_.element.value}*{scales}+{points}{axis}"


def test_parameters_follow_from_ranges_as_recorded(golden: Callable[..., None]) -> None:
    text = ""
    for title, (options, names) in OPTIONS.items():
        for name in names:
            network = Network()
            made = NETWORKS[name](network)
            graph = network.finish(*(made if isinstance(made, tuple) else (made,)))
            quantized = quantize_graph(graph, profile_of(graph), options)
            text += f"{name}, {title}\n{told(quantized)}\n\n"
    golden("assigned_parameters.txt", text)


def test_scales_too_far_apart_for_integers_are_passed_as_real_numbers() -> None:
    network = Network()
    graph = network.finish(compared(network))
    profile = profile_of(graph)
    profile.tensors["a"] = replace(profile.tensors["a"], low=-1e30, high=1e30)
    quantized = quantize_graph(graph, profile, QuantizationOptions(int16=("select",)))
    y = quantized.outputs[0]
    path = []
    while (node := quantized.producers[y]) and not isinstance(node.op, Select):
        path.append(node.op.name)
        y = node.inputs[0]
    assert path == ["quantize", "dequantize"]
