"""Float conv_2d, five pixels by four channels at a time: cores with an FPU and no float vectors.

Twenty sums share weights of two products and inputs of two: see glowmcu_fives_f32.h.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from glowmcu.ir.function_names import specialized
from glowmcu.ir.operation import Array
from glowmcu.kernels.common.overlap import Overlaps
from glowmcu.kernels.float.convolution import MatrixF32, PackedF32, conv_2d
from glowmcu.kernels.float.windows import (
    Windows,
    image_overlaps,
    image_windows,
    inside_columns,
    output_word,
    vector_overlaps,
    vector_windows,
)
from glowmcu.kernels.kernel import ConstantArray, KernelCode, Site, Target, kernel
from glowmcu.ops.convolution import Conv2D
from glowmcu.ops.real import Clamp

_FIVES = (5, 2)


def packed_fours(weights: Array, bias: Array) -> ConstantArray:
    """`weights` is (channels, products): blocks of four channels, each its products, then its
    biases. A bias of -0 is stored as 0: no sum is -0, so that results are the same.
    """
    channels, products = weights.shape
    blocks = -(-channels // 4)
    padded = np.zeros((4 * blocks, products + 1), np.float32)
    padded[:channels, :-1] = weights
    padded[:channels, -1] = bias + np.float32(0.0)
    ordered = padded.reshape(blocks, 4, products + 1).transpose(0, 2, 1)
    return ConstantArray("weights", ordered.reshape(-1), "blocks of channels, then biases")


def fours_bytes(channels: int, products: int) -> int:
    """What that takes."""
    return 16 * (products + 1) * -(-channels // 4)


def last_four(channels: int) -> int | None:
    """Where the last block begins; None if it is the only one."""
    return (channels - 1) // 4 * 4 or None


def fives_work(
    channels: int, clamp: Clamp, fives: Windows, pairs: Windows, singles: Windows
) -> dict[str, float]:
    """The work of computing all channels over these windows; a group counts once.

    Channels that fill no four are fewer sums of a five, a block of four for pairs.
    """
    fours, left = divmod(channels, 4)
    blocks = fours + bool(left)
    alone = pairs.count + singles.count
    together = 2 * pairs.count + singles.count
    return {
        "call": 1.0,
        "pixels": fives.count + alone,
        "tail": alone * bool(left),
        output_word(clamp): 5 * fives.count * channels + together * 4 * blocks,
        "block of five": fives.count * blocks,
        "row of five": fives.rows * blocks,
        "product for twenty": fives.products * fours,
        **{f"product for {5 * n}": fives.products * (left == n) for n in (1, 2, 3)},
        "block": alone * blocks,
        "row": (pairs.rows + singles.rows) * blocks,
        "one": (pairs.ones + singles.ones) * blocks,
        "product for eight": pairs.products * blocks,
        "product for four": singles.products * blocks,
    }


def _function(kind: str, site: Site) -> str:
    """Of a kind of loop, for the channels that fill no four."""
    left = _left(site)
    return specialized(f"{kind}fives", f"last {left} channels" if left else "")


def _rendered(code: KernelCode, site: Site, kind: str) -> KernelCode:
    """`code` in a function of its own for this kind of loop."""
    left, is_matrix, run = (
        _left(site),
        kind != "window",
        "vector_fives" if kind == "vector" else "fives",
    )
    windows = "matrix" if is_matrix else "conv_2d"
    headers = [f"glowmcu_{windows}_windows.h", f"glowmcu_{run}_f32.h"]
    if left:
        headers.append("glowmcu_last_fives_f32.h")
    return replace(
        code,
        function=_function(kind, site),
        header="",
        template="float/fives_f32.c.j2",
        view={
            "run": f"glowmcu_{run}_f32_compute",
            "left": left,
            "is_matrix": is_matrix,
            "headers": tuple(headers),
        },
    )


@kernel("conv_2d.matrix_fives_f32", Conv2D)
class MatrixFivesF32(MatrixF32):
    """1x1: pixels are vectors, five at a time; an FPU without float vectors."""

    packed, packed_bytes = staticmethod(packed_fours), staticmethod(fours_bytes)

    def _kind(self, site: Site) -> str:
        """Of loops: any number of inputs, or a multiple of four."""
        return "vector" if _depth(site) >= 8 and _depth(site) % 4 == 0 else "matrix"

    def code_key(self, site: Site, target: Target) -> str:
        return _function(self._kind(site), site)

    def generate(self, site: Site, target: Target) -> KernelCode:
        return _rendered(super().generate(site, target), site, self._kind(site))

    def accepts(self, site: Site, target: Target) -> bool:
        if target.core.has_mve or not super().accepts(site, target):
            return False
        _, height, width, channels = site.signature.output.shape
        return height * width >= _FIVES[0] and channels >= 4 and _depth(site) > 1

    def work(self, site: Site, target: Target) -> dict[str, float]:
        batches, height, width, channels = site.signature.output.shape
        windows = vector_windows(batches * height * width, _depth(site), _FIVES)
        work = fives_work(channels, conv_2d(site).clamp, *windows)
        return work if self._kind(site) == "matrix" else {**work, "row of five": 0.0}

    def overlaps(self, site: Site) -> Overlaps:
        _, height, width, channels = site.signature.output.shape
        return vector_overlaps(site.signature, height * width, last_four(channels), _FIVES)


@kernel("conv_2d.packed_fives_f32", Conv2D)
class PackedFivesF32(PackedF32):
    """Five pixels by four channels straight from the image; an FPU without float vectors."""

    packed, packed_bytes = staticmethod(packed_fours), staticmethod(fours_bytes)

    def accepts(self, site: Site, target: Target) -> bool:
        if target.core.has_mve or not super().accepts(site, target):
            return False
        kernel = site.signature.inputs[1].shape[1:3]
        first, end = inside_columns(conv_2d(site), site.signature, kernel)
        wide = end - first >= _FIVES[0] and site.signature.output.shape[3] >= 4
        return wide and kernel[1] * _depth(site) > 1

    def work(self, site: Site, target: Target) -> dict[str, float]:
        op, kernel = conv_2d(site), site.signature.inputs[1].shape[1:3]
        windows = image_windows(op, site.signature, kernel, _depth(site), _FIVES)
        return fives_work(site.signature.output.shape[3], op.clamp, *windows)

    def code_key(self, site: Site, target: Target) -> str:
        return _function("window", site)

    def generate(self, site: Site, target: Target) -> KernelCode:
        return _rendered(super().generate(site, target), site, "window")

    def overlaps(self, site: Site) -> Overlaps:
        kernel, channels = site.signature.inputs[1].shape[1:3], site.signature.output.shape[3]
        own = last_four(channels)
        return image_overlaps(conv_2d(site), site.signature, kernel, own, _FIVES)


def _depth(site: Site) -> int:
    """Channels of the image."""
    return site.signature.inputs[0].shape[3]


def _left(site: Site) -> int:
    """Channels that fill no four."""
    return site.signature.output.shape[3] % 4
