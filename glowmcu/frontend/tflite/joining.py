"""CONCATENATION and PACK."""

from __future__ import annotations

from glowmcu.frontend.tflite.axes import positive_axis
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.ir.graph import Value
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.shape import Reshape


@importer("CONCATENATION")
def import_concatenation(state: Import, op: OperatorRecord) -> None:
    """All operands in the result's quantization, no fused activation: as TFLM has it."""
    options = op.options(tflite.ConcatenationOptions)
    if options.FusedActivationFunction() != tflite.ActivationFunctionType.NONE:
        raise Unsupported(
            "GM105", "concatenation: a fused activation is not supported",
            "export the model with the activation as an operator of its own",
        )  # fmt: skip
    values = [state.value(op, i) for i in range(len(op.inputs))]
    _expect_one_quantization(state, op, values)
    axis = positive_axis(options.Axis(), state.output_type(op).rank, op)
    state.emit(op, Concatenation(axis), values)


@importer("PACK")
def import_pack(state: Import, op: OperatorRecord) -> None:
    """Operands stacked along a new axis: each gets an axis of length 1, then they are joined."""
    values = [state.value(op, i) for i in range(len(op.inputs))]
    if any(value.type.shape != values[0].type.shape for value in values):
        raise Unsupported("GM106", f"pack: operands of {[v.type.shape for v in values]} differ")
    _expect_one_quantization(state, op, values)
    shape = values[0].type.shape
    axis = positive_axis(op.options(tflite.PackOptions).Axis(), len(shape) + 1, op)
    stacked = (*shape[:axis], 1, *shape[axis:])
    parts = [state.emit_inner(op, Reshape(stacked), [value], value.type) for value in values]
    state.emit(op, Concatenation(axis), parts)


def _expect_one_quantization(state: Import, op: OperatorRecord, values: list[Value]) -> None:
    out = state.output_type(op)
    for position, value in enumerate(values):
        if value.type.quantization != out.quantization:
            raise Unsupported(
                "GM105",
                f"{op.name.lower()}: operand {position} is {value.type}, the result {out}; "
                "expected the same scale and zero point",
                "re-export the model: the converter requantizes operands that differ",
            )
