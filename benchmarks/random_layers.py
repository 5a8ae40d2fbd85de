"""Families of random layers, of int8 and of int16, and models of them side by side."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.random_draws import Generator
from benchmarks.random_elements import (
    elementwise,
    extremes,
    function,
    normalization,
    pooling,
    reduction,
)
from benchmarks.random_int16 import (
    convolution_int16,
    depthwise_int16,
    fully_connected_int16,
)
from benchmarks.random_movement import movement
from benchmarks.random_weighted import (
    convolution,
    depthwise,
    fully_connected,
    matrix_product,
    transposed_convolution,
)
from glowmcu.frontend.tflite.writer import ModelBuilder

AddLayer = Callable[[Generator, ModelBuilder, str], None]
#: Of int8: what random networks are made of.
FAMILIES: dict[str, AddLayer] = {
    "conv_2d": convolution,
    "depthwise_conv_2d": depthwise,
    "fully_connected": fully_connected,
    "pool_2d": pooling,
    "elementwise": elementwise,
    "extremes": extremes,
    "reduction": reduction,
    "normalization": normalization,
    "function": function,
    "matmul": matrix_product,
    "transpose_conv_2d": transposed_convolution,
    "movement": movement,
}
ALL_FAMILIES: dict[str, AddLayer] = {
    **FAMILIES,
    "conv_2d of int16": convolution_int16,
    "depthwise_conv_2d of int16": depthwise_int16,
    "fully_connected of int16": fully_connected_int16,
}


def random_model(family: str, seed: int, layers: Sequence[int]) -> bytes:
    """A model of independent layers; layer `n` of a seed is the same whichever others are there."""
    model = ModelBuilder()
    for number in layers:
        random = np.random.default_rng([zlib.crc32(family.encode()), seed, number])
        ALL_FAMILIES[family](random, model, f"_{number}")
    return model.finish()
