"""Gradients in fixed point of functions of one number and of products, against differences."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from glowmcu.gradient.fixed.builder import FixedBuilder, FixedGradient
from glowmcu.gradient.fixed.rules import fixed_rule_of
from glowmcu.ir.graph import Node, Value
from glowmcu.ir.operation import Array, Operation, Rounding, Signature
from glowmcu.ir.types import ElementType, Quantization, Shape, TensorType
from glowmcu.ops.activation import HardSwish, LeakyRelu
from glowmcu.ops.block_gradient import SHARED, shared
from glowmcu.ops.elementwise import Add, Mul
from glowmcu.ops.lookup import Lookup, all_values
from glowmcu.ops.parametric_activation import Swish
from glowmcu.ops.transcendental import Elu, Gelu, Logistic, Tanh
from tests.learning.fixed_values import meant, values_in

IMAGE, CHANNELS = (1, 3, 4, 2), (1, 1, 1, 2)
FUNCTIONS: Mapping[str, Operation] = {
    "logistic": Logistic(), "tanh": Tanh(), "hard swish": HardSwish(), "gelu": Gelu(),
    "swish": Swish(1.0), "elu": Elu(), "leaky relu": LeakyRelu(0.2),
}  # fmt: skip
ARITHMETIC: Mapping[str, tuple[Operation, Shape, Shape]] = {
    "product": (Mul(), IMAGE, IMAGE),
    "product by channels": (Mul(), IMAGE, CHANNELS),
    "product of fewer axes": (Mul(), (2,), IMAGE),
    "outer product": (Mul(), (1, 3, 1), (1, 1, 5)),
    "sum by channels": (Add(), IMAGE, CHANNELS),
}


def _stored(shape: Shape, scale: float, zero_point: int) -> TensorType:
    return TensorType(shape, ElementType.I8, Quantization((scale,), (zero_point,)))


def _real(op: Operation, operands: list[Array]) -> Array:
    types = tuple(TensorType(x.shape, ElementType.F32) for x in operands)
    out = TensorType(op.infer(types)[0], ElementType.F32)
    (found,) = op.evaluate(
        [x.astype(np.float32) for x in operands], Signature(types, (out,)), Rounding.DOUBLE
    )
    return found.astype(np.float64)


def _slope(op: Operation, operands: list[Array], at: int, upstream: Array) -> Array:
    """Of sum(upstream y) by each element of an operand."""
    found = np.empty(operands[at].shape)
    for place in np.ndindex(*found.shape):
        ends = []
        for step in (-2e-2, 2e-2):
            moved = [x.copy() for x in operands]
            moved[at][place] += step
            ends.append((_real(op, moved) * upstream).sum())
        found[place] = (ends[1] - ends[0]) / 4e-2
    return found


def _backwards(
    node: Node, stored: list[Array], upstream: Array, scale: float
) -> tuple[list[FixedGradient | None], dict[Value, Array]]:
    build = FixedBuilder()
    given = Value(TensorType(upstream.shape, ElementType.I16), "given"), Value(SHARED, "common")
    known = dict(zip(given, (upstream, shared(-3, upstream)), strict=True))
    known |= {node.output: np.zeros(node.output.type.shape, np.int8)}
    known |= dict(zip(node.inputs, stored, strict=True))
    parts = fixed_rule_of(node.op)(build, node, FixedGradient(*given, scale))
    return list(parts), values_in(build, known)


@pytest.mark.parametrize("largest", [9000, 5])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_gives_back_its_slope(name: str, largest: int) -> None:
    """Also of a gradient whose numbers are small."""
    random, op = np.random.default_rng(5), FUNCTIONS[name]
    x, y = (Value(_stored((1, 256), *of), n) for of, n in (((0.05, 10), "x"), ((0.06, -90), "y")))
    stored = all_values(ElementType.I8).reshape(1, 256)
    upstream = random.integers(-largest, largest + 1, (1, 256)).astype(np.int16)
    parts, known = _backwards(Node(op, (x,), (y,), "f"), [stored], upstream, 0.5)
    real = (stored.astype(np.float64) - 10) * 0.05
    # By what is stored: a step of x is 0.05, one of y 0.06.
    wanted = _slope(op, [real], 0, upstream) * 0.05 / 0.06 * 0.5 / 8
    found = meant(parts[0], known, (1, 256))  # type: ignore[arg-type]
    assert np.abs(found - wanted).max() <= 2e-2 * np.abs(wanted).max()
    assert 0 < known[parts[0].common][1] <= 2**14  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ARITHMETIC)
def test_each_operand_gets_what_the_other_one_is(name: str) -> None:
    random, (op, *shapes) = np.random.default_rng(6), ARITHMETIC[name]
    types = [_stored(shape, *of) for shape, of in zip(shapes, [(0.1, 5), (0.03, -20)], strict=True)]
    y = Value(_stored(op.infer(types)[0], 0.07, 3), "y")
    node = Node(op, tuple(Value(t, f"x{at}") for at, t in enumerate(types)), (y,), "node")
    stored = [random.integers(-128, 128, shape).astype(np.int8) for shape in shapes]
    real = [
        (each.astype(np.float64) - type_.zero_point) * type_.scale
        for each, type_ in zip(stored, types, strict=True)
    ]
    upstream = random.integers(-9000, 9000, y.type.shape).astype(np.int16)
    parts, known = _backwards(node, stored, upstream, 0.25)
    for at, (part, type_) in enumerate(zip(parts, types, strict=True)):
        assert part is not None
        wanted = _slope(op, real, at, upstream) * type_.scale / 0.07 * 0.25 / 8
        found = meant(part, known, type_.shape)
        assert np.abs(found - wanted).max() <= 2e-3 * np.abs(wanted).max()


def test_a_table_gives_back_its_slope_over_a_few_entries() -> None:
    """A function that was rounded to steps has a slope that is not one of steps."""
    x, y = Value(_stored((1, 256), 0.05, 0), "x"), Value(_stored((1, 256), 0.01, -128), "y")
    stored = all_values(ElementType.I8)
    curve = 1 / (1 + np.exp(-stored.astype(np.float64) * 0.05)) * 100
    table = Lookup(np.rint(curve - 128).astype(np.int8))
    upstream = np.full((1, 256), 4000, np.int16)
    parts, known = _backwards(Node(table, (x,), (y,), "f"), [stored.reshape(1, 256)], upstream, 1.0)
    wanted = curve / 100 * (1 - curve / 100) * 100 * 0.05 * 4000 / 8
    found = meant(parts[0], known, (1, 256))[0]  # type: ignore[arg-type]
    assert np.abs(found - wanted).max() <= 0.15 * wanted.max()
