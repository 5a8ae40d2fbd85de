"""Rules of gradients in fixed point against differences of what they are gradients of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.gradient.fixed.builder import FixedBuilder, FixedGradient
from glowmcu.gradient.fixed.layers import by_input, by_sums
from glowmcu.gradient.fixed.movement import as_slices
from glowmcu.gradient.fixed.rules import fixed_rule_of
from glowmcu.gradient.rules import NoGradient
from glowmcu.ir.graph import Node, Value
from glowmcu.ir.interpreter import Session
from glowmcu.ir.operation import Array, Operation, Rounding, Signature
from glowmcu.ir.types import ElementType, Quantization, Shape, TensorType
from glowmcu.learning.training_graph import with_training
from glowmcu.ops.axis_gradient import REACH_END, band, reach
from glowmcu.ops.block_gradient import SHARED, shared
from glowmcu.ops.gather import Gather
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.padding import Pad
from glowmcu.ops.pooling import AveragePool2D
from glowmcu.ops.reduction import Mean
from glowmcu.ops.resize import ResizeBilinear, ResizeNearestNeighbor
from glowmcu.ops.slicing import Slice, Split
from glowmcu.ops.space import DepthToSpace, SpaceToDepth
from glowmcu.ops.tiling import BroadcastTo, Tile
from glowmcu.ops.transpose import Reverse, Transpose
from glowmcu.ops.transpose_conv import TransposeConv2D
from glowmcu.pipeline import application_graph
from glowmcu.training import training_of
from tests.learning.fixed_models import gathered
from tests.learning.fixed_values import meant, values_in
from tests.learning.test_fixed_point import label

INDICES = np.array([[0, 2, 2, -5], [7, 1, 0, 1]], np.int32)

CASES: dict[str, tuple[Operation, tuple[Shape, ...], Mapping[int, Array]]] = {
    "nearest, twice": (ResizeNearestNeighbor((6, 8)), ((1, 3, 4, 2),), {}),
    "nearest, smaller": (ResizeNearestNeighbor((2, 3), half_pixel_centers=True),
                         ((1, 5, 7, 2),), {}),
    "nearest, corners": (ResizeNearestNeighbor((7, 9), align_corners=True), ((2, 3, 4, 1),), {}),
    "bilinear": (ResizeBilinear((6, 8)), ((1, 3, 4, 2),), {}),
    "bilinear, corners": (ResizeBilinear((5, 9), align_corners=True), ((1, 3, 4, 2),), {}),
    "bilinear, centres": (ResizeBilinear((7, 3), half_pixel_centers=True), ((1, 3, 5, 2),), {}),
    "bilinear, one pixel": (ResizeBilinear((4, 1)), ((1, 1, 3, 2),), {}),
    "means of windows": (AveragePool2D((3, 2), (2, 1), (1, 0, 1, 1)), ((1, 5, 4, 2),), {}),
    "means, far apart": (AveragePool2D((2, 2), (3, 3), (0, 0, 0, 0)), ((1, 8, 7, 2),), {}),
    "means, dilated": (AveragePool2D((2, 3), (1, 2), (1, 2, 1, 0), None, (2, 2)),
                       ((1, 6, 7, 1),), {}),
    "mean of a whole image": (AveragePool2D((4, 3)), ((1, 4, 3, 3),), {}),
    "mean along time": (Mean((1,), False), ((1, 6, 3),), {}),
    "mean of channels": (Mean((0, 3), True), ((2, 3, 2, 5),), {}),
    "tile": (Tile((1, 3, 2)), ((1, 4, 3),), {}),
    "tile, many": (Tile((70, 1, 1, 2)), ((1, 2, 1, 3),), {}),
    "tile of one": (Tile((1, 1)), ((1, 3),), {}),
    "broadcast": (BroadcastTo((2, 4, 3)), ((4, 1),), {}),
    "concatenation": (Concatenation(2), ((1, 3, 2), (1, 3, 4)), {}),
    "padding": (Pad(((0, 0), (1, 2), (0, 3))), ((1, 3, 2),), {}),
    "slice in steps": (Slice((0, 1, 0), (1, 3, 2), (1, 2, 1)), ((1, 7, 3),), {}),
    "split": (Split(2, (1, 3)), ((1, 3, 4),), {}),
    "transpose": (Transpose((0, 2, 1)), ((1, 3, 4),), {}),
    "reverse": (Reverse((1,)), ((1, 3, 4),), {}),
    "space to depth": (SpaceToDepth(2), ((1, 4, 2, 3),), {}),
    "depth to space": (DepthToSpace(2), ((1, 2, 3, 8),), {}),
    "gather": (Gather(1), ((2, 3, 4), (2, 4)), {1: INDICES}),
    "gather in a batch": (Gather(2, 1), ((2, 5, 3, 2), (2, 4)), {1: INDICES}),
    "gather at the end": (Gather(2), ((1, 2, 3), (2, 4)), {1: INDICES}),
}  # fmt: skip


def _stored(shape: Shape, scale: float) -> TensorType:
    return TensorType(shape, ElementType.I8, Quantization((scale,), (0,)))


def _node(op: Operation, shapes: Sequence[Shape], fixed: Mapping[int, Array]) -> Node:
    types = [
        TensorType(shape, ElementType.I32) if at in fixed else _stored(shape, 0.5)
        for at, shape in enumerate(shapes)
    ]
    results = tuple(
        Value(_stored(shape, 0.25), f"y{number}") for number, shape in enumerate(op.infer(types))
    )
    return Node(op, tuple(Value(t, f"x{at}") for at, t in enumerate(types)), results, "node")


def _real(node: Node, operands: Sequence[Array]) -> Array:
    """The operator's first result on real numbers."""
    types = [
        value.type if value.type.element is ElementType.I32
        else TensorType(value.type.shape, ElementType.F32)
        for value in node.inputs
    ]  # fmt: skip
    outs = tuple(TensorType(value.type.shape, ElementType.F32) for value in node.outputs)
    signature = Signature(tuple(types), outs)
    return node.op.evaluate(operands, signature, Rounding.DOUBLE)[0].astype(np.float64)


@pytest.mark.parametrize("name", CASES)
def test_what_an_operand_gets_is_what_its_change_does_to_the_loss(name: str) -> None:
    """Scales of operands are twice those of results: a step of what is stored moves two."""
    op, shapes, fixed = CASES[name]
    node = next(iter(as_slices(_node(op, shapes, fixed))))
    random = np.random.default_rng(1)
    upstream = random.integers(-9000, 9000, node.output.type.shape).astype(np.int16)
    operands = [fixed.get(at, np.zeros(s, np.float32)) for at, s in enumerate(shapes)]
    build = FixedBuilder()
    given = Value(TensorType(upstream.shape, ElementType.I16), "given"), Value(SHARED, "common")
    known = dict(zip(given, (upstream, shared(3, upstream)), strict=True))
    known |= {value: np.zeros(value.type.shape, np.int8) for value in node.outputs}
    known |= {node.inputs[at]: data for at, data in fixed.items()}
    parts = fixed_rule_of(node.op)(build, node, FixedGradient(*given, 0.125))
    known = values_in(build, known)
    assert [part is None for part in parts] == [at in fixed for at in range(len(shapes))]
    before = _real(node, operands)
    for at, part in enumerate(parts):
        if part is None:
            continue
        wanted = np.empty(shapes[at])
        for place in np.ndindex(*shapes[at]):
            moved = [data.copy() for data in operands]
            moved[at][place] += 2.0
            changed = _real(node, moved) - before
            wanted[place] = (changed * upstream).sum() * 2.0**3 * 0.125
        found = meant(part, known, shapes[at])
        unit = 2.0 ** int(known[part.common][0]) * part.scale
        assert np.abs(found - wanted).max() <= 4 * unit + 1e-3 * np.abs(wanted).max()


def test_a_transposed_convolution_gives_back_what_it_spreads() -> None:
    random = np.random.default_rng(2)
    op = TransposeConv2D((7, 5), (2, 2), (1, 0))
    x, y = Value(_stored((1, 3, 2, 3), 0.5), "x"), Value(_stored((1, 7, 5, 4), 0.25), "y")
    quantization = Quantization((0.125, 0.5, 0.25, 0.375), (0,) * 4, 0)
    w = Value(TensorType((4, 3, 2, 3), ElementType.I8, quantization), "w")
    node = Node(op, (x, w, Value(TensorType((4,), ElementType.I32), "b")), (y,), "node")
    weights = random.integers(-127, 128, w.type.shape).astype(np.int8)
    upstream = random.integers(-9000, 9000, y.type.shape).astype(np.int16)
    given = Value(TensorType(y.type.shape, ElementType.I16), "g"), Value(SHARED, "common")
    build = FixedBuilder()
    sums = by_sums(build, node, FixedGradient(*given, 1.0))
    found = by_input(build, node, sums, w)
    known = dict(zip(given, (upstream, shared(0, upstream)), strict=True))
    known = values_in(build, {**known, y: np.zeros(y.type.shape, np.int8), w: weights})
    real = weights * np.reshape(quantization.scales, (4, 1, 1, 1))
    zeros = [np.zeros(x.type.shape), real, np.zeros(4)]
    wanted = np.empty(x.type.shape)
    for place in np.ndindex(*x.type.shape):
        moved = np.zeros(x.type.shape)
        moved[place] = 0.5 / 0.25
        wanted[place] = (_real(node, [moved, *zeros[1:]]) * upstream).sum()
    assert np.abs(meant(found, known, x.type.shape) - wanted).max() < 2e-3 * np.abs(wanted).max()


@pytest.mark.parametrize("power", [0, 26, -200])
@pytest.mark.parametrize("is_zero", [False, True])
def test_gradients_add_up_however_far_apart_their_scales_are(power: int, is_zero: bool) -> None:
    """What is known of a scale when the graph is made, and what a run finds, weigh alike; a
    gradient of zeros takes nothing from the other.
    """
    random, build = np.random.default_rng(3), FixedBuilder()
    stored = Value(_stored((1, 50), 1.0), "x")
    a, b = (random.integers(-2000, 2000, (1, 50)).astype(np.int16) for _ in range(2))
    a = np.zeros_like(a) if is_zero else a
    values = [Value(TensorType((1, 50), ElementType.I16), n) for n in "ab"]
    commons = [Value(SHARED, n) for n in ("common a", "common b")]
    one = FixedGradient(values[0], commons[0], 2.0**-power * 1.3)
    other = FixedGradient(values[1], commons[1], -0.7)
    total = build.total(one, other, stored)
    known = dict(zip(values, (a, b), strict=True)) | {stored: np.zeros((1, 50), np.int8)}
    top = power + (40 if is_zero else 2)
    known |= {commons[0]: shared(top, a), commons[1]: shared(0, b)}
    found = meant(total, values_in(build, known), (1, 50))
    wanted = 1.3 * 2.0 ** (top - power) * a - 0.7 * b
    assert np.abs(found - wanted).max() < 1e-3 * np.abs(wanted).max()


def test_weights_along_an_axis_are_exact_where_they_can_be() -> None:
    starts, weights, unit = band(np.array([[0.75, 0.25, 0, 0], [0, 0, 0.5, 0.5], [0, 0, 0, 0]]))
    assert (starts.tolist(), weights.tolist(), unit) == ([0, 2, 0], [[3, 1], [2, 2], [0, 0]], 0.25)
    starts, weights, unit = band(np.full((5, 1), 1 / 7))
    assert (weights.tolist(), unit) == ([[1]] * 5, 1 / 7)
    random = np.random.default_rng(4).uniform(size=(3, 9))
    starts, weights, unit = band(random)
    np.testing.assert_allclose(weights * unit, random, atol=2 * unit)
    assert REACH_END / 2 < reach(weights) <= REACH_END


def test_more_slices_than_add_up_in_int16_are_refused() -> None:
    node = _node(Gather(0), ((3, 2), (5000,)), {1: np.zeros(5000, np.int32)})
    given = Value(TensorType((5000, 2), ElementType.I16), "g"), Value(SHARED, "c")
    with pytest.raises(NoGradient, match="gather of 5000 slices"):
        fixed_rule_of(node.op)(FixedBuilder(), node, FixedGradient(*given, 1.0))


@pytest.mark.parametrize("core", [None, pytest.param("cortex-m4", marks=pytest.mark.arm)])
def test_slices_at_places_that_are_an_input_learn(core: str | None, tmp_path: Path) -> None:
    """Places outside of the image are its ends, in C, too."""
    data, options = gathered(), {"numbers": "fixed", "learning_rate": 0.05}
    graph = application_graph(data, "m.tflite")[0]
    meaning = Session(with_training(graph, training_of("last=2", **options), "m.tflite"))  # type: ignore[arg-type]
    (tmp_path / "m.tflite").write_bytes(data)
    bundle = glowmcu.compile(
        tmp_path / "m.tflite", "nrf52", tmp_path / "net", "net", train="last=2",
        train_numbers="fixed", learning_rate=0.05,
    )  # fmt: skip
    session = bundle.session("cortex-m", core) if core else bundle.session("host")  # type: ignore[arg-type]
    random = np.random.default_rng(5)
    for number in range(3):
        x = random.integers(-128, 128, (1, 6, 4, 3)).astype(np.int8)
        places = random.integers(-3, 9, (1, 9)).astype(np.int32)
        loss = session.train([x, places], number)
        assert loss == meaning.run([x, places, label(number)])[1][0]
        got, want = session.run([x, places]), meaning.run([x, places, label(-1)])
        np.testing.assert_array_equal(got[0], want[0])
