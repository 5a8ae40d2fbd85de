"""CAST and BITCAST."""

from __future__ import annotations

from glowmcu.frontend.tflite.complex_numbers import import_part
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, importer
from glowmcu.ir.types import ElementType
from glowmcu.ops.cast import BitCast, Cast


@importer("CAST")
def import_cast(state: Import, op: OperatorRecord) -> None:
    """The tensors' types say from what to what; the options repeat it."""
    if state.is_complex(op) and state.output_type(op).element is ElementType.F32:
        import_part(state, op)
        return
    state.emit(op, Cast(), [state.value(op, 0)])


@importer("BITCAST")
def import_bitcast(state: Import, op: OperatorRecord) -> None:
    """To elements of the same size; their bits stay."""
    state.emit(op, BitCast(), [state.value(op, 0)])
