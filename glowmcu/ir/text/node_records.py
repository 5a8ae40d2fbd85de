"""A run's node as an attribute: an operator, its types, and the names of the values around it."""

from __future__ import annotations

import re

from glowmcu.ir.graph import Node, Value
from glowmcu.ir.operation import Operation, Signature
from glowmcu.ir.text.fields import FieldError
from glowmcu.ir.types import TensorType
from glowmcu.lazy_dataclass import dataclass

_NUMBERED = re.compile(r"(?P<name>.*)#(?P<number>[1-9]\d*)", re.DOTALL)


@dataclass(frozen=True)
class NodeRecord:
    """A run's node. Its values stand by name, the second one of a name as `name#2`."""

    operator: Operation
    signature: Signature
    operands: tuple[str, ...]
    results: tuple[str, ...]
    name: str
    source: str
    stage: int = 0


class ValueLabels:
    """Labels of graph values in a program's text."""

    def __init__(self) -> None:
        self._labels: dict[Value, str] = {}
        self._counts: dict[str, int] = {}

    def record(self, node: Node) -> NodeRecord:
        """The node with its values by label."""
        operands = tuple(map(self._label, node.inputs))
        results = tuple(map(self._label, node.outputs))
        signature = node.signature
        return NodeRecord(node.op, signature, operands, results, node.name, node.source, node.stage)

    def _label(self, value: Value) -> str:
        if value not in self._labels:
            number = self._counts[value.name] = self._counts.get(value.name, 0) + 1
            plain = number == 1 and _NUMBERED.fullmatch(value.name) is None
            self._labels[value] = value.name if plain else f"{value.name}#{number}"
        return self._labels[value]


class LabelledValues:
    """Graph values by label: one object a label, whichever run names it."""

    def __init__(self) -> None:
        self._values: dict[str, Value] = {}

    def node(self, record: NodeRecord) -> Node:
        """The node that was recorded. Raises FieldError GM218."""
        signature = record.signature
        if (len(record.operands), len(record.results)) != (
            len(signature.inputs),
            len(signature.outputs),
        ):
            raise FieldError("GM218", "the node's operands and results miss its signature")
        inputs = tuple(map(self._value, record.operands, signature.inputs))
        outputs = tuple(map(self._value, record.results, signature.outputs))
        return Node(record.operator, inputs, outputs, record.name, record.source, record.stage)

    def _value(self, label: str, type_: TensorType) -> Value:
        known = self._values.get(label)
        if known is None or known.type != type_:
            numbered = _NUMBERED.fullmatch(label)
            known = Value(type_, numbered["name"] if numbered else label)
            self._values[label] = known
        return known
