"""Padding equals TensorFlow Lite Micro: every axis, both mirror modes, other values than zero."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.reader import read_tflite
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model
from tests.support.oracle import run_litert_reference, run_tflm
from tests.support.single_op import Tensor, single_op_model

PADDINGS = {
    "image": ((1, 3, 4, 2), ((0, 0), (1, 2), (2, 1), (0, 0))),
    "channels only": ((2, 2, 3, 3), ((0, 0), (0, 0), (0, 0), (1, 2))),
    "all four axes": ((2, 1, 3, 2), ((1, 0), (0, 2), (1, 1), (2, 0))),
    "vector": ((5,), ((3, 2),)),
    "nothing": ((2, 3), ((0, 0), (0, 0))),
    "rows of 17": ((3, 17), ((1, 1), (0, 0))),
}


def pad_model(kind, shape, paddings, dtype="int8", value=None, options=None) -> bytes:
    out = tuple(n + sum(pair) for n, pair in zip(shape, paddings, strict=True))
    operands = [Tensor(shape, dtype), np.array(paddings, np.int32)]
    if value is not None:
        operands.append(np.array([value], dtype))
    return single_op_model(kind, operands, [Tensor(out, dtype)], options)


@pytest.mark.parametrize(("shape", "paddings"), PADDINGS.values(), ids=PADDINGS)
def test_pad_equals_tflm(shape, paddings) -> None:
    check_model(pad_model("PAD", shape, paddings), oracle=run_tflm, count=1)


@pytest.mark.parametrize("value", [-128, 127, 0])
def test_padv2_fills_with_its_value(value: int) -> None:
    data = pad_model("PADV2", (1, 2, 3, 2), ((0, 0), (1, 1), (0, 2), (1, 0)), "int8", value)
    check_model(data, oracle=run_tflm, count=1)


@pytest.mark.parametrize(
    ("dtype", "value"),
    [("int32", -70000), ("int32", -(2**31)), ("int32", 0), ("float32", 1.5), ("float32", -np.inf),
     ("int64", 3)],
)  # fmt: skip
def test_pad_fills_elements_of_any_size(dtype: str, value) -> None:
    data = pad_model("PADV2", (2, 3), ((1, 0), (0, 2)), dtype, value)
    check_model(data, oracle=run_litert_reference, count=1)


MIRRORS = {
    "vector": ((4,), ((2, 3),)),
    "image": ((1, 4, 3, 2), ((0, 0), (2, 1), (1, 2), (0, 0))),
    "corners in three axes": ((3, 2, 4), ((1, 2), (1, 1), (3, 0))),
    "nothing": ((2, 3), ((0, 0), (0, 0))),
    "outer axis only": ((3, 5), ((2, 1), (0, 0))),
}


@pytest.mark.parametrize("mode", ["REFLECT", "SYMMETRIC"])
@pytest.mark.parametrize(("shape", "paddings"), MIRRORS.values(), ids=MIRRORS)
def test_mirror_pad_equals_tflm(mode: str, shape, paddings) -> None:
    if mode == "REFLECT":
        paddings = tuple(
            (min(a, n - 1), min(b, n - 1)) for n, (a, b) in zip(shape, paddings, strict=True)
        )
    data = pad_model("MIRROR_PAD", shape, paddings, options={"mode": mode})
    check_model(data, oracle=run_tflm, count=1)


def test_an_operand_is_no_part_of_a_result_that_is_more_than_its_operands() -> None:
    """The memory plan drops a kernel whose operands are all in place."""
    for kind in ("PAD", "MIRROR_PAD"):
        options = {"mode": "REFLECT"} if kind == "MIRROR_PAD" else None
        data = pad_model(kind, (3, 5), ((2, 1), (0, 0)), options=options)
        (node,) = (n for n in read_tflite(data, "m").nodes if n.op.name == kind.lower())
        assert not node.op.contained_operands(node.signature)


def test_a_mirror_longer_than_the_axis_is_refused() -> None:
    data = pad_model("MIRROR_PAD", (3,), ((3, 0),), options={"mode": "REFLECT"})
    with pytest.raises(GlowmcuError, match="cannot mirror 3 elements of an axis of 3"):
        compile_model(data, "m.tflite", Options("m"))


def test_negative_paddings_are_refused() -> None:
    data = single_op_model("PAD", [Tensor((3,)), np.array([[-1, 0]], np.int32)], [Tensor((2,))])
    with pytest.raises(GlowmcuError, match="are no paddings for the axes of"):
        compile_model(data, "m.tflite", Options("m"))


def test_a_computed_value_to_pad_with_is_refused() -> None:
    paddings = np.array([[1, 0]], np.int32)
    data = single_op_model("PADV2", [Tensor((3,)), paddings, Tensor((1,))], [Tensor((4,))])
    with pytest.raises(GlowmcuError, match="needs the value to pad with known at compile time"):
        compile_model(data, "m.tflite", Options("m"))
