"""Quantized sums as TensorFlow Lite's lowering makes them: operands RESCALEd to twice the larger
scale with 20 more bits, ADD or SUB, RESCALE.

They become `add` where that computes the same, which is seen by comparing all 256 values of both
operands and the constants behind the sum.
"""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.tosa.importer import Import, Table
from glowmcu.frontend.tosa.records import TosaOp
from glowmcu.frontend.tosa.rescaling import Factors
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.operation import OperationError, Rounding, Signature
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.ops.elementwise import Add, CommonScale, Sub
from glowmcu.ops.lookup import all_values

#: What the operand of the larger scale is multiplied with: 2^20 / 2.
_LARGEST = 2.0**19


def import_sum(state: Import, op: TosaOp) -> bool:
    """Whether the operation, with what is around it, became `add` or `sub`."""
    tables = [state.tables.get(ref) for ref in op.operands]
    found = state.only_user(op.results[0], "rescale")
    a, b = tables
    if a is None or b is None or found is None or max(a.factor, b.factor) != _LARGEST:
        return False
    try:
        factors, (_, point) = state.rescale_of(found)
        (real,) = state.real_factors(factors).tolist()
    except (Unsupported, ValueError):
        return False
    if real <= 0 or found.results[0].type.element is not ElementType.I8:
        return False
    types = [_type(table, table.factor / _LARGEST) for table in (a, b)]
    out = TensorType(
        op.results[0].type.shape, ElementType.I8, Quantization((2.0**-19 / real,), (point,))
    )
    operation = (Add if op.name == "add" else Sub)()
    try:
        scale = operation.common_scale(Signature(tuple(types), (out,)))
    except OperationError:
        return False
    if not _is_same(scale, (a, b), factors, state.rounding):
        return False
    last, rescaled = state.rescaled_behind(op)
    values = [
        state.retyped(state.value(table.source), type_.quantization)
        for table, type_ in zip((a, b), types, strict=True)
    ]
    kind = type(operation)
    result = state.inner(op, kind(rescaled.limits), values, out)
    state.values[last.results[0]] = state.retyped(result, Quantization((1.0,), (point,)))
    return True


def _type(table: Table, scale: float) -> TensorType:
    quantization = Quantization((scale,), (table.zero_point,))
    return TensorType(table.source.type.shape, ElementType.I8, quantization)


def _is_same(
    scale: CommonScale, tables: tuple[Table, Table], factors: Factors, rounding: Rounding
) -> bool:
    """Whether operands come to the common scale as the tables have them, and leave it alike."""
    mode = Rounding.DOUBLE if rounding is Rounding.LITERT else rounding
    stored = all_values(ElementType.I8).astype(np.int64)
    for table, factor in zip(tables, (scale.a, scale.b), strict=True):
        mine = factor.apply((stored - table.zero_point) << scale.left_shift, mode)
        if not np.array_equal(mine, table.results):
            return False
    theirs = int(factors.multipliers[0]), int(factors.shifts[0])
    return (scale.out.multiplier, 31 - scale.out.shift) == theirs
