"""Operations that an export of ours made become the node again that they were.

The note beside them says which; exporting that node once more must give these very operations, so
that the node means what they mean: the exporter proves it, and nothing of the note is trusted.
"""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.tosa.exporter import Export
from glowmcu.frontend.tosa.records import Origin, Ref, TosaOp, outside
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Graph, Node, Value, VerificationError
from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, constant
from glowmcu.ir.text.graph_text import RULE_ERRORS
from glowmcu.ir.types import TensorType

_NO_NODE = (*RULE_ERRORS, OperationError, Unsupported, VerificationError)


class Recognized:
    """A node, the values that TOSA has for its operands, and data of those that are constants."""

    def __init__(self, origin: Origin, group: tuple[TosaOp, ...]) -> None:
        self.node, self._group = origin.node, group
        reads = outside(group)
        self.operands = [reads[number] for number in origin.operands]
        self.results = [group[number].results[0] for number in origin.results]
        self.data = [
            _as_operand(ref, v) for ref, v in zip(self.operands, self.node.inputs, strict=True)
        ]

    @property
    def operation(self) -> Operation:
        return self.node.op

    @property
    def types(self) -> list[TensorType]:
        return [value.type for value in self.node.outputs]

    def is_exact(self, rounding: Rounding) -> bool:
        """Whether exporting the node gives the operations that are there."""
        graph = self._graph(rounding)
        state = Export(graph)
        same: dict[Ref, Ref] = {}
        for value, ref, data in zip(self._values, self.operands, self.data, strict=True):
            if data is None:
                made = state.ref_of_argument(value)
                if same.setdefault(made, ref) is not ref:
                    return False
        state.export_node(graph.nodes[-1])
        if len(state.operations) != len(self._group):
            return False
        return all(
            _same_operation(made, found, same)
            for made, found in zip(state.operations, self._group, strict=True)
        )

    def _graph(self, rounding: Rounding) -> Graph:
        by_ref: dict[Ref, Value] = {}
        self._values = [
            value if data is not None else by_ref.setdefault(ref, value)
            for value, ref, data in zip(self.node.inputs, self.operands, self.data, strict=True)
        ]
        nodes = [
            Node(constant(data), (), (value,))
            for value, data in zip(self._values, self.data, strict=True)
            if data is not None
        ]
        nodes.append(Node(self.node.op, tuple(self._values), self.node.outputs, self.node.name))
        arguments = tuple(by_ref.values())
        graph = Graph("main", arguments, tuple(nodes), self.node.outputs, rounding)
        graph.verify()
        return graph


def recognize(origin: Origin, group: tuple[TosaOp, ...], rounding: Rounding) -> Recognized | None:
    """The node that `group` is, as `origin` says; None if it is not."""
    try:
        found = Recognized(origin, group)
        return found if found.is_exact(rounding) else None
    except _NO_NODE:
        return None


def _as_operand(ref: Ref, value: Value) -> Array | None:
    """A constant in the shape that the node has it in; None for what is no constant."""
    if ref.data is None:
        return None
    data = np.ascontiguousarray(ref.data)
    if data.dtype != value.type.element.numpy:
        raise OperationError(f"{data.dtype} is no {value.type}")
    return data.reshape(value.type.shape)


def _same_operation(made: TosaOp, found: TosaOp, same: dict[Ref, Ref]) -> bool:
    attributes = {key: value for key, value in made.attributes.items() if key != "nan_mode"}
    if made.name != found.name or attributes != found.attributes:
        return False
    if len(made.operands) != len(found.operands) or len(made.results) != len(found.results):
        return False
    if not all(
        _same_value(mine, theirs, same)
        for mine, theirs in zip(made.operands, found.operands, strict=True)
    ):
        return False
    same.update(zip(made.results, found.results, strict=True))
    return all(
        mine.type == theirs.type for mine, theirs in zip(made.results, found.results, strict=True)
    )


def _same_value(made: Ref, found: Ref, same: dict[Ref, Ref]) -> bool:
    if made.data is None:
        return same.get(made) is found
    return (
        found.data is not None
        and made.type == found.type
        and made.is_shape == found.is_shape
        and np.array_equal(made.data, found.data)
    )
