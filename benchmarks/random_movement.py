"""Random layers that move data: joining, cutting, padding, turning, resizing."""

from __future__ import annotations

import numpy as np

from benchmarks.random_draws import CHANNELS, Generator, pick, zero_point
from glowmcu.frontend.tflite.writer import ModelBuilder

_SCALE = 0.05


def _shape(random: Generator) -> tuple[int, ...]:
    height, width = (int(n) for n in random.integers(1, 8, 2))
    return 1, height, width, int(pick(random, CHANNELS[:14]))


def concatenation(random: Generator, model: ModelBuilder, suffix: str) -> None:
    """CONCATENATION of two or three tensors along any axis."""
    shape, axis = _shape(random), int(random.integers(1, 4))
    sizes = [int(n) for n in random.integers(1, 9, int(random.integers(2, 4)))]
    point = zero_point(random)
    parts = []
    for number, size in enumerate(sizes):
        part = (*shape[:axis], size, *shape[axis + 1 :])
        parts.append(model.input(f"x{number}{suffix}", part, "int8", _SCALE, point))
    out = (*shape[:axis], sum(sizes), *shape[axis + 1 :])
    y = model.tensor(f"y{suffix}", out, "int8", _SCALE, point)
    model.op("CONCATENATION", parts, [y], {"axis": axis})
    model.output(y)


def rearrangement(random: Generator, model: ModelBuilder, suffix: str) -> None:
    """PAD, MIRROR_PAD, SLICE, STRIDED_SLICE, TRANSPOSE, TILE, blocks and space, one of them."""
    choose = pick(random, (_pad, _mirror, _slice, _strided, _transpose, _tile, _blocks))
    choose(random, model, suffix)


def _layer(
    random: Generator, model: ModelBuilder, suffix: str, kind: str, shape: tuple[int, ...],
    constants: list[list[int] | list[list[int]]], out: tuple[int, ...],
    options: dict[str, int | str] | None = None,
) -> None:  # fmt: skip
    point = zero_point(random)
    x = model.input(f"x{suffix}", shape, "int8", _SCALE, point)
    operands = [x]
    for number, values in enumerate(constants):
        operands.append(model.constant(f"c{number}{suffix}", np.array(values, np.int32)))
    y = model.tensor(f"y{suffix}", out, "int8", _SCALE, point)
    model.op(kind, operands, [y], options or {}, version=1)
    model.output(y)


def _pad(random: Generator, model: ModelBuilder, suffix: str) -> None:
    shape = _shape(random)
    paddings = [[0, 0], *([int(n) for n in random.integers(0, 4, 2)] for _ in range(3))]
    out = tuple(n + sum(p) for n, p in zip(shape, paddings, strict=True))
    _layer(random, model, suffix, "PAD", shape, [paddings], out)


def _mirror(random: Generator, model: ModelBuilder, suffix: str) -> None:
    shape = _shape(random)
    mode = str(pick(random, ("REFLECT", "SYMMETRIC")))
    most = [min(n - (mode == "REFLECT"), 3) for n in shape]
    paddings = [[int(random.integers(0, n + 1)) for _ in range(2)] for n in most]
    paddings[0] = [0, 0]
    out = tuple(n + sum(p) for n, p in zip(shape, paddings, strict=True))
    _layer(random, model, suffix, "MIRROR_PAD", shape, [paddings], out, {"mode": mode})


def _slice(random: Generator, model: ModelBuilder, suffix: str) -> None:
    shape = _shape(random)
    begin = [int(random.integers(0, n)) for n in shape]
    size = [int(random.integers(1, n - b + 1)) for n, b in zip(shape, begin, strict=True)]
    _layer(random, model, suffix, "SLICE", shape, [begin, size], tuple(size))


def _strided(random: Generator, model: ModelBuilder, suffix: str) -> None:
    shape = _shape(random)
    spans = []
    for n in shape:
        first, last = sorted(int(i) for i in random.integers(0, n, 2))
        step = int(random.integers(1, 4))
        forward = random.random() < 0.7 or first == 0
        spans.append((first, last + 1, step) if forward else (last, first - 1, -step))
    out = tuple(len(range(*span)) for span in spans)
    constants = [[int(span[i]) for span in spans] for i in range(3)]
    _layer(random, model, suffix, "STRIDED_SLICE", shape, list(constants), out)


def _transpose(random: Generator, model: ModelBuilder, suffix: str) -> None:
    shape = _shape(random)
    order = [int(n) for n in random.permutation(4)]
    out = tuple(shape[axis] for axis in order)
    _layer(random, model, suffix, "TRANSPOSE", shape, [order], out)


def _tile(random: Generator, model: ModelBuilder, suffix: str) -> None:
    shape = _shape(random)
    times = [1, *(int(n) for n in random.integers(1, 4, 3))]
    out = tuple(n * t for n, t in zip(shape, times, strict=True))
    _layer(random, model, suffix, "TILE", shape, [times], out)


def _blocks(random: Generator, model: ModelBuilder, suffix: str) -> None:
    """SPACE_TO_DEPTH or DEPTH_TO_SPACE."""
    _, height, width, depth = _shape(random)
    block = int(random.integers(2, 4))
    small = (1, height, width, depth * block * block)
    large = (1, height * block, width * block, depth)
    wide = random.random() < 0.5
    kind = "DEPTH_TO_SPACE" if wide else "SPACE_TO_DEPTH"
    shapes = (small, large) if wide else (large, small)
    _layer(random, model, suffix, kind, shapes[0], [], shapes[1], {"block_size": block})


def resizing(random: Generator, model: ModelBuilder, suffix: str) -> None:
    """RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR in their three modes."""
    kind = str(pick(random, ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")))
    mode = pick(random, ({}, {"align_corners": True}, {"half_pixel_centers": True}))
    shape = _shape(random)
    size = [int(n) for n in random.integers(1, 14, 2)]
    out = (1, *size, shape[3])
    _layer(random, model, suffix, kind, shape, [size], out, mode)


def gathering(random: Generator, model: ModelBuilder, suffix: str) -> None:
    """GATHER of constant places along any axis."""
    shape, axis = _shape(random), int(random.integers(1, 4))
    places = [int(n) for n in random.integers(0, shape[axis], int(random.integers(1, 6)))]
    out = (*shape[:axis], len(places), *shape[axis + 1 :])
    _layer(random, model, suffix, "GATHER", shape, [places], out, {"axis": axis})


def movement(random: Generator, model: ModelBuilder, suffix: str) -> None:
    """Any of the above."""
    choose = pick(random, (concatenation, rearrangement, rearrangement, resizing, gathering))
    choose(random, model, suffix)
