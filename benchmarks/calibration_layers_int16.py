"""Sample layers of int16 activations: those of int8 with weights of trained models' spread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.calibration_shapes import (
    COLUMNS,
    DENSE,
    DEPTHWISE,
    POINTWISE,
    REDUCTIONS,
    WINDOWS,
    Image,
)
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.frontend.tflite.writer_tables import TensorRef
from glowmcu.ir.operation import Array

INT16_KINDS = (
    "CONV_2D of int16", "DEPTHWISE_CONV_2D of int16", "FULLY_CONNECTED of int16",
    "MEAN of int16", "SUM of int16",
)  # fmt: skip
_Builder = Callable[[ModelBuilder, str, np.random.Generator], TensorRef]
_SCALE, _RESULT = 1e-4, 1e-3
#: Depths whose sums need 64 bits where weights are spread wide.
_DEEP = (
    Image(3, 3, 256, 8, (3, 3)), Image(4, 4, 300, 12, (2, 2), padding="VALID"),
    Image(1, 9, 600, 7), Image(5, 4, 130, 8, (3, 3)), Image(2, 2, 900, 16),
    Image(6, 6, 96, 4, (5, 5)),
)  # fmt: skip
_DEEP_DENSE = ((1, 2000, 10), (2, 900, 16), (1, 1300, 7), (1, 700, 40))


@dataclass(frozen=True)
class _Numbers:
    """How a layer's numbers are: `extreme` weights do not pack, `wide` sums have 64 bits."""

    activation: str = "NONE"
    bias: str = "int64"
    extreme: bool = False
    wide: bool = False


_PLAIN, _RELU = _Numbers(), _Numbers("RELU")
_RELU6, _SHORT = _Numbers("RELU6"), _Numbers(bias="int32")
_EXTREME, _WIDE = _Numbers(extreme=True), _Numbers(wide=True)
_WIDE_EXTREME = _Numbers(extreme=True, wide=True)


def _weights(shape: tuple[int, ...], numbers: _Numbers, random: np.random.Generator) -> Array:
    if numbers.wide:
        return random.integers(60 - 187 * numbers.extreme, 128, shape).clip(-128).astype(np.int8)
    weights = np.clip(random.normal(0, 30, shape), -127, 127).astype(np.int8)
    if numbers.extreme:
        weights.reshape(shape[0], -1)[:2, 0] = -128
    return weights


def _layer(
    kind: str, image: Image, numbers: _Numbers, model: ModelBuilder, name: str,
    random: np.random.Generator,
) -> TensorRef:  # fmt: skip
    """CONV_2D or DEPTHWISE_CONV_2D."""
    depthwise = kind == "DEPTHWISE_CONV_2D"
    shape = (1, *image.kernel, image.out_channels)
    if not depthwise:
        shape = (image.out_channels, *image.kernel, image.channels)
    scales = 0.01 * random.uniform(0.3, 1.0, image.out_channels)
    x = model.input(f"x_{name}", (1, image.height, image.width, image.channels), "int16", _SCALE, 0)
    y_shape = (1, *image.out_size, image.out_channels)
    options: dict[str, int | str | bool] = dict(image.options)
    if depthwise:
        options["depth_multiplier"] = image.out_channels // image.channels
    weights = _weights(shape, numbers, random)
    return _added(
        kind, (model, name, random), x, weights, scales, y_shape, numbers, options,
        axis=3 if depthwise else 0,
    )  # fmt: skip


def _dense(
    case: tuple[int, int, int], numbers: _Numbers, model: ModelBuilder, name: str,
    random: np.random.Generator,
) -> TensorRef:  # fmt: skip
    rows, depth_in, depth_out = case
    x = model.input(f"x_{name}", (rows, depth_in), "int16", _SCALE, 0)
    weights = _weights((depth_out, depth_in), numbers, random)
    scales = np.full(depth_out, 0.006)
    return _added(
        "FULLY_CONNECTED", (model, name, random), x, weights, scales, (rows, depth_out), numbers, {}
    )


def _added(
    kind: str, place: tuple[ModelBuilder, str, np.random.Generator], x: TensorRef,
    weights: Array, scales: Array, y_shape: tuple[int, ...], numbers: _Numbers,
    options: dict[str, int | str | bool], axis: int = 0,
) -> TensorRef:  # fmt: skip
    model, name, random = place
    w = model.constant(f"w_{name}", weights, list(scales), axis=axis)
    bias = random.integers(-2000, 2000, len(scales)).astype(numbers.bias)
    b = model.constant(f"b_{name}", bias, list(scales * _SCALE))
    y = model.tensor(f"y_{name}", y_shape, "int16", _RESULT, 0)
    options["fused_activation_function"] = numbers.activation
    model.op(kind, [x, w, b], [y], options)
    return y


def _reduction(
    kind: str, shape: tuple[int, ...], reduced: tuple[int, int], model: ModelBuilder, name: str,
    _: np.random.Generator,
) -> TensorRef:  # fmt: skip
    x = model.input(f"x_{name}", (1, *shape), "int16", _SCALE, 0)
    axes = model.constant(f"axes_{name}", np.array(reduced, np.int32))
    (kept,) = {1, 2, 3} - {*reduced}
    y = model.tensor(f"y_{name}", (1, shape[kept - 1]), "int16", _RESULT, 0)
    model.op(kind, [x, axes], [y], {"keep_dims": False})
    return y


def builders(kind: str) -> Sequence[_Builder]:
    """What makes each sample of `kind`."""
    if kind.startswith(("MEAN", "SUM")):
        plain = kind.partition(" ")[0]
        return [partial(_reduction, plain, *case) for case in REDUCTIONS]
    if kind.startswith("FULLY_CONNECTED"):
        deep = [partial(_dense, case, n) for case in _DEEP_DENSE for n in (_WIDE, _WIDE_EXTREME)]
        every = [partial(_dense, case, n) for case in DENSE for n in (_PLAIN, _EXTREME)]
        return [*every, *deep, *(partial(_dense, case, _RELU6) for case in DENSE[::2])]
    if kind.startswith("DEPTHWISE"):
        single = [image for image in DEPTHWISE if image.channels == image.out_channels]
        return [
            *(partial(_layer, "DEPTHWISE_CONV_2D", image, _RELU) for image in single),
            *(partial(_layer, "DEPTHWISE_CONV_2D", image, _RELU6) for image in single[::3]),
        ]
    images = POINTWISE + WINDOWS + COLUMNS
    found = [
        *((image, _PLAIN) for image in images),
        *((image, _RELU) for image in images[::2]),
        *((image, _RELU6) for image in images[::5]),
        *((image, _SHORT) for image in images[1::4]),
        *((image, _EXTREME) for image in images[::3]),
        *((image, numbers) for image in _DEEP for numbers in (_WIDE, _WIDE_EXTREME)),
    ]
    return [partial(_layer, "CONV_2D", *case) for case in found]
