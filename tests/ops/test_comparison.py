"""Comparisons, logic and select: Python meaning == generated C == TensorFlow Lite Micro."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model
from tests.support.oracle import run_tflm

INT8 = np.arange(-128, 128, dtype=np.int8)
ALL_PAIRS = [INT8.reshape(256, 1), INT8.reshape(1, 256)]
RELATIONS = ["EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL"]


def relations_model(kinds, shapes, dtype, quantization=((None, 0), (None, 0))) -> bytes:
    """All of `kinds` on the same two inputs, an output each."""
    builder = ModelBuilder()
    a = builder.input("a", shapes[0], dtype, *quantization[0])
    b = builder.input("b", shapes[1], dtype, *quantization[1])
    for kind in kinds:
        out = builder.tensor(kind.lower(), np.broadcast_shapes(*shapes), "bool")
        builder.op(kind, [a, b], [out])
        builder.output(out)
    return builder.finish()


QUANTIZATIONS = {
    "the same": ((0.5, 3), (0.5, 3)),
    "other zero points": ((0.1, -128), (0.1, 127)),
    "other scales": ((0.5, 3), (0.25, -7)),
    "scales that hardly differ": ((0.0173, 0), (0.0174, 0)),
    "a scale that rounds everything to 0": ((1e-6, 0), (0.9, 0)),
}  # fmt: skip


@pytest.mark.parametrize("quantization", QUANTIZATIONS.values(), ids=QUANTIZATIONS.keys())
def test_comparing_all_pairs_of_int8_equals_the_oracle(quantization) -> None:
    data = relations_model(RELATIONS, [(256, 1), (1, 256)], "int8", quantization)
    check_model(data, [ALL_PAIRS], oracle=run_tflm)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
def test_comparing_other_types_equals_the_oracle(dtype) -> None:
    data = relations_model(RELATIONS, [(5, 1), (3,)], dtype)
    a = np.array([[-3], [0], [1], [2], [100]], dtype)
    b = np.array([0, 1, 2], dtype)
    check_model(data, [[a, b]], oracle=run_tflm)


@pytest.mark.parametrize("dtype", ["uint32", "uint64"])
def test_words_without_a_sign_are_compared_as_such(dtype) -> None:
    """Their upper half was negative in C, and of 64 bits half were lost."""
    most = np.iinfo(dtype).max
    a = np.array([[0], [1], [most // 2], [most // 2 + 1], [most - 1], [most]], dtype)
    b = a[:, 0]
    data = relations_model(RELATIONS, [(6, 1), (6,)], dtype)
    check_model(data, [[a, b]])


@pytest.mark.parametrize("dtype", ["uint32", "uint64"])
def test_words_without_a_sign_are_selected_whole(dtype) -> None:
    builder = ModelBuilder()
    operands = [builder.input("c", (4,), "bool"), builder.input("a", (4,), dtype)]
    operands.append(builder.input("b", (4,), dtype))
    y = builder.tensor("y", (4,), dtype)
    builder.op("SELECT_V2", operands, [y])
    builder.output(y)
    most = np.iinfo(dtype).max
    a, b = np.array([most, 1, most - 1, 2], dtype), np.array([3, most, 4, most // 2 + 2], dtype)
    check_model(builder.finish(), [[np.array([True, False, True, False]), a, b]])


def test_logic_and_equality_of_bool_equal_the_oracle() -> None:
    kinds = ["LOGICAL_AND", "LOGICAL_OR", "EQUAL", "NOT_EQUAL"]
    data = relations_model(kinds, [(2, 1), (2,)], "bool")
    check_model(data, [[np.array([[False], [True]]), np.array([False, True])]], oracle=run_tflm)


def test_logical_not_equals_the_oracle() -> None:
    builder = ModelBuilder()
    x = builder.input("x", (1, 5), "bool")
    y = builder.tensor("y", (1, 5), "bool")
    builder.op("LOGICAL_NOT", [x], [y])
    builder.output(y)
    check_model(builder.finish(), oracle=run_tflm)


SELECT_SHAPES = {
    "all the same": ((2, 3), (2, 3), (2, 3)),
    "a condition a row": ((4, 1), (4, 3), (4, 3)),
    "a scalar to choose": ((2, 3), (1,), (2, 3)),
    "all three broadcast": ((2, 1, 1), (1, 3, 1), (1, 1, 4)),
}  # fmt: skip


@pytest.mark.parametrize("shapes", SELECT_SHAPES.values(), ids=SELECT_SHAPES.keys())
@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
def test_select_equals_the_oracle(shapes, dtype) -> None:
    builder = ModelBuilder()
    quantization = () if dtype == "float32" else (0.5,)
    condition = builder.input("condition", shapes[0], "bool")
    a = builder.input("a", shapes[1], dtype, *quantization)
    b = builder.input("b", shapes[2], dtype, *quantization)
    out = builder.tensor("out", np.broadcast_shapes(*shapes), dtype, *quantization)
    builder.op("SELECT_V2", [condition, a, b], [out])
    builder.output(out)
    check_model(builder.finish(), oracle=run_tflm)


def test_comparing_with_a_scale_of_1_is_refused_where_the_oracle_aborts() -> None:
    data = relations_model(["LESS"], [(3,), (3,)], "int8", ((1.0, 0), (0.5, 0)))
    with pytest.raises(GlowmcuError, match="the scale of a compared tensor must be below 1, got 1"):
        compile_model(data, "m.tflite", Options("m"))
