"""Every gradient rule against central finite differences in float64.

Where an operator has corners (relu, maximum, pooling), operands are kept away from them.
"""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from glowmcu.gradient.builder import Builder
from glowmcu.gradient.differentiate import MissingGradient, gradients
from glowmcu.gradient.rules import load_rules
from glowmcu.ir.graph import Node, Value, evaluate_node
from glowmcu.ir.operation import Operation, Rounding
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.ops.activation import Relu
from glowmcu.ops.division import FloorMod
from glowmcu.ops.gather import GatherNd
from glowmcu.ops.pooling import MaxPool2D
from glowmcu.ops.slicing import Slice, Split
from tests.gradient import double
from tests.gradient.cases import CASES, Case
from tests.gradient.definitions import MANY, QUOTIENTS, operation

_STEP = 1e-5


def _operands(case: Case) -> list[np.ndarray]:
    """Numbers of 0.05 to 1 apart from each other and from 0, in any order."""
    random = np.random.default_rng(zlib.crc32(case.name.encode()))
    count = sum(int(np.prod(shape)) for shape in case.shapes)
    # None is near another one, nor near the bounds of clamps.
    numbers = np.linspace(-1.0, 1.0, count + 2)[1:-1] + 0.003
    if case.positive:
        numbers = np.linspace(0.35, 1.7, count)
    if case.above:
        numbers = case.above + np.linspace(0.35, 1.7, count)
    numbers = random.permutation(numbers)
    found, start = [], 0
    for number, shape in enumerate(case.shapes):
        size = int(np.prod(shape))
        part = numbers[start : start + size].reshape(shape)
        start += size
        if number in case.integers:
            found.append(_integers(case, part))
        else:
            is_bool = number in case.booleans
            found.append(part > 0 if is_bool else np.float32(part).astype(np.float64))
    return found


def _integers(case: Case, part: np.ndarray) -> np.ndarray:
    """Of a definition any; of a gathering places of the operand, some of them the same."""
    if not case.op.name.startswith("gather"):
        return np.asarray(np.rint(5 * part), np.int32)
    axis = getattr(case.op, "axis", 0)
    least = min(case.shapes[0][:2]) if isinstance(case.op, GatherNd) else case.shapes[0][axis]
    return np.asarray(np.abs(5 * part), np.int32) % least


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_rule_equals_finite_differences(case: Case) -> None:
    node, operands = case.node, _operands(case)
    given = dict(zip(node.inputs, operands, strict=True))
    random = np.random.default_rng(5)
    weight = random.standard_normal(node.outputs[0].type.shape)
    upstream = Value(node.outputs[0].type, "upstream")
    build = Builder()
    real = [value for value in node.inputs if value.type.element is ElementType.F32]
    found = gradients(build, [node], {node.outputs[0]: upstream}, real)
    values = double.run([node, *build.nodes], {**given, upstream: weight})
    assert set(found) == (set() if case.steps else set(real))
    for value in found:
        expected = np.empty(value.type.shape)
        for place in np.ndindex(*value.type.shape):
            sides = []
            for sign in (1, -1):
                moved = given[value].copy()
                moved[place] += sign * _STEP
                result = double.run([node], {**given, value: moved})[node.outputs[0]]
                sides.append(float((result * weight).sum()))
            expected[place] = (sides[0] - sides[1]) / (2 * _STEP)
        got = values[found[value]]
        assert got.shape == value.type.shape
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_oracle_and_the_gradient_mean_what_operators_mean(case: Case) -> None:
    """In float32, forward and back: node types are right, and the oracle is no other function."""
    node, operands = case.node, _operands(case)
    build, upstream = Builder(), Value(node.outputs[0].type, "upstream")
    real = [value for value in node.inputs if value.type.element is ElementType.F32]
    found = gradients(build, [node], {node.outputs[0]: upstream}, real)
    weight = np.random.default_rng(5).standard_normal(node.outputs[0].type.shape)
    given = {**dict(zip(node.inputs, operands, strict=True)), upstream: weight}
    wide = double.run([node, *build.nodes], given)
    single = {
        value: array.astype(np.float32) if array.dtype == np.float64 else array
        for value, array in given.items()
    }
    for item in (node, *build.nodes):
        assert item.type_fault is None, item.op.name
        single[item.outputs[0]], *_ = evaluate_node(
            item, [single[value] for value in item.inputs], Rounding.DOUBLE
        )
    for value in (node.outputs[0], *found.values()):
        np.testing.assert_allclose(single[value], wide[value], rtol=2e-4, atol=2e-4)


def test_every_rule_is_checked() -> None:
    assert {type(case.op) for case in CASES} == set(load_rules())


def test_values_that_are_read_twice_get_both_gradients() -> None:
    x = Value(TensorType((3,), ElementType.F32), "x")
    build = Builder()
    square = build.times(x, x)
    y = build.plus(square, x)
    nodes = tuple(build.nodes)
    upstream = Value(y.type, "upstream")
    found = gradients(build, nodes, {y: upstream}, [x])
    at = np.array([1.0, -2.0, 0.5])
    values = double.run(build.nodes, {x: at, upstream: np.ones(3)})
    np.testing.assert_allclose(values[found[x]], 2 * at + 1)


def test_parts_of_a_split_give_their_gradients_back_together() -> None:
    types = TensorType((5,), ElementType.F32)
    x, parts = Value(types, "x"), [Value(TensorType((n,), ElementType.F32), str(n)) for n in (1, 3)]
    parts.insert(1, Value(TensorType((1,), ElementType.F32), "unread"))
    split = Node(Split(0, (1, 1, 3)), (x,), tuple(parts), "split")
    build = Builder()
    upstreams = {value: build.number(float(place)) for place, value in enumerate(parts, 1)}
    upstreams[parts[2]] = build.broadcast(upstreams[parts[2]], (3,))
    del upstreams[parts[1]]
    found = gradients(build, [split], upstreams, [x])
    values = double.run(build.nodes, {})
    np.testing.assert_array_equal(values[found[x]], [1, 0, 3, 3, 3])


def test_a_second_result_without_a_rule_is_said() -> None:
    x = Value(TensorType((3,), ElementType.F32), "x")
    results = [Value(x.type, "y"), Value(x.type, "z")]
    node = Node(Relu(), (x,), tuple(results), "two")
    build = Builder()
    with pytest.raises(MissingGradient, match="a result of relu other than the first"):
        gradients(build, [node], {results[1]: build.number(1.0)}, [x])


def test_what_has_no_influence_has_no_gradient_and_needs_no_rule() -> None:
    types = TensorType((2,), ElementType.F32)
    x, y = Value(types, "x"), Value(types, "y")
    build = Builder()
    angle = build.add(FloorMod(), y, y)
    product = build.times(angle, x)
    upstream = Value(types, "upstream")
    found = gradients(build, tuple(build.nodes), {product: upstream}, [x])
    assert list(found) == [x]
    with pytest.raises(MissingGradient, match="floor_mod has no gradient"):
        gradients(build, tuple(build.nodes[:2]), {product: upstream}, [y])


@pytest.mark.parametrize(
    ("op", "shapes", "said"),
    [
        (MaxPool2D(kernel=(9, 8)), ((1, 9, 9, 1),), "a window of 72 elements"),
        (Slice((3,), (3,), (-1,)), ((4,),), "walks backwards"),
        (operation(QUOTIENTS), ((7,),), r"line 3: a subscript i // 2 has no gradient"),
        (
            operation(MANY),
            ((7,),),
            "of its gradient: it has 2 operands and 128 statements",
        ),
    ],
)
def test_what_a_rule_cannot_do_is_said(op: Operation, shapes: list[Shape], said: str) -> None:
    node, build = Case("", op, tuple(shapes)).node, Builder()
    upstream = Value(node.outputs[0].type, "upstream")
    with pytest.raises(MissingGradient, match=said):
        gradients(build, [node], {node.outputs[0]: upstream}, node.inputs[:1])
