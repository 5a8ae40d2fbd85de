"""What values can be: the operators' `output_ranges` hold for every input, and are tight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glowmcu.ir.graph import Graph, evaluate_node
from glowmcu.ir.operation import Operation, OperationError, Rounding
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.ir.value_range import ValueRange, full_range
from glowmcu.ir.value_ranges import value_ranges
from glowmcu.ops.convolution import Conv2D
from glowmcu.ops.elementwise import Mul, Sub
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.normalization import Softmax
from glowmcu.ops.slicing import Split
from tests.ir.graphs import GraphBuilder, int8
from tests.ops.range_cases import CASES, EXACT, Case, inputs_within, int16, random_range
from tests.support.roundings import ROUNDINGS


def predicted(
    case: Case, ranges: Sequence[ValueRange | None], rounding: Rounding
) -> tuple[ValueRange | None, ...]:
    op, types, out, constants = case
    graph = one_node(op, types, out)
    data = [constants.get(i) for i in range(len(types))]
    return op.output_ranges(ranges, data, graph.nodes[-1].signature, rounding)


def one_node(op: Operation, types: list[TensorType], out: TensorType) -> Graph:
    builder = GraphBuilder()
    inputs = [builder.input(type_, f"x{i}") for i, type_ in enumerate(types)]
    return builder.finish(builder.add(op, *inputs, like=out))


def per_channel(array: Any) -> Any:
    return array.reshape(-1, array.shape[-1] if array.ndim else 1).astype(np.int64)


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("name", CASES)
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_no_input_leaves_the_predicted_range(name: str, rounding: Rounding, seed: int) -> None:
    generator = np.random.default_rng(seed)
    case = CASES[name](generator)
    op, types, out, constants = case
    ranges = [
        None if full_range(t) is None or i in constants else random_range(generator, t)
        for i, t in enumerate(types)
    ]
    for position, data in constants.items():
        if full_range(types[position]) is not None:
            ranges[position] = ValueRange(per_channel(data).min(0), per_channel(data).max(0))
    (found,) = predicted(case, ranges, rounding)
    assert (found is None) == (full_range(out) is None)
    node = one_node(op, types, out).nodes[-1]
    for _ in range(4):
        arrays = inputs_within(generator, types, ranges)
        arrays = [constants.get(i, array) for i, array in enumerate(arrays)]
        result = evaluate_node(node, arrays, rounding)[0]
        if found is not None:
            assert (per_channel(result) >= found.low).all()
            assert (per_channel(result) <= found.high).all()


def extreme_inputs(
    case: Case, ranges: Sequence[ValueRange | None], channel: int, highest: bool
) -> list[Any]:
    """Operands that push one output channel of a weighted layer to an end; others to their ends."""
    op, types, _, constants = case
    if not constants:
        return [
            np.broadcast_to(r.high if highest else r.low, t.shape).astype(t.element.numpy)
            for r, t in zip(ranges, types, strict=True)
        ]
    weights, x = constants[1], types[0]
    row = weights[channel].reshape(-1, weights.shape[-1])
    if isinstance(op, Conv2D):
        depth, groups = weights.shape[3], x.shape[3] // weights.shape[3]
        first = channel // (weights.shape[0] // groups) * depth
        window = np.zeros((*weights.shape[1:3], x.shape[3]), np.int64)
        window[..., first : first + depth] = weights[channel]
        pushed = np.where((window > 0) == highest, ranges[0].high, ranges[0].low)
        tensor = np.broadcast_to(ranges[0].low, x.shape).copy()
        tensor[0, : window.shape[0], : window.shape[1]] = pushed
    else:
        tensor = np.broadcast_to(
            np.where((row[0] > 0) == highest, ranges[0].high, ranges[0].low), x.shape
        )
    return [tensor.astype(x.element.numpy), weights, constants[2]]


@pytest.mark.parametrize("name", sorted(EXACT))
def test_both_ends_of_an_exact_range_are_reached(name: str) -> None:
    generator = np.random.default_rng(3)
    for _ in range(5):
        case = CASES[name](generator)
        op, types, out, constants = case
        ranges = [random_range(generator, t) if i not in constants else None
                  for i, t in enumerate(types)]  # fmt: skip
        (found,) = predicted(case, ranges, Rounding.DOUBLE)
        assert found is not None
        node = one_node(op, types, out).nodes[-1]
        results = []
        for channel in range(found.low.size if constants else 1):
            for highest in (False, True):
                inputs = extreme_inputs(case, ranges, channel, highest)
                results.append(per_channel(evaluate_node(node, inputs, Rounding.DOUBLE)[0]))
        if isinstance(op, Sub | Mul):
            corners = [(a, b) for a in (0, 1) for b in (0, 1)]
            ends = [[(r.low, r.high)[i] for r, i in zip(ranges, c, strict=True)] for c in corners]
            for end in ends:
                arrays = [np.broadcast_to(e, t.shape).astype(t.element.numpy)
                          for e, t in zip(end, types, strict=True)]  # fmt: skip
                results.append(per_channel(evaluate_node(node, arrays, Rounding.DOUBLE)[0]))
        assert (np.concatenate(results).min(axis=0) == found.low).all()
        assert (np.concatenate(results).max(axis=0) == found.high).all()


@pytest.mark.parametrize("name", ["relu", "abs", "lookup", "leaky_relu", "prelu"])
def test_a_function_of_one_byte_is_known_exactly(name: str) -> None:
    generator = np.random.default_rng(8)
    case = CASES[name](generator)
    op, types, out, constants = case
    x = random_range(generator, types[0])
    ranges = [x, *(ValueRange(per_channel(d)[0], per_channel(d)[0]) for d in constants.values())]
    (found,) = predicted(case, ranges, Rounding.DOUBLE)
    assert found is not None
    node = one_node(op, [int8(256, 6), *types[1:]], out.with_shape((256, 6))).nodes[-1]
    values = np.clip(np.arange(-128, 128)[:, np.newaxis], x.low, x.high).astype(np.int8)
    operands = [values, *(d.reshape(types[i].shape) for i, d in constants.items())]
    result = node.op.evaluate(operands, node.signature, Rounding.DOUBLE)[0].reshape(256, 6)
    assert (result.min(axis=0) == found.low).all()
    assert (result.max(axis=0) == found.high).all()


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_accumulators_that_may_wrap_leave_everything_possible(rounding: Rounding) -> None:
    """A left shift of 2^30: the results do not rise with the accumulators."""
    x, w = int8(1, 4, scale=2.0**14), int8(2, 4, scale=2.0**14, zero_point=0)
    types = [x, w, TensorType((2,), ElementType.I32)]
    out = int8(1, 2, scale=0.25, zero_point=0)
    data = {1: np.array([[1, 2, 3, 4], [0, 0, 0, 0]], np.int8), 2: np.array([5, 0], np.int32)}
    (found,) = predicted((FullyConnected((-100, 90)), types, out, data),
                         [full_range(x), None, None], rounding)  # fmt: skip
    assert found is not None
    assert found.low.tolist() == [-100, 0]
    assert found.high.tolist() == [90, 0]


def test_a_bias_of_64_bits_does_not_wrap_into_a_wrong_range() -> None:
    x, w = int16(1, 2), TensorType((2, 2), ElementType.I8, Quantization((0.5,), (0,)))
    types = [x, w, TensorType((2,), ElementType.I64)]
    data = {1: np.ones((2, 2), np.int8), 2: np.array([2**63 - 1, -(2**63)], np.int64)}
    (found,) = predicted((FullyConnected(), types, int16(1, 2), data),
                         [full_range(x), None, None], Rounding.DOUBLE)  # fmt: skip
    assert found is not None
    assert (found.low == -32768).all()
    assert (found.high == 32767).all()


def test_parts_of_a_split_have_the_ranges_of_their_channels() -> None:
    op, x = Split(1, (2, 1)), int8(4, 3)
    builder = GraphBuilder()
    parts = builder.add_many(op, builder.input(x))
    node = builder.finish(*parts).nodes[-1]
    range_ = ValueRange(np.array([1, 2, 3]), np.array([4, 5, 6]))
    first, second = op.output_ranges([range_], [None], node.signature, Rounding.DOUBLE)
    assert first is not None
    assert second is not None
    assert (first.low.tolist(), first.high.tolist()) == ([1, 2], [4, 5])
    assert (second.low.tolist(), second.high.tolist()) == ([3], [6])


@pytest.mark.parametrize("name", CASES)
def test_empty_tensors_have_ranges_too(name: str) -> None:
    """Everything a reader of a range may do works with channels that hold no element."""
    op, types, out, constants = CASES[name](np.random.default_rng(0))
    empty = [t if i in constants or t.rank < 4 else t.with_shape((0, *t.shape[1:]))
             for i, t in enumerate(types)]  # fmt: skip
    try:
        result = out.with_shape(op.infer(empty)[0])
    except OperationError:
        return  # the operator takes no empty tensors
    ranges = [None if i in constants else full_range(t) for i, t in enumerate(empty)]
    (found,) = predicted((op, empty, result, constants), ranges, Rounding.DOUBLE)
    assert (found is None) == (full_range(result) is None)


def test_what_never_changes_is_evaluated() -> None:
    """A softmax of constants: no rule of softmax's own says more than its type."""
    builder = GraphBuilder()
    builder.input(int8(1, 3))
    c = builder.constant(np.array([[10, 20, 30]], np.int8), int8(scale=0.2).quantization)
    y = builder.add(Softmax(), c, like=int8(1, 3, scale=1 / 256, zero_point=-128))
    graph = builder.finish(y)
    found = value_ranges(graph)[y]
    assert found is not None
    assert found.is_constant.all()
    (expected,) = evaluate_node(graph.nodes[-1], [np.array([[10, 20, 30]], np.int8)],
                                Rounding.DOUBLE)  # fmt: skip
    assert found.low.tolist() == expected[0].tolist()


def test_a_saturated_layer_narrows_the_next_one() -> None:
    """The second layer's channel can only see what the first one's clamp lets through."""
    builder = GraphBuilder()
    x = builder.input(int8(1, 2, scale=1, zero_point=0))
    unit = Quantization((1.0,), (0,))
    w = builder.constant(np.array([[1, 0], [0, 1]], np.int8), unit)
    b = builder.constant(np.array([200, 0], np.int32))
    v = builder.constant(np.array([[1, 1], [1, 0]], np.int8), unit)
    zero = builder.constant(np.array([-100, -100], np.int32))
    like = int8(1, 2, scale=1, zero_point=0)
    first = builder.add(FullyConnected((-3, 100)), x, w, b, like=like)
    second = builder.add(FullyConnected(), first, v, zero, like=like)
    ranges = value_ranges(builder.finish(second))
    found = ranges[first], ranges[second]
    assert [r.low.tolist() for r in found if r] == [[72, -3], [-31, -28]]
    assert [r.high.tolist() for r in found if r] == [[100, 100], [100, 0]]
