"""SOFTMAX, LOG_SOFTMAX, L2_NORMALIZATION, LOCAL_RESPONSE_NORMALIZATION: along the last axis."""

from __future__ import annotations

from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.ops.moments import LocalResponseNormalization
from glowmcu.ops.normalization import L2Normalization, LogSoftmax, Softmax


@importer("SOFTMAX")
def import_softmax(state: Import, op: OperatorRecord) -> None:
    """`beta` scales the input."""
    beta = float(op.options(tflite.SoftmaxOptions).Beta())
    state.emit(op, Softmax(beta), [state.value(op, 0)])


@importer("LOG_SOFTMAX")
def import_log_softmax(state: Import, op: OperatorRecord) -> None:
    """No options."""
    state.emit(op, LogSoftmax(), [state.value(op, 0)])


@importer("L2_NORMALIZATION")
def import_l2_normalization(state: Import, op: OperatorRecord) -> None:
    """No runtime has a fused activation here."""
    activation = op.options(tflite.L2NormOptions).FusedActivationFunction()
    if activation != tflite.ActivationFunctionType.NONE:
        raise Unsupported("GM105", "L2_NORMALIZATION with a fused activation is not supported")
    state.emit(op, L2Normalization(), [state.value(op, 0)])


@importer("LOCAL_RESPONSE_NORMALIZATION")
def import_local_response_normalization(state: Import, op: OperatorRecord) -> None:
    """`radius` neighbours in front, one fewer behind: the reference kernel's loop ends there."""
    options = op.options(tflite.LocalResponseNormalizationOptions)
    radius = int(options.Radius())
    if radius < 1:
        raise Unsupported("GM105", f"LOCAL_RESPONSE_NORMALIZATION with radius {radius}")
    numbers = float(options.Alpha()), float(options.Beta()), float(options.Bias())
    operation = LocalResponseNormalization(radius, radius - 1, *numbers)
    state.emit(op, operation, [state.value(op, 0)])
