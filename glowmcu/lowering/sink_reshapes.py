"""Reshapes move below element-wise operators: f(reshape(x)) becomes reshape(f(x)).

Costs nothing either way, but f meets what makes x, so that a clamp can go into a layer and a
chain of functions into one loop.
"""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.ir.types import Shape
from glowmcu.lowering import remove_identities
from glowmcu.ops.broadcasting import ElementwiseOperation
from glowmcu.ops.shape import Reshape


def run(graph: Graph) -> Graph:
    """The graph with its reshapes below what works element by element."""
    return rewrite(graph, _sink, *remove_identities.RULES)


def _sink(context: Context, node: Node) -> Sequence[Value] | None:
    if not isinstance(node.op, ElementwiseOperation):
        return None
    computed = [value for value in node.inputs if context.constant(value) is None]
    sources = [_source(context, value) for value in computed]
    shapes = {None if source is None else source.type.shape for source in sources}
    if len(shapes) != 1 or None in shapes or any(v.type.shape != _out(node) for v in computed):
        return None
    if any(value.type.element_count != 1 for value in node.inputs if value not in computed):
        return None
    renamed = dict(zip(computed, sources, strict=True))
    inputs = [renamed.get(value) or _scalar(context, value) for value in node.inputs]
    source = inputs[node.inputs.index(computed[0])]
    type_ = node.output.type.with_shape(source.type.shape)
    (inner,) = context.add(node.op, inputs, [type_], f"{node.name}/inner")
    return context.replace_op(Reshape(_out(node)), [inner])


def _out(node: Node) -> Shape:
    return node.output.type.shape


def _source(context: Context, value: Value) -> Value | None:
    """What is reshaped to `value`, for nobody else."""
    producer = context.producer(value)
    if producer is None or not isinstance(producer.op, Reshape) or not context.only_use(value):
        return None
    (source,) = producer.inputs
    # A reshape may also be where plain bytes get a scale: then it is needed where it is.
    return source if source.type.quantization == value.type.quantization else None


def _scalar(context: Context, value: Value) -> Value:
    """A constant of one element, without axes that would add some to the result."""
    data = context.constant(value)
    assert data is not None
    if not data.ndim:
        return value
    return context.add_constant(data.reshape(()), value.type.quantization, value.name)
