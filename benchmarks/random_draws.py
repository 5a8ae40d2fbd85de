"""What random layers are drawn from: shapes around every tile, numbers at every edge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Generator = np.random.Generator
Array = npt.NDArray[Any]
CHANNELS = (1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 15, 16, 17, 20, 24, 31, 32, 33, 48)
_EDGES = (-128, -127, -1, 0, 1, 126, 127)


def pick(random: Generator, values: tuple[Any, ...]) -> Any:
    """One of the values."""
    return values[int(random.integers(len(values)))]


def zero_point(random: Generator) -> int:
    """At an edge more often than not."""
    if random.random() < 0.6:
        return int(pick(random, _EDGES))
    return int(random.integers(-128, 128))


def end_point(random: Generator) -> int:
    """Zero point of a result: many results end in a ReLU, as most of real models do."""
    return -128 if random.random() < 0.4 else zero_point(random)


def weights(random: Generator, shape: tuple[int, ...]) -> Array:
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
        values = np.full(shape, pick(random, (-128, -127, 127, 1, 0)))
    return np.asarray(values, np.int8)


def bias(random: Generator, count: int) -> Array:
    """Small, large, or so extreme that outputs saturate."""
    most = pick(random, (0, 300, 20_000, 2_000_000, 2**29))
    return np.asarray(random.integers(-most, most + 1, count), np.int32)


@dataclass(frozen=True)
class Scales:
    """Scales for which outputs of `taps` products spread over int8, more or less."""

    weights: Array
    out: float

    @classmethod
    def draw(cls, random: Generator, taps: int, channels: int) -> Scales:
        factors = random.uniform(0.05, 1.5, channels) if random.random() < 0.7 else np.ones(1)
        spread = 0.1 * 0.02 * 70 * 70 * np.sqrt(taps) / 60
        steep = random.random() < 0.07  # multipliers above one, too
        exponent = random.uniform(-14, -4) if steep else random.uniform(-4, 3)
        return cls(0.02 * factors, float(spread * 2.0**exponent))


def geometry(random: Generator, kernels: tuple[tuple[int, int], ...]) -> dict[str, Any]:
    """Image, window, strides, dilations and padding that fit together."""
    height, width = (int(size) for size in random.integers(1, 11, 2))
    kernel = pick(random, kernels)
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


def usual_geometry(random: Generator, window: int) -> dict[str, Any]:
    """A square window in steps of 1 over a padded image of up to 12 by 12."""
    image = tuple(int(size) for size in random.integers(window, 13, 2))
    return {
        "image": image, "kernel": (window, window), "strides": (1, 1), "dilations": (1, 1),
        "padding": "SAME", "out": image,
    }  # fmt: skip


def activation(random: Generator) -> str:
    """None, mostly."""
    return str(pick(random, ("NONE", "NONE", "NONE", "RELU", "RELU6")))
