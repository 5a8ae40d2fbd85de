"""Transposing and reversing equal TensorFlow Lite Micro; moves of length-1 axes cost nothing."""

from __future__ import annotations

import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model
from tests.support.oracle import run_litert_reference, run_tflm
from tests.support.single_op import Tensor, ints, single_op_model

TRANSPOSES = {
    "matrix": ((3, 5), (1, 0)),
    "one row": ((1, 7), (1, 0)),
    "NHWC to NCHW": ((2, 4, 5, 3), (0, 3, 1, 2)),
    "NCHW to NHWC": ((1, 3, 4, 5), (0, 2, 3, 1)),
    "swap of height and width keeps channels together": ((1, 4, 3, 17), (0, 2, 1, 3)),
    "all axes backwards": ((2, 3, 4, 5), (3, 2, 1, 0)),
    "five axes": ((2, 3, 1, 4, 2), (4, 1, 3, 0, 2)),
    "identity": ((2, 3, 4), (0, 1, 2)),
}


def transpose_model(shape, permutation, dtype: str = "int8") -> bytes:
    out = tuple(shape[axis] for axis in permutation)
    return single_op_model(
        "TRANSPOSE", [Tensor(shape, dtype), ints(*permutation)], [Tensor(out, dtype)]
    )


@pytest.mark.parametrize(("shape", "permutation"), TRANSPOSES.values(), ids=TRANSPOSES)
def test_transpose_equals_tflm(shape, permutation) -> None:
    check_model(transpose_model(shape, permutation), oracle=run_tflm, count=1)


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "float32", "bool", "uint8"])
def test_transpose_moves_elements_of_any_size(dtype: str) -> None:
    data = transpose_model((2, 3, 5), (2, 0, 1), dtype)
    check_model(data, oracle=run_litert_reference, count=1)


def test_moving_only_axes_of_length_1_costs_nothing() -> None:
    compilation = check_model(transpose_model((1, 4, 1, 6), (1, 0, 3, 2)), oracle=run_tflm)
    assert not compilation.plan.program.runs


def test_a_permutation_that_is_none_is_refused() -> None:
    data = single_op_model("TRANSPOSE", [Tensor((2, 3)), ints(0, 0)], [Tensor((2, 2))])
    with pytest.raises(GlowmcuError) as caught:
        compile_model(data, "m.tflite", Options("m"))
    assert "(0, 0) is no permutation of the axes of (2, 3)" in str(caught.value)


def test_an_axis_outside_the_rank_is_refused() -> None:
    data = single_op_model("TRANSPOSE", [Tensor((2, 3)), ints(0, 2)], [Tensor((2, 3))])
    with pytest.raises(GlowmcuError, match="axis 2 is outside rank 2"):
        compile_model(data, "m.tflite", Options("m"))


REVERSES = {
    "vector": ((7,), (0,)),
    "inner axis": ((3, 5), (1,)),
    "outer axis moves whole rows": ((3, 17), (0,)),
    "two neighbouring axes": ((2, 3, 4, 5), (2, 1)),
    "negative axis": ((2, 3), (-1,)),
}


@pytest.mark.parametrize(("shape", "axes"), REVERSES.values(), ids=REVERSES)
def test_reverse_equals_tflm(shape, axes) -> None:
    data = single_op_model("REVERSE_V2", [Tensor(shape), ints(*axes)], [Tensor(shape)])
    check_model(data, oracle=run_tflm, count=1)
