"""Functions, sums and element-wise arithmetic of int16 activations equal TensorFlow Lite Micro."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model
from tests.support.oracle import run_litert_reference, run_tflm

Quantized = tuple[float, int]
UNIT = 2.0**-15
ALL = np.arange(-(2**15), 2**15, dtype=np.int64).astype(np.int16).reshape(256, 256)


def function_model(
    kind: str, x: Quantized, y: Quantized, options: dict[str, Any] | None = None,
    shape: tuple[int, ...] = (256, 256),
) -> bytes:  # fmt: skip
    model = ModelBuilder()
    source = model.input("x", shape, "int16", *x)
    result = model.tensor("y", shape, "int16", *y)
    model.op(kind, [source], [result], options or {})
    model.output(result)
    return model.finish()


FUNCTIONS: dict[str, tuple[str, Quantized, Quantized, dict[str, Any]]] = {
    "relu": ("RELU", (1e-3, 0), (7e-4, 0), {}),
    "relu, scale above 1": ("RELU", (1e-3, 0), (3e-4, 0), {}),
    "relu6": ("RELU6", (1e-3, 0), (1e-3, 0), {}),
    "relu6, zero point": ("RELU6", (1e-3, -77), (1e-3, -77), {}),
    "leaky_relu": ("LEAKY_RELU", (1e-3, 0), (9e-4, 0), {"alpha": 0.3}),
    "leaky_relu, zero points": ("LEAKY_RELU", (1e-3, 5), (2e-3, -8), {"alpha": 0.01}),
    "leaky_relu, alpha 2": ("LEAKY_RELU", (1e-3, 0), (1e-3, 0), {"alpha": 2.0}),
    "abs": ("ABS", (1e-3, 0), (1e-3, 0), {}),
    "abs, rescaled": ("ABS", (1e-3, 0), (7e-4, 0), {}),
    "logistic, any scale": ("LOGISTIC", (3e-4, 0), (UNIT, 0), {}),
    "logistic, scale of 1/4096": ("LOGISTIC", (2.0**-12, 0), (UNIT, 0), {}),
    "logistic, scale of 1/2048": ("LOGISTIC", (2.0**-11, 0), (UNIT, 0), {}),
    "logistic, large scale": ("LOGISTIC", (2.6, 0), (UNIT, 0), {}),
    "logistic, vanishing scale": ("LOGISTIC", (1e-12, 0), (UNIT, 0), {}),
    "tanh, any scale": ("TANH", (3e-4, 0), (UNIT, 0), {}),
    "tanh, scale of 1/4096": ("TANH", (2.0**-12, 0), (UNIT, 0), {}),
    "tanh, scale of 1/2048": ("TANH", (2.0**-11, 0), (UNIT, 0), {}),
    "tanh, tiny scale": ("TANH", (2e-6, 0), (UNIT, 0), {}),
    "softmax": ("SOFTMAX", (2e-4, 0), (UNIT, 0), {"beta": 1.0}),
    "softmax, beta 1/2": ("SOFTMAX", (2e-4, 0), (UNIT, 0), {"beta": 0.5}),
    "softmax, nearly flat": ("SOFTMAX", (1e-9, 0), (UNIT, 0), {"beta": 1.0}),
    "softmax, nearly one-hot": ("SOFTMAX", (3.0, 0), (UNIT, 0), {"beta": 1.0}),
}


@pytest.mark.parametrize(("kind", "x", "y", "options"), FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_function_of_all_16_bit_values_equals_tflm(
    kind: str, x: Quantized, y: Quantized, options: dict[str, Any]
) -> None:
    shuffled = np.random.default_rng(1).permutation(ALL.reshape(-1)).reshape(ALL.shape)
    sets = [[ALL], [shuffled]] if kind == "SOFTMAX" else [[ALL]]
    check_model(function_model(kind, x, y, options), sets, run_tflm)


@pytest.mark.parametrize("depth", [1, 2, 17, 300])
def test_softmax_of_any_depth_equals_tflm(depth: int) -> None:
    data = function_model("SOFTMAX", (2e-3, 0), (UNIT, 0), {"beta": 1.0}, (5, depth))
    check_model(data, oracle=run_tflm)


def test_a_negative_slope_gives_the_value_with_the_other_sign() -> None:
    """TFLM's release aborts in debug builds; its source negates."""
    data = function_model("LEAKY_RELU", (1e-3, 0), (1e-3, 0), {"alpha": -0.5}, (1, 5))
    x = np.array([[-32768, -4, 0, 3, 32767]], np.int16)
    check_model(data, [[x]], lambda _model, _x: [np.array([[16384, 2, 0, 3, 32767]], np.int16)])


def pair_model(
    kind: str, a: tuple[int, ...], b: tuple[int, ...], y: tuple[int, ...],
    scales: tuple[float, float, float] = (1e-3, 7e-4, 2e-3), activation: str = "NONE",
) -> bytes:  # fmt: skip
    model = ModelBuilder()
    operands = [model.input("a", a, "int16", scales[0]), model.input("b", b, "int16", scales[1])]
    result = model.tensor("y", y, "int16", scales[2])
    plain = kind in ("MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE")
    options = {} if plain else {"fused_activation_function": activation}
    model.op(kind, operands, [result], options)
    model.output(result)
    return model.finish()


@pytest.mark.parametrize("kind", ["ADD", "SUB", "MUL"])
@pytest.mark.parametrize("activation", ["NONE", "RELU6"])
def test_arithmetic_of_16_bits_equals_tflm(kind: str, activation: str) -> None:
    same, broadcast = ((2, 3, 5),) * 3, ((2, 1, 5), (3, 1), (2, 3, 5))
    for shapes in (same, broadcast):
        check_model(pair_model(kind, *shapes, activation=activation), oracle=run_tflm, count=4)


@pytest.mark.parametrize("kind", ["MAXIMUM", "MINIMUM"])
def test_extremes_of_16_bits_equal_tflm(kind: str) -> None:
    data = pair_model(kind, (2, 1, 5), (3, 1), (2, 3, 5), (1e-3,) * 3)
    check_model(data, oracle=run_tflm)


def reduction_model(
    kind: str, shape: tuple[int, ...], axes: tuple[int, ...], x: Quantized, y: Quantized,
    keep_dims: bool = False,
) -> bytes:  # fmt: skip
    kept = [1 if axis in axes else size for axis, size in enumerate(shape)]
    out = [size for axis, size in enumerate(kept) if keep_dims or axis not in axes]
    model = ModelBuilder()
    source = model.input("x", shape, "int16", *x)
    where = model.constant("axes", np.array(axes, np.int32))
    result = model.tensor("y", tuple(out), "int16", *y)
    model.op(kind, [source, where], [result], {"keep_dims": keep_dims})
    model.output(result)
    return model.finish()


REDUCTIONS: dict[str, tuple[tuple[int, ...], tuple[int, ...], Quantized, Quantized]] = {
    "spatial axes": ((2, 7, 5, 3), (1, 2), (1e-3, 0), (1e-3, 0)),
    "rescaled, zero points": ((2, 3, 4), (1,), (1e-3, 9), (4e-3, -700)),
    "last axis": ((3, 31), (1,), (1e-3, 0), (3e-4, 0)),
    "all axes but the first": ((2, 2, 3, 5), (1, 2, 3), (1e-3, 0), (2e-2, 0)),
}


@pytest.mark.parametrize("kind", ["MEAN", "SUM"])
@pytest.mark.parametrize(("shape", "axes", "x", "y"), REDUCTIONS.values(), ids=REDUCTIONS)
def test_reductions_of_16_bits_equal_tflm(
    kind: str, shape: tuple[int, ...], axes: tuple[int, ...], x: Quantized, y: Quantized
) -> None:
    keep_dims = shape[0] == 3
    check_model(reduction_model(kind, shape, axes, x, y, keep_dims), oracle=run_tflm)


@pytest.mark.parametrize("kind", ["REDUCE_MAX", "REDUCE_MIN"])
def test_extreme_reductions_of_16_bits_equal_litert(kind: str) -> None:
    """TFLM has them for int8 and float32 only."""
    data = reduction_model(kind, (2, 7, 5, 3), (1, 2), (1e-3, 0), (1e-3, 0))
    check_model(data, oracle=run_litert_reference)


def test_a_sum_that_leaves_int32_is_refused_with_its_bound() -> None:
    data = reduction_model("SUM", (1, 1 << 16), (1,), (1e-3, 0), (1.0, 0))
    with pytest.raises(GlowmcuError, match="65536 elements can reach 2147483648"):
        compile_model(data, "m.tflite", Options("m"))


REFUSED: dict[str, tuple[str, Quantized, Quantized, str]] = {
    "logistic with a zero point": ("LOGISTIC", (1e-3, 4), (UNIT, 0), "zero point 0"),
    "logistic to another scale": ("LOGISTIC", (1e-3, 0), (1e-3, 0), "gives scale 1/32768"),
    "tanh of a huge scale": ("TANH", (2.7, 0), (UNIT, 0), "input scale below 2.66"),
    "softmax to another scale": ("SOFTMAX", (1e-3, 0), (1e-3, 0), "gives scale 1/32768"),
    "softmax with a zero point": ("SOFTMAX", (1e-3, 4), (UNIT, 0), "zero point 0"),
    "log_softmax": ("LOG_SOFTMAX", (1e-3, 0), (1e-3, 0), "expected quantized i8"),
}


@pytest.mark.parametrize(("kind", "x", "y", "text"), REFUSED.values(), ids=REFUSED)
def test_what_16_bits_do_not_have_is_refused(
    kind: str, x: Quantized, y: Quantized, text: str
) -> None:
    options = {"beta": 1.0} if kind == "SOFTMAX" else {}
    with pytest.raises(GlowmcuError, match=text):
        compile_model(function_model(kind, x, y, options, (1, 4)), "m.tflite", Options("m"))


def test_functions_of_16_bits_run_in_one_loop_with_their_neighbours() -> None:
    """x * logistic(x), leaky: intermediate values stay in registers."""
    model = ModelBuilder()
    x = model.input("x", (3, 50), "int16", 1e-3)
    gate = model.tensor("gate", (3, 50), "int16", UNIT)
    swish = model.tensor("swish", (3, 50), "int16", 1e-3)
    y = model.tensor("y", (3, 50), "int16", 9e-4)
    model.op("LOGISTIC", [x], [gate])
    model.op("MUL", [x, gate], [swish], {"fused_activation_function": "NONE"})
    model.op("LEAKY_RELU", [swish], [y], {"alpha": 0.2})
    model.output(y)
    done = check_model(model.finish(), oracle=run_tflm)
    assert [choice.kernel_name for choice in done.selections.values()] == ["elementwise.baked"]
