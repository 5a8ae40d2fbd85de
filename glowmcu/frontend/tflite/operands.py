"""Operands of operators that take so many of them and no other number."""

from __future__ import annotations

from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, Unsupported
from glowmcu.ir.graph import Value


def operands(state: Import, op: OperatorRecord, count: int, results: int = 1) -> list[Value]:
    """All operands of an operator that has `count` of them and `results` results. Raises GM106."""
    if (len(op.inputs), len(op.outputs)) != (count, results):
        raise Unsupported(
            "GM106",
            f"{op.name} has {len(op.inputs)} operands and {len(op.outputs)} results; "
            f"expected {count} and {results}",
        )
    return [state.value(op, position) for position in range(count)]
