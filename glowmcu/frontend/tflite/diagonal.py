"""MATRIX_DIAG and MATRIX_SET_DIAG: the diagonal of matrices is chosen by a mask."""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.frontend.tflite.operands import operands
from glowmcu.ir.graph import Value
from glowmcu.ir.types import Shape
from glowmcu.ops.comparison import Select
from glowmcu.ops.shape import Reshape


@importer("MATRIX_DIAG")
def import_matrix_diag(state: Import, op: OperatorRecord) -> None:
    """Stored zeros are around it, whatever the zero point: what the reference kernel writes."""
    (x,) = operands(state, op, 1)
    if x.type.rank < 1:
        raise Unsupported("GM106", f"{op.name} of {x.type}")
    size = x.type.shape[-1]
    zero = np.zeros((1,) * (x.type.rank + 1), x.type.element.numpy)
    around = state.add_constant(zero, "zero", x.type.quantization)
    _emit_chosen(state, op, x, around, (size, size))


@importer("MATRIX_SET_DIAG")
def import_matrix_set_diag(state: Import, op: OperatorRecord) -> None:
    """The first operand's matrices with the second one's numbers on their diagonals."""
    x, diagonal = operands(state, op, 2)
    shape = x.type.shape
    if len(shape) < 2 or diagonal.type.shape != (*shape[:-2], min(shape[-2:])):
        raise Unsupported("GM106", f"{op.name}: {diagonal.type} is no diagonal of {x.type}")
    _emit_chosen(state, op, diagonal, x, (shape[-2], shape[-1]))


def _emit_chosen(
    state: Import, op: OperatorRecord, diagonal: Value, around: Value, sizes: tuple[int, int]
) -> None:
    """The diagonal lies along columns, or along rows where these are fewer."""
    *outer, length = diagonal.type.shape
    shape: Shape = (*outer, 1, length) if sizes[1] == length else (*outer, length, 1)
    line = state.emit_inner(op, Reshape(shape), [diagonal], diagonal.type)
    state.builder.afford(sizes, 1, "a constant")
    mask = np.eye(*sizes, dtype=np.bool_).reshape((1,) * len(outer) + sizes)
    state.emit(op, Select(), [state.add_constant(mask, "diagonal"), line, around])
