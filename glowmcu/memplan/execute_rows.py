"""Single rows of a node's result, computed from the operand rows that are given and no others."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from glowmcu.ir.graph import Graph, Node, evaluate_node
from glowmcu.ir.operation import Array
from glowmcu.lazy_dataclass import dataclass
from glowmcu.memplan.byte_arena import GARBAGE


@dataclass(frozen=True)
class Rows:
    """Rows `first` to `end` of an operand, as bytes."""

    first: int
    end: int
    data: bytes


def held_constants(node: Node, graph: Graph, held: Mapping[int, object]) -> dict[int, Array]:
    """The operands that are not held in memory: the kernel's own constants."""
    constants = {}
    for position, value in enumerate(node.inputs):
        if position in held:
            continue
        data = graph.constant_data(value)
        assert data is not None, f"{node.name!r} has no pointer to {value.name!r}"
        constants[position] = data
    return constants


def result_from_rows(node: Node, graph: Graph, rows: Mapping[int, Rows]) -> Array:
    """The node's first result where operands, by position, consist of garbage but for some rows.

    The whole operator is evaluated, so that rows which a result needs and which are not given show.
    """
    operands = held_constants(node, graph, rows)
    for position, given in rows.items():
        type_ = node.inputs[position].type
        image = np.full(type_.size_bytes, GARBAGE, np.uint8)
        pitch = type_.size_bytes // type_.shape[1]
        assert len(given.data) == (given.end - given.first) * pitch
        image[given.first * pitch : given.end * pitch] = np.frombuffer(given.data, np.uint8)
        operands[position] = image.view(type_.element.numpy).reshape(type_.shape)
    ordered = [operands[position] for position in range(len(node.inputs))]
    return evaluate_node(node, ordered, graph.rounding)[0]


def row_bytes_of(result: Array, first: int, end: int) -> bytes:
    """Rows of an image with one batch item."""
    return result[0, first:end].tobytes()
