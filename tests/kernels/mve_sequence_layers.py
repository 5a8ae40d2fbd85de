"""Networks of layers that Helium's depthwise kernel of sequences takes: windows of one row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.kernels.mve_layers import DEPTHWISE, FORMS, Layers, conv, random_conv
from tests.ops.test_convolution import Case


def sequence_layers() -> Layers:
    """Results around fours, channels around sixteens, any window of a vector."""
    base = Case((1, 2, 11, 16), 16, (1, 5), padding="SAME", out_scale=1.0)
    sizes = [(2, 1, 16), (3, 2, 17), (2, 3, 31), (2, 4, 32), (2, 5, 33), (3, 8, 24), (2, 9, 40)]
    sizes += [(2, 21, 70), (2, 12, 48)]
    found = {
        f"{h}x{w}x{c}": conv(DEPTHWISE, replace(base, shape=(1, h, w, c), depth_out=c))
        for h, w, c in sizes
    }
    for taps in (1, 2, 3, 4, 7, 12, 13):
        case = replace(base, kernel=(1, taps), shape=(1, 2, 16, 20), depth_out=20)
        found[f"{taps} taps"] = conv(DEPTHWISE, case)
        found[f"{taps} taps, valid"] = conv(DEPTHWISE, replace(case, padding="VALID"))
    others = {
        "dilated": replace(base, kernel=(1, 4), dilations=(1, 4)),
        "dilated, valid": replace(base, kernel=(1, 3), dilations=(1, 3), padding="VALID"),
        "stride 2 down": replace(base, shape=(1, 5, 6, 18), depth_out=18, strides=(2, 1)),
        "lying": replace(base, kernel=(5, 1), shape=(1, 28, 1, 24), depth_out=24, padding="VALID"),
        "wider than the image": replace(base, kernel=(1, 13), shape=(1, 2, 3, 16)),
        "batch of two": replace(base, shape=(2, 2, 6, 16)),
        "one for all channels": replace(base, per_channel=False),
    }
    found |= {name: conv(DEPTHWISE, case) for name, case in others.items()}
    taken = [name for name in FORMS if "clamped" not in name]
    return {**found, **{name: conv(DEPTHWISE, replace(base, **FORMS[name])) for name in taken}}


def random_sequences(count: int) -> Layers:
    """Any numbers, 16 to 50 channels, windows of one row of at most 13 pixels."""
    generator = np.random.default_rng(8)
    found = {}
    for number in range(count):
        case = random_conv(generator, DEPTHWISE)
        depth, dilation = int(generator.integers(16, 51)), case.dilations[1]
        taps = int(generator.integers(1, 12 // dilation + 2))
        width = (taps - 1) * dilation + int(generator.integers(1, 14))
        row = replace(
            case,
            shape=(1, int(generator.integers(2, 5)), width, depth),
            depth_out=depth,
            kernel=(1, taps),
            dilations=(1, dilation),
            strides=(1, 1),
            out_scale=max(case.out_scale, 0.5),
            activation="NONE",
        )
        found[f"random {number}"] = conv(DEPTHWISE, row)
    return found
