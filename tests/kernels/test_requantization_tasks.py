"""What a layer asks of its requantization, channel by channel, against its definition."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace

import numpy as np
import pytest

from glowmcu.ir.graph import Graph
from glowmcu.ir.operation import Rounding
from glowmcu.ir.types import Quantization
from glowmcu.ir.value_range import Int64Array, ValueRange
from glowmcu.kernels.kernel import site_of
from glowmcu.kernels.requantization import forms
from glowmcu.kernels.requantization.forms import (
    FormKind,
    RequantizationTask,
    find_form,
    requantization_task,
)
from glowmcu.kernels.requantization.narrow import find_narrow_form
from glowmcu.kernels.requantization.thresholds import LineProblem
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.matmul import FullyConnected
from tests.ir.graphs import GraphBuilder, int8

Layer = Conv2D | DepthwiseConv2D | FullyConnected
ZERO_POINT = -7
#: Operator; shapes of operand and weights; the axis of the channels.
LAYERS: dict[str, tuple[Layer, tuple[int, ...], tuple[int, ...], int]] = {
    "dense": (FullyConnected(), (1, 5), (3, 5), 0),
    "convolution": (Conv2D(), (1, 2, 2, 3), (4, 2, 2, 3), 0),
    "depthwise": (DepthwiseConv2D(), (1, 2, 2, 3), (1, 2, 2, 3), 3),
}  # fmt: skip


def layer(name: str, weight_point: int = 0) -> tuple[Graph, np.ndarray, np.ndarray]:
    """The layer with its weights as real steps, `(channels, inputs)`, and its bias."""
    op, x_shape, w_shape, axis = LAYERS[name]
    generator, graph = np.random.default_rng(3), GraphBuilder()
    x = graph.input(int8(*x_shape, scale=0.5, zero_point=ZERO_POINT))
    weights = generator.integers(-90, 91, w_shape).astype(np.int8)
    count = w_shape[axis]
    scales = tuple(2.0 ** -(2 + i) for i in range(count))
    one = Quantization((0.25,), (weight_point,))
    each = Quantization(scales, (0,) * count, axis)
    w = graph.constant(weights, one if weight_point else each)
    bias = generator.integers(-300, 300, count).astype(np.int32)
    products = (0.125,) if weight_point else tuple(0.5 * scale for scale in scales)
    how = Quantization(products, (0,) * len(products), None if weight_point else 0)
    y = graph.add(op, x, w, graph.constant(bias, how), like=int8(1, scale=4.0, zero_point=11))
    rows = np.moveaxis(weights.astype(np.int64) - weight_point, axis, 0).reshape(count, -1)
    return graph.finish(y), rows, bias


def task_of(graph: Graph) -> RequantizationTask:
    return requantization_task(site_of(graph, graph.nodes[-1]))


@pytest.mark.parametrize(
    ("name", "weight_point"),
    [("dense", 0), ("dense", 5), ("dense", -20), ("convolution", 0), ("depthwise", 0)],
)
def test_a_task_has_the_sums_that_its_weights_can_make(name: str, weight_point: int) -> None:
    """Raw sums are of inputs as they are stored, and less their zero point by the offset."""
    graph, rows, bias = layer(name, weight_point)
    task = task_of(graph)
    assert task.offset.tolist() == (-ZERO_POINT * rows.sum(axis=1)).tolist()
    ends = np.stack([rows * (limit - ZERO_POINT) for limit in (-128, 127)])
    assert task.low.tolist() == ends.min(axis=0).sum(axis=1).tolist()
    assert task.high.tolist() == ends.max(axis=0).sum(axis=1).tolist()
    assert task.bias.tolist() == bias.tolist()
    assert (task.zero_point, task.clamp) == (11, (-128, 127))
    # 0.5 * 0.25 / 4 and the halves of that: multipliers of 1/2 with shifts.
    halves = range(len(bias)) if not weight_point else [0] * len(bias)
    assert task.multipliers.tolist() == [2**30] * len(bias)
    assert task.shifts.tolist() == [-4 - half for half in halves]


@pytest.mark.parametrize("name", LAYERS)
def test_a_task_gives_what_the_layer_gives(name: str) -> None:
    graph, rows, _ = layer(name)
    task, node = task_of(graph), graph.nodes[-1]
    shape = node.inputs[0].type.shape
    x = np.random.default_rng(5).integers(-128, 128, shape).astype(np.int8)
    constants = [graph.constant_data(value) for value in node.inputs[1:]]
    assert all(data is not None for data in constants)
    operands = [x, *(data for data in constants if data is not None)]
    (want,) = node.op.evaluate(operands, node.signature, task.rounding)
    flat = x.reshape(-1, 3).T if name == "depthwise" else x.reshape(1, -1)
    raw = (rows * flat.astype(np.int64)).sum(axis=1)
    got = np.clip(task.outputs((raw + task.offset)[:, np.newaxis]), *task.clamp)
    assert got.reshape(-1).tolist() == want.reshape(-1).tolist()


def test_a_task_knows_what_its_inputs_can_hold() -> None:
    """Of one channel here, and all of int8 where nothing is known."""
    graph, rows, _ = layer("dense")
    low, high = np.array([-9, -7, -128, 5, 127]), np.array([3, -7, 127, 6, 127])
    site = site_of(graph, graph.nodes[-1])
    known = requantization_task(replace(site, input_ranges=(ValueRange(low, high), None, None)))
    ends = np.stack([rows * (limit - ZERO_POINT) for limit in (low, high)])
    assert known.low.tolist() == ends.min(axis=0).sum(axis=1).tolist()
    assert known.high.tolist() == ends.max(axis=0).sum(axis=1).tolist()
    plain = task_of(graph)
    for ranges in ((), (None, None, None)):
        found = requantization_task(replace(site, input_ranges=ranges, memory={}))
        assert found.key == plain.key != known.key


def test_what_is_always_the_same_has_the_simplest_constants() -> None:
    """In the middle of its output, whatever the bias; of two shifts a literal form has its own."""
    one = np.ones(3, np.int64)
    task = RequantizationTask(
        np.array([2**30, 1_700_000_003, 2**31 - 1]), np.array([-25, -7, -9]),
        np.array([2**30, 5, -(2**29)]), np.array([7, 8, 9]), -90 * one, 80 * one,
        3, (-20, 30), Rounding.DOUBLE,
    )  # fmt: skip
    assert (task.ends[:, 0] == task.ends[:, 1]).tolist() == [True, False, True]
    form = find_form(task, kinds=(FormKind.LITERAL,))
    assert form is not None
    assert (form.preshift, form.postshift) == (0, 0)
    assert form.addend.tolist() == [0, 0, 0]
    assert form.start.tolist() == [7, 8 + 5, 9]
    assert form.multiplier.tolist() == [0, 1_700_000_003, 0]
    assert form.shifts.tolist() == [1, 7, 1]
    middle = [task.ends[0, 0], 3, task.ends[2, 0]]
    assert form.step.tolist() == [2 * middle[0] + 1, (3 << 7) + 64, 2 * middle[2] + 1]
    narrow = find_narrow_form(replace(task, zero_point=-20))
    assert narrow is not None
    for field in ("fine", "addend"):
        assert [bool(x) for x in getattr(narrow, field)[[0, 2]]] == [False, False]


@pytest.mark.parametrize("largest_has_a_line", [False, True])
def test_a_smaller_post_shift_is_tried_where_the_largest_has_a_line(
    largest_has_a_line: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line of one shift is one of the next: each is asked for once, and the largest second."""
    task = task_of(layer("dense")[0])
    most = forms.largest_postshift(task, 8)
    asked: list[int] = []

    def solved(problem: LineProblem, two_sided: bool) -> tuple[Int64Array, ...] | None:
        asked.append(problem.postshift)
        zeros = np.zeros_like(task.bias)
        has_line = problem.postshift in (most - 5, most) and largest_has_a_line
        return (zeros, zeros, zeros) if has_line else None

    monkeypatch.setattr(forms, "solve_lines", solved)
    monkeypatch.setattr(forms, "_LINES", OrderedDict())
    monkeypatch.setattr(forms, "_CACHE", OrderedDict())
    wanted = [most - 3, most, most - 4, most - 5] if largest_has_a_line else [most - 3, most]
    kinds, shifts = (FormKind.TWO_SIDED,), (most + 1, most - 3, most - 4, most - 5, most - 6)
    form = find_form(task, (8,), shifts, kinds)
    assert (form and form.postshift) == (most - 5 if largest_has_a_line else None)
    assert asked == wanted
    assert find_form(task, (8,), (0, -1, most + 1), kinds) is None
    assert asked == wanted


def test_the_oldest_of_too_many_findings_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "_MOST_CACHED", 2)
    cache: OrderedDict[tuple[object, ...], int] = OrderedDict()
    asked: list[int] = []

    def find(number: int) -> int:
        def found() -> int:
            asked.append(number)
            return number * number

        return forms.remembered(cache, (number,), found)

    assert [find(number) for number in (1, 2, 1, 3, 2, 1)] == [1, 4, 1, 9, 4, 1]
    assert asked == [1, 2, 3, 1]
    assert list(cache) == [(3,), (1,)]
