"""Layers that Helium's kernels take which read windows where they lie."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.kernels.mve_layers import (
    CONV,
    DEPTHWISE,
    Layers,
    conv,
    dense,
    forms,
    random_conv,
    scaled,
)
from tests.ops.test_convolution import Case


def direct_layers() -> Layers:
    """Rows of windows around whole vectors, every number of blocks a turn, padding on any side."""
    base = Case((1, 6, 5, 16), 8, (3, 3), padding="SAME", out_scale=4.0, out_zero_point=-128)
    sizes = [(1, 3, 16), (1, 2, 3), (2, 1, 17), (5, 2, 32), (4, 7, 16), (3, 4, 48), (3, 3, 70)]
    found = {
        f"{h}x{w}x{c}": conv(CONV, replace(base, shape=(1, h, w, c), depth_out=4))
        for h, w, c in sizes
    }
    windows = [((1, 1), depth) for depth in (16, 32, 48, 64, 80, 112, 128, 176)]
    windows += [((2, 2), 16), ((5, 5), 16), ((4, 7), 16), ((3, 4), 20)]
    found |= {
        f"{kernel}, {c} channels": conv(
            CONV, replace(base, kernel=kernel, shape=(1, 5, 7, c), depth_out=12)
        )
        for kernel, c in windows
    }
    others = {
        "RGB, stride 2": replace(base, shape=(1, 12, 12, 3), strides=(2, 2)),
        "10x4 on one channel": Case((1, 21, 10, 1), 8, (10, 4), (2, 2), padding="SAME"),
        "1x1, stride 2": replace(base, kernel=(1, 1), shape=(1, 5, 7, 16), strides=(2, 2)),
        "1x1, thirteen channels": replace(base, kernel=(1, 1), shape=(1, 3, 4, 13)),
        "to one channel": replace(base, depth_out=1),
        "1x1 to 3 channels": replace(base, kernel=(1, 1), depth_out=3),
        "3x3 to 5 channels": replace(base, depth_out=5),
        "2x3 to 18 channels": replace(base, depth_out=18, kernel=(2, 3)),
        "seven channels, literal": replace(base, depth_out=7, out_zero_point=3),
        "valid": replace(base, padding="VALID"),
        "valid, stride 2": replace(base, padding="VALID", strides=(2, 2), shape=(1, 8, 9, 16)),
        "stride 3 down, valid": replace(base, strides=(3, 1), shape=(1, 9, 5, 8), padding="VALID"),
        "taller than the image": replace(base, kernel=(5, 3), shape=(1, 2, 4, 16)),
        "wider than the image": replace(base, kernel=(3, 9), shape=(1, 4, 2, 16)),
        "batch of two": replace(base, shape=(2, 4, 3, 16)),
        "batch of two, one row": replace(base, shape=(2, 1, 3, 16), kernel=(1, 1)),
    }
    found |= {name: conv(CONV, scaled(case)) for name, case in others.items()}
    ends = [(1, 7, 3), (2, 9, 1), (3, 3, 15), (5, 5, 31), (1, 2, 1), (4, 4, 57), (2, 1, 17)]
    found |= {
        f"1x1 on {h}x{w}x{c}": conv(
            CONV, scaled(Case((1, h, w, c), 6, (1, 1), out_zero_point=-128))
        )
        for h, w, c in ends
    }
    found["five rows of 37"] = dense(5, 37, 11)
    found["two batches of 1x1x19"] = conv(CONV, scaled(Case((2, 3, 3, 19), 9, (1, 1))))
    found["five rows of 32"] = dense(5, 32, 8, zero_point=3)
    found["two rows of 160"] = dense(2, 160, 4)
    found["one channel by depth"] = conv(DEPTHWISE, scaled(Case((1, 6, 5, 1), 8, (3, 3), (2, 2))))
    return {**found, **forms(CONV, base)}


def straight_layers() -> Layers:
    """Windows of several rows that come in pairs, or of one row, whose products are written out:
    every way to share and to reach vectors, as many as there may be and one more, single results
    of a row; channels around those of a turn.
    """
    base = Case((1, 5, 6, 16), 8, (3, 3), padding="SAME", out_scale=4.0, out_zero_point=-128)
    windows = [((3, 3), 16), ((2, 2), 16), ((2, 4), 16), ((3, 2), 16), ((5, 3), 16), ((4, 1), 16)]
    windows += [((3, 3), 64), ((3, 3), 32), ((2, 3), 100), ((9, 4), 16), ((37, 1), 16), ((2, 1), 3)]
    found = {
        f"{kernel}, {c} channels": conv(
            CONV, replace(base, kernel=kernel, shape=(1, 5, 6, c), depth_out=8)
        )
        for kernel, c in windows
    }
    others = {
        "stride 2": replace(base, strides=(2, 2), shape=(1, 8, 8, 16)),
        "stride 2, far": replace(base, strides=(2, 2), shape=(1, 4, 4, 48), depth_out=12),
        "stride 7": replace(base, strides=(1, 7), shape=(1, 4, 27, 18)),
        "stride 8, too far": replace(base, strides=(1, 8), shape=(1, 4, 32, 16)),
        "to one channel": replace(base, depth_out=1),
        "to 6 channels": replace(base, depth_out=6),
        "RGB to 17 channels": replace(base, shape=(1, 6, 8, 3), depth_out=17),
        "batch of two": replace(base, shape=(2, 3, 2, 16)),
        "valid": replace(base, padding="VALID", shape=(1, 5, 8, 16), depth_out=20),
        "columns beside each other": replace(base, kernel=(3, 1), shape=(1, 4, 2, 16)),
    }
    sizes = [(1, 16, 8), (2, 16, 40), (3, 32, 23), (1, 48, 16), (3, 64, 24), (2, 60, 25), (3, 9, 5)]
    sizes += [(2, 16, 4), (3, 16, 12), (2, 32, 26), (1, 80, 12), (3, 128, 30)]
    others |= {
        f"1x1{' to' if out % 4 else ','} {out} channels": replace(
            base, kernel=(1, 1), shape=(1, height, 3, depth), depth_out=out
        )
        for height, depth, out in sizes
    }
    for name, case in others.items():
        found[name] = conv(CONV, scaled(case))
        literal = scaled(replace(case, out_zero_point=3))
        found[f"{name}, literal"] = conv(CONV, literal)
        found[f"{name}, clamped"] = conv(CONV, replace(literal, activation="RELU"))
    beyond = replace(base, out_scale=0.01, out_zero_point=3)
    found["beyond 16 bits"] = conv(CONV, beyond)
    pixels = replace(beyond, kernel=(1, 1), shape=(1, 2, 3, 64))
    found["1x1, beyond 16 bits"] = conv(CONV, pixels)
    return found


def masked_layers() -> Layers:
    """Channels of whole fours, by functions that mask the last ones."""
    base = Case((1, 6, 5, 16), 8, (3, 3), padding="SAME", out_scale=4.0, out_zero_point=-128)
    cases = {
        "3x3": base,
        "1x1": replace(base, kernel=(1, 1), depth_out=4),
        "1x1, 96 channels": replace(base, kernel=(1, 1), shape=(1, 3, 3, 96), depth_out=12),
        "2x2, ten channels": replace(base, kernel=(2, 2), shape=(1, 3, 3, 10)),
    }
    return {**{name: conv(CONV, case) for name, case in cases.items()}, **forms(CONV, base)}


def unshifted_layers() -> Layers:
    """Weights of four bits whose results' scale leaves nothing to shift, which ReLU may hide."""
    base = Case(
        (1, 3, 4, 32), 12, (3, 3), padding="SAME", weights_type="int4", out_scale=0.004,
        out_zero_point=-128,
    )  # fmt: skip
    return {
        "no shift": conv(CONV, base),
        "no shift, relu": conv(CONV, replace(base, activation="RELU", zero_point=3)),
    }


def narrow_layers() -> Layers:
    """Few channels: windows around one, two and more vectors, numbers of them around eight."""
    base = Case((1, 6, 5, 3), 8, (3, 3), padding="SAME", out_scale=4.0, out_zero_point=-128)
    sizes = [(1, 2, 3), (2, 1, 1), (2, 4, 5), (3, 3, 3), (1, 17, 2), (7, 8, 4)]
    found = {
        f"{h}x{w}x{c}": conv(CONV, replace(base, shape=(1, h, w, c), depth_out=h + 3))
        for h, w, c in sizes
    }
    windows = [((1, 1), 3), ((1, 4), 4), ((2, 16), 1), ((5, 5), 3), ((7, 7), 2), ((9, 2), 8)]
    found |= {
        f"{kernel}, {c} channels": conv(
            CONV, replace(base, kernel=kernel, shape=(1, 9, 18, c), depth_out=12)
        )
        for kernel, c in windows
    }
    others = {
        "RGB, stride 2": replace(base, shape=(1, 12, 12, 3), strides=(2, 2)),
        "10x4 on one channel": Case((1, 21, 10, 1), 8, (10, 4), (2, 2), padding="SAME"),
        "valid": replace(base, padding="VALID"),
        "valid, stride 3": replace(base, padding="VALID", strides=(3, 3), shape=(1, 10, 9, 3)),
        "taller than the image": replace(base, kernel=(5, 3), shape=(1, 2, 4, 4)),
        "wider than the image": replace(base, kernel=(3, 9), shape=(1, 4, 2, 1)),
        "batch of two": replace(base, shape=(2, 4, 3, 3)),
    }
    found |= {name: conv(CONV, scaled(case)) for name, case in others.items()}
    found["one channel by depth"] = conv(DEPTHWISE, scaled(Case((1, 6, 5, 1), 8, (3, 3), (2, 2))))
    return {**found, **forms(CONV, base)}


def random_direct(count: int) -> Layers:
    """Undilated ones of any depth, with more than one window."""
    generator = np.random.default_rng(7)
    found = {}
    for number in range(count):
        case = random_conv(generator, CONV)
        batch, height, width, _ = case.shape
        shape = (batch, height, width + 2, int(generator.integers(1, 71)))
        found[f"random {number}"] = conv(CONV, replace(case, shape=shape, dilations=(1, 1)))
    return found
