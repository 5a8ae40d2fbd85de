"""Small convolutional networks with random weights: a few of well-known shapes, others drawn.

What examples and courses deploy: 28x28 digits, 32x32 pictures, 49x40 sounds, with a few thousand to
a few hundred thousand weights. Scratch of kernels is much beside tensors as small as theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.foreign_models import HALF, POINT, DeepNetwork
from tests.memplan.spatial_models import Image, Window

_HALVING = Window((2, 2), (2, 2), padding="VALID")
#: How many are drawn.
DRAWN = 16


def pictures(channels: tuple[int, ...] = (8, 16, 32)) -> bytes:
    """Convolution and pooling in turns on 32x32 pixels of three colours, then ten classes."""
    model = DeepNetwork(60)
    x = model.input(32, 32, 3)
    for count in channels:
        x = model.pool(model.conv(x, count, Window(), "RELU"), "MAX_POOL_2D", _HALVING)
    return model.finish(model.conv(model.whole_mean(x), 10, POINT))


def pictures_without_pooling() -> bytes:
    """The same with strides in the place of pooling."""
    model = DeepNetwork(61)
    x = model.conv(model.input(32, 32, 3), 8, Window(), "RELU")
    for count in (16, 24):
        x = model.conv(x, count, HALF, "RELU")
    return model.finish(model.conv(model.whole_mean(x), 10, POINT))


def residual_digits() -> bytes:
    """28x28 digits, two residual blocks."""
    model = DeepNetwork(62)
    x = model.conv(model.input(28, 28, 1), 6, HALF, "RELU")
    for _ in range(2):
        inner = model.conv(x, x.shape[2], Window(), "RELU")
        x = model.add(model.conv(inner, x.shape[2], Window()), x, "RELU")
        x = model.conv(x, x.shape[2] + 4, HALF, "RELU")
    return model.finish(model.conv(model.whole_mean(x), 10, POINT))


def separable_digits() -> bytes:
    """28x28 digits, depthwise layers with and without a multiplier."""
    model = DeepNetwork(63)
    x = model.conv(model.input(28, 28, 1), 4, HALF, "RELU")
    x = model.conv(model.depthwise(x, Window(), activation="RELU"), 16, HALF, "RELU")
    x = model.depthwise(x, Window(), 2, "RELU")
    return model.finish(model.conv(model.whole_mean(x), 10, POINT))


def drawn(seed: int) -> bytes:
    """A network of two to six layers or blocks."""
    model = DeepNetwork(1000 + seed)
    random = np.random.default_rng([seed, 5])
    height, width, channels = ((28, 28, 1), (32, 32, 3), (49, 40, 1), (24, 24, 2))[seed % 4]
    x = model.input(height, width, channels)
    for _ in range(int(random.integers(2, 7))):
        x = _layer(model, random, x)
    return model.finish(model.conv(model.whole_mean(x), int(random.integers(2, 12)), POINT))


def _layer(model: DeepNetwork, random: np.random.Generator, x: Image) -> Image:
    is_large = min(x.shape[:2]) >= 8
    channels = int(random.choice((4, 6, 8, 12, 16)))
    size = int(random.choice((1, 3, 3, 3, 5)))
    stride = int(random.integers(1, 3)) if is_large else 1
    window = Window((size, size), (stride, stride))
    kind = int(random.integers(0, 5))
    if kind == 0 and is_large:
        pooling = str(random.choice(("MAX_POOL_2D", "AVERAGE_POOL_2D")))
        return model.pool(model.conv(x, channels, window, "RELU"), pooling, _HALVING)
    if kind == 1:
        multiplier = int(random.choice((1, 1, 2, 3)))
        deep = model.depthwise(x, Window((3, 3), (stride, stride)), multiplier, "RELU")
        return model.conv(deep, channels, POINT, "RELU")
    if kind == 2 and x.shape[2] > 1:
        inner = model.conv(x, x.shape[2], Window(), "RELU")
        return model.add(model.conv(inner, x.shape[2], Window()), x, "RELU")
    if kind == 3 and x.shape[2] > 1:
        return model.bottleneck(x, 3 * x.shape[2], channels, Window((3, 3), (stride, stride)))
    return model.conv(x, channels, window, "RELU")


MODELS: dict[str, Callable[[], bytes]] = {
    "pictures": pictures,
    "pictures, sixteen channels": partial(pictures, (16, 32, 32)),
    "pictures, strides": pictures_without_pooling,
    "residual digits": residual_digits,
    "separable digits": separable_digits,
    **{f"drawn {seed}": partial(drawn, seed) for seed in range(DRAWN)},
}
