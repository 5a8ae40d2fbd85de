"""Random layers of int16 activations with constant int8 weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.random_draws import (
    CHANNELS,
    Array,
    Generator,
    activation,
    geometry,
    pick,
    usual_geometry,
    weights,
)
from glowmcu.frontend.tflite.writer import ModelBuilder

_SCALE, _WEIGHT_SCALE = 1e-3, 0.02
#: What products of int16 and weights spread to, a product, and what results are to spread to.
_SPREAD, _RESULTS = 19_000 * 70, 10_000
#: Depths whose sums may need 64 bits.
_DEEP = (96, 150, 200, 257)


def convolution_int16(random: Generator, model: ModelBuilder, suffix: str) -> None:
    """CONV_2D: 1x1, small windows, groups, now and then so deep that sums need 64 bits."""
    depth, channels = (int(pick(random, CHANNELS)) for _ in range(2))
    shape = geometry(random, ((1, 1), (1, 1), (3, 3), (3, 3), (1, 3), (4, 1)))
    groups = 1
    kind = random.random()
    if kind < 0.12:
        shape = usual_geometry(random, int(pick(random, (1, 3))))
    elif kind < 0.2:
        depth, channels = int(pick(random, _DEEP)), int(random.integers(1, 6))
        shape = usual_geometry(random, 3)
    elif kind < 0.35:
        groups = int(random.integers(2, 5))
        depth, channels = (groups * int(random.integers(1, 7)) for _ in range(2))
    kernel = (channels, *shape["kernel"], depth // groups)
    _window_layer(random, model, suffix, "CONV_2D", shape, depth, kernel)


def depthwise_int16(random: Generator, model: ModelBuilder, suffix: str) -> None:
    """DEPTHWISE_CONV_2D, mostly of one result a channel."""
    depth, multiplier = int(pick(random, CHANNELS)), int(pick(random, (1, 1, 1, 1, 2)))
    shape = geometry(random, ((3, 3), (3, 3), (5, 1), (1, 4), (5, 5)))
    if random.random() < 0.15:
        shape = usual_geometry(random, 3)
    kernel = (1, *shape["kernel"], depth * multiplier)
    _window_layer(random, model, suffix, "DEPTHWISE_CONV_2D", shape, depth, kernel)


def _window_layer(
    random: Generator, model: ModelBuilder, suffix: str, kind: str, shape: dict[str, Any],
    depth: int, kernel: tuple[int, ...],
) -> None:  # fmt: skip
    is_depthwise = kind == "DEPTHWISE_CONV_2D"
    channels = kernel[3] if is_depthwise else kernel[0]
    taps = int(np.prod(kernel[1:3])) * (1 if is_depthwise else kernel[3])
    batch = 2 if random.random() < 0.1 else 1
    x = model.input(f"x{suffix}", (batch, *shape["image"], depth), "int16", _SCALE, 0)
    options: dict[str, int | str | bool] = {
        "padding": shape["padding"],
        "stride_h": shape["strides"][0],
        "stride_w": shape["strides"][1],
        "dilation_h_factor": shape["dilations"][0],
        "dilation_w_factor": shape["dilations"][1],
    }
    if is_depthwise:
        options["depth_multiplier"] = channels // depth
    out = (batch, *shape["out"], channels)
    _finish(random, model, suffix, kind, (x, out, kernel, taps), options)


def fully_connected_int16(random: Generator, model: ModelBuilder, suffix: str) -> None:
    """FULLY_CONNECTED of any depth up to 300, a few of more than a thousand."""
    depth = int(random.integers(1, 300)) if random.random() < 0.5 else int(pick(random, CHANNELS))
    if random.random() < 0.06:
        depth = int(random.integers(512, 1400))
    channels, rows = int(pick(random, CHANNELS)), int(pick(random, (1, 1, 1, 2, 3, 6)))
    x = model.input(f"x{suffix}", (rows, depth), "int16", _SCALE, 0)
    kernel = (channels, depth)
    _finish(random, model, suffix, "FULLY_CONNECTED", (x, (rows, channels), kernel, depth), {})


def _finish(
    random: Generator, model: ModelBuilder, suffix: str, kind: str,
    layer: tuple[Any, tuple[int, ...], tuple[int, ...], int],
    options: dict[str, int | str | bool],
) -> None:  # fmt: skip
    """Weights, a bias of any width, a scale, an activation."""
    x, shape, kernel, taps = layer
    channels = shape[-1]
    is_dense, axis = kind == "FULLY_CONNECTED", 3 if kind == "DEPTHWISE_CONV_2D" else 0
    per_channel = not is_dense and random.random() < 0.7
    factors = random.uniform(0.05, 1.5, channels) if per_channel else np.ones(1)
    scales = _WEIGHT_SCALE * factors
    w = model.constant(f"w{suffix}", weights(random, kernel), list(scales), 0, axis=axis)
    operands = [x, w]
    if random.random() < 0.85:
        values = _bias(random, channels, may_be_short=axis == 0)
        operands.append(model.constant(f"b{suffix}", values, list(_SCALE * scales)))
    exponent = random.uniform(-9, -4) if random.random() < 0.05 else random.uniform(-4, 3)
    spread = _SCALE * _WEIGHT_SCALE * np.sqrt(taps) * _SPREAD / _RESULTS
    y = model.tensor(f"y{suffix}", shape, "int16", float(spread * 2.0**exponent), 0)
    model.op(kind, operands, [y], {**options, "fused_activation_function": activation(random)})
    model.output(y)


def _bias(random: Generator, count: int, may_be_short: bool) -> Array:
    """Small, large, or beyond 32 bits; of int32 now and then."""
    if may_be_short and random.random() < 0.2:
        most = int(pick(random, (0, 30_000, 10**8)))
        return np.asarray(random.integers(-most, most + 1, count), np.int32)
    most = int(pick(random, (0, 30_000, 10**7, 10**9, 2**40)))
    return np.asarray(random.integers(-most, most + 1, count), np.int64)
