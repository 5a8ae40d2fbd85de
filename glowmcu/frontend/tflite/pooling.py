"""AVERAGE_POOL_2D, MAX_POOL_2D and L2_POOL_2D."""

from __future__ import annotations

import math
from dataclasses import replace

from glowmcu.frontend.tflite.activation_range import fused_clamp
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.convolution import positive_pair, spatial_padding
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.ir.graph import Value
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.pooling import AveragePool2D, L2Pool2D, MaxPool2D
from glowmcu.ops.quantization import Requantize

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
    out = state.output_type(op)
    clamp = fused_clamp(options.FusedActivationFunction(), out)
    operation = _OPERATIONS[op.name](kernel, strides, padding, clamp)
    if isinstance(operation, AveragePool2D) and _rounds_as_unsigned(operation, x.type, out):
        _emit_unsigned_mean(state, op, operation, x)
    else:
        state.emit(op, operation, [x])


def _rounds_as_unsigned(operation: AveragePool2D, x: TensorType, out: TensorType) -> bool:
    """Whether means of uint8 may be halves, which go up there, and away from zero in int8.

    An odd number of taps has no mean that is a half.
    """
    is_unsigned = all(each.element is ElementType.UI8 and each.quantization for each in (x, out))
    is_odd = math.prod(operation.kernel) % 2 == 1 and not any(operation.padding)
    return is_unsigned and not is_odd


def _emit_unsigned_mean(
    state: Import, op: OperatorRecord, operation: AveragePool2D, x: Value
) -> None:
    """Means of the same numbers in int16: none is negative, so that halves go up."""
    out = replace(state.output_type(op), element=ElementType.I16)
    wide = replace(x.type, element=ElementType.I16)
    stored = state.emit_inner(op, Requantize(), [state.signed(op, x)], wide)
    means = state.emit_inner(op, operation, [stored], out)
    state.emit_signed(op, Requantize(), [means])
