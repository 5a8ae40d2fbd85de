"""AVERAGE_POOL_2D, MAX_POOL_2D and L2_POOL_2D."""

from __future__ import annotations

from glowmcu.frontend.tflite.activation_range import fused_clamp
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.convolution import positive_pair, spatial_padding
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.ops.pooling import AveragePool2D, L2Pool2D, MaxPool2D

_OPERATIONS: dict[str, type[AveragePool2D | L2Pool2D | MaxPool2D]] = {
    "AVERAGE_POOL_2D": AveragePool2D,
    "L2_POOL_2D": L2Pool2D,
    "MAX_POOL_2D": MaxPool2D,
}


@importer(*_OPERATIONS)
def import_pool_2d(state: Import, op: OperatorRecord) -> None:
    """All have the same options; L2_POOL_2D is of float32 alone."""
    options = op.options(tflite.Pool2DOptions)
    x = state.value(op, 0)
    if x.type.rank != 4:
        raise Unsupported("GM106", f"{op.name} needs rank 4, got {x.type}")
    kernel = positive_pair(options.FilterHeight(), options.FilterWidth(), "filter sizes")
    strides = positive_pair(options.StrideH(), options.StrideW(), "strides")
    _, height, width, _ = x.type.shape
    padding = spatial_padding(options.Padding(), (height, width), kernel, strides)
    clamp = fused_clamp(options.FusedActivationFunction(), state.output_type(op))
    state.emit(op, _OPERATIONS[op.name](kernel, strides, padding, clamp), [x])
