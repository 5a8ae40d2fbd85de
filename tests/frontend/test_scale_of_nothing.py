"""Converters give a constant of zeros the scale 0: it is taken where all it holds is zero.

Keras' unrolled LSTM at 16x8 has its first hidden state so.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder, TensorRef
from glowmcu.ir.operation import Rounding
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model
from tests.support.oracle import run_litert_reference, run_tflm

BIAS = np.array([100, -2000, 30000, 7])
Build = Callable[[ModelBuilder, str, float], None]


def _bias(model: ModelBuilder, dtype: str, scale: float) -> TensorRef:
    return model.constant("b", BIAS.astype("int64" if dtype == "int16" else "int32"), scale)


def state(model: ModelBuilder, dtype: str, scale: float) -> None:
    """A dense layer of zeros beside one of the input, as in a recurrence's first step."""
    x = model.input("x", (1, 4), dtype, 0.1, 0)
    zeros = model.constant("zeros", np.zeros((1, 8), dtype), scale, 0)
    weights = model.constant("w", np.arange(-16, 16, dtype=np.int8).reshape(4, 8), 0.05, 0)
    y = model.tensor("y", (1, 4), dtype, 0.1, 0)
    model.op("FULLY_CONNECTED", [zeros, weights, _bias(model, dtype, 0.05 * scale)], [y])
    both = model.tensor("both", (1, 4), dtype, 0.2, 0)
    model.op("ADD", [x, y], [both])
    model.output(both)


def weights(model: ModelBuilder, dtype: str, scale: float) -> None:
    """Without weights there is no bias either: both have the scale 0."""
    x = model.input("x", (1, 8), dtype, 0.1, 0)
    zeros = model.constant("w", np.zeros((4, 8), np.int8), scale, 0)
    y = model.tensor("y", (1, 4), dtype, 0.2, 0)
    model.op("FULLY_CONNECTED", [x, zeros, _bias(model, dtype, 0.1 * scale)], [y])
    model.output(y)


def channel(model: ModelBuilder, dtype: str, scale: float) -> None:
    """One of a convolution's channels has no weights."""
    x = model.input("x", (1, 4, 4, 3), dtype, 0.1, 0)
    numbers = np.arange(1, 13, dtype=np.int8).reshape(4, 1, 1, 3)
    numbers[1] = 0
    scales = (0.05, scale, 0.1, 0.02)
    kernel = model.constant("w", numbers, scales, (0,) * 4, axis=0)
    bias = BIAS.astype("int64" if dtype == "int16" else "int32")
    given = model.constant("b", bias, tuple(0.1 * one for one in scales), (0,) * 4, axis=0)
    y = model.tensor("y", (1, 4, 4, 4), dtype, 0.2, 0)
    options = {"padding": "VALID", "stride_h": 1, "stride_w": 1}
    model.op("CONV_2D", [x, kernel, given], [y], options)
    model.output(y)


def product(model: ModelBuilder, dtype: str, scale: float) -> None:
    x = model.input("x", (1, 8), dtype, 0.1, 0)
    zeros = model.constant("zeros", np.zeros((1, 8), dtype), scale, 0)
    y = model.tensor("y", (1, 8), dtype, 0.2, 0)
    model.op("MUL", [x, zeros], [y])
    model.output(y)


def larger(model: ModelBuilder, dtype: str, scale: float) -> None:
    x = model.input("x", (1, 8), dtype, 0.1, 0)
    zeros = model.constant("zeros", np.zeros((1, 8), dtype), scale, 0)
    y = model.tensor("y", (1, 8), dtype, 0.1, 0)
    model.op("MAXIMUM", [x, zeros], [y])
    model.output(y)


CASES = {
    "a state": state, "weights": weights, "a channel": channel, "a product": product,
    "the larger one": larger,
}  # fmt: skip


def built(build: Build, dtype: str, scale: float) -> bytes:
    model = ModelBuilder()
    build(model, dtype, scale)
    return model.finish()


@pytest.mark.parametrize("dtype", ["int8", "int16"])
@pytest.mark.parametrize("build", CASES.values(), ids=CASES)
def test_a_constant_of_zeros_with_a_scale_of_0_equals_tflm(build: Build, dtype: str) -> None:
    check_model(built(build, dtype, 0.0), oracle=run_tflm)


@pytest.mark.parametrize("rounding", [Rounding.SINGLE, Rounding.LITERT])
@pytest.mark.parametrize("dtype", ["int8", "int16"])
@pytest.mark.parametrize("build", CASES.values(), ids=CASES)
def test_it_compiles_under_every_rounding(build: Build, dtype: str, rounding: Rounding) -> None:
    check_model(built(build, dtype, 0.0), options=Options("m", rounding=rounding))


def added(dtype: str, zero_point: int, stored: int, scale: float = 0.0) -> bytes:
    """x + a constant; TFLM asserts that no multiplier is 0 and ends its process."""
    model = ModelBuilder()
    x = model.input("x", (1, 8), dtype, 0.1, 0)
    zeros = model.constant("zeros", np.full((1, 8), stored, dtype), scale, zero_point)
    y = model.tensor("y", (1, 8), dtype, 0.1, 0)
    model.op("ADD", [x, zeros], [y])
    model.output(y)
    return model.finish()


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_a_sum_with_nothing_is_the_other_operand(dtype: str) -> None:
    check_model(added(dtype, 0, 0), oracle=lambda _, inputs: [inputs[0]])


@pytest.mark.parametrize(
    ("zero_point", "stored", "scale"),
    [(0, 1, 0.0), (5, 0, 0.0), (0, 0, -1.0), (0, 0, np.inf), (0, 0, np.nan)],
    ids=["a number", "zero point elsewhere", "negative", "infinite", "no number"],
)
def test_other_scales_that_are_not_positive_are_refused(
    zero_point: int, stored: int, scale: float
) -> None:
    with pytest.raises(GlowmcuError, match="scale") as caught:
        compile_model(added("int8", zero_point, stored, scale), "m.tflite", Options("m"))
    assert caught.value.problems[0].code == "GM105"


def test_zeros_that_are_filled_in_may_have_a_scale_of_0() -> None:
    """Keras' unrolled LSTM at 16x8 makes its first state so; a product with it has 4e-43."""
    model = ModelBuilder()
    x = model.input("x", (1, 4), "int16", 1e-4, 0)
    sizes = model.constant("sizes", np.array([1, 8], np.int32))
    zero = model.constant("zero", np.zeros((), np.int16), 0.0, 0)
    state = model.tensor("state", (1, 8), "int16", 0.0, 0)
    model.op("FILL", [sizes, zero], [state], {})
    weights = model.constant("w", np.arange(-16, 16, dtype=np.int8).reshape(4, 8), 0.004, 0)
    product = model.tensor("product", (1, 4), "int16", 3.6e-43, 0)
    model.op("FULLY_CONNECTED", [state, weights], [product], {})
    y = model.tensor("y", (1, 4), "int16", 2e-4, 0)
    model.op("ADD", [x, product], [y], {})
    model.output(y)
    check_model(model.finish(), oracle=run_litert_reference)


def test_a_scale_of_0_of_an_input_is_refused() -> None:
    model = ModelBuilder()
    x = model.input("x", (1, 8), "int8", 0.0, 0)
    y = model.tensor("y", (1, 8), "int8", 0.1, 0)
    model.op("RELU", [x], [y])
    model.output(y)
    with pytest.raises(GlowmcuError, match="an input has one scale and zero point"):
        compile_model(model.finish(), "m.tflite", Options("m"))
