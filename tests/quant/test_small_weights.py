"""Scales of weights, their rounding, and rows that meet them: small enough to count by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from glowmcu.ir.types import ElementType
from glowmcu.quant.linear_layers import _thinned
from glowmcu.quant.rounding import _damped, _descend
from glowmcu.quant.schemas import Schema
from glowmcu.quant.weights import (
    along,
    quantize_weights,
    weight_quantization,
    weight_scales,
)

W = np.array([[127, -254], [0, 0], [63.5, 1]], np.float32)
NOTHING = np.zeros((2, 2), np.float32)
I32, I64 = ElementType.I32, ElementType.I64


@pytest.mark.parametrize(
    ("weights", "axis", "bias", "element", "scales"),
    [
        (W, 0, None, I32, [2, 2, 0.5]), (W, 1, None, I32, [1, 2]), (W, None, None, I32, [2]),
        (NOTHING, 0, None, I32, [1, 1]), (NOTHING, None, None, I32, [1]),
        (W * 2.0**-70, 0, None, I32, [1, 1, 1]),
        (W, 0, [0, 0, 2.0**29], I32, [2, 2, 1]), (W, 0, [0, 0, -(2.0**29)], I32, [2, 2, 1]),
        (W, 0, [0, 0, 2.0**29], I64, [2, 2, 0.5]), (W, 0, [2.0**46, 0, 0], I64, [2, 2, 0.5]),
        (W, 0, [2.0**47, 0, 0], I64, [4, 2, 0.5]), (W, None, [0, 0, 2.0**31], I32, [4]),
        (W, 0, [], I32, [2, 2, 0.5]),
    ],
    ids=str,
)  # fmt: skip
def test_scales_span_weights_and_leave_biases_room(
    weights: Any, axis: int | None, bias: Any, element: ElementType, scales: list[float]
) -> None:
    """The operand's scale is a half."""
    array = None if bias is None else np.array(bias, np.float32)
    got = weight_scales(weights, axis, array, 0.5, Schema.SYMMETRIC, element)
    assert got.dtype == np.float32
    assert got.tolist() == scales
    power = weight_scales(weights * 1.5, axis, None, 0.5, Schema.SYMMETRIC_WITH_POWER2_SCALE)
    assert (np.frexp(power)[0] == 0.5).all()


def test_weights_are_the_nearest_of_their_steps() -> None:
    scales = np.array([2, 2, 0.5], np.float32)
    assert quantize_weights(W, scales, 0).tolist() == [[64, -127], [0, 0], [127, 2]]
    assert quantize_weights(W, scales[:1], None).tolist() == [[64, -127], [0, 0], [32, 0]]
    assert along(scales, 1, 3).shape == (1, 3, 1)
    assert along(scales[:1], None, 2).shape == (1, 1)
    made = weight_quantization(scales, 0)
    assert (made.scales, made.zero_points, made.axis) == ((2, 2, 0.5), (0, 0, 0), 0)
    assert weight_quantization(scales[:1], 0).axis is None


def error(stored: Any, target: Any, outer: Any) -> Any:
    """Of each output."""
    off = stored - target
    return np.einsum("oi,ij,oj->o", off, outer, off)


@pytest.mark.parametrize("seed", range(6))
def test_rounding_by_data_ends_where_no_single_step_helps(seed: int) -> None:
    random = np.random.default_rng(seed)
    rows = random.normal(size=(40, 5)) @ random.normal(size=(5, 5))
    outer = _damped(rows.T @ rows / 40, 40)
    target = random.normal(0, 60, (3, 5))
    start = np.clip(np.rint(target), -127, 127)
    found = _descend(target, start, outer, 127)
    assert found is not start
    assert (found == np.rint(found)).all()
    assert (np.abs(found) <= 127).all()
    best = error(found, target, outer)
    assert (best <= error(start, target, outer)).all()
    for column in range(5):
        for step in (-1, 1):
            moved = found.copy()
            moved[:, column] += step
            inside = np.abs(moved[:, column]) <= 127
            assert (error(moved, target, outer)[inside] >= best[inside] - 1e-9).all()


def test_what_is_rounded_right_stays() -> None:
    """Without correlation the nearest numbers are the best."""
    target = np.array([[0.4, -0.6, 3.2, 200.0]])
    start = np.clip(np.rint(target), -127, 127)
    assert _descend(target, start, np.eye(4), 127).tolist() == [[0, -1, 3, 127]]


def test_little_data_says_little_about_many_directions() -> None:
    outer = np.diag([2.0, 4.0])
    more = [np.diag(_damped(outer, count) - outer) for count in (1, 2, 4, 10**9)]
    assert [each.tolist() for each in more[:3]] == [[6, 6], [3, 3], [1.5, 1.5]]
    assert 0 < more[3][0] < 0.1
    assert (_damped(np.zeros((2, 2)), 4) == 1e-30 * np.eye(2)).all()


@pytest.mark.parametrize(
    ("count", "most", "first"),
    [(10, 10, [0, 1]), (10, 20, [0, 1]), (10, 6, [0, 1]), (20, 10, [0, 3]), (30, 10, [0, 3]),
     (41, 10, [0, 5])],
)  # fmt: skip
def test_rows_are_picked_in_odd_steps(count: int, most: int, first: list[int]) -> None:
    assert _thinned(np.arange(count), most)[:2].tolist() == first
