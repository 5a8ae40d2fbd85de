"""Operators that are several of ONNX's: imported as if the file spelt those out."""

from __future__ import annotations

from typing import Any

from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, load_importers
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Array

#: onnxruntime's own operators.
MICROSOFT = "com.microsoft"


def run(
    state: Import,
    op: NodeRecord,
    kind: str,
    inputs: tuple[str, ...],
    output: str,
    attributes: dict[str, Any] | None = None,
) -> str:
    """Import an operator of ONNX's that the file does not spell out; the name of its result."""
    record = NodeRecord(op.index, kind, "ai.onnx", op.name, inputs, (output,), attributes or {})
    load_importers()["ai.onnx", kind](state, record)
    return output


def named(state: Import, op: NodeRecord, name: str, value: Value) -> str:
    """`value` under a name that operators can read it by."""
    record = NodeRecord(op.index, op.kind, op.domain, op.name, (), (name,))
    state.bind(record, [value])
    return name


def constant(state: Import, op: NodeRecord, name: str, data: Array) -> str:
    """The name of a constant that is not in the file."""
    return named(state, op, name, state.add_constant(data, name))
