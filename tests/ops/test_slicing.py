"""Slices and splits equal TensorFlow Lite Micro; what lies together in memory costs nothing."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.operation import OperationError
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.slicing import Slice
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model
from tests.support.oracle import run_litert_reference, run_tflm
from tests.support.single_op import Tensor, ints, single_op_model

SLICES = {
    "inner part": ((1, 4, 5, 3), (0, 1, 2, 1), (1, 2, 2, 2), (1, 2, 2, 2)),
    "to the end": ((3, 5), (1, 2), (-1, -1), (2, 3)),
    "rows lie together": ((4, 6), (1, 0), (2, 6), (2, 6)),
    "one element": ((2, 3, 4), (1, 2, 3), (1, 1, 1), (1, 1, 1)),
    "vector": ((9,), (4,), (5,), (5,)),
}


def slice_model(shape, begin, size, out, dtype="int8") -> bytes:
    operands = [Tensor(shape, dtype), ints(*begin), ints(*size)]
    return single_op_model("SLICE", operands, [Tensor(out, dtype)])


@pytest.mark.parametrize(("shape", "begin", "size", "out"), SLICES.values(), ids=SLICES)
def test_slice_equals_tflm(shape, begin, size, out) -> None:
    check_model(slice_model(shape, begin, size, out), oracle=run_tflm, count=1)


def test_a_slice_of_whole_rows_costs_nothing() -> None:
    compilation = check_model(slice_model((4, 6), (1, 0), (2, 6), (2, 6)), oracle=run_tflm)
    assert not compilation.plan.program.runs


def test_a_slice_that_leaves_its_axis_is_refused() -> None:
    with pytest.raises(GlowmcuError, match="3 positions from 3 in steps of 1 leave an axis of 5"):
        compile_model(slice_model((5,), (3,), (3,), (3,)), "m.tflite", Options("m"))


def test_a_slice_without_a_step_is_none() -> None:
    with pytest.raises(OperationError, match="3 positions from 1 in steps of 0"):
        Slice((1,), (3,), (0,)).infer([TensorType((5,), ElementType.F32)])


# shape, (begin, end, strides), masks, result; end -9 and 9 are clamped.
STRIDED = {
    "every second": ((8,), ((1,), (8,), (2,)), {}, (4,)),
    "backwards": ((5,), ((4,), (0,), (-1,)), {}, (4,)),
    "all backwards in steps of 2": ((5,), ((0,), (0,), (-2,)), {"begin": 1, "end": 1}, (3,)),
    "negative begin and end": ((3, 7), ((-2, -6), (3, -1), (1, 2)), {}, (2, 3)),
    "clamped": ((3, 4), ((-9, 1), (9, 99), (1, 1)), {}, (3, 3)),
    "begin and end masks": ((2, 4, 5), ((1, 2, 3), (0, 0, 4), (1, 1, 1)),
                            {"begin": 0b001, "end": 0b011}, (2, 2, 1)),
    "shrink one axis": ((2, 4, 5), ((1, 0, 0), (2, 4, 5), (1, 1, 1)), {"shrink": 1}, (4, 5)),
    "shrink a negative position": ((2, 4, 5), ((0, -1, 0), (2, 0, 5), (1, 1, 2)),
                                   {"shrink": 2}, (2, 3)),
    "shrink all axes": ((3, 2), ((2, 1), (3, 2), (1, 1)), {"shrink": 3}, ()),
    "four axes": ((2, 5, 6, 3), ((0, 4, 1, 0), (2, -9, 6, 3), (1, -2, 3, 2)), {}, (2, 3, 2, 2)),
}  # fmt: skip
# TFLM does not look at these masks, and wants an entry an axis.
LITERT_STRIDED = {
    "fewer entries than axes": ((3, 4, 2), ((1,), (3,), (1,)), {}, (2, 4, 2)),
    "new axis in front": ((3, 4), ((0, 1, 0), (0, 3, 4), (1, 1, 1)), {"new_axis": 1}, (1, 2, 4)),
    "new axis in the middle": ((3, 4), ((0, 0, 1), (3, 0, 3), (2, 1, 1)), {"new_axis": 2},
                               (2, 1, 2)),
    "ellipsis before the last": ((2, 3, 4), ((0, 1), (0, 3), (1, 1)), {"ellipsis": 1}, (2, 3, 2)),
    "ellipsis, new axis and shrink": ((2, 3, 4), ((0, 0, 2), (0, 0, 3), (1, 1, 1)),
                                      {"ellipsis": 1, "new_axis": 2, "shrink": 4}, (2, 3, 1)),
}  # fmt: skip


def strided_model(shape, spec, masks, out, dtype="int8") -> bytes:
    names = {"begin": "begin_mask", "end": "end_mask", "ellipsis": "ellipsis_mask"}
    names |= {"new_axis": "new_axis_mask", "shrink": "shrink_axis_mask"}
    options = {names[key]: value for key, value in masks.items()}
    operands = [Tensor(shape, dtype), *(ints(*values) for values in spec)]
    return single_op_model("STRIDED_SLICE", operands, [Tensor(out, dtype)], options, version=1)


@pytest.mark.parametrize(("shape", "spec", "masks", "out"), STRIDED.values(), ids=STRIDED)
def test_strided_slice_equals_tflm(shape, spec, masks, out) -> None:
    check_model(strided_model(shape, spec, masks, out), oracle=run_tflm, count=1)


@pytest.mark.parametrize(
    ("shape", "spec", "masks", "out"), LITERT_STRIDED.values(), ids=LITERT_STRIDED
)
def test_new_axes_and_ellipses_equal_litert(shape, spec, masks, out) -> None:
    check_model(strided_model(shape, spec, masks, out), oracle=run_litert_reference, count=1)


def test_an_ellipsis_may_stand_for_no_axis() -> None:
    """As in numpy; LiteRT takes the whole of the axis behind it."""
    data = strided_model((3, 4), ((1, 0, 1), (3, 0, 3), (1, 1, 1)), {"ellipsis": 2}, (2, 2))
    compilation = check_model(data, count=1)
    x = np.arange(12, dtype=np.int8).reshape(3, 4)
    (result,) = run_graph(compilation.imported, [x])
    np.testing.assert_array_equal(result, x[1:3, ..., 1:3])


@pytest.mark.parametrize(
    ("spec", "masks", "text"),
    [
        (((0,), (5,), (0,)), {}, "strided_slice: a stride of 0"),
        (((7,), (8,), (1,)), {"shrink": 1}, "strided_slice: 7 is outside an axis of 5"),
        (((0, 0), (1, 1), (1, 1)), {}, "strided_slice: 2 entries for (5,)"),
    ],
)
def test_strided_slices_that_mean_nothing_are_refused(spec, masks, text: str) -> None:
    with pytest.raises(GlowmcuError) as caught:
        compile_model(strided_model((5,), spec, masks, (5,)), "m.tflite", Options("m"))
    assert text in str(caught.value)


SPLITS = {
    "outermost axis": ((6, 3), 0, (2, 2, 2)),
    "innermost axis": ((3, 6), 1, (3, 3)),
    "axis behind a batch of one": ((1, 4, 3), 1, (1, 1, 1, 1)),
    "negative axis": ((2, 4, 5), -2, (2, 2)),
    "one part": ((2, 3), 0, (2,)),
}


def split_model(shape, axis, sizes, kind="SPLIT", dtype="int8") -> bytes:
    outs = []
    for size in sizes:
        out = list(shape)
        out[axis] = size
        outs.append(Tensor(tuple(out), dtype))
    x, where = Tensor(shape, dtype), np.array(axis, np.int32)
    if kind == "SPLIT":
        return single_op_model(kind, [where, x], outs, {"num_splits": len(sizes)})
    return single_op_model(kind, [x, ints(*sizes), where], outs, {"num_splits": len(sizes)})


@pytest.mark.parametrize(("shape", "axis", "sizes"), SPLITS.values(), ids=SPLITS)
def test_split_equals_tflm(shape, axis, sizes) -> None:
    check_model(split_model(shape, axis, sizes), oracle=run_tflm, count=1)


@pytest.mark.parametrize(
    ("shape", "axis", "sizes"), [((7, 2), 0, (1, 4, 2)), ((2, 7), 1, (1, 4, 2))]
)
def test_split_v_equals_tflm(shape, axis, sizes) -> None:
    check_model(split_model(shape, axis, sizes, "SPLIT_V"), oracle=run_tflm, count=1)


def test_the_rest_of_a_split_may_be_minus_1() -> None:
    x, outs = Tensor((7, 2), "int32"), [Tensor((2, 2), "int32"), Tensor((5, 2), "int32")]
    operands = [x, ints(2, -1), np.array(0, np.int32)]
    data = single_op_model("SPLIT_V", operands, outs, {"num_splits": 2})
    check_model(data, oracle=run_litert_reference, count=1)


def test_a_split_of_the_outermost_long_axis_costs_nothing() -> None:
    compilation = check_model(split_model((1, 4, 3), 1, (2, 2)), oracle=run_tflm)
    assert not compilation.plan.program.runs


@pytest.mark.parametrize(("shape", "axis"), [((3, 4), 0), ((3, 4), 1), ((2, 3, 4), -2)])
def test_unpack_equals_tflm(shape, axis: int) -> None:
    out = list(shape)
    count = out.pop(axis)
    data = single_op_model(
        "UNPACK", [Tensor(shape)], [Tensor(tuple(out))] * count, {"axis": axis, "num": count}
    )
    check_model(data, oracle=run_tflm, count=1)


def test_parts_that_do_not_make_up_the_axis_are_refused() -> None:
    data = split_model((7, 2), 0, (2, 4), "SPLIT_V")
    with pytest.raises(GlowmcuError, match="do not make up axis 0"):
        compile_model(data, "m.tflite", Options("m"))
