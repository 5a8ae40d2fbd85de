"""Convolution2DTransposeBias: MediaPipe's transposed convolution of float32 with a bias.

Source: MediaPipe `util/tflite/operations/transpose_conv_bias.cc`.
"""

from __future__ import annotations

import struct

from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.convolution import positive_pair
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.frontend.tflite.operands import operands
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.ops.transpose_conv import TransposeConv2D

#: The struct that the options are: padding, stride along the width, along the height.
_OPTIONS = struct.Struct("<iii")
#: TensorFlow Lite's C API counts from 1 what the file format counts from 0.
_SAME, _VALID = 1 + tflite.Padding.SAME, 1 + tflite.Padding.VALID


@importer("CUSTOM Convolution2DTransposeBias")
def import_transpose_conv_bias(state: Import, op: OperatorRecord) -> None:
    """MediaPipe's; operands: input, weights OHWI, bias. Their sizes say how large the result is."""
    x, weights, bias = operands(state, op, 3)
    found = ", ".join(str(value.type) for value in (x, weights, bias))
    if not all(value.type.element.is_float for value in (x, weights, bias)):
        raise Unsupported("GM105", f"{op.name}: expected float32, got {found}")
    if x.type.rank != 4 or weights.type.rank != 4:
        raise Unsupported("GM106", f"{op.name}: expected NHWC and OHWI, got {found}")
    if len(op.custom_options) < _OPTIONS.size:
        raise Unsupported(
            "GM128", f"{op.name}: {len(op.custom_options)} bytes of options, not {_OPTIONS.size}"
        )
    padding, stride_x, stride_y = _OPTIONS.unpack_from(op.custom_options)
    if padding not in (_SAME, _VALID):
        raise Unsupported("GM105", f"{op.name}: padding {padding} is neither SAME nor VALID")
    strides = positive_pair(stride_y, stride_x, "strides")
    size, before = [], []
    for axis, stride in enumerate(strides, 1):
        kernel, length = weights.type.shape[axis], x.type.shape[axis]
        cut = max(kernel - (length - 1) % stride - 1, 0) if padding == _SAME else 0
        size.append(stride * (length - 1) + kernel - cut)
        before.append(cut // 2)
    operation = TransposeConv2D((size[0], size[1]), strides, (before[0], before[1]))
    state.emit(op, operation, [x, weights, bias])
