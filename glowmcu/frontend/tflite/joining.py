"""CONCATENATION and PACK."""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.tflite.axes import positive_axis
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.lookup import Lookup
from glowmcu.ops.shape import Reshape


@importer("CONCATENATION")
def import_concatenation(state: Import, op: OperatorRecord) -> None:
    """All operands in the result's quantization (LiteRT rescales uint8), no fused activation: as
    TFLM has it.
    """
    options = op.options(tflite.ConcatenationOptions)
    if options.FusedActivationFunction() != tflite.ActivationFunctionType.NONE:
        raise Unsupported(
            "GM105", "concatenation: a fused activation is not supported",
            "export the model with the activation as an operator of its own",
        )  # fmt: skip
    values = [_rescaled(state, op, state.value(op, i)) for i in range(len(op.inputs))]
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


def _rescaled(state: Import, op: OperatorRecord, value: Value) -> Value:
    """An operand of uint8 in the result's quantization, by a table; others as they are."""
    x, out = value.type, state.output_type(op)
    if {x.element, out.element} != {ElementType.UI8} or x.quantization == out.quantization:
        return value
    if x.quantization is None or x.quantization.per_channel or out.quantization is None:
        return value
    table = _rescaling(x, out)
    return state.emit_inner(op, Lookup(table), [value], out)


def _rescaling(x: TensorType, out: TensorType) -> Array:
    """uint8 for each byte: in float32 as LiteRT's `reference/concatenation.h` computes it."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        scale = np.float32(x.scale) * (np.float32(1) / np.float32(out.scale))
        real = np.arange(256, dtype=np.float32) * scale + np.float32(-x.zero_point) * scale
    steps = np.nan_to_num(np.clip(real.astype(np.float64), -1e6, 1e6))
    rounded = np.copysign(np.floor(np.abs(steps) + 0.5), steps)
    table: Array = np.clip(rounded + out.zero_point, 0, 255).astype(np.uint8)
    return table


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
