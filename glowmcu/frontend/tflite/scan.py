"""ARG_MAX, ARG_MIN and CUMSUM."""

from __future__ import annotations

import tflite

from glowmcu.frontend.tflite.axes import axis_operand
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, importer
from glowmcu.ops.scan import ArgMax, ArgMin, CumSum


@importer("ARG_MAX", "ARG_MIN")
def import_arg_extreme(state: Import, op: OperatorRecord) -> None:
    """The axis must be constant."""
    x = state.value(op, 0)
    axis = axis_operand(state, op, 1, x.type.rank)
    state.emit(op, ArgMax(axis) if op.name == "ARG_MAX" else ArgMin(axis), [x])


@importer("CUMSUM")
def import_cumsum(state: Import, op: OperatorRecord) -> None:
    """The axis must be constant."""
    x = state.value(op, 0)
    options = op.options(tflite.CumsumOptions)
    axis = axis_operand(state, op, 1, x.type.rank)
    state.emit(op, CumSum(axis, bool(options.Exclusive()), bool(options.Reverse())), [x])
