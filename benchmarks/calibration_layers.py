"""Sample layers that kernels are calibrated on: shapes of real models, odd ones, tiny ones.

`model(kind)` is one model of samples of a kind side by side, each with its own input, so that one
build and one run measure them all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.frontend.tflite.writer_tables import TensorRef

_SCALE, _ZERO_POINT = 0.05, -4
#: Of a result; of one that a ReLU ends, where the shortest form of requantization is exact.
_RESULT, _RELU = -5, -128


@dataclass(frozen=True)
class Image:
    """A convolution or pooling: size, channels in and out, window, strides, padding.

    Of weights that are `extreme` there is a -128 that cannot share a word with its neighbour.
    """

    height: int
    width: int
    channels: int
    out_channels: int = 0
    kernel: tuple[int, int] = (1, 1)
    strides: tuple[int, int] = (1, 1)
    padding: str = "SAME"
    out_zero_point: int = _RESULT
    extreme: bool = False

    @property
    def out_size(self) -> tuple[int, int]:
        sizes = zip((self.height, self.width), self.kernel, self.strides, strict=True)
        if self.padding == "SAME":
            height, width = (-(-size // stride) for size, _, stride in sizes)
        else:
            height, width = ((size - kernel) // stride + 1 for size, kernel, stride in sizes)
        return height, width

    @property
    def options(self) -> dict[str, int | str]:
        return {"padding": self.padding, "stride_h": self.strides[0], "stride_w": self.strides[1]}


def _relu(images: Sequence[Image]) -> tuple[Image, ...]:
    return tuple(replace(image, out_zero_point=_RELU) for image in images)


def _extreme(images: Sequence[Image]) -> tuple[Image, ...]:
    return tuple(replace(image, extreme=True) for image in images)


_POINTWISE = (
    Image(25, 5, 64, 64), Image(24, 24, 8, 16), Image(24, 24, 16, 32), Image(12, 12, 32, 32),
    Image(12, 12, 32, 64), Image(6, 6, 64, 128), Image(6, 6, 128, 128), Image(3, 3, 128, 256),
    Image(3, 3, 256, 256), Image(7, 5, 13, 11), Image(5, 5, 20, 30), Image(9, 1, 10, 40),
    Image(16, 16, 16, 32, strides=(2, 2)), Image(1, 1, 64, 10), Image(30, 1, 40, 32),
    Image(24, 1, 128, 128), Image(1, 15, 64, 40), Image(1, 1, 96, 40), Image(1, 1, 40, 100),
    Image(20, 10, 8, 24), Image(9, 9, 4, 30), Image(16, 16, 6, 12), Image(5, 30, 2, 17),
    Image(14, 7, 3, 8), Image(12, 12, 7, 9),
)  # fmt: skip
#: Few inputs, before a ReLU: beside the layers above, whose numbers follow from their places.
_NARROW = (
    Image(24, 24, 8, 16), Image(20, 10, 8, 24), Image(9, 9, 4, 30), Image(16, 16, 6, 12),
    Image(5, 30, 2, 17), Image(14, 7, 3, 8), Image(12, 12, 7, 9), Image(10, 11, 5, 33),
)  # fmt: skip
_WINDOWS = (
    Image(24, 24, 3, 8, (3, 3), (2, 2)), Image(32, 32, 3, 16, (3, 3)),
    Image(16, 16, 16, 16, (3, 3)), Image(16, 16, 16, 32, (3, 3), (2, 2)),
    Image(8, 8, 32, 32, (3, 3)), Image(8, 8, 32, 64, (3, 3), (2, 2)), Image(8, 8, 64, 64, (3, 3)),
    Image(49, 10, 1, 64, (10, 4), (2, 2)), Image(20, 1, 40, 32, (3, 1), padding="VALID"),
    Image(30, 1, 16, 24, (5, 1)), Image(7, 9, 5, 7, (2, 2), padding="VALID"),
    Image(10, 10, 12, 9, (5, 5)), Image(1, 40, 8, 16, (1, 7)),
)  # fmt: skip
#: Time series: windows as wide as the image, inside it and beyond its ends.
_COLUMNS = (
    Image(64, 1, 32, 32, (3, 1), padding="VALID"), Image(100, 1, 6, 16, (7, 1), (2, 1), "VALID"),
    Image(40, 1, 16, 24, (5, 1)), Image(20, 1, 64, 64, (3, 1)), Image(12, 1, 10, 12, (9, 1)),
    Image(50, 1, 24, 24, (2, 1)), Image(80, 3, 4, 10, (4, 3), (1, 1), "VALID"),
    Image(6, 1, 40, 30, (6, 1)), Image(30, 1, 12, 40, (8, 1), (4, 1)),
)  # fmt: skip
#: Depthwise along one axis, as models of sound and of other signals have it.
_LINES = (
    Image(26, 1, 32, 32, (5, 1), padding="VALID"), Image(22, 1, 64, 64, (9, 1), padding="VALID"),
    Image(40, 1, 32, 32, (21, 1), padding="VALID"), Image(30, 1, 10, 10, (13, 1)),
    Image(1, 50, 16, 16, (1, 7)), Image(1, 9, 24, 24, (1, 3)), Image(12, 1, 7, 7, (2, 1)),
    Image(3, 40, 12, 12, (1, 5)), Image(64, 2, 8, 8, (4, 1)),
)  # fmt: skip
#: Windows as high as the image: one row of results.
_ONE_ROW = (
    Image(15, 1, 128, 128, (15, 1), padding="VALID"), Image(5, 5, 64, 64, (5, 5), padding="VALID"),
    Image(3, 9, 24, 24, (3, 3), padding="VALID"), Image(4, 6, 10, 10, (4, 3), padding="VALID"),
    Image(6, 3, 2, 8, (6, 2), padding="VALID"), Image(9, 2, 3, 3, (9, 2), padding="VALID"),
    Image(2, 2, 96, 96, (3, 3), (2, 2)),
)  # fmt: skip
_DEPTHWISE = (
    Image(25, 5, 64, 64, (3, 3)), Image(48, 48, 8, 8, (3, 3)), Image(24, 24, 16, 16, (3, 3)),
    Image(24, 24, 32, 32, (3, 3), (2, 2)), Image(12, 12, 64, 64, (3, 3)),
    Image(12, 12, 64, 64, (3, 3), (2, 2)), Image(6, 6, 128, 128, (3, 3)),
    Image(40, 40, 12, 12, (3, 3), (2, 2)), Image(7, 6, 96, 96, (3, 3), (2, 2)),
    Image(3, 3, 256, 256, (3, 3)), Image(9, 7, 13, 13, (3, 3)), Image(12, 12, 20, 20, (5, 5)),
    Image(26, 1, 40, 40, (5, 1)), Image(16, 1, 64, 64, (9, 1), padding="VALID"),
    Image(20, 20, 1, 8, (3, 3), (2, 2)), Image(49, 10, 1, 8, (10, 8), (2, 2)),
    Image(8, 8, 6, 12, (3, 3)), Image(6, 9, 4, 16, (3, 2)),
    Image(10, 9, 8, 8, (2, 2), (2, 2), "VALID"),
    *_LINES, *_ONE_ROW, Image(6, 48, 48, 48, (3, 3)), Image(5, 64, 32, 32, (3, 3), (2, 2)),
)  # fmt: skip
_POOLS = (
    Image(25, 5, 64, kernel=(25, 5), padding="VALID"), Image(8, 8, 64, kernel=(8, 8)),
    Image(16, 16, 16, kernel=(2, 2), strides=(2, 2)), Image(3, 3, 256, kernel=(3, 3)),
    Image(12, 12, 7, kernel=(3, 3)), Image(20, 1, 24, kernel=(4, 1), strides=(4, 1)),
    Image(10, 10, 3, kernel=(3, 3), strides=(2, 2), padding="VALID"),
    Image(3, 3, 256, kernel=(3, 3), padding="VALID"),
    Image(7, 7, 90, kernel=(7, 7), strides=(7, 7)),
    Image(20, 20, 12, kernel=(20, 20), padding="VALID"),
    Image(28, 28, 6, kernel=(28, 28), padding="VALID"),
    Image(30, 1, 40, kernel=(30, 1), padding="VALID"),
    Image(17, 24, 32, kernel=(17, 24), padding="VALID"),
    Image(9, 8, 3, kernel=(9, 8), padding="VALID"),
    Image(25, 20, 2, kernel=(25, 20), padding="VALID"),
    Image(6, 7, 1, kernel=(6, 7), padding="VALID"),
    Image(20, 20, 24, kernel=(2, 2), strides=(2, 2)), Image(14, 9, 40, kernel=(3, 3)),
)  # fmt: skip
#: (rows, depth in, depth out)
_DENSE = (
    (1, 640, 128), (1, 128, 128), (1, 128, 8), (1, 8, 128), (1, 128, 640), (1, 64, 12),
    (1, 256, 2), (1, 64, 10), (1, 37, 11), (4, 40, 20), (16, 24, 32), (1, 10, 1),
)  # fmt: skip
_MATRICES = ((4, 16, 8), (16, 24, 32), (1, 64, 10), (20, 20, 7), (3, 5, 40), (2, 128, 3))
_ELEMENTS = ((16, 16, 16), (8, 8, 32), (4, 4, 64), (9, 11, 7), (1, 1, 24), (1, 1, 1))
_ROWS = ((1, 12), (1, 2), (1, 10), (1, 100), (16, 20), (40, 3))
_PAIRS = ("ADD", "SUB", "MUL", "SQUARED_DIFFERENCE", "PRELU", "ADD to a vector")
_ROW_KINDS = ("SOFTMAX", "LOG_SOFTMAX", "L2_NORMALIZATION")
#: Shape and the axes that are reduced; the result is one vector.
_REDUCTIONS = (
    ((25, 5, 64), (1, 2)), ((8, 8, 64), (1, 2)), ((3, 3, 256), (1, 2)), ((6, 7, 10), (1, 2)),
    ((20, 20, 24), (1, 2)), ((28, 28, 6), (1, 2)), ((17, 24, 32), (1, 2)), ((9, 8, 3), (1, 2)),
    ((25, 20, 2), (1, 2)), ((6, 7, 1), (1, 2)), ((12, 1, 40), (1, 2)),
    ((9, 8, 5), (1, 3)), ((20, 10, 3), (1, 3)), ((4, 5, 30), (2, 3)),
)  # fmt: skip

_Builder = Callable[[ModelBuilder, str, np.random.Generator], TensorRef]


def _window_layer(
    kind: str, image: Image, model: ModelBuilder, name: str, generator: np.random.Generator
) -> TensorRef:
    """CONV_2D or DEPTHWISE_CONV_2D."""
    depthwise = kind == "DEPTHWISE_CONV_2D"
    shape = (1, *image.kernel, image.out_channels)
    if not depthwise:
        shape = (image.out_channels, *image.kernel, image.channels)
    # A channel's weights span most of int8, as quantized models' do.
    scales = 0.01 * generator.uniform(0.2, 1.0, image.out_channels)
    weights = np.clip(generator.normal(0, 40, shape), -127, 127).astype(np.int8)
    if image.extreme:
        weights.reshape(shape[0], -1)[:2, 0] = -128
    bias = generator.integers(-2000, 2000, image.out_channels).astype(np.int32)
    x = model.input(f"x_{name}", (1, image.height, image.width, image.channels), "int8",
                    _SCALE, _ZERO_POINT)  # fmt: skip
    w = model.constant(f"w_{name}", weights, scales, axis=3 if depthwise else 0)
    b = model.constant(f"b_{name}", bias, scales * _SCALE)
    y = model.tensor(f"y_{name}", (1, *image.out_size, image.out_channels), "int8",
                     0.3, image.out_zero_point)  # fmt: skip
    options = dict(image.options)
    if depthwise:
        options["depth_multiplier"] = image.out_channels // image.channels
    model.op(kind, [x, w, b], [y], options)
    return y


def _dense_layer(
    case: tuple[int, int, int], model: ModelBuilder, name: str, generator: np.random.Generator
) -> TensorRef:
    rows, depth_in, depth_out = case
    weights = np.clip(generator.normal(0, 40, (depth_out, depth_in)), -127, 127).astype(np.int8)
    bias = generator.integers(-2000, 2000, depth_out).astype(np.int32)
    x = model.input(f"x_{name}", (rows, depth_in), "int8", _SCALE, _ZERO_POINT)
    w = model.constant(f"w_{name}", weights, 0.01)
    b = model.constant(f"b_{name}", bias, 0.01 * _SCALE)
    y = model.tensor(f"y_{name}", (rows, depth_out), "int8", 0.3, _RESULT)
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
    case: tuple[int, int, int], constant: bool, model: ModelBuilder, name: str,
    generator: np.random.Generator,
) -> TensorRef:  # fmt: skip
    """BATCH_MATMUL with a constant matrix or a computed one."""
    rows, depth, columns = case
    x = model.input(f"x_{name}", (rows, depth), "int8", _SCALE, _ZERO_POINT)
    if constant:
        matrix = generator.integers(-127, 128, (depth, columns)).astype(np.int8)
        m = model.constant(f"m_{name}", matrix, 0.01)
    else:
        m = model.input(f"m_{name}", (depth, columns), "int8", 0.01, 3)
    y = model.tensor(f"y_{name}", (rows, columns), "int8", 0.3, _RESULT)
    model.op("BATCH_MATMUL", [x, m], [y], {"adj_x": False, "adj_y": False})
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


def _builders(kind: str) -> Sequence[_Builder]:
    if kind in ("CONV_2D 1x1", "CONV_2D"):
        images: tuple[Image, ...] = _POINTWISE if kind.endswith("1x1") else _WINDOWS
        images += _relu(images) + _extreme(images[::3]) + _relu(_extreme(images[1::3]))
        images += _relu(_NARROW) if kind.endswith("1x1") else _COLUMNS + _relu(_COLUMNS)
        return [partial(_window_layer, "CONV_2D", image) for image in images]
    if kind == "DEPTHWISE_CONV_2D":
        return [partial(_window_layer, kind, image) for image in _DEPTHWISE + _relu(_DEPTHWISE)]
    if kind == "FULLY_CONNECTED":
        return [partial(_dense_layer, case) for case in _DENSE]
    if kind.startswith("BATCH_MATMUL"):
        return [partial(_matmul_layer, case, kind.endswith("a constant")) for case in _MATRICES]
    if kind in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
        return [partial(_pool_layer, kind, image) for image in _POOLS]
    if kind in _PAIRS:
        return [partial(_pair_layer, kind, shape) for shape in _ELEMENTS]
    if kind in ("MEAN", "SUM", "REDUCE_MAX"):
        return [partial(_reduction_layer, kind, *case) for case in _REDUCTIONS]
    shapes = _ROWS if kind in _ROW_KINDS else [(1, *shape) for shape in _ELEMENTS]
    return [partial(_single_layer, kind, shape) for shape in shapes]


KINDS = (
    "CONV_2D 1x1", "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "BATCH_MATMUL",
    "BATCH_MATMUL by a constant", "AVERAGE_POOL_2D", "MAX_POOL_2D", "ADD", "SUB", "MUL",
    "SQUARED_DIFFERENCE", "PRELU", "ADD to a vector", "MEAN", "SUM", "REDUCE_MAX", "SOFTMAX",
    "LOG_SOFTMAX", "L2_NORMALIZATION", "LOGISTIC",
)  # fmt: skip


def sample_count(kind: str) -> int:
    """How many samples there are of `kind`."""
    return len(_builders(kind))


def model(kind: str, samples: Sequence[int] | None = None) -> bytes:
    """Samples of `kind` side by side, all by default; sample `n` ends in a tensor `y_<n>`.

    A sample's numbers are the same whichever others are there: what was proved of it stays known.
    """
    builders = _builders(kind)
    made = ModelBuilder()
    for number in range(len(builders)) if samples is None else samples:
        generator = np.random.default_rng([len(kind), number])
        made.output(builders[number](made, str(number), generator))
    return made.finish()
