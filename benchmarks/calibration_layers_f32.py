"""Sample layers of float32 that kernels are calibrated on: shapes of `calibration_layers.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from benchmarks.calibration_layers_recurrent import LSTM
from benchmarks.calibration_shapes import (
    COLUMNS,
    DENSE,
    DEPTHWISE,
    ELEMENTS,
    FEW_INPUTS,
    FEW_TAPS,
    MATRICES,
    POINTWISE,
    POOLS,
    REDUCTIONS,
    ROWS,
    WINDOWS,
    Image,
)
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.frontend.tflite.writer_tables import TensorRef
from tests.support.lstm_models import LstmCase, add_lstm

_Builder = Callable[[ModelBuilder, str, np.random.Generator], TensorRef]
_Shape = TypeVar("_Shape")
_ACTIVATIONS = ("RELU", "NONE", "RELU6")
_FLOAT = "float "
#: Of LSTMs: floats of as many units, of all samples together, are more than a board's flash.
_LARGE_UNITS = 128


def _normal(generator: np.random.Generator, *shape: int) -> npt.NDArray[Any]:
    """Multiples of a scale, so that variants with int8 weights compute the same samples."""
    codes = np.clip(np.rint(generator.normal(0, 38, shape)), -127, 127)
    return codes.astype(np.float32) * np.float32(0.0078125)


def _window_layer(
    kind: str, image: Image, activation: str, model: ModelBuilder, name: str,
    generator: np.random.Generator,
) -> TensorRef:  # fmt: skip
    """CONV_2D or DEPTHWISE_CONV_2D."""
    depthwise = kind == "DEPTHWISE_CONV_2D"
    window = (1, *image.kernel, image.out_channels)
    if not depthwise:
        window = (image.out_channels, *image.kernel, image.channels)
    x = model.input(f"x_{name}", (1, image.height, image.width, image.channels), "float32")
    w = model.constant(f"w_{name}", _normal(generator, *window))
    b = model.constant(f"b_{name}", _normal(generator, image.out_channels))
    y = model.tensor(f"y_{name}", (1, *image.out_size, image.out_channels), "float32")
    options = {**image.options, "fused_activation_function": activation}
    if depthwise:
        options["depth_multiplier"] = image.out_channels // image.channels
    model.op(kind, [x, w, b], [y], options)
    return y


def _dense_layer(
    case: tuple[int, int, int], activation: str, model: ModelBuilder, name: str,
    generator: np.random.Generator,
) -> TensorRef:  # fmt: skip
    rows, depth_in, depth_out = case
    x = model.input(f"x_{name}", (rows, depth_in), "float32")
    w = model.constant(f"w_{name}", _normal(generator, depth_out, depth_in))
    b = model.constant(f"b_{name}", _normal(generator, depth_out))
    y = model.tensor(f"y_{name}", (rows, depth_out), "float32")
    model.op("FULLY_CONNECTED", [x, w, b], [y], {"fused_activation_function": activation})
    return y


def _matmul_layer(
    case: tuple[int, int, int], constant: bool, model: ModelBuilder, name: str,
    generator: np.random.Generator,
) -> TensorRef:  # fmt: skip
    rows, depth, columns = case
    x = model.input(f"x_{name}", (rows, depth), "float32")
    if constant:
        m = model.constant(f"m_{name}", _normal(generator, depth, columns))
    else:
        m = model.input(f"m_{name}", (depth, columns), "float32")
    y = model.tensor(f"y_{name}", (rows, columns), "float32")
    model.op("BATCH_MATMUL", [x, m], [y], {"adj_x": False, "adj_y": False})
    return y


def _pool_layer(
    kind: str, image: Image, model: ModelBuilder, name: str, _: np.random.Generator
) -> TensorRef:
    x = model.input(f"x_{name}", (1, image.height, image.width, image.channels), "float32")
    y = model.tensor(f"y_{name}", (1, *image.out_size, image.channels), "float32")
    sizes = {"filter_height": image.kernel[0], "filter_width": image.kernel[1]}
    model.op(kind, [x], [y], {**image.options, **sizes})
    return y


def _reduction_layer(
    kind: str, shape: tuple[int, ...], reduced: tuple[int, int], model: ModelBuilder, name: str,
    _: np.random.Generator,
) -> TensorRef:  # fmt: skip
    x = model.input(f"x_{name}", (1, *shape), "float32")
    axes = model.constant(f"axes_{name}", np.array(reduced, np.int32))
    (kept,) = {1, 2, 3} - {*reduced}
    y = model.tensor(f"y_{name}", (1, shape[kept - 1]), "float32")
    model.op(kind, [x, axes], [y], {"keep_dims": False})
    return y


def _single_layer(
    kind: str, shape: tuple[int, ...], model: ModelBuilder, name: str, _: np.random.Generator
) -> TensorRef:
    x = model.input(f"x_{name}", shape, "float32")
    y = model.tensor(f"y_{name}", shape, "float32")
    model.op(kind, [x], [y], {"beta": 1.0} if kind == "SOFTMAX" else {})
    return y


def _pair_layer(
    kind: str, shape: tuple[int, ...], activation: str, model: ModelBuilder, name: str,
    _: np.random.Generator,
) -> TensorRef:  # fmt: skip
    a = model.input(f"a_{name}", (1, *shape), "float32")
    b = model.input(f"b_{name}", (1, *shape), "float32")
    y = model.tensor(f"y_{name}", (1, *shape), "float32")
    model.op(kind, [a, b], [y], {"fused_activation_function": activation})
    return y


def _lstm_layer(
    case: LstmCase, model: ModelBuilder, name: str, generator: np.random.Generator
) -> TensorRef:
    return add_lstm(model, replace(case, dtype="float32"), generator, f"_{name}")


def _activated(shapes: Sequence[_Shape]) -> list[tuple[_Shape, str]]:
    """Each shape with one activation, in turn, and every third with all of them."""
    found = [(shape, _ACTIVATIONS[number % 3]) for number, shape in enumerate(shapes)]
    more = [(shape, word) for shape in shapes[::3] for word in _ACTIVATIONS]
    return [*found, *(item for item in more if item not in found)]


def builders(kind: str) -> Sequence[_Builder]:
    """Of one of `FLOAT_KINDS`."""
    plain = kind.removeprefix(_FLOAT)
    if plain in ("CONV_2D 1x1", "CONV_2D"):
        images = POINTWISE if plain.endswith("1x1") else WINDOWS + COLUMNS
        few = product(FEW_INPUTS if images is POINTWISE else FEW_TAPS, _ACTIVATIONS)
        return [partial(_window_layer, "CONV_2D", *case) for case in (*_activated(images), *few)]
    if plain == "DEPTHWISE_CONV_2D":
        return [partial(_window_layer, plain, *case) for case in _activated(DEPTHWISE)]
    if plain == "FULLY_CONNECTED":
        return [partial(_dense_layer, *case) for case in _activated(DENSE)]
    if plain.startswith("BATCH_MATMUL"):
        constant = plain.endswith("a constant")
        return [partial(_matmul_layer, case, constant) for case in (*MATRICES, *DENSE)]
    if plain == "UNIDIRECTIONAL_SEQUENCE_LSTM":
        return [partial(_lstm_layer, case) for case in LSTM if case.units < _LARGE_UNITS]
    if plain in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
        return [partial(_pool_layer, plain, image) for image in POOLS]
    if plain in ("MEAN", "SUM"):
        return [partial(_reduction_layer, plain, *case) for case in REDUCTIONS]
    if plain in ("ADD", "MUL"):
        return [partial(_pair_layer, plain, *case) for case in _activated(ELEMENTS)]
    return [partial(_single_layer, plain, shape) for shape in ROWS]


FLOAT_KINDS = tuple(
    _FLOAT + kind
    for kind in (
        "CONV_2D 1x1", "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "BATCH_MATMUL",
        "BATCH_MATMUL by a constant", "AVERAGE_POOL_2D", "MAX_POOL_2D", "MEAN", "SUM", "ADD", "MUL",
        "SOFTMAX", "UNIDIRECTIONAL_SEQUENCE_LSTM",
    )
)  # fmt: skip
