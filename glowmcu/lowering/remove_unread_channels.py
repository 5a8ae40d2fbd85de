"""Channels that nobody reads go, with the weights that make them and those that would read them.

A layer does not read a channel whose weights are all 0; what only such channels depend on is not
read either (`channel_liveness`). Behind `fold_constant_channels` that takes out the channels that
never change, too. What is left holds the same values as before, channel by channel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import constant
from glowmcu.ir.rewriting import remove_dead_nodes
from glowmcu.ir.types import Quantization, TensorType
from glowmcu.lowering.channel_liveness import Liveness, channel_liveness
from glowmcu.lowering.channel_rules import Mask


def run(graph: Graph) -> Graph:
    """The graph with the channels that its outputs depend on."""
    graph = remove_dead_nodes(graph)
    live = channel_liveness(graph)
    if all(mask.all() for mask in live.kept.values()):
        return graph
    renamed: dict[Value, Value] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        if live.is_whole(node):
            nodes.append(node)
        else:
            nodes += _shrunk(graph, node, live, renamed)
    return remove_dead_nodes(graph.replace(nodes))


def _shrunk(graph: Graph, node: Node, live: Liveness, renamed: dict[Value, Value]) -> list[Node]:
    """The node on the channels that are kept, behind the constants that it needs."""
    rule, operands, results = live.rules[node], live.operands(node), live.results(node)
    slices = rule.slices(operands, results)
    constants: list[Node] = []
    inputs: list[Value] = []
    for position, value in enumerate(node.inputs):
        data = graph.constant_data(value)
        if data is None or position not in slices:
            inputs.append(renamed.get(value, value))
            continue
        for axis, mask in slices[position].items():
            data = data.compress(mask, axis)
        sliced = Value(sliced_type(value.type, slices[position]), value.name)
        constants.append(Node(constant(data), (), (sliced,), value.name, node.source))
        inputs.append(sliced)
    for value, mask in zip(node.outputs, results, strict=True):
        type_ = sliced_type(value.type, {value.type.rank - 1: mask} if value.type.rank else {})
        renamed[value] = value if mask.all() else Value(type_, value.name)
    outputs = tuple(renamed[value] for value in node.outputs)
    op = rule.operation(operands, results)
    return [*constants, replace(node, op=op, inputs=tuple(inputs), outputs=outputs)]


def sliced_type(type_: TensorType, masks: Mapping[int, Mask]) -> TensorType:
    """The type of a tensor of which `masks` leave some positions along axes."""
    shape = tuple(
        int(masks[axis].sum()) if axis in masks else size for axis, size in enumerate(type_.shape)
    )
    quantization = type_.quantization
    for axis, mask in masks.items():
        if quantization is not None and quantization.axis == axis:
            places = [int(place) for place in np.flatnonzero(mask)]
            quantization = Quantization(
                tuple(quantization.scales[place] for place in places),
                tuple(quantization.zero_points[place] for place in places),
                axis,
            )
    return TensorType(shape, type_.element, quantization)
