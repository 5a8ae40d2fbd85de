"""Images whose rows and columns are exchanged, through as many layers as can take them so.

Layers see the spectrograms of PyTorch, (batch, 1, bands, time), with time along the columns. What
slides are rows: each layer computes the same elements with its window, strides, padding and weights
transposed, and the transpose behind it moves on to the next, at last into the weights of a dense
layer or where somebody needs the order of the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array
from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.ir.transposed_images import transposed_shape
from glowmcu.lowering import fold_transposes_into_weights, merge_transposes, sink_transposes
from glowmcu.ops.transpose import Transpose

HW_TRANSPOSE = Transpose((0, 2, 1, 3))


def transposed(graph: Graph, image: Value) -> tuple[Graph, Value]:
    """The graph with another input in the place of `image`, and that input."""
    given = Value(image.type.with_shape(transposed_shape(image.type.shape)), image.name)
    back = Node(HW_TRANSPOSE, (given,), (image,), f"{image.name}/transposed", "slide")
    inputs = tuple(given if value is image else value for value in graph.inputs)
    given_first = replace(graph, inputs=inputs, nodes=(back, *graph.nodes))
    rules = (_transpose_layer, sink_transposes.sink, *merge_transposes.RULES)
    return fold_transposes_into_weights.run(rewrite(given_first, *rules)), given


def _transpose_layer(context: Context, node: Node) -> Sequence[Value] | None:
    """layer(transpose(x)) becomes transpose(layer'(x)), its constants transposed."""
    op = node.op.hw_transposed()
    maker = context.producer(node.inputs[0]) if node.inputs else None
    if op is None or maker is None or maker.op != HW_TRANSPOSE:
        return None
    constants = [context.constant(value) for value in node.inputs[1:]]
    inputs = [maker.inputs[0]]
    for value, data in zip(node.inputs[1:], constants, strict=True):
        if data is None:
            return None
        inputs.append(_transposed_constant(context, value, data) if data.ndim == 4 else value)
    types = [value.type.with_shape(transposed_shape(value.type.shape)) for value in node.outputs]
    results = context.add(op, inputs, types, f"{node.name}/transposed")
    return [
        context.add(HW_TRANSPOSE, [made], [value.type])[0]
        for made, value in zip(results, node.outputs, strict=True)
    ]


def _transposed_constant(context: Context, value: Value, data: Array) -> Value:
    whole = np.ascontiguousarray(data.swapaxes(1, 2))
    return context.add_constant(whole, value.type.quantization, value.name)
