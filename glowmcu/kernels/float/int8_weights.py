"""Float weights that are int8 times a scale a channel: found by their values, stored as int8.

A converter's dynamic-range quantization stores int8 weights of float layers, and weight-only
quantization in ONNX does, too. Whatever wrote them: `weights == codes * scale` to within rounding.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from glowmcu.ir.operation import Array
from glowmcu.kernels.float.windows import channel_blocks
from glowmcu.kernels.kernel import ConstantArray

Codes = npt.NDArray[np.int8]
Scales = npt.NDArray[np.float32]

_MOST = 127
#: Of a weight: scales were rounded to float32, and so were their products with codes.
_ROUNDING = 2.0**-22
#: A channel whose first weights are no multiples of anything has no scale.
_FIRST = 32


def int8_weights(weights: Array) -> tuple[Codes, Scales] | None:
    """Codes and scales of `weights`, float32 (channels, products); None if they are no such thing.

    Codes are int8, scales float32, one a channel; that of zeros is 1.
    """
    scales = np.ones(len(weights), np.float64)
    peaks = np.abs(weights).max(axis=1, initial=0.0).astype(np.float64)
    if not np.isfinite(peaks).all():
        return None
    found: float | None = None
    for channel in np.flatnonzero(peaks):
        found = _scale(weights[channel], peaks[channel], found)
        if found is None:
            return None
        scales[channel] = found
    codes = np.rint(weights / scales[:, np.newaxis])
    return codes.astype(np.int8), scales.astype(np.float32)


def is_worth_int8(weights: Array) -> bool:
    """Whether a channel's scale takes less than int8 save; any single weight is 127 times one."""
    return int(weights.shape[1]) >= 2


def _scale(weights: Array, peak: float, neighbour: float | None) -> float | None:
    """That of the channel before will do where a whole tensor has one; the largest code is 127
    most often, and -128 where steps are a 255th of what is symmetric about zero.
    """
    lowest, highest = float(weights.min()), float(weights.max())
    usual = [neighbour] if neighbour is not None else []
    steps = (*range(_MOST, 0, -1), _MOST + 1)
    candidates: list[float] = [*usual, *(peak / largest for largest in steps)]
    for scale in candidates:
        fits = -(_MOST + 1.5) * scale < lowest and highest < (_MOST + 0.5) * scale
        if fits and _are_multiples(weights[:_FIRST], scale) and _are_multiples(weights, scale):
            return scale
    return None


def _are_multiples(weights: Array, scale: float) -> bool:
    real = weights.astype(np.float64)
    return bool((np.abs(np.rint(real / scale) * scale - real) <= _ROUNDING * np.abs(real)).all())


def packed_int8_blocks(weights: Array, bias: Array) -> ConstantArray:
    """`weights` as `int8_weights` takes them: blocks as glowmcu_window_w8_f32.h has them."""
    return int8_blocks(weights, bias, channel_blocks(len(weights)))


def int8_blocks(weights: Array, bias: Array, blocks: Sequence[tuple[int, int]]) -> ConstantArray:
    """The same of these blocks: the first channel of each and how many it has.

    A bias of -0 is stored as 0, as `window_f32.packed_blocks` does.
    """
    found = int8_weights(weights)
    assert found is not None, "the kernel accepts int8 weights only"
    codes, scales = found
    parts: list[npt.NDArray[np.int32]] = []
    for first, width in blocks:
        count = min(width, len(codes) - first)
        block = np.zeros((codes.shape[1], width), np.int8)
        block[:, :count] = codes[first : first + count].T
        ends = np.zeros((2, width), np.float32)
        ends[0, :count] = scales[first : first + count]
        ends[1, :count] = bias[first : first + count] + np.float32(0.0)
        parts += [_words(block), ends.reshape(-1).view(np.int32)]
    return ConstantArray(
        "weights", np.concatenate(parts), "blocks of channels: int8, then scales, then biases"
    )


def _words(block: Codes) -> npt.NDArray[np.int32]:
    """Four channels a word, the first in the low byte."""
    return block.reshape(-1).view("<i4").astype(np.int32)


def packed_int8_bytes(channels: int, products: int) -> int:
    """What that takes."""
    return (products + 8) * sum(width for _, width in channel_blocks(channels))
