"""Operators of TFLite on real numbers equal LiteRT, and every function has its int8 table."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.operation import Rounding, Signature
from glowmcu.ir.quantization_rule import ResultRange
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.ops.activation import UnaryFunction
from glowmcu.ops.registry import load_operations
from tests.support.check_model import check_model
from tests.support.oracle import run_litert_reference, run_tflm

SHAPE = (2, 3, 4, 5)
UNARY = {
    "ABS": (-4, 4), "NEG": (-4, 4), "RELU": (-4, 4), "RELU6": (-9, 9), "RELU_N1_TO_1": (-2, 2),
    "ELU": (-9, 4), "LOGISTIC": (-20, 20), "TANH": (-9, 9), "EXP": (-20, 9), "LOG": (0.001, 99),
    "SQRT": (0, 99), "RSQRT": (0.01, 99), "SQUARE": (-9, 9), "SIN": (-90, 90), "COS": (-90, 90),
    "FLOOR": (-9, 9), "CEIL": (-9, 9), "ROUND": (-9, 9), "HARD_SWISH": (-9, 9),
    "L2_NORMALIZATION": (-4, 4), "LOG_SOFTMAX": (-9, 9), "SIGN": (-4, 4),
}  # fmt: skip
OPTIONS = {"L2_NORMALIZATION": {"fused_activation_function": 0}}


def real_model(kind: str, shapes, options=None) -> bytes:
    builder = ModelBuilder()
    operands = [builder.input(f"x{i}", shape, "float32") for i, shape in enumerate(shapes)]
    out = builder.tensor("y", np.broadcast_shapes(*shapes), "float32")
    builder.op(kind, operands, [out], options)
    builder.output(out)
    return builder.finish()


def values(shape, low, high, seed=1) -> np.ndarray:
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)


@pytest.mark.parametrize("kind", UNARY)
def test_functions_of_real_numbers_equal_litert(kind) -> None:
    data = real_model(kind, [SHAPE], OPTIONS.get(kind))
    # LiteRT has no reference kernels of these.
    oracle = run_tflm if kind in ("CEIL", "ELU", "ROUND") else run_litert_reference
    check_model(data, [[values(SHAPE, *UNARY[kind])]], oracle=oracle)


@pytest.mark.parametrize("beta", [1.0, 0.3])
def test_softmax_of_real_numbers_equals_litert(beta) -> None:
    data = real_model("SOFTMAX", [(3, 7)], {"beta": beta})
    check_model(data, [[values((3, 7), -9, 9)]], oracle=run_litert_reference)


@pytest.mark.parametrize("approximate", [False, True])
def test_gelu_of_real_numbers_equals_litert(approximate) -> None:
    data = real_model("GELU", [SHAPE], {"approximate": approximate})
    check_model(data, [[values(SHAPE, -5, 5)]], oracle=run_litert_reference)


def test_leaky_relu_of_real_numbers_equals_litert() -> None:
    data = real_model("LEAKY_RELU", [SHAPE], {"alpha": 0.3})
    check_model(data, [[values(SHAPE, -5, 5)]], oracle=run_litert_reference)


def test_local_response_normalization_equals_litert() -> None:
    options = {"radius": 2, "bias": 1.5, "alpha": 0.3, "beta": 0.6}
    data = real_model("LOCAL_RESPONSE_NORMALIZATION", [SHAPE], options)
    check_model(data, [[values(SHAPE, -5, 5)]], oracle=run_litert_reference)


PAIRS = ["ADD", "SUB", "MUL", "DIV", "POW", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE", "FLOOR_DIV",
         "FLOOR_MOD", "PRELU"]  # fmt: skip


@pytest.mark.parametrize("kind", PAIRS)
def test_pairs_of_real_numbers_equal_litert(kind) -> None:
    shapes = [(2, 3, 4, 5), (1, 1, 1, 5) if kind == "PRELU" else (3, 1, 5)]
    options = {"fused_activation_function": 0} if kind in ("ADD", "SUB", "MUL", "DIV") else None
    inputs = [values(shapes[0], 0.1, 4), values(shapes[1], 0.3, 3, seed=2)]
    check_model(real_model(kind, shapes, options), [inputs], oracle=run_litert_reference)


@pytest.mark.parametrize("kind", ["ADD", "SUB", "MUL", "DIV"])
@pytest.mark.parametrize("activation", [1, 2, 3])
def test_fused_activations_of_real_numbers_equal_litert(kind, activation) -> None:
    data = real_model(kind, [SHAPE, SHAPE], {"fused_activation_function": activation})
    inputs = [values(SHAPE, -9, 9), values(SHAPE, 0.1, 3, seed=2)]
    check_model(data, [inputs], oracle=run_litert_reference)


FUNCTIONS = {
    name: operation
    for name, operation in load_operations().items()
    if issubclass(operation, UnaryFunction) and name != "defined_function"  # the user's own
}


def stored_type(scale: float, zero_point: int) -> TensorType:
    return TensorType((256,), ElementType.I8, Quantization((scale,), (zero_point,)))


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - {"rsqrt", "log", "relu"}))
def test_every_function_has_an_int8_meaning_near_its_real_one(name) -> None:
    op = FUNCTIONS[name]()
    real = TensorType((256,), ElementType.F32)
    rule = op.quantization_rule(Signature((real,), (real,)))
    assert rule is not None
    x = stored_type(0.03125, -3)
    stored = np.arange(-128, 128, dtype=np.int8)
    numbers = ((stored.astype(np.int64) + 3) * 0.03125).astype(np.float32)
    with np.errstate(all="ignore"):
        (wanted,) = op.evaluate([numbers], Signature((real,), (real,)), Rounding.DOUBLE)
    fixed = rule.fixed if rule.result is ResultRange.FIXED else (0.046875, 7)
    assert fixed is not None
    out = stored_type(*fixed)
    (got,) = op.evaluate([stored], Signature((x,), (out,)), Rounding.DOUBLE)
    exact = np.clip(wanted / np.float32(fixed[0]) + fixed[1], -128, 127)
    finite = np.isfinite(wanted)
    # The fixed-point forms of TensorFlow Lite Micro are off by a little more than the half.
    limit = 1.01 if name in ("tanh", "logistic", "hard_swish") else 0.5001
    assert np.abs(exact - got)[finite].max() <= limit


def test_a_function_that_the_reference_has_on_real_numbers_only_is_a_table_on_int8() -> None:
    builder = ModelBuilder()
    x = builder.input("x", (1, 256), "int8", 0.1, 4)
    y = builder.tensor("y", (1, 256), "int8", 1 / 128, 0)
    builder.op("SIN", [x], [y])
    builder.output(y)
    stored = np.arange(-128, 128, dtype=np.int8).reshape(1, 256)
    compilation = check_model(builder.finish(), [[stored]])
    assert [node.op.name for node in compilation.graph.nodes] == ["lookup"]
    assert "sinf" not in compilation.files["m.c"]
