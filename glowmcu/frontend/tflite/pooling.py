"""AVERAGE_POOL_2D and MAX_POOL_2D."""

from __future__ import annotations

import tflite

from glowmcu.frontend.tflite.activation_range import fused_clamp
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.convolution import positive_pair, spatial_padding
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D


@importer("AVERAGE_POOL_2D", "MAX_POOL_2D")
def import_pool_2d(state: Import, op: OperatorRecord) -> None:
    """Both have the same options."""
    options = op.options(tflite.Pool2DOptions)
    x = state.value(op, 0)
    if x.type.rank != 4:
        raise Unsupported("GM106", f"{op.name} needs rank 4, got {x.type}")
    kernel = positive_pair(options.FilterHeight(), options.FilterWidth(), "filter sizes")
    strides = positive_pair(options.StrideH(), options.StrideW(), "strides")
    padding = spatial_padding(options.Padding(), x.type.shape[1:3], kernel, strides)
    clamp = fused_clamp(options.FusedActivationFunction(), state.output_type(op))
    pool = AveragePool2D if op.name == "AVERAGE_POOL_2D" else MaxPool2D
    state.emit(op, pool(kernel, strides, padding, clamp), [x])
