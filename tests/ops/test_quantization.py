"""QUANTIZE and DEQUANTIZE: Python meaning == generated C == TensorFlow Lite Micro."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.operation import Operation, OperationError, Rounding, Signature
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.ops.quantization import Dequantize, Quantize, Requantize
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model
from tests.support.oracle import run_litert_reference, run_tflm

SPANS = {"int8": (-128, 128), "uint8": (0, 256), "int16": (-32768, 32768)}


def convert_model(kind, shape, source, targets) -> bytes:
    """`source` and each of `targets` are `(dtype, scale, zp)`; one operator a target."""
    builder = ModelBuilder()
    x = builder.input("x", shape, *source)
    for number, target in enumerate(targets):
        y = builder.tensor(f"y{number}", shape, *target)
        builder.op(kind, [x], [y])
        builder.output(y)
    return builder.finish()


def all_values(dtype) -> np.ndarray:
    return np.arange(*SPANS[dtype]).astype(dtype).reshape(1, -1)


REQUANTIZED = {
    "int8 to int8": (("int8", 0.1, 3), [("int8", 0.07, -5), ("int8", 0.1, 3), ("int8", 3.0, 0)]),
    "int8 to itself with another zero point": (("int8", 0.1, -128), [("int8", 0.1, 127)]),
    "int8 to uint8": (("int8", 0.1, 3), [("uint8", 0.1, 131), ("uint8", 0.2, 0)]),
    "uint8 to int8": (("uint8", 0.1, 131), [("int8", 0.1, 3), ("int8", 0.033, -128)]),
    "int8 to int16": (("int8", 0.1, 3), [("int16", 0.001, 0), ("int16", 1e-7, 0)]),
    "int16 to int8": (("int16", 0.001, 0), [("int8", 0.1, 3), ("int8", 0.0013, -7)]),
    "int16 to int16": (("int16", 0.001, 0), [("int16", 0.0007, 0)]),
    "int16 to int32": (("int16", 0.001, 0), [("int32", 0.00017, 0)]),
    "int8 to int32": (("int8", 0.1, 3), [("int32", 0.00017, 0)]),
}  # fmt: skip


@pytest.mark.parametrize(("source", "targets"), REQUANTIZED.values(), ids=REQUANTIZED.keys())
def test_every_value_is_requantized_like_the_oracle(source, targets) -> None:
    values = all_values(source[0])
    data = convert_model("QUANTIZE", values.shape, source, targets)
    check_model(data, [[values]], oracle=run_tflm)


def test_int32_is_requantized_like_the_oracle() -> None:
    values = np.array([[0, 1, -1, 999, -1000, 2**31 - 1, -(2**31), 12345678]], np.int32)
    targets = [("int8", 0.1, 3), ("int16", 0.01, 0)]
    data = convert_model("QUANTIZE", values.shape, ("int32", 0.00001, 0), targets)
    check_model(data, [[values]], oracle=run_tflm)


def awkward_floats(scale) -> np.ndarray:
    """Halves and their neighbours, zeros, tiny and large numbers, in units of `scale`."""
    halves = (np.arange(-300, 300) + 0.5).astype(np.float32) * np.float32(scale)
    up, down = np.nextafter(halves, np.float32(np.inf)), np.nextafter(halves, np.float32(-np.inf))
    special = np.array([0.0, -0.0, 1e-45, -1e-45, 1e-30, 3e4, -3e4, 65535.5, 131072.0, 1e6, -1e6])
    noise = np.random.default_rng(3).normal(0, 100, 500)
    return np.concatenate([halves, up, down, special, noise]).astype(np.float32).reshape(1, -1)


@pytest.mark.parametrize("scale", [1.0, 0.5, 0.1, 0.00737, 3.3])
def test_float32_is_quantized_like_the_oracle(scale) -> None:
    values = awkward_floats(scale)
    targets = [("int8", scale, 3), ("int8", scale, -128), ("int16", scale, 0)]
    data = convert_model("QUANTIZE", values.shape, ("float32",), targets)
    check_model(data, [[values]], oracle=run_tflm)


def test_float32_is_quantized_to_uint8_like_litert() -> None:
    values = awkward_floats(0.1)
    data = convert_model("QUANTIZE", values.shape, ("float32",), [("uint8", 0.1, 128)])
    check_model(data, [[values]], oracle=run_litert_reference)


def test_floats_beyond_int32_saturate_and_nan_is_the_zero_point() -> None:
    values = np.array([[1e10, -1e10, np.inf, -np.inf, np.nan, 3e38, -3e38]], np.float32)
    targets = [("int8", 0.1, 3), ("int16", 1e-3, 0)]
    data = convert_model("QUANTIZE", values.shape, ("float32",), targets)
    expected = [
        np.array([[127, -128, 127, -128, 3, 127, -128]], np.int8),
        np.array([[32767, -32768, 32767, -32768, 0, 32767, -32768]], np.int16),
    ]
    check_model(data, [[values]], oracle=lambda model, inputs: expected)


@pytest.mark.parametrize("source", [("int8", 0.1, 3), ("uint8", 0.0173, 200), ("int16", 3e-5, 0)])
def test_every_value_is_dequantized_like_the_oracle(source) -> None:
    values = all_values(source[0])
    data = convert_model("DEQUANTIZE", values.shape, source, [("float32",)])
    check_model(data, [[values]], oracle=run_tflm)


REFUSED = {
    "uint8 to int16": (
        convert_model("QUANTIZE", (1, 2), ("uint8", 0.1, 0), [("int16", 0.1, 0)]),
        "quantize: ui8 to i16 is not supported",
    ),
    "no scale": (
        convert_model("QUANTIZE", (1, 2), ("float32",), [("int8",)]),
        "quantize: expected quantization per tensor, got int8[1x2]",
    ),
    "int32 to a finer scale": (
        convert_model("QUANTIZE", (1, 2), ("int32", 0.1, 0), [("int8", 0.01, 0)]),
        "requantize: the output scale is so small that results leave int32 (factor 10)",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("data", "text"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused_says_why(data, text) -> None:
    with pytest.raises(GlowmcuError) as caught:
        compile_model(data, "m.tflite", Options("m"))
    assert text in str(caught.value)


ONE, TWO = Quantization((0.5,), (3,)), Quantization((0.5, 0.25), (0, 0), 0)


@pytest.mark.parametrize(
    ("op", "x", "out", "words"),
    [
        (Requantize(), ("i8", ONE), ("i16", ONE), ""),
        (Requantize(), ("i8", TWO), ("i8", ONE), "expected quantization per tensor"),
        (Requantize(), ("i8", ONE), ("i8", TWO), "expected quantization per tensor"),
        (Requantize(), ("i8", None), ("i8", ONE), "expected quantization per tensor"),
        (Requantize(), ("ui8", ONE), ("i16", ONE), "ui8 to i16 is not supported"),
        (Requantize(), ("i32", ONE), ("ui8", ONE), "i32 to ui8 is not supported"),
        (Quantize(), ("f32", None), ("ui8", ONE), ""),
        (Quantize(), ("f32", None), ("i8", TWO), "expected quantization per tensor"),
        (Quantize(), ("f32", None), ("i8", None), "expected quantization per tensor"),
        (Quantize(), ("f32", None), ("i32", ONE), "f32 to i32 is not supported"),
        (Quantize(), ("i8", ONE), ("i8", ONE), "i8 to i8 is not supported"),
        (Dequantize(), ("i8", TWO), ("f32", None), ""),
        (Dequantize(), ("i8", None), ("f32", None), "expected a quantized operand"),
        (Dequantize(), ("i8", ONE), ("i8", ONE), "i8 to i8 is not supported"),
        (Dequantize(), ("i64", None), ("f32", None), "i64 to f32 is not supported"),
        (Dequantize(), ("i32", ONE), ("f32", None), "dequantize of i32 needs zero point 0"),
        (Dequantize(), ("i32", Quantization((0.5,), (0,))), ("f32", None), ""),
    ],
    ids=str,
)
def test_numbers_go_between_the_types_that_are_named(
    op: Requantize | Quantize | Dequantize, x: Any, out: Any, words: str
) -> None:
    types = [TensorType((2,), ElementType(name), how) for name, how in (x, out)]
    signature = Signature((types[0],), (types[1],))
    if not words:
        op.verify(signature)
        return
    with pytest.raises(OperationError, match=words):
        op.verify(signature)


@pytest.mark.parametrize("element", ElementType)
def test_only_real_numbers_become_stored_ones_and_these_real_ones(element: ElementType) -> None:
    """One type at a time; of one scale, but that what is read may have several."""
    one, each = Quantization((0.5,), (0,)), Quantization((0.5, 0.25), (0, 0), 0)
    of, real = TensorType((2,), element, one), TensorType((2,), ElementType.F32)
    stored = element in (ElementType.I8, ElementType.UI8, ElementType.I16)
    assert allows(Quantize(), real, of) == stored
    assert not allows(Quantize(), of, of)
    assert allows(Dequantize(), of, real) == (stored or element is ElementType.I32)
    assert not allows(Dequantize(), of, of)
    if stored:
        assert not allows(Quantize(), real, replace(of, quantization=each))
        assert not allows(Quantize(), real, replace(of, quantization=None))
        assert allows(Dequantize(), replace(of, quantization=each), real)
        assert not allows(Dequantize(), replace(of, quantization=None), real)


def allows(op: Operation, x: TensorType, out: TensorType) -> bool:
    try:
        op.verify(Signature((x,), (out,)))
    except OperationError:
        return False
    return True


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_constants_are_dequantized_by_the_scales_of_their_channels(axis: int) -> None:
    shape = (2, 3, 4)
    count = shape[axis]
    scales, points = [0.5 + 0.25 * i for i in range(count)], [3 * i - 2 for i in range(count)]
    stored = np.arange(-12, 12, dtype=np.int8).reshape(shape)
    x = TensorType(shape, ElementType.I8, Quantization(tuple(scales), tuple(points), axis))
    signature = Signature((x,), (TensorType(shape, ElementType.F32),))
    (got,) = Dequantize().evaluate([stored], signature, Rounding.DOUBLE)
    for channel in range(count):
        want = scales[channel] * (stored.take(channel, axis) - float(points[channel]))
        assert np.array_equal(got.take(channel, axis), want.astype(np.float32))
