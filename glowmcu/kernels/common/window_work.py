"""Amounts of work in windows that slide over an image: what `Kernel.work` of several counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from glowmcu.ir.operation import Signature
from glowmcu.ir.value_range import Int64Array
from glowmcu.lazy_dataclass import dataclass


class Window(Protocol):
    """An operator with a sliding window: convolution, depthwise convolution, pooling."""

    @property
    def strides(self) -> tuple[int, int]: ...
    @property
    def dilations(self) -> tuple[int, int]: ...
    @property
    def padding(self) -> tuple[int, int, int, int]: ...


@dataclass(frozen=True)
class WindowWork:
    """Of a whole batch. Taps are places of the window that lie inside the image.

    `pixels` are output pixels, `rows` rows of windows (one of each output pixel for each of its
    taps along y), `taps` taps of all pixels.
    """

    pixels: int
    rows: int
    taps: int


def window_work(op: Window, signature: Signature, kernel: Sequence[int]) -> WindowWork:
    """For an NHWC image as operand 0 and as result; `kernel` is height and width."""
    x, out = signature.inputs[0].shape, signature.output.shape
    down, along = (
        int(taps_inside(x[1 + axis], out[1 + axis], kernel[axis], op.strides[axis],
                        op.dilations[axis], (op.padding[0], op.padding[1])[axis]).sum())
        for axis in (0, 1)
    )  # fmt: skip
    return WindowWork(
        pixels=out[0] * out[1] * out[2], rows=out[0] * down * out[2], taps=out[0] * down * along
    )


def taps_inside(
    size: int, out: int, kernel: int, stride: int, dilation: int, before: int
) -> Int64Array:
    """Taps inside the image of each window along one axis."""
    origins = np.arange(out, dtype=np.int64) * stride - before
    places = origins[:, np.newaxis] + np.arange(kernel, dtype=np.int64) * dilation
    counts: Int64Array = ((places >= 0) & (places < size)).sum(axis=1, dtype=np.int64)
    return counts
