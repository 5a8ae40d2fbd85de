"""Random int8 layers as a sweep wants them: shapes around every tile, numbers at every edge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from glowmcu.frontend.tflite.writer import ModelBuilder

Generator = np.random.Generator
Array = npt.NDArray[Any]
_CHANNELS = (1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 15, 16, 17, 20, 24, 31, 32, 33, 48)
_EDGES = (-128, -127, -1, 0, 1, 126, 127)


def _pick(random: Generator, values: tuple[Any, ...]) -> Any:
    return values[int(random.integers(len(values)))]


def _zero_point(random: Generator) -> int:
    if random.random() < 0.6:
        return int(_pick(random, _EDGES))
    return int(random.integers(-128, 128))


def _weights(random: Generator, shape: tuple[int, ...]) -> Array:
    """Uniform, narrow, sparse, with -128 or without, or all the same."""
    kind = random.random()
    if kind < 0.45:
        values = random.integers(-127, 128, shape)
    elif kind < 0.65:
        values = random.integers(-128, 128, shape)
    elif kind < 0.75:
        values = random.integers(-3, 4, shape)
    elif kind < 0.85:
        values = np.where(random.random(shape) < 0.2, random.integers(-128, 128, shape), 0)
    else:
        values = np.full(shape, _pick(random, (-128, -127, 127, 1, 0)))
    return np.asarray(values, np.int8)


def _bias(random: Generator, count: int) -> Array:
    """Small, large, or so extreme that outputs saturate."""
    most = _pick(random, (0, 300, 20_000, 2_000_000, 2**29))
    return np.asarray(random.integers(-most, most + 1, count), np.int32)


@dataclass(frozen=True)
class _Scales:
    """Scales for which outputs of `taps` products spread over int8, more or less."""

    weights: Array
    out: float

    @classmethod
    def draw(cls, random: Generator, taps: int, channels: int) -> _Scales:
        factors = random.uniform(0.05, 1.5, channels) if random.random() < 0.7 else np.ones(1)
        spread = 0.1 * 0.02 * 70 * 70 * np.sqrt(taps) / 60
        return cls(0.02 * factors, float(spread * 2.0 ** random.uniform(-4, 3)))


def _geometry(random: Generator, kernels: tuple[tuple[int, int], ...]) -> dict[str, Any]:
    """Image, window, strides, dilations and padding that fit together."""
    height, width = (int(size) for size in random.integers(1, 11, 2))
    kernel = _pick(random, kernels)
    if random.random() < 0.3:
        kernel = (int(random.integers(1, 6)), int(random.integers(1, 6)))
    strides = tuple(int(s) for s in random.choice([1, 1, 1, 2, 2, 3], 2))
    largest = 3 if random.random() < 0.15 else 2
    dilations = tuple(int(d) for d in random.integers(1, largest, 2))
    extents = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    fits = extents[0] <= height and extents[1] <= width
    padding = "VALID" if fits and random.random() < 0.4 else "SAME"
    sizes = zip((height, width), extents, strides, strict=True)
    out = [
        -(-size // stride) if padding == "SAME" else (size - extent) // stride + 1
        for size, extent, stride in sizes
    ]
    return {
        "image": (height, width), "kernel": kernel, "strides": strides, "dilations": dilations,
        "padding": padding, "out": tuple(out),
    }  # fmt: skip


def _activation(random: Generator) -> str:
    return str(_pick(random, ("NONE", "NONE", "NONE", "RELU", "RELU6")))


def convolution(random: Generator, model: ModelBuilder, suffix: str) -> None:
    """CONV_2D, half of them 1x1 and half of the rest 3x3."""
    depth, channels = (int(_pick(random, _CHANNELS)) for _ in range(2))
    shape = _geometry(random, ((1, 1), (1, 1), (1, 1), (3, 3), (3, 3), (1, 3), (4, 1)))
    kernel = (channels, *shape["kernel"], depth)
    _weighted(random, model, suffix, "CONV_2D", shape, depth, channels, kernel)


def depthwise(random: Generator, model: ModelBuilder, suffix: str) -> None:
    """DEPTHWISE_CONV_2D, most of them 3x3 with multiplier 1."""
    depth = int(_pick(random, _CHANNELS))
    multiplier = int(_pick(random, (1, 1, 1, 1, 2, 3, 8)))
    shape = _geometry(random, ((3, 3), (3, 3), (3, 3), (5, 1), (1, 4), (5, 5)))
    kernel = (1, *shape["kernel"], depth * multiplier)
    channels = depth * multiplier
    _weighted(random, model, suffix, "DEPTHWISE_CONV_2D", shape, depth, channels, kernel)


def _weighted(
    random: Generator, model: ModelBuilder, suffix: str, kind: str, shape: dict[str, Any],
    depth: int, channels: int, kernel: tuple[int, ...],
) -> None:  # fmt: skip
    is_depthwise = kind == "DEPTHWISE_CONV_2D"
    taps = int(np.prod(kernel[1:3])) * (1 if is_depthwise else depth)
    scales = _Scales.draw(random, taps, channels)
    batch = 2 if random.random() < 0.1 else 1
    x = model.input(f"x{suffix}", (batch, *shape["image"], depth), "int8", 0.1, _zero_point(random))
    axis = 3 if is_depthwise else 0
    weights = _weights(random, kernel)
    w = model.constant(f"w{suffix}", weights, list(scales.weights), 0, axis=axis)
    b = model.constant(f"b{suffix}", _bias(random, channels), list(0.1 * scales.weights))
    out = (batch, *shape["out"], channels)
    y = model.tensor(f"y{suffix}", out, "int8", scales.out, _zero_point(random))
    options: dict[str, int | str] = {
        "padding": shape["padding"],
        "stride_h": shape["strides"][0],
        "stride_w": shape["strides"][1],
        "dilation_h_factor": shape["dilations"][0],
        "dilation_w_factor": shape["dilations"][1],
        "fused_activation_function": _activation(random),
    }
    if is_depthwise:
        options["depth_multiplier"] = channels // depth
    model.op(kind, [x, w, b], [y], options)
    model.output(y)


def fully_connected(random: Generator, model: ModelBuilder, suffix: str) -> None:
    """FULLY_CONNECTED of any depth up to 300."""
    depth = int(random.integers(1, 300)) if random.random() < 0.5 else int(_pick(random, _CHANNELS))
    channels = int(_pick(random, _CHANNELS))
    rows = int(_pick(random, (1, 1, 1, 2, 5)))
    scales = _Scales.draw(random, depth, 1)
    x = model.input(f"x{suffix}", (rows, depth), "int8", 0.1, _zero_point(random))
    weights = _weights(random, (channels, depth))
    w = model.constant(f"w{suffix}", weights, float(scales.weights[0]))
    b = model.constant(f"b{suffix}", _bias(random, channels), float(0.1 * scales.weights[0]))
    y = model.tensor(f"y{suffix}", (rows, channels), "int8", scales.out, _zero_point(random))
    options = {"fused_activation_function": _activation(random)}
    model.op("FULLY_CONNECTED", [x, w, b], [y], options)
    model.output(y)


def pooling(random: Generator, model: ModelBuilder, suffix: str) -> None:
    """AVERAGE_POOL_2D and MAX_POOL_2D, a third of them over the whole image."""
    kind = str(_pick(random, ("AVERAGE_POOL_2D", "MAX_POOL_2D")))
    shape = _geometry(random, ((2, 2), (3, 3), (2, 1)))
    while shape["dilations"] != (1, 1):
        shape = _geometry(random, ((2, 2), (3, 3), (2, 1)))
    if random.random() < 0.33:
        shape |= {"kernel": shape["image"], "strides": (1, 1), "padding": "VALID", "out": (1, 1)}
    depth, point = int(_pick(random, _CHANNELS)), _zero_point(random)
    x = model.input(f"x{suffix}", (1, *shape["image"], depth), "int8", 0.05, point)
    y = model.tensor(f"y{suffix}", (1, *shape["out"], depth), "int8", 0.05, point)
    options: dict[str, int | str] = {
        "padding": shape["padding"],
        "stride_h": shape["strides"][0],
        "stride_w": shape["strides"][1],
        "filter_height": shape["kernel"][0],
        "filter_width": shape["kernel"][1],
        "fused_activation_function": _activation(random),
    }
    model.op(kind, [x], [y], options)
    model.output(y)


def elementwise(random: Generator, model: ModelBuilder, suffix: str) -> None:
    """ADD, SUB and MUL of two tensors, some of them broadcast."""
    kind = str(_pick(random, ("ADD", "ADD", "SUB", "MUL")))
    whole = (1, *(int(n) for n in random.integers(1, 7, 2)), int(_pick(random, _CHANNELS)))
    other = _pick(random, (whole, whole, whole, (1, 1, 1, whole[3]), (1, 1, 1, 1)))
    scales = 0.05 * 2.0 ** random.uniform(-3, 3, 2)
    a = model.input(f"a{suffix}", whole, "int8", float(scales[0]), _zero_point(random))
    b = model.input(f"b{suffix}", other, "int8", float(scales[1]), _zero_point(random))
    out = scales.sum() if kind != "MUL" else 100 * scales.prod()
    out_scale = float(out * 2.0 ** random.uniform(-2, 1))
    y = model.tensor(f"y{suffix}", whole, "int8", out_scale, _zero_point(random))
    model.op(kind, [a, b], [y], {"fused_activation_function": _activation(random)})
    model.output(y)


AddLayer = Callable[[Generator, ModelBuilder, str], None]
FAMILIES: dict[str, AddLayer] = {
    "conv_2d": convolution,
    "depthwise_conv_2d": depthwise,
    "fully_connected": fully_connected,
    "pool_2d": pooling,
    "elementwise": elementwise,
}
