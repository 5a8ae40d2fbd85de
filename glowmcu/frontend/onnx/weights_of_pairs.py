"""int8 weights again of the real ones that stand behind their pair, however they were turned."""

from __future__ import annotations

import numpy as np

from glowmcu.ir.operation import Array
from glowmcu.ir.types import Quantization

#: Of a channel's weights that int8 around zero does not hold, in steps of the file.
_WIDEST_STEP = 1.5


def centred(
    real: Array, quantization: Quantization, axis: int
) -> tuple[Array, Quantization] | None:
    """int8 around zero for the same weights, as kernels of convolutions take them.

    Exact wherever int8 holds the distances to the zero point; a channel that reaches farther takes
    a wider step. None if that were half as wide again, or weights are no steps of their pair.
    """
    along = [1] * real.ndim
    along[axis] = -1
    count = real.shape[axis]
    scales = np.broadcast_to(np.array(quantization.scales, np.float32), count)
    offsets = np.rint(real / scales.reshape(along))
    if not np.array_equal(offsets.astype(np.float32) * scales.reshape(along), real):
        return None
    others = tuple(i for i in range(real.ndim) if i != axis)
    farthest = np.abs(offsets).max(axis=others, initial=0.0)
    is_held = (offsets.min(axis=others, initial=0.0) >= -128) & (
        offsets.max(axis=others, initial=0.0) <= 127
    )
    steps = np.where(is_held, 1.0, farthest / 127)
    if steps.max(initial=1.0) > _WIDEST_STEP:
        return None
    stored = np.rint(offsets / steps.reshape(along)).astype(np.int8)
    wider = (scales * steps).astype(np.float32)
    numbers = tuple(float(scale) for scale in wider)
    if len(set(numbers)) == 1:
        return stored, Quantization(numbers[:1], (0,))
    return stored, Quantization(numbers, (0,) * count, axis)


def recovered(real: Array, quantization: Quantization) -> tuple[Array, bool]:
    """int8 that stands for the real numbers, and whether it does so exactly."""
    along = [1] * real.ndim
    if quantization.axis is not None:
        along[quantization.axis] = -1
    scales = np.array(quantization.scales, np.float32).reshape(along)
    points = np.array(quantization.zero_points).reshape(along)
    offsets = np.rint(real / scales)
    stored = np.clip(offsets + points, -128, 127).astype(np.int8)
    again = (stored.astype(np.int64) - points).astype(np.float32) * scales
    return stored, bool(np.array_equal(again, real))
