"""Sample layers that kernels are calibrated on: shapes of real models, odd ones, tiny ones.

`model(kind)` is one model of samples of a kind side by side, each with its own input, so that one
build and one run measure them all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks import layer_graphs
from benchmarks.calibration_layers_f32 import FLOAT_KINDS
from benchmarks.calibration_layers_f32 import builders as float_builders
from benchmarks.calibration_layers_int16 import INT16_KINDS
from benchmarks.calibration_layers_int16 import builders as int16_builders
from benchmarks.calibration_layers_recurrent import RECURRENT_KINDS
from benchmarks.calibration_layers_recurrent import builders as recurrent_builders
from benchmarks.calibration_shapes import (
    COLUMNS,
    DENSE,
    DEPTHWISE,
    ELEMENTS,
    GROUPED,
    MATRICES,
    NARROW,
    PIXELS,
    POINTWISE,
    POOLS,
    REDUCTIONS,
    RESULT,
    ROWS,
    SEQUENCES,
    TRANSPOSED,
    WINDOWS,
    Image,
)
from benchmarks.layer_graphs import GRAPH_KINDS
from benchmarks.sweep_image import Model
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.frontend.tflite.writer_tables import TensorRef

_SCALE, _ZERO_POINT = 0.05, -4
#: Zero point of a result that a ReLU ends, where the shortest form of requantization is exact.
_RELU = -128
#: Of a result; and how much finer it is where an activation ends at -1 and 1, near those of int8.
_RESULT_SCALE, _UNIT = 0.3, 36.0


def _relu(images: Sequence[Image]) -> tuple[Image, ...]:
    return tuple(replace(image, out_zero_point=_RELU) for image in images)


def _extreme(images: Sequence[Image]) -> tuple[Image, ...]:
    return tuple(replace(image, extreme=True) for image in images)


def _even(images: Sequence[Image]) -> tuple[Image, ...]:
    return tuple(replace(image, even=True) for image in images)


def _four_bits(images: Sequence[Image]) -> tuple[Image, ...]:
    return tuple(replace(image, four_bits=True) for image in images)


def _clamped(images: Sequence[Image]) -> tuple[Image, ...]:
    """A little within int8, where no line of requantization is exact."""
    return tuple(replace(image, activation="RELU_N1_TO_1") for image in images)


_PAIRS = ("ADD", "SUB", "MUL", "SQUARED_DIFFERENCE", "PRELU", "ADD to a vector")
_ROW_KINDS = ("SOFTMAX", "LOG_SOFTMAX", "L2_NORMALIZATION")

_Builder = Callable[[ModelBuilder, str, np.random.Generator], TensorRef]


def _window_layer(
    kind: str, image: Image, model: ModelBuilder, name: str, generator: np.random.Generator
) -> TensorRef:
    """CONV_2D or DEPTHWISE_CONV_2D."""
    depthwise = kind == "DEPTHWISE_CONV_2D"
    shape = (1, *image.kernel, image.out_channels)
    if not depthwise:
        shape = (image.out_channels, *image.kernel, image.channels // image.groups)
    # A channel's weights span most of int8, as quantized models' do.
    scales = 0.01 * generator.uniform(0.2, 1.0, image.out_channels)
    out_scale = _RESULT_SCALE
    if image.activation != "NONE":
        scales, out_scale = scales / _UNIT, out_scale / _UNIT
    weights = np.clip(generator.normal(0, 40, shape), -127, 127).astype(np.int8)
    if image.even:
        weights = generator.integers(-127, 128, shape).astype(np.int8)
    if image.four_bits:
        weights = np.right_shift(weights, 4)
        scales = scales * 16
    if image.extreme:
        weights.reshape(shape[0], -1)[:2, 0] = -128
    bias = generator.integers(-2000, 2000, image.out_channels).astype(np.int32)
    x = model.input(f"x_{name}", (1, image.height, image.width, image.channels), "int8",
                    _SCALE, _ZERO_POINT)  # fmt: skip
    w = model.constant(f"w_{name}", weights, scales, axis=3 if depthwise else 0)
    b = model.constant(f"b_{name}", bias, scales * _SCALE)
    y = model.tensor(f"y_{name}", (1, *image.out_size, image.out_channels), "int8",
                     out_scale, image.out_zero_point)  # fmt: skip
    options = dict(image.options)
    if depthwise:
        options["depth_multiplier"] = image.out_channels // image.channels
    model.op(kind, [x, w, b], [y], options)
    return y


def _transposed_layer(
    image: Image, model: ModelBuilder, name: str, generator: np.random.Generator
) -> TensorRef:
    """TRANSPOSE_CONV with padding SAME."""
    size = tuple(
        length * stride
        for length, stride in zip((image.height, image.width), image.strides, strict=True)
    )
    shape = (image.out_channels, *image.kernel, image.channels)
    weights = np.clip(generator.normal(0, 40, shape), -127, 127).astype(np.int8)
    scales = 0.01 * generator.uniform(0.2, 1.0, image.out_channels)
    bias = generator.integers(-2000, 2000, image.out_channels).astype(np.int32)
    out = (1, *size, image.out_channels)
    x = model.input(f"x_{name}", (1, image.height, image.width, image.channels), "int8",
                    _SCALE, _ZERO_POINT)  # fmt: skip
    s = model.constant(f"s_{name}", np.array(out, np.int32))
    w = model.constant(f"w_{name}", weights, scales)
    b = model.constant(f"b_{name}", bias, scales * _SCALE)
    y = model.tensor(f"y_{name}", out, "int8", _RESULT_SCALE, image.out_zero_point)
    model.op("TRANSPOSE_CONV", [s, w, x, b], [y], image.options)
    return y


def _dense_layer(
    case: tuple[int, int, int], dropped_bits: int, out_zero_point: int, model: ModelBuilder,
    name: str, generator: np.random.Generator,
) -> TensorRef:  # fmt: skip
    """FULLY_CONNECTED with weights of eight bits less some."""
    rows, depth_in, depth_out = case
    weights = np.clip(generator.normal(0, 40, (depth_out, depth_in)), -127, 127).astype(np.int8)
    weights, scale = np.right_shift(weights, dropped_bits), 0.01 * 2**dropped_bits
    bias = generator.integers(-2000, 2000, depth_out).astype(np.int32)
    x = model.input(f"x_{name}", (rows, depth_in), "int8", _SCALE, _ZERO_POINT)
    w = model.constant(f"w_{name}", weights, scale)
    b = model.constant(f"b_{name}", bias, scale * _SCALE)
    y = model.tensor(f"y_{name}", (rows, depth_out), "int8", _RESULT_SCALE, out_zero_point)
    model.op("FULLY_CONNECTED", [x, w, b], [y])
    return y


def _pool_layer(
    kind: str, image: Image, model: ModelBuilder, name: str, _: np.random.Generator
) -> TensorRef:
    quantization = (_SCALE, _ZERO_POINT)
    x = model.input(f"x_{name}", (1, image.height, image.width, image.channels), "int8",
                    *quantization)  # fmt: skip
    y = model.tensor(f"y_{name}", (1, *image.out_size, image.channels), "int8", *quantization)
    sizes = {"filter_height": image.kernel[0], "filter_width": image.kernel[1]}
    model.op(kind, [x], [y], {**image.options, **sizes})
    return y


def _pair_layer(
    kind: str, shape: tuple[int, ...], model: ModelBuilder, name: str, _: np.random.Generator
) -> TensorRef:
    # Round scales would tie at every other pair; no trained model's do.
    a = model.input(f"a_{name}", (1, *shape), "int8", 0.0513717, _ZERO_POINT)
    if kind == "PRELU":
        slopes = np.arange(shape[2]).astype(np.int8).reshape(1, 1, -1)
        b = model.constant(f"b_{name}", slopes, 0.01)
    elif kind.endswith("vector"):
        b = model.input(f"b_{name}", (1, 1, 1, shape[2]), "int8", 0.0731173, 3)
    else:
        b = model.input(f"b_{name}", (1, *shape), "int8", 0.0731173, 3)
    y = model.tensor(f"y_{name}", (1, *shape), "int8", 0.1013379, -1)
    model.op(kind.partition(" ")[0], [a, b], [y])
    return y


_RESULTS = {
    "SOFTMAX": (1 / 256, -128),
    "LOGISTIC": (1 / 256, -128),
    "LOG_SOFTMAX": (16 / 256, 127),
}


def _single_layer(
    kind: str, shape: tuple[int, ...], model: ModelBuilder, name: str, _: np.random.Generator
) -> TensorRef:
    """One operand, a result of the same shape; TFLite fixes some results' quantization."""
    quantization = _RESULTS.get(kind, (1 / 128, 0))
    x = model.input(f"x_{name}", shape, "int8", _SCALE, _ZERO_POINT)
    y = model.tensor(f"y_{name}", shape, "int8", *quantization)
    model.op(kind, [x], [y], {"beta": 1.0} if kind == "SOFTMAX" else {})
    return y


def _matmul_layer(
    case: tuple[int, int, int], constant: bool, adj_y: bool, model: ModelBuilder, name: str,
    generator: np.random.Generator,
) -> TensorRef:  # fmt: skip
    """BATCH_MATMUL with a constant matrix or a computed one."""
    rows, depth, columns = case
    shape = (columns, depth) if adj_y else (depth, columns)
    x = model.input(f"x_{name}", (rows, depth), "int8", _SCALE, _ZERO_POINT)
    if constant:
        matrix = generator.integers(-127, 128, shape).astype(np.int8)
        m = model.constant(f"m_{name}", matrix, 0.01)
    else:
        m = model.input(f"m_{name}", shape, "int8", 0.01, 3)
    y = model.tensor(f"y_{name}", (rows, columns), "int8", _RESULT_SCALE, RESULT)
    model.op("BATCH_MATMUL", [x, m], [y], {"adj_x": False, "adj_y": adj_y})
    return y


def _reduction_layer(
    kind: str, shape: tuple[int, ...], reduced: tuple[int, int], model: ModelBuilder, name: str,
    _: np.random.Generator,
) -> TensorRef:  # fmt: skip
    x = model.input(f"x_{name}", (1, *shape), "int8", _SCALE, _ZERO_POINT)
    axes = model.constant(f"axes_{name}", np.array(reduced, np.int32))
    result = (_SCALE, _ZERO_POINT) if kind == "REDUCE_MAX" else (0.04, 2)
    (kept,) = {1, 2, 3} - {*reduced}
    y = model.tensor(f"y_{name}", (1, shape[kept - 1]), "int8", *result)
    model.op(kind, [x, axes], [y], {"keep_dims": False})
    return y


def _window_images(kind: str) -> tuple[Image, ...]:
    if kind == "DEPTHWISE_CONV_2D":
        return DEPTHWISE + _relu(DEPTHWISE) + SEQUENCES + _clamped(DEPTHWISE[::3])
    if kind == "CONV_2D in groups":
        images = GROUPED + _extreme(GROUPED[::3])
        return images + _relu(images)
    images = POINTWISE if kind.endswith("1x1") else WINDOWS
    images += _relu(images) + _extreme(images[::3]) + _relu(_extreme(images[1::3]))
    images += _relu(NARROW) if kind.endswith("1x1") else COLUMNS + _relu(COLUMNS)
    images += _even(POINTWISE[:4] if kind.endswith("1x1") else WINDOWS[1:5])
    small = PIXELS + POINTWISE[:14] if kind.endswith("1x1") else WINDOWS[:8]
    images += _four_bits(small + _relu(small))
    return images + _clamped(images[:24:2]) + _four_bits(_clamped(small[:16:2]))


def _builders(kind: str) -> Sequence[_Builder]:
    if kind in FLOAT_KINDS:
        return float_builders(kind)
    if kind in INT16_KINDS:
        return int16_builders(kind)
    if kind in RECURRENT_KINDS:
        return recurrent_builders(kind)
    if "CONV_2D" in kind:
        operator = kind.partition(" ")[0]
        return [partial(_window_layer, operator, image) for image in _window_images(kind)]
    if kind == "TRANSPOSE_CONV":
        return [partial(_transposed_layer, image) for image in TRANSPOSED]
    if kind == "FULLY_CONNECTED":
        cases = [(case, bits, RESULT) for bits in (0, 4) for case in DENSE]
        cases += [(case, 0, _RELU) for case in DENSE[::2]]
        return [partial(_dense_layer, *case) for case in cases]
    if kind.startswith("BATCH_MATMUL"):
        constant = kind.endswith("a constant")
        ways = (False,) if constant else (False, True)
        return [
            partial(_matmul_layer, case, constant, adj_y) for adj_y in ways for case in MATRICES
        ]
    if kind in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
        return [partial(_pool_layer, kind, image) for image in POOLS]
    if kind in _PAIRS:
        return [partial(_pair_layer, kind, shape) for shape in ELEMENTS]
    if kind in ("MEAN", "SUM", "REDUCE_MAX"):
        return [partial(_reduction_layer, kind, *case) for case in REDUCTIONS]
    shapes = ROWS if kind in _ROW_KINDS else [(1, *shape) for shape in ELEMENTS]
    return [partial(_single_layer, kind, shape) for shape in shapes]


KINDS = (
    "CONV_2D 1x1", "CONV_2D", "CONV_2D in groups", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV",
    "FULLY_CONNECTED", "BATCH_MATMUL", "BATCH_MATMUL by a constant", "AVERAGE_POOL_2D",
    "MAX_POOL_2D", "ADD", "SUB",
    "MUL", "SQUARED_DIFFERENCE", "PRELU", "ADD to a vector", "MEAN", "SUM", "REDUCE_MAX", "SOFTMAX",
    "LOG_SOFTMAX", "L2_NORMALIZATION", "LOGISTIC", *RECURRENT_KINDS, *FLOAT_KINDS,
    *INT16_KINDS, *GRAPH_KINDS,
)  # fmt: skip


def sample_count(kind: str) -> int:
    """How many samples there are of `kind`."""
    if kind in GRAPH_KINDS:
        return layer_graphs.sample_count(kind)
    return len(_builders(kind))


def model(kind: str, samples: Sequence[int] | None = None) -> Model:
    """Samples of `kind` side by side, all by default; sample `n` ends in a tensor `y_<n>`.

    A sample's numbers are the same whichever others are there: what was proved of it stays known.
    """
    if kind in GRAPH_KINDS:
        return layer_graphs.graph(kind, samples)
    builders = _builders(kind)
    made = ModelBuilder()
    for number in range(len(builders)) if samples is None else samples:
        generator = np.random.default_rng([len(kind), number])
        made.output(builders[number](made, str(number), generator))
    return made.finish()
