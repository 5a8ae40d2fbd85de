"""Networks of layers that Helium's kernels take: sizes around their vectors, every kind of form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from glowmcu.frontend.tflite.writer import ModelBuilder
from tests.ops.test_convolution import SPATIAL, Case, add_conv

CONV, DEPTHWISE = "CONV_2D", "DEPTHWISE_CONV_2D"

Layers = Mapping[str, Callable[[ModelBuilder, str], None]]


def conv(kind: str, case: Case) -> Callable[[ModelBuilder, str], None]:
    return partial(_add_conv, kind=kind, case=case)


def _add_conv(model: ModelBuilder, suffix: str, kind: str, case: Case) -> None:
    add_conv(model, kind, case, suffix)


def four_bits(layers: Layers) -> Layers:
    """The same with weights of four bits, eight times as large."""
    return {name: _with_four_bits(add) for name, add in layers.items()}


def _with_four_bits(
    add: Callable[[ModelBuilder, str], None],
) -> Callable[[ModelBuilder, str], None]:
    assert isinstance(add, partial)
    case = add.keywords.get("case")
    if case is None:
        return partial(add, bits=4)
    weights = None if case.weights is None else case.weights >> 4
    wide = 8 * case.weights_scale
    return partial(
        add, case=replace(case, weights_type="int4", weights=weights, weights_scale=wide)
    )


def dense(rows: int, depth: int, channels: int, **numbers: float) -> Callable[..., None]:
    """A fully connected layer; `numbers`: out_scale, out_zero_point, zero_point."""

    def add(model: ModelBuilder, suffix: str, bits: int = 8) -> None:
        generator = np.random.default_rng(depth)
        most, scale_w = 1 << (bits - 1), 0.02 * (1 << (8 - bits))
        values = generator.integers(-most, most, (channels, depth)).astype(np.int8)
        bias = generator.integers(-9000, 9000, channels).astype(np.int32)
        zero_point = int(numbers.get("zero_point", -128))
        x = model.input(f"x{suffix}", (rows, depth), "int8", 0.1, zero_point)
        w = model.constant(f"w{suffix}", values, scale_w)
        b = model.constant(f"b{suffix}", bias, 0.1 * scale_w)
        scale = numbers.get("out_scale", 4.0)
        point = int(numbers.get("out_zero_point", -128))
        y = model.tensor(f"y{suffix}", (rows, channels), "int8", scale, point)
        model.op("FULLY_CONNECTED", [x, w, b], [y], {"fused_activation_function": "NONE"})
        model.output(y)

    return partial(add)


def pool(
    kind: str, shape: tuple[int, ...], kernel: tuple[int, int], strides: tuple[int, int],
    padding: str = "SAME", activation: str = "NONE",
) -> Callable[..., None]:  # fmt: skip
    def add(model: ModelBuilder, suffix: str) -> None:
        sizes = zip(shape[1:3], kernel, strides, strict=True)
        out = [
            -(-size // stride) if padding == "SAME" else (size - tap) // stride + 1
            for size, tap, stride in sizes
        ]
        x = model.input(f"x{suffix}", shape, "int8", 0.05, -3)
        y = model.tensor(f"y{suffix}", (shape[0], *out, shape[3]), "int8", 0.05, -3)
        options: dict[str, int | str] = {
            "padding": padding, "stride_h": strides[0], "stride_w": strides[1],
            "filter_height": kernel[0], "filter_width": kernel[1],
            "fused_activation_function": activation,
        }  # fmt: skip
        model.op(kind, [x], [y], options)
        model.output(y)

    return add


def pair(kind: str, a: tuple[int, ...], b: tuple[int, ...]) -> Callable[..., None]:
    """Two operands; `b` may be broadcast."""

    def add(model: ModelBuilder, suffix: str) -> None:
        first = model.input(f"a{suffix}", a, "int8", 0.0394, -128)
        second = model.input(f"b{suffix}", b, "int8", 0.1042, 4)
        out = tuple(int(size) for size in np.broadcast_shapes(a, b))
        y = model.tensor(f"y{suffix}", out, "int8", 0.0509, -128)
        model.op(kind, [first, second], [y], {"fused_activation_function": "NONE"})
        model.output(y)

    return add


#: A form of each kind; what a -128 and a zero point at an end can do.
FORMS: dict[str, dict[str, Any]] = {
    "floor": {"out_zero_point": -128, "out_scale": 4.0},
    "literal": {"out_zero_point": 17, "out_scale": 4.0},
    "literal, clamped": {"out_zero_point": -100, "out_scale": 0.4, "activation": "RELU6"},
    "input zero point 127": {"zero_point": 127, "out_zero_point": -128, "out_scale": 4.0},
    "weights all -128": {"weights": -128, "out_scale": 90.0, "out_zero_point": -128},
    "weights all 127": {"weights": 127, "out_scale": 90.0, "out_zero_point": 20},
    "saturated": {"out_scale": 0.05, "out_zero_point": -128},
    "tiny steps": {"out_scale": 0.9, "scale": 0.005, "out_zero_point": -128},
}


def forms(kind: str, case: Case) -> dict[str, Callable[[ModelBuilder, str], None]]:
    return {name: conv(kind, replace(case, **numbers)) for name, numbers in FORMS.items()}


def pointwise_layers() -> Layers:
    """Pixels around pairs, channels around fours, blocks of sixteen."""
    base = Case((1, 3, 5, 16), 8, (1, 1), out_scale=4.0, out_zero_point=-128)
    shapes = [(1, 1, 16, 1), (1, 2, 16, 2), (1, 3, 32, 3), (2, 2, 48, 4), (5, 1, 64, 5)]
    shapes += [(1, 7, 16, 7), (3, 3, 160, 13), (1, 4, 16, 17)]
    found = {
        f"{h}x{w}x{c} to {n}": conv(CONV, replace(base, shape=(1, h, w, c), depth_out=n))
        for h, w, c, n in shapes
    }
    found["batch of two"] = conv(CONV, replace(base, shape=(2, 1, 3, 16)))
    found["640 to 128"] = dense(1, 640, 128)
    found["sixteen to one"] = dense(1, 16, 1, out_zero_point=9)
    found["five rows"] = dense(5, 32, 6, zero_point=3)
    return {**found, **forms(CONV, base)}


def short_layers() -> Layers:
    """Pixels up to one vector, numbers of them around blocks of sixteen; the floor form."""
    base = Case((1, 3, 5, 8), 8, (1, 1), out_scale=4.0, out_zero_point=-128)
    shapes = [(1, 1, 1, 4), (1, 2, 7, 8), (2, 8, 16, 4), (3, 11, 8, 12), (4, 8, 15, 20)]
    found = {
        f"{h}x{w}x{c} to {n}": conv(CONV, replace(base, shape=(1, h, w, c), depth_out=n))
        for h, w, c, n in shapes
    }
    found["batch of two"] = conv(CONV, replace(base, shape=(2, 1, 3, 16)))
    found["forty rows"] = dense(40, 9, 8)
    names = ("floor", "input zero point 127", "weights all -128", "saturated", "tiny steps")
    return {**found, **{name: conv(CONV, replace(base, **FORMS[name])) for name in names}}


def window_layers() -> Layers:
    """Every walk over an image, windows around sixteen bytes, and vectors that are not full."""
    base = Case((1, 6, 5, 5), 6, (3, 3), padding="SAME", out_scale=4.0, out_zero_point=-128)
    depths = {
        f"3x3x{depth}": conv(CONV, replace(base, shape=(1, 4, 3, depth), depth_out=depth))
        for depth in (1, 2, 3, 5, 16, 17)
    }
    others = {
        "10x4 on one channel": Case((1, 21, 10, 1), 8, (10, 4), (2, 2), padding="SAME"),
        "RGB, stride 2": Case((1, 12, 12, 3), 8, (3, 3), (2, 2), padding="SAME"),
        "1x1, stride 2": Case((1, 5, 7, 16), 4, (1, 1), (2, 2)),
        "1x1, thirteen channels": Case((1, 3, 3, 13), 11, (1, 1)),
    }
    wide = {f"space: {name}": conv(CONV, scaled(case)) for name, case in SPATIAL.items()}
    found = {name: conv(CONV, scaled(case)) for name, case in others.items()}
    found["37 to 11"] = dense(1, 37, 11)
    found["three rows of ten"] = dense(3, 10, 4)
    found["one channel by depth"] = conv(DEPTHWISE, scaled(Case((1, 6, 5, 1), 8, (3, 3), (2, 2))))
    return {**found, **wide, **depths, **forms(CONV, base)}


def depthwise_layers() -> Layers:
    """Channels around eight; every walk over an image."""
    base = Case((1, 5, 4, 16), 16, (3, 2), (2, 1), padding="SAME", out_scale=1.0)
    depths = {
        f"{depth} channels": conv(DEPTHWISE, replace(base, shape=(1, 4, 3, depth), depth_out=depth))
        for depth in (8, 9, 13, 15, 16, 17, 24)
    }
    spaces = {
        f"space: {name}": conv(DEPTHWISE, scaled(deep(case, 11))) for name, case in SPATIAL.items()
    }
    return {**depths, **spaces, **forms(DEPTHWISE, base)}


def depthwise_pairs_layers() -> Layers:
    """Widths around pairs, channels around eight, any height of the window."""
    base = Case((1, 5, 6, 16), 16, (3, 3), padding="SAME", out_scale=1.0)
    sizes = [(3, 2, 8), (1, 3, 9), (4, 7, 13), (6, 8, 17), (5, 5, 24)]
    found = {
        f"{h}x{w}x{c}": conv(DEPTHWISE, replace(base, shape=(1, h, w, c), depth_out=c))
        for h, w, c in sizes
    }
    others = {
        "valid": replace(base, padding="VALID"),
        "valid, one row": replace(base, shape=(1, 3, 4, 16), padding="VALID"),
        "stride 2 down": replace(base, strides=(2, 1), shape=(1, 9, 5, 16)),
        "stride 3 down": replace(base, strides=(3, 1), shape=(1, 9, 5, 16), padding="VALID"),
        "1x3": replace(base, kernel=(1, 3)),
        "2x3": replace(base, kernel=(2, 3)),
        "8x3": replace(base, kernel=(8, 3), shape=(1, 12, 5, 8), depth_out=8),
        "taller than the image": replace(base, kernel=(5, 3), shape=(1, 2, 4, 8), depth_out=8),
        "batch of two": replace(base, shape=(2, 4, 3, 16)),
    }
    found |= {name: conv(DEPTHWISE, case) for name, case in others.items()}
    return {**found, **forms(DEPTHWISE, base)}


def depthwise_patches_layers() -> Layers:
    """Heights around pairs of rows, widths around pairs, channels around groups of sixteen."""
    base = Case((1, 5, 6, 16), 16, (3, 3), padding="SAME", out_scale=4.0, out_zero_point=-128)
    sizes = [(3, 3, 8), (2, 4, 9), (3, 5, 13), (4, 7, 15), (6, 8, 17), (7, 3, 31), (5, 6, 33)]
    sizes += [(2, 9, 70), (2, 4, 48)]
    found = {
        f"{h}x{w}x{c}": conv(DEPTHWISE, replace(base, shape=(1, h, w, c), depth_out=c))
        for h, w, c in sizes
    }
    eleven = replace(base, shape=(1, 9, 5, 11), depth_out=11)
    others = {
        "valid": replace(base, padding="VALID"),
        "valid, one row": replace(base, shape=(1, 3, 7, 16), padding="VALID"),
        "stride 2 down": replace(base, strides=(2, 1), shape=(1, 9, 5, 16)),
        "stride 3 down": replace(base, strides=(3, 1), shape=(1, 9, 5, 16), padding="VALID"),
        "1x3": replace(base, kernel=(1, 3)),
        "1x3, stride 3 down": replace(base, kernel=(1, 3), strides=(3, 1), shape=(1, 8, 5, 16)),
        "1x3, stride 4 down": replace(base, kernel=(1, 3), strides=(4, 1), shape=(1, 9, 5, 16)),
        "2x3": replace(base, kernel=(2, 3)),
        "2x3, stride 2 down": replace(eleven, kernel=(2, 3), strides=(2, 1)),
        "4x3": replace(base, kernel=(4, 3), shape=(1, 8, 5, 20), depth_out=20),
        "taller than the image": replace(base, kernel=(4, 3), shape=(1, 2, 4, 8), depth_out=8),
        "batch of two": replace(base, shape=(2, 4, 3, 16)),
    }
    found |= {name: conv(DEPTHWISE, case) for name, case in others.items()}
    names = ("floor", "input zero point 127", "weights all -128", "saturated", "tiny steps")
    return {**found, **{name: conv(DEPTHWISE, replace(base, **FORMS[name])) for name in names}}


def depthwise_strided_layers() -> Layers:
    """The same with windows two pixels apart, the last of which may begin inside or outside."""
    base = Case((1, 5, 9, 16), 16, (3, 3), strides=(2, 2), padding="SAME", out_scale=1.0)
    sizes = [(3, 3, 8), (1, 4, 9), (4, 7, 13), (6, 8, 17), (5, 5, 24)]
    found = {
        f"{h}x{w}x{c}": conv(DEPTHWISE, replace(base, shape=(1, h, w, c), depth_out=c))
        for h, w, c in sizes
    }
    others = {
        "valid": replace(base, padding="VALID"),
        "valid, even width": replace(base, shape=(1, 7, 10, 16), padding="VALID"),
        "valid, one pair": replace(base, shape=(1, 3, 5, 16), padding="VALID"),
        "stride 1 down": replace(base, strides=(1, 2)),
        "stride 3 down": replace(base, strides=(3, 2), shape=(1, 10, 6, 16)),
        "1x3": replace(base, kernel=(1, 3)),
        "8x3": replace(base, kernel=(8, 3), shape=(1, 12, 7, 8), depth_out=8),
        "taller than the image": replace(base, kernel=(5, 3), shape=(1, 2, 6, 8), depth_out=8),
        "batch of two": replace(base, shape=(2, 4, 6, 16)),
    }
    found |= {name: conv(DEPTHWISE, case) for name, case in others.items()}
    return {**found, **forms(DEPTHWISE, base)}


def depthwise_taps_layers() -> Layers:
    """Windows of any width and step, pixels around pairs, channels around eight."""
    base = Case((1, 7, 9, 16), 16, (5, 5), padding="SAME", out_scale=1.0)
    windows = [((1, 1), (1, 1)), ((1, 2), (1, 1)), ((3, 3), (2, 3)), ((5, 4), (1, 3))]
    windows += [((2, 7), (3, 2)), ((8, 5), (1, 1)), ((1, 9), (1, 4))]
    found = {
        f"{kernel}, {strides} apart": conv(DEPTHWISE, replace(base, kernel=kernel, strides=strides))
        for kernel, strides in windows
    }
    sizes = [(6, 2, 8), (5, 3, 9), (5, 7, 13), (8, 8, 17), (5, 5, 24)]
    found |= {
        f"{h}x{w}x{c}": conv(DEPTHWISE, replace(base, shape=(1, h, w, c), depth_out=c))
        for h, w, c in sizes
    }
    others = {
        "valid": replace(base, padding="VALID"),
        "valid, strides": replace(base, padding="VALID", strides=(2, 3), shape=(1, 9, 12, 9)),
        "lying": replace(base, kernel=(1, 10), shape=(1, 1, 24, 8), padding="VALID", depth_out=8),
        "batch of two": replace(base, shape=(2, 6, 3, 16)),
    }
    others["valid, strides"] = replace(others["valid, strides"], depth_out=9)
    found |= {name: conv(DEPTHWISE, case) for name, case in others.items()}
    return {**found, **forms(DEPTHWISE, base)}


def pool_layers(kind: str) -> Layers:
    found = {
        f"{channels} channels": pool(kind, (1, 5, 6, channels), (3, 2), (2, 1))
        for channels in (8, 9, 15, 16, 23)
    }
    found["whole image"] = pool(kind, (1, 16, 16, 8), (16, 16), (1, 1), "VALID")
    found["larger than the image"] = pool(kind, (1, 2, 3, 8), (5, 7), (1, 1))
    found["batch of two"] = pool(kind, (2, 3, 3, 8), (2, 2), (2, 2), "VALID")
    found["relu6"] = pool(kind, (1, 4, 4, 12), (2, 2), (1, 1), activation="RELU6")
    return found


def sum_layers() -> Layers:
    """Runs around fours; an operand that is broadcast along outer axes."""
    found = {
        f"{kind} of {size}": pair(kind, (1, size), (1, size))
        for kind in ("ADD", "SUB")
        for size in (2, 3, 4, 5, 16, 31)
    }
    found["a row to all"] = pair("ADD", (1, 3, 4, 9), (1, 1, 1, 9))
    return found


def scaled(case: Case) -> Case:
    return replace(case, out_scale=4.0)


def deep(case: Case, depth: int) -> Case:
    return replace(case, shape=(*case.shape[:3], depth), depth_out=depth)


def random_conv(generator: np.random.Generator, kind: str) -> Case:
    """Any case: sizes, steps, padding, zero points, scales from vanishing to saturating."""
    pick = generator.integers
    kernel = (int(pick(1, 5)), int(pick(1, 5)))
    dilations = (1, 1) if pick(3) else (int(pick(1, 3)), int(pick(1, 3)))
    least = [(tap - 1) * step + 1 for tap, step in zip(kernel, dilations, strict=True)]
    depth = int(pick(8, 27)) if kind == DEPTHWISE else int(pick(1, 35))
    return Case(
        shape=(1, least[0] + int(pick(0, 6)), least[1] + int(pick(0, 6)), depth),
        depth_out=depth if kind == DEPTHWISE else int(pick(1, 20)),
        kernel=kernel,
        strides=(int(pick(1, 3)), int(pick(1, 3))),
        dilations=dilations,
        padding=("SAME", "VALID")[pick(2)],
        scale=float(10 ** generator.uniform(-3, -0.5)),
        zero_point=(-128, 127, 0, int(pick(-128, 128)))[pick(4)],
        out_scale=float(10 ** generator.uniform(-0.7, 1.5)),
        out_zero_point=(-128, -128, 127, int(pick(-128, 128)))[pick(4)],
        activation=("NONE", "RELU", "RELU6")[pick(3)],
        per_channel=bool(pick(2)),
    )


def random_layers(kind: str, count: int) -> Layers:
    generator = np.random.default_rng(5)
    return {f"random {i}": conv(kind, random_conv(generator, kind)) for i in range(count)}


def random_undilated(count: int) -> Layers:
    """Depthwise ones with four to seven taps side by side, at least two results wide."""
    generator = np.random.default_rng(6)
    found = {}
    for number in range(count):
        case = random_conv(generator, DEPTHWISE)
        _, height, width, depth = case.shape
        wide = replace(
            case,
            shape=(1, height, width + 5, depth),
            kernel=(case.kernel[0], case.kernel[1] + 3),
            dilations=(1, 1),
            strides=(1, 1),
        )
        found[f"random {number}"] = conv(DEPTHWISE, wide)
    return found


def random_patches(count: int) -> Layers:
    """Depthwise ones three columns wide after a ReLU, up to 70 channels, at least three wide."""
    generator = np.random.default_rng(7)
    found = {}
    for number in range(count):
        case = random_conv(generator, DEPTHWISE)
        depth, height = int(generator.integers(8, 71)), case.kernel[0]
        narrow = replace(
            case,
            shape=(
                1,
                height + int(generator.integers(0, 7)),
                int(generator.integers(5, 12)),
                depth,
            ),
            depth_out=depth,
            kernel=(height, 3),
            dilations=(1, 1),
            strides=(case.strides[0], 1),
            out_zero_point=-128,
            activation="NONE",
        )
        found[f"random {number}"] = conv(DEPTHWISE, narrow)
    return found
