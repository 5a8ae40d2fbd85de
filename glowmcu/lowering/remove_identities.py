"""What leaves every byte as it is goes, or becomes a reshape; reshapes of reshapes become one.

That a node moves nothing follows from its own memory rule (`aliases`), so there is no list of
operators here: a slice of everything, a transpose that moves axes of length 1, a concatenation of
one, a split into one, padding by nothing, tiling once. A table is an identity when all its 256
entries are.
"""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.ops.lookup import Lookup, all_values
from glowmcu.ops.shape import Reshape


def run(graph: Graph) -> Graph:
    """The graph without nodes that change nothing."""
    return rewrite(graph, *RULES)


def _unchanged_operand(node: Node) -> Value | None:
    """The operand that holds the node's only result byte for byte."""
    if len(node.outputs) != 1:
        return None
    if isinstance(node.op, Lookup):
        (x,) = node.inputs
        same = node.op.table.tobytes() == all_values(x.type.element).tobytes()
        return x if same and node.output.type.element is x.type.element else None
    aliases = node.op.aliases(node.signature)
    if aliases.keys() != {0} or node.op.alias_offset(node.signature, 0):
        return None
    x = node.inputs[aliases[0]]
    same = (x.type.element, x.type.size_bytes) == (
        node.output.type.element,
        node.output.type.size_bytes,
    )
    return x if same else None


def _remove(context: Context, node: Node) -> Sequence[Value] | None:
    """The operand in the result's place. An output keeps its node: its name is the user's."""
    x = _unchanged_operand(node)
    if x is None or x.type != node.output.type or context.is_output(node.output):
        return None
    return [x]


def _become_reshape(context: Context, node: Node) -> Sequence[Value] | None:
    x = _unchanged_operand(node)
    if x is None or isinstance(node.op, Reshape):
        return None
    return context.replace_op(Reshape(node.output.type.shape), [x])


def _merge_reshapes(context: Context, node: Node) -> Sequence[Value] | None:
    """reshape(reshape(x)) reads x; the first one stays for its other readers."""
    before = context.producer(node.inputs[0]) if isinstance(node.op, Reshape) else None
    if before is None or not isinstance(before.op, Reshape):
        return None
    return context.replace_op(node.op, before.inputs)


#: Other passes use them to clean up behind themselves.
RULES = (_remove, _merge_reshapes, _become_reshape)
