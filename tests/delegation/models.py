"""Small int8 models whose regions are known, and accelerators for them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.frontend.tflite.writer_tables import TensorRef
from glowmcu.kernels.common.hooks import HOOKED

#: An accelerator that computes convolutions and additions.
ACME = """
name = "Acme NPU"
prefix = "acme"
align = 8
weights_align = 8

[cost]
cycles_per_call = 100
cycles_per_region = 300
bytes_per_cycle = 4

[[accepts]]
operator = "conv_2d"
cycles_per_mac = 0.05
when = ["out_channels % 4 == 0", "kernel_height <= 3"]

[[accepts]]
operator = "add"
cycles_per_output = 0.1
"""


#: One that computes all that hooks can, for nothing.
FREE = """
name = "All"
prefix = "all"
align = 16
weights_align = 16
""" + "".join(f'[[accepts]]\noperator = "{item.name}"\n' for item in HOOKED)


def acme(folder: Path, text: str = ACME, name: str = "acme.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


class Builder:
    """Tensors of scale 0.1 and zero point 3, with constants drawn from a seed."""

    def __init__(self, seed: int = 0) -> None:
        self.model, self._count = ModelBuilder("t"), 0
        self._random = np.random.default_rng(seed)

    def input(self, *shape: int) -> TensorRef:
        self._count += 1
        return self.model.input(f"x{self._count}", shape, "int8", 0.1, 3)

    def tensor(self, *shape: int) -> TensorRef:
        self._count += 1
        return self.model.tensor(f"t{self._count}", shape, "int8", 0.1, 3)

    def conv(self, x: TensorRef, before: int, after: int, size: int = 8, k: int = 3) -> TensorRef:
        """Of an image of `size` by `size`."""
        self._count += 1
        weights = self._random.integers(-127, 128, (after, k, k, before)).astype(np.int8)
        scales = self._random.uniform(0.001, 0.01, after).tolist()
        bias = self._random.integers(-500, 500, after).astype(np.int32)
        w = self.model.constant(f"w{self._count}", weights, scales, [0] * after, 0)
        b = self.model.constant(f"b{self._count}", bias, [s * 0.1 for s in scales], [0] * after, 0)
        y = self.tensor(1, size, size, after)
        options = {"stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1,
                   "padding": "SAME"}  # fmt: skip
        self.model.op("CONV_2D", [x, w, b], [y], options)
        return y

    def add(self, a: TensorRef, b: TensorRef, *shape: int) -> TensorRef:
        y = self.tensor(*shape)
        self.model.op("ADD", [a, b], [y], {})
        return y

    def other(self, x: TensorRef, *shape: int) -> TensorRef:
        """What no accelerator here computes, and no table can."""
        y = self.model.tensor(f"n{self._count}", shape, "int8", 1 / 128, 0)
        self._count += 1
        self.model.op("L2_NORMALIZATION", [x], [y], {})
        return y

    def finish(self, *outputs: TensorRef) -> bytes:
        for output in outputs:
            self.model.output(output)
        return self.model.finish()


def chain() -> bytes:
    """conv, conv, then what stays."""
    b = Builder()
    y = b.conv(b.conv(b.input(1, 8, 8, 4), 4, 8), 8, 8)
    return b.finish(b.other(y, 1, 8, 8, 8))


def around_the_core() -> bytes:
    """A diamond with a side on the core: both convolutions before and the addition behind it
    cannot be one region.
    """
    b = Builder(1)
    first = b.conv(b.input(1, 8, 8, 4), 4, 8)
    side = b.conv(first, 8, 8)
    core = b.other(first, 1, 8, 8, 8)
    back = b.conv(core, 8, 8)
    return b.finish(b.add(side, back, 1, 8, 8, 8))


def several_outputs() -> bytes:
    """A region whose middle is an output, too, and read by the core; two inputs."""
    b = Builder(2)
    first = b.conv(b.input(1, 8, 8, 4), 4, 8)
    total = b.add(first, b.input(1, 8, 8, 8), 1, 8, 8, 8)
    last = b.conv(total, 8, 8)
    return b.finish(total, last, b.other(first, 1, 8, 8, 8))
