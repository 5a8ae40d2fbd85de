"""Of a state only what some run reads is kept.

A queue that is stored with all its rows loses the oldest before the new ones come: those are never
read again. The state becomes the part that is, along the one axis in which slices take it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from glowmcu.ir.graph import Graph, Node, State, Value
from glowmcu.ops.slicing import Slice

#: An axis, and the positions of it that are read: from, and up to.
_Part = tuple[int, int, int]


def run(graph: Graph) -> Graph:
    """The graph with states of what is read of them."""
    for state in graph.states:
        part = None if state.shared else _read_part(graph, state.value)
        if part is not None:
            graph = _narrowed(graph, state, part)
    return graph


def _read_part(graph: Graph, value: Value) -> _Part | None:
    """None where all of it is read, or nothing, or by others than slices along one axis."""
    users = graph.users.get(value, [])
    if not users or value in graph.outputs:
        return None
    slices = [node.op for node in users if isinstance(node.op, Slice)]
    if len(slices) < len(users) or any(set(op.step) != {1} for op in slices):
        return None
    shape = value.type.shape
    axes = {
        axis for op in slices for axis, size in enumerate(shape) if op.size[axis] != size
    }  # fmt: skip
    if len(axes) != 1:
        return None
    (axis,) = axes
    first = min(op.begin[axis] for op in slices)
    end = max(op.begin[axis] + op.size[axis] for op in slices)
    return None if (first, end) == (0, shape[axis]) else (axis, first, end)


def _narrowed(graph: Graph, state: State, part: _Part) -> Graph:
    axis, first, end = part
    shape = state.value.type.shape
    begin, size = _with(axis, (0,) * len(shape), first), _with(axis, shape, end - first)
    kept = tuple(slice(at, at + count) for at, count in zip(begin, size, strict=True))
    value = Value(state.value.type.with_shape(size), state.value.name)
    narrow = State(value, state.initial[kept].copy())
    nodes = [
        _moved(node, value, axis, first) if state.value in node.inputs else node
        for node in graph.nodes
    ]
    place = graph.states.index(state)
    assigned = list(graph.assigned)
    result = Value(value.type, f"{value.name}/kept")
    taken = Slice(begin, size, (1,) * len(shape))
    nodes.append(Node(taken, (assigned[place],), (result,), result.name, "state"))
    assigned[place] = result
    return replace(
        graph,
        inputs=tuple(value if item is state.value else item for item in graph.inputs),
        nodes=tuple(nodes),
        outputs=(*graph.results, *assigned),
        states=tuple(narrow if item is state else item for item in graph.states),
    )


def _moved(node: Node, value: Value, axis: int, first: int) -> Node:
    """A slice of the state as one of what is left of it."""
    op = node.op
    assert isinstance(op, Slice)
    begin = _with(axis, op.begin, op.begin[axis] - first)
    return replace(node, op=replace(op, begin=begin), inputs=(value,))


def _with(axis: int, sizes: Sequence[int], size: int) -> tuple[int, ...]:
    return (*sizes[:axis], size, *sizes[axis + 1 :])
