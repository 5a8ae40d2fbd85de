"""Of a state only what some run reads is kept.

A queue that is stored with all its rows loses the oldest before the new ones come: those are never
read again. The state becomes the part that is, along the one axis in which slices take it. So it
does where the new rows come behind it first, and slices take parts of both together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from glowmcu.ir.graph import Graph, Node, State, Value
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.slicing import Slice

#: An axis, and the positions of it that are read: from, and up to.
_Part = tuple[int, int, int]


def run(graph: Graph) -> Graph:
    """The graph with states of what is read of them."""
    for state in graph.states:
        part = None if state.shared else _read_part(graph, state.value)
        if part is not None:
            graph = _narrowed(graph, state, part)
        elif not state.shared and (window := _window(graph, state)) is not None:
            graph = _narrowed_window(graph, state, window)
    return graph


def _read_part(graph: Graph, value: Value) -> _Part | None:
    """None if all of it is read, or nothing, or by others than slices along one axis."""
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


@dataclass(frozen=True)
class _Window:
    """Old rows and new ones behind them: `first` is the first row that is read of it but by `kept`,
    which makes of it what the state becomes.
    """

    joined: Node
    kept: Node
    axis: int
    first: int


def _window(graph: Graph, state: State) -> _Window | None:
    """None if the state is read otherwise, or from its first row on."""
    users = graph.users.get(state.value, [])
    assigned = graph.assigned[graph.states.index(state)]
    kept = graph.producers.get(assigned)
    if len(users) != 1 or not isinstance(users[0].op, Concatenation) or kept is None:
        return None
    (joined,), axis = users, users[0].op.axis
    is_oldest = joined.inputs[0] is state.value and joined.inputs.count(state.value) == 1
    is_only = state.value not in graph.outputs and joined.output not in graph.outputs
    is_kept = kept.inputs == (joined.output,) and graph.outputs.count(assigned) == 1
    if not (is_oldest and is_only and is_kept) or assigned in graph.users:
        return None
    begins = []
    for node in graph.users[joined.output]:
        op, shape = node.op, joined.output.type.shape
        if not isinstance(op, Slice) or set(op.step) != {1}:
            return None
        if node is not kept:
            begins.append(op.begin[axis])
        elif any(op.size[at] != size for at, size in enumerate(shape) if at != axis):
            return None
    first = min(begins, default=0)
    first = min(first, state.value.type.shape[axis] - 1)
    return _Window(joined, kept, axis, first) if first > 0 else None


def _narrowed_window(graph: Graph, state: State, window: _Window) -> Graph:
    """The graph with the rows of the state, and of its window, from `first` on."""
    axis, first = window.axis, window.first
    shape = state.value.type.shape
    size = _with(axis, shape, shape[axis] - first)
    value = Value(state.value.type.with_shape(size), state.value.name)
    kept = tuple(slice(first if at == axis else 0, None) for at in range(len(shape)))
    narrow = State(value, state.initial[kept].copy())
    whole = window.joined.output
    rows = whole.type.shape[axis] - first
    part = Value(whole.type.with_shape(_with(axis, whole.type.shape, rows)), whole.name)
    assigned = Value(value.type, window.kept.output.name)
    nodes = []
    for node in graph.nodes:
        if node is window.joined:
            nodes.append(replace(node, inputs=(value, *node.inputs[1:]), outputs=(part,)))
        elif node is window.kept:
            assert isinstance(node.op, Slice)
            op = replace(node.op, size=_with(axis, node.op.size, size[axis]))
            nodes.append(replace(node, op=op, inputs=(part,), outputs=(assigned,)))
        else:
            nodes.append(_moved(node, part, axis, first) if whole in node.inputs else node)
    renamed = {state.value: value, window.kept.output: assigned}
    return replace(
        graph,
        inputs=tuple(renamed.get(item, item) for item in graph.inputs),
        nodes=tuple(nodes),
        outputs=tuple(renamed.get(item, item) for item in graph.outputs),
        states=tuple(narrow if item is state else item for item in graph.states),
    )


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
