"""Comparisons, logic and choices between real numbers in StableHLO."""

from __future__ import annotations

from glowmcu.frontend.stablehlo.exporter import Export, exporter
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Node
from glowmcu.ir.operation import Operation
from glowmcu.ir.types import ElementType
from glowmcu.ops.cast import Cast
from glowmcu.ops.comparison import (
    Equal,
    Greater,
    GreaterEqual,
    Less,
    LessEqual,
    LogicalAnd,
    LogicalNot,
    LogicalOr,
    LogicalXor,
    NotEqual,
    Select,
)

_DIRECTIONS: dict[type[Operation], str] = {
    Equal: "EQ", Greater: "GT", GreaterEqual: "GE", Less: "LT", LessEqual: "LE", NotEqual: "NE",
}  # fmt: skip
_LOGIC: dict[type[Operation], str] = {
    LogicalAnd: "and", LogicalNot: "not", LogicalOr: "or", LogicalXor: "xor",
}  # fmt: skip


@exporter(*_DIRECTIONS, of_bool=True)
def export_comparison(state: Export, node: Node) -> None:
    """Of real numbers, or of booleans."""
    a, b = (state.aligned(ref, node.output.type.shape) for ref in state.refs(node))
    state.bind(node.output, state.compare(_DIRECTIONS[type(node.op)], a, b))


@exporter(*_LOGIC, of_bool=True)
def export_logic(state: Export, node: Node) -> None:
    """Element by element."""
    shape = node.output.type.shape
    operands = [state.aligned(ref, shape) for ref in state.refs(node)]
    found = state.emit(_LOGIC[type(node.op)], operands, shape, ElementType.BOOL)
    state.bind(node.output, found)


@exporter(Select, of_bool=True)
def export_select(state: Export, node: Node) -> None:
    """All three broadcast."""
    where, then, otherwise = (state.aligned(x, node.output.type.shape) for x in state.refs(node))
    state.bind(node.output, state.select(where, then, otherwise))


@exporter(Cast, of_bool=True)
def export_cast(state: Export, node: Node) -> None:
    """A boolean as 0 or 1."""
    (x,), type_ = state.refs(node), node.output.type
    if type_.element is ElementType.BOOL:
        raise Unsupported("GM155", f"cast from {x.type} cannot be written as StableHLO")
    state.bind(node.output, state.emit("convert", [x], type_.shape))
