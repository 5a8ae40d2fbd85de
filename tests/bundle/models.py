"""Models whose bundles are checked: one real network and small ones for every kind of interface."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from glowmcu.compilation import Options
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.input_options import InputOptions
from glowmcu.manifest import read_manifest
from tests.conftest import REPO
from tests.memplan.spatial_models import Image, SpatialModel, Window

SHARED = REPO.parent / "shared" / "models"
SHARED_NAMES = ("kws", "vww", "ic", "ad", "sww")


def digits() -> bytes:
    return (REPO / "examples" / "digits" / "digits_int8.tflite").read_bytes()


def two_in_two_out() -> bytes:
    """Two inputs, two outputs of different shape; the first result is also read inside."""
    model = ModelBuilder()
    left = model.input("left", (1, 6), "int8", 0.5, 1)
    right = model.input("right", (1, 6), "int8", 0.25, -4)
    total = model.tensor("total", (1, 6), "int8", 0.75, 0)
    model.op("ADD", [left, right], [total])
    weights = model.constant("w", np.arange(-9, 9, dtype=np.int8).reshape(3, 6), 0.1)
    bias = model.constant("b", np.array([100, -50, 7], np.int32))
    scores = model.tensor("scores", (1, 3), "int8", 0.6, -10)
    model.op("FULLY_CONNECTED", [total, weights, bias], [scores])
    model.output(scores)
    model.output(total)
    return model.finish()


def float_borders() -> bytes:
    """float32 in and out, int8 between: QUANTIZE and DEQUANTIZE at the border."""
    model = ModelBuilder()
    x = model.input("x", (1, 5, 5, 2), "float32")
    inner = model.tensor("inner", (1, 5, 5, 2), "int8", 0.05, 3)
    model.op("QUANTIZE", [x], [inner])
    weights = (np.arange(36) * 11 % 250 - 125).astype(np.int8).reshape(2, 3, 3, 2)
    w = model.constant("w", weights, (0.01, 0.02), 0)
    b = model.constant("b", np.array([10, -20], np.int32))
    y = model.tensor("y", (1, 5, 5, 2), "int8", 0.1, -7)
    options = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
    dilation = {"dilation_h_factor": 1, "dilation_w_factor": 1}
    model.op("CONV_2D", [inner, w, b], [y], {**options, **dilation})
    out = model.tensor("out", (1, 5, 5, 2), "float32")
    model.op("DEQUANTIZE", [y], [out])
    model.output(out)
    return model.finish()


def one_element() -> bytes:
    """The smallest network: a scalar in all but rank, in and out."""
    model = ModelBuilder()
    x = model.input("x", (1, 1), "int8", 0.5, 0)
    w = model.constant("w", np.array([[3]], np.int8), 0.1)
    y = model.tensor("y", (1, 1), "int8", 0.5, 0)
    model.op("FULLY_CONNECTED", [x, w, None], [y])
    model.output(y)
    return model.finish()


BUILT: dict[str, Callable[[], bytes]] = {
    "digits": digits,
    "two_in_two_out": two_in_two_out,
    "float_borders": float_borders,
    "one_element": one_element,
    "digits_outside": digits,
    "right_outside": two_in_two_out,
}
#: Inputs of those that stay outside the arena.
OUTSIDE = {"digits_outside": ("pixels",), "right_outside": ("right",)}


def arena_and_inputs(name: str, bundle: Path) -> str:
    """C: memory for the bundle's arena, and for the inputs that stay outside of it."""
    text = f"static {name.upper()}_ARENA(arena);\n"
    for symbol, macro in _outside(name, bundle):
        text += f"static GLOWMCU_ALIGNED({macro}_ALIGN) int8_t {symbol}[{macro}_LENGTH];\n"
    return text


def selftest_call(name: str, bundle: Path) -> str:
    """C: the number of wrong bytes."""
    return f"{name}_selftest({', '.join(['arena', *(s for s, _ in _outside(name, bundle))])})"


def _outside(name: str, bundle: Path) -> list[tuple[str, str]]:
    manifest = read_manifest(bundle)
    symbols = [f"input_{entry.symbol}".strip("_") for entry in manifest.external]
    return [(symbol, f"{name}_{symbol}".upper()) for symbol in symbols]


def rows_and_offsets() -> bytes:
    """An image given as a list, added to what another input gives before it is there."""
    model = SpatialModel(7)
    flat = model.builder.input("lines", (1, 10 * 5 * 2), "int8", 1 / 64, -3)
    image = model.builder.tensor("image", (1, 10, 5, 2), "int8", 1 / 64, -3)
    model.builder.op("RESHAPE", [flat], [image], {"new_shape": [1, 10, 5, 2]})
    offsets = model.input(10, 5, 3)
    fours = Window((3, 3), (4, 1), padding="VALID")
    other = model.conv(offsets, 4, fours)
    x = model.add(model.conv(Image(image, (10, 5, 2), 1 / 64, -3), 4, fours), other)
    return model.finish(model.conv(x, 3, Window((2, 2))), other)


#: Models whose input of that name is pushed row by row. Of `rows_and_offsets` nobody reads the last
#: rows, and a step comes before the first.
STREAMED: dict[str, tuple[Callable[[], bytes], str]] = {
    "digits_rows": (digits, "pixels"),
    "rows_and_offsets": (rows_and_offsets, "lines"),
    "float_rows": (float_borders, "x"),
}


def options_of(name: str) -> Options:
    """How the bundle is compiled."""
    streamed = STREAMED[name][1:] if name in STREAMED else ()
    return Options(name, inputs=InputOptions(streamed=streamed, external=OUTSIDE.get(name, ())))


def model_bytes(name: str) -> bytes:
    """Bytes of a model of `BUILT`, `STREAMED` or `SHARED_NAMES`."""
    if name in STREAMED:
        return STREAMED[name][0]()
    return BUILT[name]() if name in BUILT else (SHARED / f"{name}_int8.tflite").read_bytes()
