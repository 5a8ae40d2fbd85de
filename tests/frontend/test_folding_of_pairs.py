"""Pairs of quantization around float operators, one rule at a time: graphs in, graphs out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from glowmcu.frontend.onnx.fold_qdq import fold_qdq
from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.operation import Constant, Signature
from glowmcu.ir.quantization_rule import QuantizationRule
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.ops.activation import Relu
from glowmcu.ops.comparison import Greater, Select
from glowmcu.ops.convolution import Conv2D
from glowmcu.ops.elementwise import Add, Maximum, Mul
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.normalization import LogSoftmax, Softmax
from glowmcu.ops.padding import Pad
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D
from glowmcu.ops.quantization import Dequantize, Quantize
from glowmcu.ops.real_functions import Sin
from glowmcu.ops.scan import TopK
from glowmcu.ops.shape import Reshape
from glowmcu.ops.transcendental import Tanh
from glowmcu.ops.transpose import Transpose
from tests.ir.graphs import GraphBuilder

F32 = ElementType.F32
FREE = (-3.4028234663852886e38, 3.4028234663852886e38)
RANDOM = np.random.default_rng(0)


def stored(*shape: int, scale: float = 0.5, point: int = 3, element: str = "i8") -> TensorType:
    return TensorType(shape, ElementType(element), Quantization((scale,), (point,)))


@dataclass(frozen=True)
class OneScale(FullyConnected):
    """A product whose weights must have one scale in all."""

    def quantization_rule(self, signature: Signature) -> QuantizationRule | None:
        return QuantizationRule((0,), {1: None}, {2: (0, 1)})


class Pairs(GraphBuilder):
    """Nodes by what they make."""

    def real(self, *shape: int) -> Value:
        """An input."""
        return self.input(TensorType(shape, F32), f"x{len(self.inputs)}")

    def into(self, x: Value, name: str, scale: float = 0.5, point: int = 3, element: str = "i8"):
        type_ = stored(*x.type.shape, scale=scale, point=point, element=element)
        return self.add(Quantize(half_even=True), x, like=type_, name=name)

    def back(self, x: Value, name: str) -> Value:
        return self.add(Dequantize(), x, like=TensorType(x.type.shape, F32), name=name)

    def pair(self, x: Value, name: str, scale: float = 0.5, point: int = 3, element: str = "i8"):
        """Through int8 or uint8 and back."""
        return self.back(self.into(x, f"{name}q", scale, point, element), name)

    def made(self, op: Any, *operands: Value, name: str = "y") -> Value:
        return self.add(op, *operands, like=TensorType((1,), F32), name=name)

    def weights(
        self, name: str, *shape: int, scales: tuple[float, ...] = (0.25,), element: str = "int8",
        axis: int | None = None, points: tuple[int, ...] = (0,),
    ) -> Value:  # fmt: skip
        low, high = (0, 256) if element == "uint8" else (-127, 128)
        data = RANDOM.integers(low, high, shape).astype(element)
        return self.back(self.constant(data, Quantization(scales, points, axis), f"{name}q"), name)

    def floats(self, name: str, *values: float) -> Value:
        return self.constant(np.array(values, np.float32), name=name)


def told(graph: Graph) -> str:
    """What makes what, and how it is stored."""
    return "\n".join(
        f"    {node.output.name}{_type(node.output.type)}"
        + ("" if isinstance(node.op, Constant) else f" = {node.op.name} ")
        + " ".join(value.name for value in node.inputs)
        for node in graph.nodes
    )


def _type(type_: TensorType) -> str:
    if type_.quantization is None:
        return f":{type_.element.value}"
    scales = "/".join(f"{scale:g}" for scale in type_.quantization.scales)
    points = "/".join(map(str, type_.quantization.zero_points))
    axis = "" if type_.quantization.axis is None else f"@{type_.quantization.axis}"
    return f":{type_.element.value}*{scales}+{points}{axis}"


Make = Callable[[Pairs], Value | tuple[Value, ...]]


def fully(p: Pairs, bias: Any = None, **weights: Any) -> Value:
    x, w = p.pair(p.real(2, 3), "x"), p.weights("w", 4, 3, **weights)
    b = p.floats("b", 1.0, -2.0, 0.5, 8.0) if bias is None else bias
    return p.pair(p.made(FullyConnected(FREE), x, w, b), "z", 4.0)


def softmax(p: Pairs, op: Any, scale: float, point: int) -> Value:
    return p.pair(p.made(op, p.pair(p.real(2, 3), "x")), "z", scale, point)


def disagreeing(p: Pairs) -> tuple[Value, ...]:
    y = p.made(Add(), p.pair(p.real(2), "x"), p.pair(p.real(2), "w"))
    return p.pair(y, "z", 0.5), p.pair(y, "v", 0.25)


def agreeing(p: Pairs) -> tuple[Value, ...]:
    y = p.made(Add(), p.pair(p.real(2), "x"), p.pair(p.real(2), "w"))
    return p.pair(y, "z", 0.5), p.pair(p.made(Relu((0.0, 6.0)), y, name="r"), "v", 0.5)


def read_as_float(p: Pairs) -> tuple[Value, ...]:
    y = p.made(Add(), p.pair(p.real(2), "x"), p.pair(p.real(2), "w"))
    return p.pair(y, "z"), p.made(Sin(), y, name="s")


def moved_bytes(p: Pairs, op: Any, element: str = "ui8", point: int = 130) -> Value:
    return p.back(p.add(op, p.into(p.real(1, 2, 2, 1), "x", 0.5, point, element), name="m"), "y")


def in_front_of_a_function(p: Pairs) -> Value:
    y = p.made(Add(), p.pair(p.real(2), "x"), p.pair(p.real(2), "w"))
    return p.pair(p.made(Sin(), y, name="s"), "z", 0.25)


def given_bytes(p: Pairs, op: Any, element: str) -> Value:
    x = p.input(stored(1, 2, 2, 1, element=element, point=100), "x")
    return p.back(p.add(op, x, name="m"), "y")


def two_channels(p: Pairs) -> Value:
    w = p.weights("w", 2, 3, scales=(0.25, 0.5), points=(0, 0), axis=0)
    y = p.made(FullyConnected(FREE), p.pair(p.real(2, 3), "x"), w, p.floats("b", 1.0, 2.0))
    return p.pair(y, "z", 4.0)


def greatest(p: Pairs) -> tuple[Value, ...]:
    x = p.pair(p.real(5), "x")
    values = p.add_many(TopK(0, 2), x, name="t")
    positions = Value(TensorType((2,), ElementType.I64), "at")
    p.nodes[-1] = replace(p.nodes[-1], outputs=(values[0], positions))
    return p.pair(values[0], "z"), positions


def squared(p: Pairs, x: Value) -> Value:
    return p.pair(p.made(Mul(), x, x), "z")


CASES: dict[str, Make] = {
    "no pair at all": (lambda p: p.made(Sin(), p.real(2))),
    "a pair and nothing else": (lambda p: p.pair(p.real(2), "x")),
    "a pair of uint8": (lambda p: p.pair(p.real(2), "x", 0.5, 131, "ui8")),
    "two pairs": (lambda p: p.pair(p.pair(p.real(2), "x"), "y", 0.25, -4)),
    "two pairs of the same": (lambda p: p.pair(p.pair(p.real(2), "x"), "y")),
    "bytes that the application gives": (
        lambda p: p.back(p.input(stored(2, element="ui8", point=131), "x"), "y")
    ),
    "bytes that the application takes": (
        lambda p: p.into(p.pair(p.real(2), "x"), "y", 0.25, 100, "ui8")
    ),
    "the same bytes that it takes": (lambda p: p.into(p.pair(p.real(2), "x"), "y")),
    "int16 pairs": (lambda p: p.pair(p.real(2), "x", 0.5, 0, "i16")),
    "a layer": fully,
    "a layer with a scale a channel": (
        lambda p: fully(p, scales=(0.25, 0.5, 1.0, 2.0), points=(0,) * 4, axis=0)
    ),
    "a layer of two channels with a scale each": two_channels,
    "a sum in front of a function": in_front_of_a_function,
    "given bytes that are moved": (lambda p: given_bytes(p, Reshape((4,)), "ui8")),
    "given int8 that is moved": (lambda p: given_bytes(p, Reshape((4,)), "i8")),
    "a layer with scales along its inputs": (
        lambda p: fully(p, scales=(0.25, 0.5, 1.0), points=(0,) * 3, axis=1)
    ),
    "a layer of one scale": (lambda p: p.pair(p.made(
        OneScale(FREE), p.pair(p.real(1, 2), "x"), p.weights("w", 2, 2), p.floats("b", 1.0, 2.0)),
        "z", 2.0)),
    "a layer of one scale with a scale a channel": (lambda p: p.pair(p.made(
        OneScale(FREE), p.pair(p.real(1, 2), "x"),
        p.weights("w", 2, 2, scales=(0.25, 0.5), points=(0, 0), axis=0),
        p.floats("b", 1.0, 2.0)), "z", 2.0)),
    "a layer with weights of uint8": (
        lambda p: fully(p, element="uint8", points=(131,))
    ),
    "a layer with weights of int16": (lambda p: fully(p, element="int16")),
    "a layer with a bias of a pair": (
        lambda p: fully(p, p.back(p.constant(
            np.array([8, -16, 4, 64], np.int32), Quantization((0.125,), (0,)), "bq"), "b"))
    ),
    "a layer with a bias that is an input": (lambda p: fully(p, p.real(4))),
    "a layer with a bias out of reach": (
        lambda p: fully(p, p.floats("b", 1.0, 2.0, 3.0, 2.0**28))
    ),
    "a layer with a bias just in reach": (
        lambda p: fully(p, p.floats("b", 1.0, 2.0, 3.0, 2.0**27))
    ),
    "a layer with float weights": (
        lambda p: p.pair(p.made(
            FullyConnected(FREE), p.pair(p.real(1, 2), "x"),
            p.constant(np.ones((1, 2), np.float32), name="w"), p.floats("b", 0.0)), "z")
    ),
    "a sum": (lambda p: p.pair(
        p.made(Add(), p.pair(p.real(2), "x"), p.pair(p.real(2), "w", 0.25)), "z", 1.0, -7)),
    "a sum with a constant": (lambda p: p.pair(
        p.made(Add(), p.pair(p.real(2), "x"), p.weights("w", 2)), "z")),
    "a sum with a constant of uint8": (lambda p: p.pair(
        p.made(Add(), p.pair(p.real(2), "x"),
               p.weights("w", 2, element="uint8", points=(200,))), "z")),
    "a sum with a float constant": (lambda p: p.pair(
        p.made(Add(), p.pair(p.real(2), "x"), p.floats("w", 0.5, 1.0)), "z")),
    "a sum with a constant of int16": (lambda p: p.pair(
        p.made(Add(), p.pair(p.real(2), "x"), p.weights("w", 2, element="int16")), "z")),
    "a sum with a constant of two scales": (lambda p: p.pair(
        p.made(Add(), p.pair(p.real(2), "x"),
               p.weights("w", 2, scales=(0.5, 0.25), points=(0, 0), axis=0)), "z")),
    "a sum into int16": (lambda p: p.pair(
        p.made(Add(), p.pair(p.real(2), "x"), p.pair(p.real(2), "w")), "z", 0.5, 0, "i16")),
    "a sum without a pair behind": (
        lambda p: p.made(Add(), p.pair(p.real(2), "x"), p.pair(p.real(2), "w"))
    ),
    "a sum with a pair on one side": (
        lambda p: p.pair(p.made(Add(), p.pair(p.real(2), "x"), p.real(2)), "z")
    ),
    "a sum that two read in two ways": (disagreeing),
    "a sum that two read in one way": (agreeing),
    "a sum that one reads as float": (read_as_float),
    "a clamp": (lambda p: p.pair(p.made(Relu((0.0, 6.0)), p.pair(p.real(2), "x")), "z")),
    "a clamp of another scale": (
        lambda p: p.pair(p.made(Relu((0.0, 6.0)), p.pair(p.real(2), "x")), "z", 0.25)
    ),
    "a clamp behind a sum": (lambda p: p.pair(p.made(Relu((0.0, 6.0)), p.made(
        Add(), p.pair(p.real(2), "x"), p.pair(p.real(2), "w"), name="s")), "z")),
    "a greater one of two": (lambda p: p.pair(
        p.made(Maximum(), p.pair(p.real(2), "x"), p.pair(p.real(2), "w", 0.25)), "z")),
    "parts of two scales joined": (lambda p: p.pair(
        p.made(Concatenation(0), p.pair(p.real(2), "x"), p.pair(p.real(2), "w", 0.25)), "z")),
    "parts joined in a third scale": (lambda p: p.pair(
        p.made(Concatenation(0), p.pair(p.real(2), "x"), p.pair(p.real(2), "w", 0.25)), "z", 1.0)),
    "a function": (lambda p: p.pair(p.made(Tanh(), p.pair(p.real(2), "x")), "z", 1 / 64)),
    "a function of uint8": (lambda p: p.pair(
        p.made(Sin(), p.pair(p.real(2), "x", 0.5, 130, "ui8")), "z", 1 / 64, 128, "ui8")),
    "a function without a pair behind": (
        lambda p: p.made(Sin(), p.pair(p.real(2), "x"))
    ),
    "a softmax": (lambda p: softmax(p, Softmax(), 1 / 256, -128)),
    "a coarser softmax": (lambda p: softmax(p, Softmax(), 1 / 128, -128)),
    "a finer softmax": (lambda p: softmax(p, Softmax(), 1 / 512, -128)),
    "a logarithmic softmax": (lambda p: softmax(p, LogSoftmax(), 1 / 16, 127)),
    "one that reaches lower": (lambda p: softmax(p, LogSoftmax(), 1 / 8, 127)),
    "a softmax without a pair behind": (
        lambda p: p.made(Softmax(), p.pair(p.real(2, 3), "x"))
    ),
    "a reshape without a pair behind": (
        lambda p: p.made(Reshape((4,)), p.pair(p.real(2, 2), "x"))
    ),
    "a reshape to another scale": (lambda p: p.pair(
        p.made(Reshape((4,)), p.pair(p.real(2, 2), "x")), "z", 0.25, -3)),
    "a transpose of floats": (
        lambda p: p.pair(p.made(Transpose((1, 0)), p.real(2, 2)), "z")
    ),
    "zeros around": (
        lambda p: p.pair(p.made(Pad(((1, 0),)), p.pair(p.real(2), "x")), "z")
    ),
    "a number around that is stored": (
        lambda p: p.pair(p.made(Pad(((1, 0),), -1.5), p.pair(p.real(2), "x")), "z")
    ),
    "a number around that is not stored": (
        lambda p: p.pair(p.made(Pad(((1, 0),), 0.3), p.pair(p.real(2), "x")), "z")
    ),
    "a mean of a window": (lambda p: p.pair(
        p.made(AveragePool2D(kernel=(2, 2)), p.pair(p.real(1, 2, 2, 1), "x")), "z")),
    "a mean to another scale": (lambda p: p.pair(
        p.made(AveragePool2D(kernel=(2, 2)), p.pair(p.real(1, 2, 2, 1), "x")), "z", 0.25)),
    "means of windows to another scale": (lambda p: p.pair(
        p.made(AveragePool2D((1, 2), (1, 2)), p.pair(p.real(1, 2, 4, 3), "x")), "z", 0.25)),
    "means at edges to another scale": (lambda p: p.pair(
        p.made(AveragePool2D((2, 2), (1, 1), (0, 0, 1, 1)), p.pair(p.real(1, 2, 2, 1), "x")),
        "z", 0.25)),
    "a mean without a pair behind": (lambda p: p.made(
        AveragePool2D(kernel=(2, 2)), p.pair(p.real(1, 2, 2, 1), "x"))),
    "a comparison": (lambda p: p.add(
        Greater(), p.pair(p.real(2), "x"), p.pair(p.real(2), "w"),
        like=TensorType((1,), ElementType.BOOL), name="y")),
    "a comparison of two scales": (lambda p: p.add(
        Greater(), p.pair(p.real(2), "x"), p.pair(p.real(2), "w", 0.25),
        like=TensorType((1,), ElementType.BOOL), name="y")),
    "a comparison of two zero points": (lambda p: p.add(
        Greater(), p.pair(p.real(2), "x"), p.pair(p.real(2), "w", 0.5, 4),
        like=TensorType((1,), ElementType.BOOL), name="y")),
    "a choice by a comparison": (lambda p: p.pair(p.made(Select(), p.add(
        Greater(), p.pair(p.real(2), "x"), p.pair(p.real(2), "w"),
        like=TensorType((1,), ElementType.BOOL), name="g"),
        p.pair(p.real(2), "v"), p.pair(p.real(2), "u")), "z")),
    "a choice of floats by a comparison": (lambda p: p.made(Select(), p.add(
        Greater(), p.pair(p.real(2), "x"), p.pair(p.real(2), "w"),
        like=TensorType((1,), ElementType.BOOL), name="g"), p.real(2), p.real(2))),
    "bytes that are moved": (lambda p: moved_bytes(p, Reshape((4,)))),
    "bytes that are moved, and int8 already": (
        lambda p: moved_bytes(p, Transpose((0, 2, 1, 3)), "i8", 7)
    ),
    "bytes of which the greatest are taken": (
        lambda p: moved_bytes(p, MaxPool2D(kernel=(2, 2)))
    ),
    "bytes with bytes around": (
        lambda p: moved_bytes(p, Pad(((0, 0), (1, 0), (0, 0), (0, 0)), 130))
    ),
    "a convolution": (lambda p: p.pair(p.made(
        Conv2D(clamp=FREE), p.pair(p.real(1, 2, 2, 1), "x"), p.weights("w", 2, 1, 1, 1),
        p.floats("b", 1.0, 2.0)), "z", 2.0)),
    "the greatest, and where they are": greatest,
    "a product with itself": (lambda p: squared(p, p.pair(p.real(2), "x"))),
}  # fmt: skip


def folded(name: str) -> tuple[Graph, Graph]:
    pairs = Pairs()
    made = CASES[name](pairs)
    graph = pairs.finish(*(made if isinstance(made, tuple) else (made,)))
    return graph, fold_qdq(graph)


def test_what_lies_between_pairs_is_computed_as_they_say(golden: Callable[..., None]) -> None:
    golden("folded_pairs.txt", "".join(f"{name}\n{told(folded(name)[1])}\n\n" for name in CASES))


@pytest.mark.parametrize("name", CASES)
def test_outputs_are_those_of_the_pairs_within_a_step(name: str) -> None:
    before, after = folded(name)
    assert [value.type for value in after.outputs] == [value.type for value in before.outputs]
    random = np.random.default_rng(3)
    for _ in range(8):
        inputs = [
            random.normal(0, 20, value.type.shape).astype(np.float32)
            if value.type.element is F32
            else random.integers(0, 256, value.type.shape).astype(value.type.element.numpy)
            for value in before.inputs
        ]
        for want, got, value in zip(
            run_graph(before, inputs), run_graph(after, inputs), before.outputs, strict=True
        ):
            maker = before.producers[value]
            type_ = maker.inputs[0].type if isinstance(maker.op, Dequantize) else value.type
            if value.type.quantization is None and value.type.element is F32:
                step = type_.scale if type_.quantization else 0.0
            else:
                step = 1.0
            off = np.abs(want.astype(np.float64) - got.astype(np.float64)).max()
            assert off <= 1.01 * step, name
