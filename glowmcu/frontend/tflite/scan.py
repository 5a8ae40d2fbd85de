"""ARG_MAX, ARG_MIN, TOPK_V2 and CUMSUM."""

from __future__ import annotations

from glowmcu.frontend.tflite.axes import axis_operand, integer_list
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.ops.scan import ArgMax, ArgMin, CumSum, TopK


@importer("ARG_MAX", "ARG_MIN")
def import_arg_extreme(state: Import, op: OperatorRecord) -> None:
    """The axis must be constant."""
    x = state.value(op, 0)
    axis = axis_operand(state, op, 1, x.type.rank)
    state.emit(op, ArgMax(axis) if op.name == "ARG_MAX" else ArgMin(axis), [x])


@importer("TOPK_V2")
def import_top_k(state: Import, op: OperatorRecord) -> None:
    """The number of elements must be constant; of equal ones the first comes first."""
    x = state.value(op, 0)
    counts = integer_list(state, op, 1, "the number of elements")
    if len(counts) != 1 or x.type.rank < 1:
        raise Unsupported("GM106", f"topk_v2: {len(counts)} numbers of elements of {x.type}")
    state.emit(op, TopK(x.type.rank - 1, counts[0]), [x])


@importer("CUMSUM")
def import_cumsum(state: Import, op: OperatorRecord) -> None:
    """The axis must be constant. Sums of stored numbers are TensorFlow Lite Micro's."""
    x = state.value(op, 0)
    options = op.options(tflite.CumsumOptions)
    axis = axis_operand(state, op, 1, x.type.rank)
    is_exact = x.type.element.is_float
    operation = CumSum(axis, bool(options.Exclusive()), bool(options.Reverse()), is_exact)
    state.emit(op, operation, [x])
