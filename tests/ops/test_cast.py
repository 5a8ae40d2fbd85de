"""Casts equal TensorFlow Lite Micro between the types it has, LiteRT for the others."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.ir.interpreter import run_graph
from tests.support.check_model import check_model
from tests.support.onnx_models import onnx_model, run_onnxruntime
from tests.support.oracle import run_litert_reference, run_tflm
from tests.support.single_op import Tensor, single_op_model

TFLM_FROM = ["int8", "int16", "int32", "bool"]
TFLM_TO = ["int8", "int16", "int32", "float32"]


def cast_model(source: str, target: str, count: int = 40) -> bytes:
    x, y = Tensor((1, count), source), Tensor((1, count), target)
    return single_op_model("CAST", [x], [y])


@pytest.mark.parametrize("target", TFLM_TO)
@pytest.mark.parametrize("source", TFLM_FROM)
def test_casts_from_integers_equal_tflm(source: str, target: str) -> None:
    check_model(cast_model(source, target), oracle=run_tflm, count=3)


@pytest.mark.parametrize(
    ("source", "target"),
    [("uint8", "int8"), ("int8", "uint8"), ("int64", "int32"), ("int32", "int64"),
     ("int32", "bool"), ("uint8", "float32"), ("int64", "float32")],
)  # fmt: skip
def test_casts_of_types_that_tflm_lacks_equal_litert(source: str, target: str) -> None:
    check_model(cast_model(source, target), oracle=run_litert_reference, count=3)


def test_casting_to_the_same_type_costs_nothing() -> None:
    assert not check_model(cast_model("int8", "int8"), oracle=run_tflm).plan.program.runs


INSIDE = [0.0, -0.0, 0.5, -0.5, 0.999, -0.999, 1.0, 1.5, -1.5, 126.99, 127.0, -127.5, -128.0]


@pytest.mark.parametrize("target", ["int8", "int16", "int32"])
def test_real_values_are_cut_towards_zero_as_in_tflm(target: str) -> None:
    x = np.array([INSIDE], np.float32)
    check_model(cast_model("float32", target, x.size), [[x]], run_tflm)


@pytest.mark.parametrize("target", ["int8", "uint8", "int16", "int32", "int64"])
def test_real_values_beyond_the_type_saturate(target: str) -> None:
    limits = np.iinfo(target)
    x = np.array(
        [[np.nan, np.inf, -np.inf, 3e38, -3e38, limits.max, limits.max + 1.0, limits.min - 1.0]],
        np.float32,
    )
    compilation = check_model(cast_model("float32", target, x.size), [[x]])
    (result,) = run_graph(compilation.imported, [x])
    low, high = limits.min, limits.max
    assert result.tolist() == [[0, high, low, high, low, high, high, low]]


def test_real_values_to_bool_say_whether_they_differ_from_zero() -> None:
    x = np.array([[0.0, -0.0, 0.25, -3.0, np.inf]], np.float32)
    check_model(cast_model("float32", "bool", x.size), [[x]], run_litert_reference)


@pytest.mark.parametrize(
    ("source", "to"),
    [("float32", 12), ("int32", 12), ("uint8", 12), ("uint32", 1), ("uint32", 6), ("uint32", 9)],
)
def test_onnx_casts_to_and_from_uint32(source: str, to: int) -> None:
    numbers = {"float32": [0, 1.5, 7, 3e9], "int32": [1, -1, 5, 2**31 - 1], "uint8": [0, 1, 7, 200],
               "uint32": [0, 1, 7, 2**32 - 1]}  # fmt: skip
    x = np.array([numbers[source]], source)
    check_model(onnx_model("Cast", [("x", source, x.shape)], {"to": to}), [[x]], run_onnxruntime)
