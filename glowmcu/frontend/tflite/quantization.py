"""QUANTIZE and DEQUANTIZE."""

from __future__ import annotations

from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, importer, real_values
from glowmcu.ir.types import ElementType
from glowmcu.ops.quantization import Dequantize, Quantize, Requantize


@importer("QUANTIZE")
def import_quantize(state: Import, op: OperatorRecord) -> None:
    """From float32, or from one scale or integer type to another."""
    x = state.value(op, 0)
    is_unsigned = x.type.element is ElementType.UI8
    if is_unsigned and state.output_type(op).element is ElementType.UI8:
        state.emit_signed(op, Requantize(), [state.signed(op, x)])
    else:
        state.emit(op, Quantize() if x.type.element.is_float else Requantize(), [x])


@importer("DEQUANTIZE")
def import_dequantize(state: Import, op: OperatorRecord) -> None:
    """To float32. Weights that are stored as int8 or float16 become float32 at once."""
    if state.known(op, 0):
        x = state.value(op, 0)
        state.bind(op, real_values(state.constant(op, 0, "its weights"), x.type))
        return
    state.emit(op, Dequantize(), [state.value(op, 0)])
