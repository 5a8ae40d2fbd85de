"""BITWISE_XOR and RIGHT_SHIFT: Python meaning == generated C == LiteRT's reference."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model
from tests.support.oracle import run_litert_reference

INTEGERS = ["int8", "uint8", "int16", "int32", "uint32"]
#: As signed numbers: both ends of bytes, and counts around the bits of each type.
VALUES = np.array([[-128], [-1], [0], [1], [100], [127]])
COUNTS = np.array([-128, -1, 0, 1, 3, 7, 8, 15, 16, 31, 32, 33, 127])


def two_inputs(kind: str, dtype: str) -> bytes:
    builder = ModelBuilder()
    a = builder.input("a", VALUES.shape, dtype)
    b = builder.input("b", COUNTS.shape, dtype)
    y = builder.tensor("y", (VALUES.size, COUNTS.size), dtype)
    builder.op(kind, [a, b], [y])
    builder.output(y)
    return builder.finish()


@pytest.mark.parametrize("kind", ["BITWISE_XOR", "RIGHT_SHIFT"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_bits_of_two_inputs_equal_litert(kind: str, dtype: str) -> None:
    inputs = [VALUES.astype(dtype), COUNTS.astype(dtype)]
    check_model(two_inputs(kind, dtype), [inputs], oracle=run_litert_reference)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_a_constant_count_is_clamped_as_litert_does(dtype: str) -> None:
    builder = ModelBuilder()
    a = builder.input("a", VALUES.shape, dtype)
    b = builder.constant("b", COUNTS.astype(dtype))
    y = builder.tensor("y", (VALUES.size, COUNTS.size), dtype)
    builder.op("RIGHT_SHIFT", [a, b], [y])
    builder.output(y)
    data = builder.finish()
    check_model(data, [[VALUES.astype(dtype)]], oracle=run_litert_reference)


@pytest.mark.parametrize("kind", ["BITWISE_XOR", "RIGHT_SHIFT"])
@pytest.mark.parametrize("dtype", ["float32", "bool"])
def test_what_has_no_bits_is_refused(kind: str, dtype: str) -> None:
    with pytest.raises(GlowmcuError, match="expected one integer type without scales") as caught:
        compile_model(two_inputs(kind, dtype), "m.tflite", Options("m"))
    assert caught.value.problems[0].code == "GM106"
