"""SVDF: rank-1 filters over time, with the queue of their products as a state."""

from __future__ import annotations

from glowmcu.frontend.tflite.activation_range import fused_clamp
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.convolution import bias_or_zeros
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.frontend.tflite.variable_tensors import emit_updating, variable
from glowmcu.ir.types import TensorType
from glowmcu.ops.svdf import Svdf

_BIAS, _STATE = 3, 4
#: What a bias's scale may be off, as TensorFlow Lite Micro has it.
_BIAS_TOLERANCE = 1e-5


@importer("SVDF")
def import_svdf(state: Import, op: OperatorRecord) -> None:
    """Of int8 the fused activation is what the result's range leaves, as in the reference."""
    options = op.options(tflite.SVDFOptions)
    if len(op.inputs) != _STATE + 1:
        raise Unsupported("GM105", f"{op.name} has {len(op.inputs)} operands, expected 5")
    x, features, times = (state.value(op, position) for position in range(3))
    for position, what in ((1, "feature weights"), (2, "time weights"), (_BIAS, "bias")):
        if state.has(op, position):
            state.constant(op, position, what)
    queue = variable(state, op, _STATE, "state")
    rank = int(options.Rank())
    if rank < 1 or features.type.rank != 2:
        raise Unsupported("GM106", f"svdf: rank {rank} of filters {features.type}")
    declared = state.output_type(op)
    bias = bias_or_zeros(state, op, _BIAS, features.type.shape[0] // rank)
    is_float = declared.element.is_float
    clamp = fused_clamp(options.FusedActivationFunction(), declared) if is_float else None
    if not is_float and state.has(op, _BIAS):
        _check_bias(state, op, times.type, queue.type)
    emit_updating(state, op, Svdf(rank, clamp), [x, features, times, bias, queue], (_STATE,))


def _check_bias(state: Import, op: OperatorRecord, times: TensorType, queue: TensorType) -> None:
    """The bias's scale is that of the sums, which a reader of the file relies on."""
    scales = state.model.tensors[op.inputs[_BIAS]].scales
    if times.quantization is None or queue.quantization is None:
        return  # the operator says what is missing
    expected = times.quantization.scales[0] * queue.quantization.scales[0]
    got = scales[0] if scales else 0.0
    if not abs(got - expected) < _BIAS_TOLERANCE:
        raise Unsupported(
            "GM106", f"svdf: its bias has scale {got:.6g}, expected {expected:.6g}",
            "it is the product of the scales of the time weights and of the state",
        )  # fmt: skip
