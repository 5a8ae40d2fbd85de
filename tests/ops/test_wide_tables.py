"""Functions and pairs of int16 that LiteRT has, and TFLM mostly not: tables, roots, quotients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.interpreter import run_graph
from glowmcu.pipeline import compile_model
from tests.ops.test_wide_functions import ALL, UNIT, Quantized, function_model, pair_model
from tests.support.check_model import check_model
from tests.support.oracle import run_litert_reference, run_tflm

NOT_NEGATIVE = np.maximum(ALL, 0)
POSITIVE = np.maximum(ALL, 1)
#: Negated it wraps in LiteRT, and saturates here.
BUT_LEAST = np.maximum(ALL, -(2**15) + 1)

TABLES: dict[str, tuple[str, Quantized, Quantized, dict[str, Any]]] = {
    "exp": ("EXP", (2e-4, 0), (2e-2, 0), {}),
    "exp, saturated": ("EXP", (5e-4, 0), (1e-3, 0), {}),
    "exp, beyond float32 it is the greatest": ("EXP", (2.6e-3, 0), (1e33, 0), {}),
    "log": ("LOG", (1e-3, 0), (2e-4, 0), {}),
    "log, entries further apart than int16 holds": ("LOG", (1.0, 0), (1.6e-4, 0), {}),
    "log, powers of two": ("LOG", (2.0**-10, 0), (2.0**-13, 0), {}),
    "log, wide range": ("LOG", (2.0, 0), (1e-3, 0), {}),
    "gelu": ("GELU", (2.0**-12, 0), (2.0**-12, 0), {"approximate": False}),
    "gelu, approximate": ("GELU", (3e-4, 0), (2.5e-4, 0), {"approximate": True}),
}


@pytest.mark.parametrize(("kind", "x", "y", "options"), TABLES.values(), ids=TABLES)
def test_a_table_of_16_bits_equals_litert(
    kind: str, x: Quantized, y: Quantized, options: dict[str, Any]
) -> None:
    check_model(function_model(kind, x, y, options), [[ALL]], run_litert_reference)


def test_what_wraps_is_wrapped_for_the_table_that_reads_it() -> None:
    """In one loop with its neighbour nothing is stored in between: unwrapped, it would be read
    beyond the table.
    """
    model = ModelBuilder()
    x = model.input("x", (256, 256), "int16", 1.0)
    logarithm = model.tensor("log", (256, 256), "int16", 1.6e-4)
    result = model.tensor("y", (256, 256), "int16", 2e-4)
    model.op("LOG", [x], [logarithm])
    model.op("GELU", [logarithm], [result], {"approximate": False})
    model.output(result)
    done = check_model(model.finish(), [[ALL]], run_litert_reference)
    assert [choice.kernel_name for choice in done.selections.values()] == ["elementwise.baked"]


@pytest.mark.parametrize("scales", [(2.0**-10, 2.0**-12), (1e-3, 7e-4), (3.0, 1e-2), (1e-3, 1.0)])
def test_a_root_of_16_bits_equals_litert(scales: tuple[float, float]) -> None:
    data = function_model("SQRT", (scales[0], 0), (scales[1], 0))
    check_model(data, [[NOT_NEGATIVE]], run_litert_reference)


#: The last two tell a factor in double from one in float32.
INVERSE_ROOTS = [
    (2.0**-12, 2.0**-9), (1e-3, 7e-4), (3.0, 1e-5), (1e-4, 0.2),
    (4.449460539035499e-4, 1.0812182881636545e-4), (4.640853963792324e-3, 1.532355381641537e-4),
]  # fmt: skip


@pytest.mark.parametrize("scales", INVERSE_ROOTS)
def test_an_inverse_root_of_16_bits_equals_tflm(scales: tuple[float, float]) -> None:
    """LiteRT interpolates between 256 values, which is far off where they change much."""
    data = function_model("RSQRT", (scales[0], 0), (scales[1], 0), None, (32, 256))
    check_model(data, [[NOT_NEGATIVE[4::8]], [NOT_NEGATIVE[128:160]]], run_tflm)


def test_roots_of_what_is_negative_have_an_end() -> None:
    x = np.array([[-32768, -1, 0, 1]], np.int16)
    inverse = function_model("RSQRT", (1.0, 0), (1.0, 0), None, (1, 4))
    check_model(inverse, [[x]], lambda _model, _x: [np.array([[32767] * 3 + [1]], np.int16)])
    root = function_model("SQRT", (1.0, 0), (1.0, 0), None, (1, 4))
    check_model(root, [[x]], lambda _model, _x: [np.array([[0, 0, 0, 1]], np.int16)])


def test_negation_of_16_bits_equals_litert_on_one_scale() -> None:
    data = function_model("NEG", (1e-3, 0), (1e-3, 0))
    check_model(data, [[BUT_LEAST]], run_litert_reference)


def test_negation_of_16_bits_is_rescaled_and_saturates() -> None:
    x = np.array([[-32768, -200, 0, 200]], np.int16)
    data = function_model("NEG", (1e-3, 0), (2e-3, 0), None, (1, 4))
    check_model(data, [[x]], lambda _model, _x: [np.array([[16384, 100, 0, -100]], np.int16)])
    data = function_model("NEG", (1e-3, 0), (1e-3, 0), None, (1, 4))
    check_model(data, [[x]], lambda _model, _x: [np.array([[32767, 200, 0, -200]], np.int16)])


def shaped_pairs(kind: str, scales: tuple[float, float, float]) -> list[bytes]:
    same, broadcast = ((2, 3, 50),) * 3, ((2, 1, 50), (3, 1), (2, 3, 50))
    return [pair_model(kind, *shapes, scales=scales) for shapes in (same, broadcast)]


@pytest.mark.parametrize("scales", [(1e-3, 7e-4, 2e-1), (1e-3, 1e-3, 1e-3), (5e-3, 1e-5, 3e-2)])
def test_a_squared_difference_of_16_bits_equals_tflm(scales: tuple[float, float, float]) -> None:
    for data in shaped_pairs("SQUARED_DIFFERENCE", scales):
        check_model(data, oracle=run_tflm, count=4)


@pytest.mark.parametrize("scales", [(1e-3, 7e-4, 2e-3), (1e-3, 1e-3, 1e-2), (2e-4, 5e-3, 1e-4)])
def test_quotients_of_16_bits_equal_litert(scales: tuple[float, float, float]) -> None:
    generator = np.random.default_rng(5)
    a = generator.integers(-(2**15), 2**15, (2, 3, 50)).astype(np.int16)
    b = generator.integers(1, 2**15, (2, 3, 50)).astype(np.int16)
    b[0] = generator.integers(-40, 0, b[0].shape)
    check_model(shaped_pairs("DIV", scales)[0], [[a, b]], run_litert_reference)


def comparison_model(kind: str, b_scale: float) -> bytes:
    model = ModelBuilder()
    a = model.input("a", (2, 50), "int16", 1e-3)
    b = model.input("b", (2, 50), "int16", b_scale)
    result = model.tensor("y", (2, 50), "bool")
    model.op(kind, [a, b], [result])
    model.output(result)
    return model.finish()


def near_pairs() -> list[Any]:
    """Some of a are twice b, and some equal b."""
    generator = np.random.default_rng(2)
    b = generator.integers(-99, 99, (2, 50)).astype(np.int16)
    offsets = generator.choice([-1, 0, 0, 1], b.shape)
    return [((1 + generator.integers(0, 2, b.shape)) * b + offsets).astype(np.int16), b]


@pytest.mark.parametrize("kind", ["EQUAL", "NOT_EQUAL"])
def test_equality_of_16_bits_equals_litert(kind: str) -> None:
    for scale in (1e-3, 2e-3):
        check_model(comparison_model(kind, scale), [near_pairs()], run_litert_reference)


ORDERS: dict[str, Callable[[Any, Any], Any]] = {
    "GREATER": np.greater, "GREATER_EQUAL": np.greater_equal, "LESS": np.less,
    "LESS_EQUAL": np.less_equal,
}  # fmt: skip


@pytest.mark.parametrize(("kind", "order"), ORDERS.items(), ids=ORDERS)
def test_the_order_of_16_bits_equals_litert_on_one_scale_and_minds_two(
    kind: str, order: Callable[[Any, Any], Any]
) -> None:
    """LiteRT compares what is stored, whatever the scales; TFLM's GREATER reads scales that it
    never set, and it has no other.
    """
    check_model(comparison_model(kind, 1e-3), [near_pairs()], run_litert_reference)

    def real(_model: bytes, inputs: Any) -> list[Any]:
        return [order(inputs[0], 2 * inputs[1])]

    check_model(comparison_model(kind, 2e-3), [near_pairs()], real)


def test_prelu_of_16_bits_takes_all_of_the_product() -> None:
    """LiteRT keeps 16 bits of it and is no oracle."""
    model = ModelBuilder()
    x = model.input("x", (3, 8), "int16", 1e-3)
    alpha = model.constant(
        "alpha", np.array([1, 16384, 32767, -16384, 0, 9, -1, 5], np.int16), UNIT
    )
    result = model.tensor("y", (3, 8), "int16", 1e-3)
    model.op("PRELU", [x, alpha], [result])
    model.output(result)
    values = np.array([[-20000] * 8, [-3] * 8, [20000] * 8], np.int16)
    expected = np.array(
        [[-1, -10000, -19999, 10000, 0, -5, 1, -3], [0, -1, -3, 2, 0, 0, 0, 0], [20000] * 8]
    )
    expected[1, 1:4] = -2, -3, 2  # halves of negative numbers away from 0
    check_model(model.finish(), [[values]], lambda _model, _x: [expected.astype(np.int16)])


#: Real function and the largest difference in steps, which is that of lines to a curve.
NO_ORACLE: dict[str, tuple[Callable[[Any], Any], float]] = {
    "HARD_SWISH": (lambda x: x * np.clip(x + 3, 0, 6) / 6, 16.0),
    "ELU": (lambda x: np.where(x < 0, np.expm1(x), x), 2.0),
}


@pytest.mark.parametrize(("kind", "known"), NO_ORACLE.items(), ids=NO_ORACLE)
def test_a_table_that_no_interpreter_has_is_near_the_function(
    kind: str, known: tuple[Callable[[Any], Any], float]
) -> None:
    scale = 2.0**-12
    function, most = known
    compiled = check_model(function_model(kind, (scale, 0), (scale, 0)), [[ALL]])
    (result,) = run_graph(compiled.graph, [ALL])
    steps = np.clip(function(ALL * scale) / scale, -32768, 32767)
    assert np.abs(result - steps).max() <= most


REFUSED: dict[str, tuple[str, Quantized, Quantized, str]] = {
    "exp with a zero point": ("EXP", (1e-3, 4), (1e-3, 0), "zero point 0"),
    "sqrt with a zero point": ("SQRT", (1e-3, 0), (1e-3, 4), "zero point 0"),
    "rsqrt of 0 everywhere": ("RSQRT", (1.0, 0), (1e4, 0), "all results are 0"),
    "rsqrt beyond 32 bits": ("RSQRT", (1e-6, 0), (1e-8, 0), "leave int32"),
    "square": ("SQUARE", (1e-3, 0), (1e-3, 0), "expected i8"),
    "floor": ("FLOOR", (1e-3, 0), (1e-3, 0), "expected i8"),
}


@pytest.mark.parametrize(("kind", "x", "y", "text"), REFUSED.values(), ids=REFUSED)
def test_what_has_no_meaning_on_16_bits_is_refused(
    kind: str, x: Quantized, y: Quantized, text: str
) -> None:
    with pytest.raises(GlowmcuError, match=text):
        compile_model(function_model(kind, x, y, {}, (1, 4)), "m.tflite", Options("m"))
