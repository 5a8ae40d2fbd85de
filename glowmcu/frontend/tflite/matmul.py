"""FULLY_CONNECTED and BATCH_MATMUL."""

from __future__ import annotations

from glowmcu.frontend.tflite.activation_range import fused_clamp
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.convolution import bias_or_zeros
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.ops.matmul import BatchMatMul, FullyConnected
from glowmcu.ops.shape import Reshape


@importer("FULLY_CONNECTED")
def import_fully_connected(state: Import, op: OperatorRecord) -> None:
    """Any input shape whose size is a multiple of the weights' depth becomes (rows, depth)."""
    options = op.options(tflite.FullyConnectedOptions)
    if options.WeightsFormat() != tflite.FullyConnectedOptionsWeightsFormat.DEFAULT:
        raise Unsupported("GM105", "FULLY_CONNECTED with shuffled weights is not supported")
    x, weights = state.value(op, 0), state.value(op, 1)
    if weights.type.rank != 2 or weights.type.element_count == 0:
        raise Unsupported("GM106", f"FULLY_CONNECTED needs weights (O, I), got {weights.type}")
    depth_out, depth_in = weights.type.shape
    if x.type.element_count % depth_in:
        raise Unsupported(
            "GM106",
            f"fully_connected: x is {x.type.shape} and w is {weights.type.shape}; "
            f"the elements of x must make up rows of {depth_in}",
            "are the weights stored (outputs, inputs)?",
        )
    declared = state.output_type(op)
    clamp = fused_clamp(options.FusedActivationFunction(), declared)
    bias = bias_or_zeros(state, op, 2, depth_out, options.QuantizedBiasType())
    flat = x
    if x.type.rank < 1 or x.type.shape[-1] != depth_in or not options.KeepNumDims():
        shape = (x.type.element_count // depth_in, depth_in)
        if x.type.shape != shape:
            flat = state.emit_inner(op, Reshape(shape), [x], x.type)
    state.emit(op, FullyConnected(clamp), [flat, weights, bias])


@importer("BATCH_MATMUL")
def import_batch_matmul(state: Import, op: OperatorRecord) -> None:
    """Either operand may be a constant."""
    options = op.options(tflite.BatchMatMulOptions)
    product = BatchMatMul(bool(options.AdjX()), bool(options.AdjY()))
    state.emit(op, product, [state.value(op, 0), state.value(op, 1)])
