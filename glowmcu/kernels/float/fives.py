"""Float conv_2d, five pixels by four channels at a time: cores with an FPU and no float vectors.

Twenty sums share weights of two products and inputs of two: see glowmcu_fives_f32.h.
"""

from __future__ import annotations

import numpy as np

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
from glowmcu.kernels.kernel import ConstantArray, Site, Target, kernel
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

    Channels that fill no four are computed for pairs and one of each five.
    """
    fours, left = channels // 4, bool(channels % 4)
    blocks = fours + left
    alone = pairs.count + singles.count
    return {
        "call": 1.0,
        "pixels": fives.count + alone,
        "tail": (3 * fives.count + alone) * left,
        output_word(clamp): (5 * fives.count + 2 * pairs.count + singles.count) * 4 * blocks,
        "block of five": fives.count * fours,
        "row of five": fives.rows * fours,
        "product for twenty": fives.products * fours,
        "block": alone * blocks + 3 * fives.count * left,
        "row": (pairs.rows + singles.rows) * blocks + 3 * fives.rows * left,
        "one": (pairs.ones + singles.ones) * blocks + 3 * fives.ones * left,
        "product for eight": pairs.products * blocks + 2 * fives.products * left,
        "product for four": singles.products * blocks + fives.products * left,
    }


@kernel("conv_2d.matrix_fives_f32", Conv2D)
class MatrixFivesF32(MatrixF32):
    """1x1: pixels are vectors, five at a time; an FPU without float vectors."""

    function = "glowmcu_matrix_fives_f32"
    packed, packed_bytes = staticmethod(packed_fours), staticmethod(fours_bytes)

    def _is_any(self, site: Site) -> bool:
        """Whether the loops are those of any number of inputs."""
        return _depth(site) < 8 or _depth(site) % 4 > 0

    def function_of(self, site: Site) -> str:
        return self.function if self._is_any(site) else "glowmcu_vector_fives_f32"

    def code_key(self, site: Site, target: Target) -> str:
        return self.function_of(site)

    def accepts(self, site: Site, target: Target) -> bool:
        if target.core.has_mve or not super().accepts(site, target):
            return False
        _, height, width, channels = site.signature.output.shape
        return height * width >= _FIVES[0] and channels >= 4 and _depth(site) > 1

    def work(self, site: Site, target: Target) -> dict[str, float]:
        batches, height, width, channels = site.signature.output.shape
        windows = vector_windows(batches * height * width, _depth(site), _FIVES)
        work = fives_work(channels, conv_2d(site).clamp, *windows)
        return work if self._is_any(site) else {**work, "row of five": 0.0}

    def overlaps(self, site: Site) -> Overlaps:
        _, height, width, channels = site.signature.output.shape
        return vector_overlaps(site.signature, height * width, last_four(channels), _FIVES)


@kernel("conv_2d.packed_fives_f32", Conv2D)
class PackedFivesF32(PackedF32):
    """Five pixels by four channels straight from the image; an FPU without float vectors."""

    function = "glowmcu_conv_2d_fives_f32"
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

    def overlaps(self, site: Site) -> Overlaps:
        kernel, channels = site.signature.inputs[1].shape[1:3], site.signature.output.shape[3]
        own = last_four(channels)
        return image_overlaps(conv_2d(site), site.signature, kernel, own, _FIVES)


def _depth(site: Site) -> int:
    """Channels of the image."""
    return site.signature.inputs[0].shape[3]
