"""SOFTMAX, LOG_SOFTMAX and L2_NORMALIZATION: all along the last axis."""

from __future__ import annotations

import tflite

from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
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
