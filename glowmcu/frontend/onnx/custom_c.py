"""Operators of another domain whose meaning is C of the user's, by `domain.Name` or `Name`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from glowmcu.custom_c import CustomFile, Number
from glowmcu.frontend.custom_c import custom_operation
from glowmcu.frontend.onnx.container import NodeRecord, OnnxRecord
from glowmcu.frontend.onnx.importer import Import, ImportFunction
from glowmcu.ir.types import element_type_of

#: What ONNX itself defines.
_OWN = ("ai.onnx", "ai.onnx.ml")


def custom_kind(op: NodeRecord, custom: Mapping[str, CustomFile]) -> str | None:
    """What the user calls the operator, if there is C for it."""
    names = (f"{op.domain}.{op.kind}", *(() if op.domain in _OWN else (op.kind,)))
    return next((name for name in names if name in custom), None)


def importer_of(
    op: NodeRecord,
    custom: Mapping[str, CustomFile],
    importers: Mapping[tuple[str, str], ImportFunction],
) -> ImportFunction | None:
    """Who imports a node; None if nobody does."""
    if custom_kind(op, custom) is not None:
        return _import_custom
    return importers.get((op.domain, op.kind))


def all_nodes(model: OnnxRecord) -> Iterator[NodeRecord]:
    """Those of graphs in attributes, too."""
    for op in model.nodes:
        yield op
        for graph in op.attributes.values():
            if isinstance(graph, OnnxRecord):
                yield from all_nodes(graph)


def _import_custom(state: Import, op: NodeRecord) -> None:
    kind = custom_kind(op, state.custom)
    assert kind is not None
    source = state.custom[kind]
    given: dict[str, Number] = {}
    for name, default in source.attributes.items():
        is_whole = isinstance(default, int)
        given[name] = op.integer(name, int(default)) if is_whole else op.number(name, default)
    operation = custom_operation(kind, source, given, len(op.outputs))
    elements = [element_type_of(np.dtype(dtype)) for dtype in source.result_dtypes]
    operands = [state.value(op, position) for position in range(len(op.inputs))]
    state.emit(op, operation, operands, elements=elements)
