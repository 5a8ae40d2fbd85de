"""Positions of extremes and running sums equal TensorFlow Lite Micro."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model
from tests.support.oracle import run_litert_reference, run_tflm
from tests.support.single_op import Tensor, ints, single_op_model

SHAPES = {
    "vector": ((9,), 0),
    "innermost": ((3, 10), 1),
    "outermost": ((4, 3), 0),
    "middle, negative": ((2, 5, 3), -2),
    "length 1": ((2, 1, 3), 1),
}


def arg_model(kind, shape, axis, dtype: str = "int32") -> bytes:
    out = list(shape)
    out.pop(axis)
    return single_op_model(
        kind,
        [Tensor(shape), ints(axis)],
        [Tensor(tuple(out), dtype)],
        {"output_type": dtype.upper()},
    )


@pytest.mark.parametrize("kind", ["ARG_MAX", "ARG_MIN"])
@pytest.mark.parametrize(("shape", "axis"), SHAPES.values(), ids=SHAPES)
def test_positions_of_extremes_equal_tflm(kind: str, shape, axis: int) -> None:
    check_model(arg_model(kind, shape, axis), oracle=run_tflm, count=3)


@pytest.mark.parametrize("kind", ["ARG_MAX", "ARG_MIN"])
def test_the_first_of_equal_elements_counts(kind: str) -> None:
    x = np.array([[5, 9, -9, 9, -9], [127, 127, 0, -128, -128], [0, 0, 0, 0, 0]], np.int8)
    check_model(arg_model(kind, x.shape, 1), [[x]], run_tflm)


def test_positions_may_be_int64() -> None:
    """TFLM has int32 only."""
    check_model(arg_model("ARG_MAX", (3, 7), 1, "int64"), oracle=run_litert_reference)


def test_positions_in_another_type_are_refused() -> None:
    with pytest.raises(GlowmcuError, match="expected an i32 or i64 result"):
        compile_model(arg_model("ARG_MAX", (3, 7), 1, "int16"), "m.tflite", Options("m"))


def cumsum_model(shape, axis, exclusive, reverse, x=(0.05, 0), y=(0.1, 4)) -> bytes:
    return single_op_model(
        "CUMSUM",
        [Tensor(shape, "int8", *x), ints(axis)],
        [Tensor(shape, "int8", *y)],
        {"exclusive": exclusive, "reverse": reverse},
    )


@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
@pytest.mark.parametrize("exclusive", [False, True], ids=["inclusive", "exclusive"])
@pytest.mark.parametrize(("shape", "axis"), SHAPES.values(), ids=SHAPES)
def test_running_sums_equal_tflm(shape, axis: int, exclusive: bool, reverse: bool) -> None:
    check_model(cumsum_model(shape, axis, exclusive, reverse), oracle=run_tflm, count=3)


@pytest.mark.parametrize("zero_point", [-128, -3, 127])
def test_running_sums_start_where_tflm_starts(zero_point: int) -> None:
    data = cumsum_model((3, 12), 1, False, False, (0.02, zero_point), (0.11, -5))
    check_model(data, oracle=run_tflm, count=5)


def test_running_sums_beyond_4096_steps_wrap_as_in_tflm() -> None:
    data = cumsum_model((1, 100), 1, False, False, (0.05, -128), (4.0, 0))
    check_model(data, oracle=run_tflm, count=5)


def test_a_result_of_far_smaller_scale_is_refused() -> None:
    data = cumsum_model((4,), 0, False, False, (1.0, 0), (1e-6, 0))
    with pytest.raises(GlowmcuError, match="must be less than 2\\^19 times the result's"):
        compile_model(data, "m.tflite", Options("m"))
