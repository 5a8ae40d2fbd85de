"""A part of a concatenation is taken from the operand that it lies in; often all of that operand.

Recurrent networks stack the states of all time steps and read the last one, or split them again for
the next layer. Both operators must keep bytes together, so that a part is a range of elements
whatever reshapes stand in between.
"""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.movement import Copy
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice, Split

#: A value and the elements of the concatenation that are its own: from, and up to.
Piece = tuple[Value, int, int]


def run(graph: Graph) -> Graph:
    """The graph with parts taken before they are joined."""
    return rewrite(graph, _forward)


def _forward(context: Context, node: Node) -> Sequence[Value] | None:
    if not isinstance(node.op, Slice | Split):
        return None
    found = _concatenation_behind(context, node.inputs[0])
    if found is None:
        return None
    concatenation, is_sole_reader = found
    copies = node.op.copies(node.signature)
    pieces = _pieces(concatenation)
    if pieces is None or not all(copy.source.contiguous for copy in copies):
        return None
    parts = [_overlapping(pieces, copy) for copy in copies]
    if not all(len(part) == 1 or (part and is_sole_reader) for part in parts):
        return None
    if not all(_is_takeable(part, copy) for part, copy in zip(parts, copies, strict=True)):
        return None
    # A constant in another shape would be another constant: it stays where it is joined.
    if any(context.constant(value) is not None for part in parts for value, _, _ in part):
        return None
    return [
        _taken(context, part, copy, node.outputs[copy.result])
        for part, copy in zip(parts, copies, strict=True)
    ]


def _concatenation_behind(context: Context, value: Value) -> tuple[Node, bool] | None:
    """The concatenation that `value` shows in some shape; whether nobody else reads it."""
    producer = context.producer(value)
    is_sole_reader = context.only_use(value)
    while producer is not None and isinstance(producer.op, Reshape):
        value = producer.inputs[0]
        is_sole_reader &= context.users(value) == (producer,) and not context.is_output(value)
        producer = context.producer(value)
    if producer is None or not isinstance(producer.op, Concatenation):
        return None
    return producer, is_sole_reader


def _pieces(node: Node) -> list[Piece] | None:
    """The operands that are not empty, or None if one is scattered over the result."""
    assert isinstance(node.op, Concatenation)
    pieces = []
    for value, copy in zip(node.inputs, node.op.copies(node.signature), strict=True):
        if not copy.target.contiguous:
            return None
        count = value.type.element_count
        if count:
            pieces.append((value, copy.target.first, copy.target.first + count))
    return pieces


def _ends(copy: Copy) -> tuple[int, int]:
    count = 1
    for size in copy.source.shape:
        count *= size
    return copy.source.first, copy.source.first + count


def _overlapping(pieces: Sequence[Piece], copy: Copy) -> list[Piece]:
    begin, end = _ends(copy)
    return [piece for piece in pieces if begin < piece[2] and piece[1] < end]


def _is_takeable(part: Sequence[Piece], copy: Copy) -> bool:
    """Any range of one operand, or several operands as they are."""
    return len(part) == 1 or (part[0][1], part[-1][2]) == _ends(copy)


def _taken(context: Context, part: Sequence[Piece], copy: Copy, result: Value) -> Value:
    """The elements of `copy`, in the shape of `result`."""
    begin, end = _ends(copy)

    def shaped(value: Value, *shape: int) -> Value:
        return context.add(Reshape(shape), [value], [result.type.with_shape(shape)])[0]

    if len(part) == 1:
        value, first, last = part[0]
        if (first, last) != (begin, end):
            slice_ = Slice((begin - first,), (end - begin,), (1,))
            type_ = result.type.with_shape((end - begin,))
            (value,) = context.add(slice_, [shaped(value, last - first)], [type_])
    else:
        flat = [shaped(value, last - first) for value, first, last in part]
        type_ = result.type.with_shape((end - begin,))
        (value,) = context.add(Concatenation(0), flat, [type_])
    # Not by Context.add, which would call every result as the first one.
    named = Value(result.type, result.name)
    node = context.node
    reshape = Node(
        Reshape(result.type.shape), (value,), (named,), node.name, node.source, node.stage
    )
    context.added.append(reshape)
    return named
