"""Averages between pairs of different scales: one rounding, at the scale of the result.

An average of int8 in TensorFlow Lite keeps its operand's scale. Where a pair gives the result a
finer one, steps of the operand's scale would be rounded a second time, and be several of the
result's. A mean and a convolution have scales of their own.
"""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.onnx.pair_forms import Form
from glowmcu.ir.operation import Array, Operation
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.convolution import DepthwiseConv2D
from glowmcu.ops.pooling import AveragePool2D
from glowmcu.ops.reduction import Mean


@dataclass(frozen=True)
class Average:
    """An operator that computes the averages of int8 images; `constants` follow its operand."""

    op: Operation
    constants: tuple[tuple[Array, Quantization], ...] = ()


def average_between(op: AveragePool2D, x: TensorType, wanted: Form) -> Average | None:
    """`op` on `x` with a result in the form that is wanted; None where its own meaning does: in
    the same form, beside the image's edges, in 16 bits.
    """
    is_byte = x.element is wanted.element is ElementType.I8
    same = x.quantization == wanted.quantization
    if not is_byte or same or op.clamp is not None or any(op.padding):
        return None
    if op.kernel == x.shape[1:3]:
        return Average(Mean((1, 2), keep_dims=True))
    count = op.kernel[0] * op.kernel[1]
    channels = x.shape[3]
    weights = np.ones((1, *op.kernel, channels), np.int8)
    scale = float(np.float32(1.0 / count))
    return Average(
        DepthwiseConv2D(op.strides, op.dilations),
        (
            (weights, Quantization((scale,), (0,))),
            (np.zeros(channels, np.int32), Quantization((x.scale * scale,), (0,))),
        ),
    )
