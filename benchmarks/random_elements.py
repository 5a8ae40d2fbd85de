"""Random layers without weights: pooling, pairs of tensors, reductions, softmax, tables."""

from __future__ import annotations

import numpy as np

from benchmarks.random_draws import CHANNELS, Generator, activation, geometry, pick, zero_point
from glowmcu.frontend.tflite.writer import ModelBuilder

_SLOPED = ("PRELU", "SQUARED_DIFFERENCE")
_FUNCTIONS = ("HARD_SWISH", "RELU", "RELU6", "ELU")
#: Scale and zero point that TensorFlow Lite fixes for results.
_RESULTS = {
    "SOFTMAX": (1 / 256, -128),
    "LOGISTIC": (1 / 256, -128),
    "LOG_SOFTMAX": (16 / 256, 127),
    "L2_NORMALIZATION": (1 / 128, 0),
    "TANH": (1 / 128, 0),
}


def pooling(random: Generator, model: ModelBuilder, suffix: str) -> None:
    """AVERAGE_POOL_2D and MAX_POOL_2D, a third of them over the whole image."""
    kind = str(pick(random, ("AVERAGE_POOL_2D", "MAX_POOL_2D")))
    shape = geometry(random, ((2, 2), (3, 3), (2, 1)))
    while shape["dilations"] != (1, 1):
        shape = geometry(random, ((2, 2), (3, 3), (2, 1)))
    if random.random() < 0.33:
        shape |= {"kernel": shape["image"], "strides": (1, 1), "padding": "VALID", "out": (1, 1)}
    depth, point = int(pick(random, CHANNELS)), zero_point(random)
    x = model.input(f"x{suffix}", (1, *shape["image"], depth), "int8", 0.05, point)
    y = model.tensor(f"y{suffix}", (1, *shape["out"], depth), "int8", 0.05, point)
    options: dict[str, int | str] = {
        "padding": shape["padding"],
        "stride_h": shape["strides"][0],
        "stride_w": shape["strides"][1],
        "filter_height": shape["kernel"][0],
        "filter_width": shape["kernel"][1],
        "fused_activation_function": activation(random),
    }
    model.op(kind, [x], [y], options)
    model.output(y)


def elementwise(random: Generator, model: ModelBuilder, suffix: str) -> None:
    """Operators of two tensors, some of them broadcast."""
    kind = str(pick(random, ("ADD", "ADD", "SUB", "MUL", "MUL", *_SLOPED)))
    whole = (1, *(int(n) for n in random.integers(1, 7, 2)), int(pick(random, CHANNELS)))
    other = pick(random, (whole, whole, whole, (1, 1, 1, whole[3]), (1, 1, 1, 1)))
    scales = 0.05 * 2.0 ** random.uniform(-3, 3, 2)
    a = model.input(f"a{suffix}", whole, "int8", float(scales[0]), zero_point(random))
    b = model.input(f"b{suffix}", other, "int8", float(scales[1]), zero_point(random))
    out = scales.sum() if kind in ("ADD", "SUB") else 100 * scales.prod()
    out_scale = float(out * 2.0 ** random.uniform(-2, 1))
    y = model.tensor(f"y{suffix}", whole, "int8", out_scale, zero_point(random))
    fused = {} if kind in _SLOPED else {"fused_activation_function": activation(random)}
    model.op(kind, [a, b], [y], fused)
    model.output(y)


def extremes(random: Generator, model: ModelBuilder, suffix: str) -> None:
    """MAXIMUM, MINIMUM and comparisons of two tensors of one scale."""
    kind = str(pick(random, ("MAXIMUM", "MINIMUM", "GREATER", "LESS_EQUAL", "EQUAL")))
    whole = (1, *(int(n) for n in random.integers(1, 7, 2)), int(pick(random, CHANNELS)))
    other = pick(random, (whole, whole, (1, 1, 1, whole[3]), (1, 1, 1, 1)))
    point = zero_point(random)
    a = model.input(f"a{suffix}", whole, "int8", 0.05, point)
    b = model.input(f"b{suffix}", other, "int8", 0.05, point)
    if kind.startswith("M"):
        y = model.tensor(f"y{suffix}", whole, "int8", 0.05, point)
    else:
        y = model.tensor(f"y{suffix}", whole, "bool")
    model.op(kind, [a, b], [y])
    model.output(y)


def reduction(random: Generator, model: ModelBuilder, suffix: str) -> None:
    """MEAN, SUM and extremes over one axis, two or three."""
    kind = str(pick(random, ("MEAN", "MEAN", "SUM", "SUM", "REDUCE_MAX", "REDUCE_MIN")))
    sizes = (2 if random.random() < 0.15 else 1, *(int(n) for n in random.integers(1, 20, 2)))
    shape = (*sizes, int(pick(random, CHANNELS)))
    axes = pick(random, ((1, 2), (1, 2), (1, 2), (1,), (2,), (3,), (1, 3), (2, 3), (1, 2, 3)))
    scale, point = 0.05, zero_point(random)
    x = model.input(f"x{suffix}", shape, "int8", scale, point)
    keeps = bool(random.random() < 0.5)
    where = model.constant(f"axes{suffix}", np.array(axes, np.int32))
    out = [1 if axis in axes else size for axis, size in enumerate(shape)]
    if not keeps:
        out = [size for axis, size in enumerate(shape) if axis not in axes]
    if kind in ("MEAN", "SUM"):
        count = np.prod([shape[axis] for axis in axes]) if kind == "SUM" else 1
        scale = float(scale * np.sqrt(count) * 2.0 ** random.uniform(-2, 1.5))
        point = zero_point(random)
    y = model.tensor(f"y{suffix}", out, "int8", scale, point)
    model.op(kind, [x, where], [y], {"keep_dims": keeps})
    model.output(y)


def normalization(random: Generator, model: ModelBuilder, suffix: str) -> None:
    """SOFTMAX, LOG_SOFTMAX and L2_NORMALIZATION of rows up to 120 long."""
    kind = str(pick(random, ("SOFTMAX", "SOFTMAX", "LOG_SOFTMAX", "L2_NORMALIZATION")))
    length = int(random.integers(1, 120)) if random.random() < 0.6 else int(pick(random, CHANNELS))
    shape = (int(pick(random, (1, 1, 2, 5))), length)
    scale, point = _RESULTS[kind]
    spread = 2.0 ** random.uniform(-9, 1)
    x = model.input(f"x{suffix}", shape, "int8", float(spread), zero_point(random))
    y = model.tensor(f"y{suffix}", shape, "int8", scale, point)
    beta = float(pick(random, (1.0, 1.0, 0.5, 3.0)))
    model.op(kind, [x], [y], {"beta": beta} if kind == "SOFTMAX" else {})
    model.output(y)


def function(random: Generator, model: ModelBuilder, suffix: str) -> None:
    """Operators of one tensor, element by element."""
    kind = str(pick(random, (*_FUNCTIONS, "LEAKY_RELU", "QUANTIZE", "LOGISTIC", "TANH")))
    shape = (1, *(int(n) for n in random.integers(1, 7, 2)), int(pick(random, CHANNELS)))
    scale = float(2.0 ** random.uniform(-8, -1))
    point = zero_point(random)
    x = model.input(f"x{suffix}", shape, "int8", scale, point)
    result = _RESULTS.get(kind, (float(scale * 2.0 ** random.uniform(-1, 1)), zero_point(random)))
    y = model.tensor(f"y{suffix}", shape, "int8", *result)
    model.op(kind, [x], [y], {"alpha": 0.1} if kind == "LEAKY_RELU" else {})
    model.output(y)
