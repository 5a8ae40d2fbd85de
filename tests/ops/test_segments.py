"""Sums and extremes of segments, sparse tensors, diagonals and bits equal LiteRT."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.ir.operation import Array
from glowmcu.pipeline import reference_graph
from tests.support.check_model import check_model
from tests.support.onnx_models import onnx_model, run_reference
from tests.support.oracle import run_litert_reference
from tests.support.single_op import Tensor, ints, single_op_model

UNSORTED = [f"UNSORTED_SEGMENT_{kind}" for kind in ("SUM", "PROD", "MAX", "MIN")]


def real(*shape: int) -> Tensor:
    return Tensor(shape, "float32")


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("numbers", [(0, 0, 1, 3), (0, 1, 2, 2), (2, 2, 2, 2)])
def test_sums_of_segments(numbers: tuple[int, ...], dtype: str) -> None:
    x, y = Tensor((4, 3, 2), dtype), Tensor((max(numbers) + 1, 3, 2), dtype)
    data = single_op_model("SEGMENT_SUM", [x, ints(*numbers)], [y])
    inputs = np.random.default_rng(1).integers(-100, 100, (4, 3, 2)).astype(dtype)

    def summed(_: bytes, arrays: Sequence[Array]) -> list[Array]:
        """LiteRT's reference resolver lacks the operator."""
        sums = np.zeros(y.shape, dtype)
        np.add.at(sums, list(numbers), arrays[0])
        return [sums]

    check_model(data, [[inputs]], summed)


@pytest.mark.parametrize("kind", UNSORTED)
@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("numbers", [[0, 2, 1, 0], [4, -1, 1, 4]], ids=["each", "one of none"])
@pytest.mark.parametrize("is_known", [True, False], ids=["known", "computed"])
def test_unsorted_segments(kind: str, dtype: str, numbers: list[int], is_known: bool) -> None:
    places = ints(*numbers)
    operand = places if is_known else Tensor((4,), "int32")
    data = single_op_model(
        kind, [Tensor((4, 3), dtype), operand, np.array(5, np.int32)], [Tensor((5, 3), dtype)]
    )
    x = np.random.default_rng(2).integers(-9, 9, (4, 3)).astype(dtype)
    check_model(data, [[x] if is_known else [x, places]], run_litert_reference)


def test_numbers_of_segments_may_have_several_axes() -> None:
    places = np.array([[0, 1, 1], [2, 0, 2]], np.int32)
    operands = [real(2, 3, 4), places, np.array(3, np.int32)]
    data = single_op_model("UNSORTED_SEGMENT_SUM", operands, [real(3, 4)])
    check_model(data, oracle=run_litert_reference)


@pytest.mark.parametrize(
    ("places", "shape", "values"),
    [
        ([[0, 1], [2, 3]], (3, 4), real(2)),
        ([1, 4, 5], (6,), real(3)),
        ([[1], [4]], (6,), real()),
        (2, (6,), real()),
        ([[0, 0, 1]], (1, 2, 2), real(1)),
    ],
    ids=["matrix", "vector", "one value", "one place", "three axes"],
)
@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("width", [np.int32, np.int64])
def test_sparse_tensors(
    places: object, shape: tuple[int, ...], values: Tensor, dtype: str, width: type
) -> None:
    operands = [np.array(places, width), np.array(shape, width), Tensor(values.shape, dtype),
                np.array(-3, dtype)]  # fmt: skip
    data = single_op_model("SPARSE_TO_DENSE", operands, [Tensor(shape, dtype)])
    check_model(data, oracle=run_litert_reference)


def test_places_of_a_sparse_tensor_may_be_computed() -> None:
    operands = [Tensor((3, 2), "int32"), ints(4, 5), real(3), np.array(1, np.float32)]
    data = single_op_model("SPARSE_TO_DENSE", operands, [real(4, 5)])
    places = np.array([[0, 4], [2, 2], [3, 0]], np.int32)
    check_model(data, [[places, np.array([7, 8, 9], np.float32)]], run_litert_reference)


@pytest.mark.parametrize("dtype", ["float32", "int32", "int8"])
@pytest.mark.parametrize("shape", [(2, 5), (3,), (2, 1, 4)])
def test_matrices_of_a_diagonal(shape: tuple[int, ...], dtype: str) -> None:
    out = Tensor((*shape, shape[-1]), dtype)
    data = single_op_model("MATRIX_DIAG", [Tensor(shape, dtype)], [out])
    check_model(data, oracle=run_litert_reference)


@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize("shape", [(2, 5, 5), (4, 6), (2, 6, 4), (1, 1, 3)])
def test_diagonals_that_are_set(shape: tuple[int, ...], dtype: str) -> None:
    x, diagonal = Tensor(shape, dtype), Tensor((*shape[:-2], min(shape[-2:])), dtype)
    check_model(single_op_model("MATRIX_SET_DIAG", [x, diagonal], [x]), oracle=run_litert_reference)


@pytest.mark.parametrize(("source", "target"), [("float32", "int32"), ("int32", "float32")])
def test_bits_are_those_of_another_type(source: str, target: str) -> None:
    data = single_op_model("BITCAST", [Tensor((2, 5), source)], [Tensor((2, 5), target)])
    x = np.array([[0, -0.0, 1.5, -7, 1e30], [1, 2, 3, 4, 5]], np.float32).view(source)
    check_model(data, [[x]], run_litert_reference)


@pytest.mark.parametrize(("source", "target"), [("float32", 6), ("int32", 1), ("int8", 2)])
def test_bits_of_onnx(source: str, target: int) -> None:
    data = onnx_model("BitCast", [("x", source, (2, 5))], {"to": target}, opset=26)
    x = np.array([[0, -0.0, 1.5, -7, 100], [1, 2, 3, 4, 5]], np.float32).astype(source)
    check_model(data, [[x]], run_reference)


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        ("int64", 11, "int64 to DOUBLE"),
        ("int16", 10, "int16 to FLOAT16"),
        ("int32", 16, "int32 to BFLOAT16"),
        ("int8", 6, "int8 to INT32"),
    ],
)
def test_bits_of_types_that_are_none_here_are_refused_by_their_names(
    source: str, target: int, said: str
) -> None:
    data = onnx_model("BitCast", [("x", source, (2, 5))], {"to": target}, opset=26)
    with pytest.raises(GlowmcuError, match=f"GM105.*BitCast of {said}: expected elements of one"):
        reference_graph(data, "m.onnx")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (single_op_model("SEGMENT_SUM", [real(4, 3), Tensor((4,), "int32")], [real(2, 3)]),
         "GM112.*its segments"),
        (single_op_model("SEGMENT_SUM", [real(4, 3), ints(0, 1)], [real(2, 3)]),
         r"GM106.*\[2\] numbers of segments"),
        (single_op_model("SEGMENT_SUM", [Tensor((2, 3)), ints(0, 1)], [Tensor((2, 3))]),
         "GM106.*numbers of segments"),
        (single_op_model("UNSORTED_SEGMENT_SUM", [real(2, 3), ints(0, 9), ints(2)], [real(2, 3)]),
         r"GM106.*index \[9\] is outside"),
        (single_op_model("SPARSE_TO_DENSE", [ints(7), ints(6), real(1), np.float32([0])],
                         [real(6)]), r"GM106.*index \[7\] is outside"),
        (single_op_model("SPARSE_TO_DENSE", [ints(1, 2), ints(6), real(3), np.float32([0])],
                         [real(6)]), "GM106.*are no values of 2 places"),
        (single_op_model("MATRIX_SET_DIAG", [real(4, 6), real(6)], [real(4, 6)]),
         "GM106.*is no diagonal of"),
        (single_op_model("BITCAST", [real(2)], [Tensor((2,), "int8")]),
         "GM106.*elements of one size"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(GlowmcuError, match=f"(?s){said}"):
        reference_graph(data, "m.tflite")
