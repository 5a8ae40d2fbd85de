"""Select TensorFlow operators (`Flex…`) mean what TensorFlow computes.

The files that converters write were compared with TensorFlow's own interpreter; here functions
stand for it, since no package of the tests has those operators.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers

from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.flexbuffer import read_texts
from glowmcu.frontend.tflite.node_def import node_attributes
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.pipeline import reference_graph
from tests.support.check_model import check_model
from tests.support.select_operators import select_options, text_vector

Array = np.ndarray[Any, Any]

FUNCTIONS: dict[str, Callable[[float], float]] = {
    "Acos": math.acos, "Acosh": math.acosh, "Asin": math.asin,
    "Asinh": math.asinh, "Atan": math.atan, "Atanh": math.atanh, "Cosh": math.cosh,
    "Erf": math.erf, "Sinh": math.sinh, "Softplus": lambda x: math.log1p(math.exp(x)),
    "Softsign": lambda x: x / (1 + abs(x)), "Tan": math.tan,
}  # fmt: skip


def model(name: str, x: Sequence[int], y: Sequence[int], dtype: str = "float32",
          operands: int = 1, **attributes: Any) -> bytes:  # fmt: skip
    builder = ModelBuilder()
    inputs = [builder.input(f"x{i}", tuple(x), dtype) for i in range(operands)]
    out = builder.tensor("y", tuple(y), dtype)
    builder.custom_op(f"Flex{name}", inputs, [out], select_options(name, attributes))
    builder.output(out)
    return builder.finish()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_one_tensor(name: str) -> None:
    x = np.linspace(-0.9, 0.9, 12, dtype=np.float32).reshape(1, 12)
    x = x + 2 if name == "Acosh" else x

    def oracle(_: bytes, inputs: Sequence[Array]) -> list[Array]:
        return [np.vectorize(FUNCTIONS[name])(inputs[0].astype(np.float64)).astype(np.float32)]

    check_model(model(name, (1, 12), (1, 12)), [[x]], oracle=oracle)


@pytest.mark.parametrize(
    ("name", "function"),
    [("And", np.bitwise_and), ("Or", np.bitwise_or), ("Xor", np.bitwise_xor)],
)
def test_bits_of_two_tensors(name: str, function: Callable[..., Array]) -> None:
    data = model(f"Bitwise{name}", (1, 9), (1, 9), "int32", 2)
    check_model(data, oracle=lambda _, inputs: [function(*inputs)])


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_running_products(exclusive: bool, reverse: bool) -> None:
    builder = ModelBuilder()
    x = builder.input("x", (2, 5, 3), "float32")
    axis, y = builder.constant("axis", np.int32([-2])), builder.tensor("y", (2, 5, 3), "float32")
    attributes = {"exclusive": exclusive, "reverse": reverse}
    builder.custom_op("FlexCumprod", [x, axis], [y], select_options("Cumprod", attributes))
    builder.output(y)

    def oracle(_: bytes, inputs: Sequence[Array]) -> list[Array]:
        ordered = inputs[0][:, ::-1] if reverse else inputs[0]
        if exclusive:
            ones = np.ones((2, 1, 3), np.float32)
            ordered = np.concatenate([ones, ordered[:, :-1]], 1)
        products = np.cumprod(ordered, 1, dtype=np.float32)
        return [products[:, ::-1] if reverse else products]

    check_model(builder.finish(), oracle=oracle)


def pooled(
    x: Array, kernel: Sequence[int], strides: Sequence[int], same: bool, is_max: bool
) -> Array:
    """Windows over three axes, clipped to the image."""
    out, begin = [], []
    for size, taps, stride in zip(x.shape[1:4], kernel, strides, strict=True):
        count = -(-size // stride) if same else (size - taps) // stride + 1
        out.append(count)
        begin.append(max((count - 1) * stride + taps - size, 0) // 2 if same else 0)
    y = np.zeros((x.shape[0], *out, x.shape[4]), np.float32)
    for place in np.ndindex(*out):
        window = tuple(
            slice(max(at * stride - first, 0), at * stride - first + taps)
            for at, stride, first, taps in zip(place, strides, begin, kernel, strict=True)
        )
        part = x[(slice(None), *window)]
        found = part.max((1, 2, 3)) if is_max else part.mean((1, 2, 3), dtype=np.float64)
        y[(slice(None), *place)] = found
    return y


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("kind", ["MaxPool3D", "AvgPool3D"])
@pytest.mark.parametrize(
    ("kernel", "strides"), [((2, 2, 2), (2, 2, 2)), ((3, 2, 3), (1, 2, 2))], ids=["two", "odd"]
)
def test_pools_over_three_axes(
    kind: str, padding: str, kernel: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    shape = (2, 5, 6, 7, 3)

    def oracle(_: bytes, inputs: Sequence[Array]) -> list[Array]:
        return [pooled(inputs[0], kernel, strides, padding == "SAME", kind == "MaxPool3D")]

    (expected,) = oracle(b"", [np.zeros(shape, np.float32)])
    data = model(
        kind, shape, expected.shape, ksize=(1, *kernel, 1), strides=(1, *strides, 1),
        padding=padding, data_format="NDHWC",
    )  # fmt: skip
    check_model(data, oracle=oracle)


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"padding": "EXPLICIT"}, "GM105.*padding is b'EXPLICIT'"),
        ({"ksize": (1, 2, 2, 2, 2)}, r"GM105.*ksize is \(1, 2, 2, 2, 2\)"),
        ({"strides": (1, 0, 1, 1, 1)}, r"GM105.*strides is \(1, 0, 1, 1, 1\)"),
        ({"strides": 2}, "GM105.*strides is 2"),
        ({"data_format": "NCDHW"}, "GM106.*NDHWC"),
    ],
)
def test_windows_that_are_not_known_are_refused(attributes: dict[str, Any], said: str) -> None:
    ones = (1, 1, 1, 1, 1)
    stated = {"ksize": ones, "strides": ones, "padding": "SAME", "data_format": "NDHWC"}
    data = model("MaxPool3D", (1, 4, 4, 4, 2), (1, 4, 4, 4, 2), **(stated | attributes))
    with pytest.raises(GlowmcuError, match=f"(?s){said}"):
        reference_graph(data, "m.tflite")


@pytest.mark.parametrize("dtype", ["int32", "int8"])
def test_functions_of_integers_are_refused(dtype: str) -> None:
    with pytest.raises(GlowmcuError, match="FlexErf takes float32"):
        reference_graph(model("Erf", (1, 4), (1, 4), dtype), "m.tflite")


def test_attributes_are_read_as_written() -> None:
    options = select_options("Any", {"ksize": (1, 300, 2), "name": "a", "is": True, "n": 70000})
    name, node = read_texts(options)
    assert name == b"Any"
    assert node_attributes(node) == {"ksize": (1, 300, 2), "name": b"a", "is": 1, "n": 70000}
    assert node_attributes(b"") == {}
    assert read_texts(b"") == []


def test_the_options_that_tensorflow_writes_are_read() -> None:
    node = (
        b"\x12\tMaxPool3D\x1a\x00*\x12\n\x05ksize\x12\t\n\x07\x1a\x05\x01\x02\x02\x02\x01*\x11\n\x07"
        b"padding\x12\x06\x12\x04SAME*\x07\n\x01T\x12\x020\x012\x0b\n\tMaxPool3D"
    )
    data = b"\tMaxPool3D\0" + bytes([len(node)]) + node + b"\0"
    root = bytes([2, len(data), len(node) + 3, 0x14, 0x14, 4, 0x28, 1])
    assert read_texts(data + root) == [b"MaxPool3D", node]
    assert node_attributes(node) == {"ksize": (1, 2, 2, 2, 1), "padding": b"SAME", "T": 1}


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(ValueError, match="FlexBuffer type 1, not a text"):
        read_texts(bytes(flexbuffers.Dumps(["MaxPool3D", 7])))
    with pytest.raises(ValueError, match="not a vector"):
        read_texts(bytes(flexbuffers.Dumps("MaxPool3D")))


def test_lists_that_are_not_packed_are_read_too() -> None:
    entry = b"\x0a\x01k\x12\x06\x0a\x04\x18\x05\x18\x07"
    assert node_attributes(b"\x2a" + bytes([len(entry)]) + entry) == {"k": (5, 7)}


@pytest.mark.parametrize(
    ("node", "said"),
    [(b"\x2a\x09\x0a", "refers to byte"), (b"\x2c", "wire type 4"), (b"\xff" * 11, "has no end")],
)
def test_damaged_attributes_are_an_error(node: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        node_attributes(node)
    builder = ModelBuilder()
    x = builder.input("x", (1, 2, 2, 2, 1), "float32")
    y = builder.tensor("y", (1, 2, 2, 2, 1), "float32")
    builder.custom_op("FlexMaxPool3D", [x], [y], text_vector([b"MaxPool3D", node]))
    builder.output(y)
    with pytest.raises(GlowmcuError, match="GM1"):
        reference_graph(builder.finish(), "m.tflite")
