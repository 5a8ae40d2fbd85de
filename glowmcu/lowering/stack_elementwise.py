"""Connected element-wise operators become one `stack`: what is between them never touches memory.

Glow's operator stacking. An operator joins the one that reads its result, and nobody else, if both
have the same result shape and no tensor has to live longer for it. A stack that turns out to be a
function of one 8-bit tensor becomes a table at once.
"""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Constant
from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.lowering.lower_to_tables import compose_tables, tabulate
from glowmcu.ops.broadcasting import ElementwiseOperation
from glowmcu.ops.stack import Member, Stack

#: More pointers or values than this do not stay in registers.
_MOST_OPERANDS = 6
_MOST_MEMBERS = 16


def run(graph: Graph) -> Graph:
    """As few loops over elements as can be."""
    return rewrite(graph, tabulate, compose_tables, _join_producer)


def _join_producer(context: Context, node: Node) -> Sequence[Value] | None:
    if not _is_stackable(node):
        return None
    for value in dict.fromkeys(node.inputs):
        producer = context.producer(value)
        if producer is None or not _is_stackable(producer) or not context.only_use(value):
            continue
        if value.type.shape != node.output.type.shape:
            continue
        inputs, stack = _joined(producer, node)
        small = len(inputs) <= _MOST_OPERANDS and len(stack.members) <= _MOST_MEMBERS
        if small and _keeps_lives_short(context, producer, node):
            return context.add(stack, inputs, [node.output.type])
    return None


def _is_stackable(node: Node) -> bool:
    if isinstance(node.op, Stack):
        return True
    return isinstance(node.op, ElementwiseOperation) and node.op.stackable


def _joined(producer: Node, node: Node) -> tuple[tuple[Value, ...], Stack]:
    """Operands and operator of the stack that computes `producer`, then `node`."""
    outside = [value for value in node.inputs if value is not producer.output]
    inputs = tuple(dict.fromkeys((*producer.inputs, *outside)))
    first = _members(producer)
    places = {value: inputs.index(value) for value in inputs}
    places[producer.output] = len(inputs) + len(first) - 1
    members = (
        *_renumbered(first, producer, places, len(inputs)),
        *_renumbered(_members(node), node, places, len(inputs) + len(first)),
    )
    return inputs, Stack(members)


def _members(node: Node) -> tuple[Member, ...]:
    if isinstance(node.op, Stack):
        return node.op.members
    return (Member(node.op, tuple(range(len(node.inputs))), node.output.type),)


def _renumbered(
    members: Sequence[Member], node: Node, places: dict[Value, int], first_result: int
) -> tuple[Member, ...]:
    """Members of `node` with operands counted as in the joined stack."""
    own = len(node.inputs)

    def place(operand: int) -> int:
        return places[node.inputs[operand]] if operand < own else first_result + operand - own

    return tuple(
        Member(member.op, tuple(map(place, member.operands)), member.type) for member in members
    )


def _keeps_lives_short(context: Context, producer: Node, node: Node) -> bool:
    """Whether no more bytes have to wait: what the producer reads would live on until `node`.

    Either that is no more than the result that goes, or `node` could run where the producer does.
    """
    waiting = {value for value in producer.inputs if not _is_constant(context, value)}
    others = {value for value in node.inputs if value is not producer.output}
    if sum(value.type.size_bytes for value in waiting - others) <= producer.output.type.size_bytes:
        return True
    nodes = context.graph.nodes
    start = nodes.index(producer)
    ready = {value for before in nodes[:start] for value in before.outputs}
    return all(
        value in ready or value in context.graph.inputs or _is_constant(context, value)
        for value in others
    )


def _is_constant(context: Context, value: Value) -> bool:
    producer = context.producer(value)
    return producer is not None and isinstance(producer.op, Constant)
