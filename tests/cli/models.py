"""Models that call for a message, and one that does not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from glowmcu.frontend.tflite.writer import ModelBuilder
from tests.conftest import REPO

#: The vtable entry of `Model.subgraphs` in the schema.
DIGITS = REPO / "examples" / "digits"


def digits() -> bytes:
    return (DIGITS / "digits_int8.tflite").read_bytes()


def digits_float() -> bytes:
    return (DIGITS / "digits_float.tflite").read_bytes()


def dynamic() -> bytes:
    """Two input sizes are open."""
    model = ModelBuilder()
    x = model.input("x", (1, 1, 1, 2), "int8", 0.5, 0, shape_signature=(-1, -1, -1, 2))
    y = model.tensor("y", (1, 1, 1, 2), "int8", 0.5, 0)
    options = {
        "padding": "SAME", "stride_h": 1, "stride_w": 1, "filter_height": 2, "filter_width": 2
    }  # fmt: skip
    model.op("MAX_POOL_2D", [x], [y], options)
    model.output(y)
    return model.finish()


def unsupported() -> bytes:
    """Operators that are missing, custom ones, and one that is fine between them."""
    model = ModelBuilder()
    x = current = model.input("x", (1, 4), "int8", 0.5, 0)
    kinds = ("CONV_3D_TRANSPOSE", "HASHTABLE", "RESHAPE", "LSTM", "UNIQUE")
    for index, kind in enumerate(kinds):
        y = model.tensor(f"layer_{index}", (1, 4), "int8", 0.5, 0)
        model.op(kind, [current], [y])
        current = y
    for code in ("MyPostProcess", "FlexIRFFT", "MyOwn"):
        y = model.tensor(f"custom/{code}", (1, 4), "float32")
        model.custom_op(code, [x], [y])
        model.output(y)
    return model.finish()


def wrong_types() -> bytes:
    """Two layers whose operands do not fit, and one that is fine."""
    model = ModelBuilder()
    x = model.input("x", (1, 6), "int8", 0.5, 0)
    w = model.constant("w", np.ones((3, 5), np.int8), 0.1)
    y = model.tensor("dense", (1, 3), "int8", 0.5, 0)
    model.op("FULLY_CONNECTED", [x, w, None], [y])
    wide = model.tensor("wide", (1, 6), "int16", 0.5, 0)
    model.op("SOFTMAX", [x], [wide], {"beta": 1.0})
    model.output(y)
    model.output(wide)
    return model.finish()


def large() -> bytes:
    """36 864 B in, 9 216 B out: too much for a micro:bit."""
    model = ModelBuilder()
    x = model.input("image", (1, 96, 96, 4), "int8", 0.5, 0)
    y = model.tensor("pooled", (1, 48, 48, 4), "int8", 0.5, 0)
    options = {
        "padding": "VALID", "stride_h": 2, "stride_w": 2, "filter_height": 2, "filter_width": 2
    }  # fmt: skip
    model.op("MAX_POOL_2D", [x], [y], options)
    model.output(y)
    return model.finish()


def two_lists() -> bytes:
    """Two inputs that are no images, added."""
    model = ModelBuilder()
    names = ("left", "right")
    parts = [model.input(name, (1, 6), "int8", 0.5, 0) for name in names]
    total = model.tensor("total", (1, 6), "int8", 1.0, 0)
    model.op("ADD", parts, [total])
    model.output(total)
    return model.finish()


def control_flow() -> bytes:
    """A loop in which a list grows."""
    model = ModelBuilder()
    go = model.constant("go", np.array([True]))
    x = model.input("x", (1, 4), "int8", 0.5, 0)
    last, y = model.tensor("last", (1,), "bool"), model.tensor("y", (1, 8), "int8", 0.5, 0)
    cond, cond_number = model.subgraph("cond")
    cond.output(cond.input("go", (1,), "bool"))
    cond.input("x", (1, 4), "int8", 0.5, 0)
    body, body_number = model.subgraph("body")
    stop = body.tensor("stop", (1,), "bool")
    body.op("LOGICAL_NOT", [body.input("go", (1,), "bool")], [stop])
    part = body.input("x", (1, 4), "int8", 0.5, 0)
    longer = body.tensor("longer", (1, 8), "int8", 0.5, 0)
    body.op("CONCATENATION", [part, part], [longer], {"axis": 1})
    body.output(stop)
    body.output(longer)
    options = {"cond_subgraph_index": cond_number, "body_subgraph_index": body_number}
    model.op("WHILE", [go, x], [last, y], options)
    model.output(y)
    return model.finish()


MODELS: dict[str, Callable[[], bytes]] = {
    "digits": digits,
    "float": digits_float,
    "dynamic": dynamic,
    "unsupported": unsupported,
    "wrong_types": wrong_types,
    "large": large,
    "two_lists": two_lists,
    "hello": lambda: b"this is a text file, not a model",
    "empty": lambda: b"",
    "truncated": lambda: digits()[:3000],
    "control_flow": control_flow,
}
