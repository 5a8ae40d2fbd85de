"""Random layers with constant weights: convolutions of all kinds and fully connected."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.random_draws import (
    CHANNELS,
    Generator,
    Scales,
    activation,
    bias,
    end_point,
    geometry,
    pick,
    usual_geometry,
    weights,
    zero_point,
)
from glowmcu.frontend.tflite.writer import ModelBuilder

_USUAL_CHANNELS = (4, 8, 12, 16, 20, 24, 32)


def convolution(random: Generator, model: ModelBuilder, suffix: str) -> None:
    """CONV_2D, half of them 1x1 and half of the rest 3x3."""
    depth, channels = (int(pick(random, CHANNELS)) for _ in range(2))
    shape = geometry(random, ((1, 1), (1, 1), (1, 1), (3, 3), (3, 3), (1, 3), (4, 1)))
    if random.random() < 0.08:  # a single pixel: fully connected
        shape |= {"image": (1, 1), "kernel": (1, 1), "out": (1, 1), "strides": (1, 1)}
    elif random.random() < 0.12:  # what networks are made of
        window = int(pick(random, (1, 3, 3)))
        depth, channels = (int(pick(random, _USUAL_CHANNELS)) for _ in range(2))
        shape = usual_geometry(random, window)
    kernel = (channels, *shape["kernel"], depth)
    _weighted(random, model, suffix, "CONV_2D", shape, depth, channels, kernel)


def depthwise(random: Generator, model: ModelBuilder, suffix: str) -> None:
    """DEPTHWISE_CONV_2D, most of them 3x3 with multiplier 1."""
    depth = int(pick(random, CHANNELS))
    multiplier = int(pick(random, (1, 1, 1, 1, 2, 3, 8)))
    shape = geometry(random, ((3, 3), (3, 3), (3, 3), (5, 1), (1, 4), (5, 5)))
    if random.random() < 0.15:  # what networks are made of
        depth, multiplier = int(pick(random, _USUAL_CHANNELS)), 1
        shape = usual_geometry(random, 3)
    elif random.random() < 0.1:  # a window as high as the image: one row of results
        height, width = shape["image"]
        columns = min(shape["kernel"][1], width)
        out = (width - columns) // shape["strides"][1] + 1
        shape |= {"kernel": (height, columns), "padding": "VALID", "dilations": (1, 1)}
        shape["out"] = (1, out)
    kernel = (1, *shape["kernel"], depth * multiplier)
    channels = depth * multiplier
    _weighted(random, model, suffix, "DEPTHWISE_CONV_2D", shape, depth, channels, kernel)


def _weighted(
    random: Generator, model: ModelBuilder, suffix: str, kind: str, shape: dict[str, Any],
    depth: int, channels: int, kernel: tuple[int, ...],
) -> None:  # fmt: skip
    is_depthwise = kind == "DEPTHWISE_CONV_2D"
    taps = int(np.prod(kernel[1:3])) * (1 if is_depthwise else depth)
    scales = Scales.draw(random, taps, channels)
    batch = 2 if random.random() < 0.1 else 1
    x = model.input(f"x{suffix}", (batch, *shape["image"], depth), "int8", 0.1, zero_point(random))
    axis = 3 if is_depthwise else 0
    w = model.constant(f"w{suffix}", weights(random, kernel), list(scales.weights), 0, axis=axis)
    b = model.constant(f"b{suffix}", bias(random, channels), list(0.1 * scales.weights))
    out = (batch, *shape["out"], channels)
    y = model.tensor(f"y{suffix}", out, "int8", scales.out, end_point(random))
    options: dict[str, int | str] = {
        "padding": shape["padding"],
        "stride_h": shape["strides"][0],
        "stride_w": shape["strides"][1],
        "dilation_h_factor": shape["dilations"][0],
        "dilation_w_factor": shape["dilations"][1],
        "fused_activation_function": activation(random),
    }
    if is_depthwise:
        options["depth_multiplier"] = channels // depth
    model.op(kind, [x, w, b], [y], options)
    model.output(y)


def fully_connected(random: Generator, model: ModelBuilder, suffix: str) -> None:
    """FULLY_CONNECTED of any depth up to 300."""
    depth = int(random.integers(1, 300)) if random.random() < 0.5 else int(pick(random, CHANNELS))
    channels = int(pick(random, CHANNELS))
    rows = int(pick(random, (1, 1, 1, 2, 5)))
    scales = Scales.draw(random, depth, 1)
    x = model.input(f"x{suffix}", (rows, depth), "int8", 0.1, zero_point(random))
    w = model.constant(f"w{suffix}", weights(random, (channels, depth)), float(scales.weights[0]))
    b = model.constant(f"b{suffix}", bias(random, channels), float(0.1 * scales.weights[0]))
    y = model.tensor(f"y{suffix}", (rows, channels), "int8", scales.out, end_point(random))
    options = {"fused_activation_function": activation(random)}
    model.op("FULLY_CONNECTED", [x, w, b], [y], options)
    model.output(y)


def transposed_convolution(random: Generator, model: ModelBuilder, suffix: str) -> None:
    """TRANSPOSE_CONV with a bias or without."""
    depth, channels = (int(pick(random, CHANNELS[:12])) for _ in range(2))
    height, width, rows, columns = (int(n) for n in random.integers(1, 6, 4))
    strides = [int(n) for n in random.integers(1, 4, 2)]
    same = random.random() < 0.5
    out = [
        size * stride if same else (size - 1) * stride + max(taps, stride)
        for size, stride, taps in zip((height, width), strides, (rows, columns), strict=True)
    ]
    scales = Scales.draw(random, rows * columns * depth, channels)
    shape = (1, *out, channels)
    where = model.constant(f"shape{suffix}", np.array(shape, np.int32))
    kernel = weights(random, (channels, rows, columns, depth))
    w = model.constant(f"w{suffix}", kernel, list(scales.weights))
    x = model.input(f"x{suffix}", (1, height, width, depth), "int8", 0.1, zero_point(random))
    operands = [where, w, x]
    if random.random() < 0.6:
        values = bias(random, channels)
        operands.append(model.constant(f"b{suffix}", values, list(0.1 * scales.weights)))
    y = model.tensor(f"y{suffix}", shape, "int8", scales.out, end_point(random))
    options: dict[str, int | str] = {
        "padding": "SAME" if same else "VALID",
        "stride_h": strides[0],
        "stride_w": strides[1],
        "fused_activation_function": activation(random),
    }
    model.op("TRANSPOSE_CONV", operands, [y], options)
    model.output(y)


def matrix_product(random: Generator, model: ModelBuilder, suffix: str) -> None:
    """BATCH_MATMUL of two computed matrices, or by a constant one."""
    rows, columns = (int(n) for n in random.integers(1, 9, 2))
    depth = int(pick(random, CHANNELS))
    batches = (int(random.integers(1, 4)),) if random.random() < 0.5 else ()
    adjoint = [bool(random.random() < 0.4) for _ in range(2)]
    left, right = (rows, depth), (depth, columns)
    shapes = [
        (*batches, *(m[::-1] if a else m)) for m, a in zip((left, right), adjoint, strict=True)
    ]
    scales = Scales.draw(random, depth, 1)
    x = model.input(f"x{suffix}", shapes[0], "int8", 0.1, zero_point(random))
    scale = float(scales.weights[0])
    if random.random() < 0.4:
        z = model.constant(f"z{suffix}", weights(random, shapes[1]), scale)
    else:
        z = model.input(f"z{suffix}", shapes[1], "int8", scale, zero_point(random))
    y = model.tensor(
        f"y{suffix}", (*batches, rows, columns), "int8", scales.out, zero_point(random)
    )
    model.op("BATCH_MATMUL", [x, z], [y], {"adj_x": adjoint[0], "adj_y": adjoint[1]})
    model.output(y)
