"""Cross-layer equalization: scale channels against each other, in real numbers, before rounding.

ReLU(s y) = s ReLU(y) for s > 0: what a layer's output channel is divided by, the next layer's
weights are multiplied with, and the network computes the same. Chosen so that a tensor's channels
use the range that its one scale has to span. Weights of the
first layer have a scale a channel and do not mind; those of the second do unless it is depthwise,
so it shares the burden:

    s = r / max(r)                      where the second layer is depthwise
    s = sqrt((r / max(r)) / (w / max(w)))   else; r: a channel's reach, w: that of the weights on it

Source: Nagel et al. 2019, arXiv 1906.04721; with activations as in Xiao et al. 2022, arXiv
2211.10438.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array, constant
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.convolution import DepthwiseConv2D
from glowmcu.ops.real import FLOAT_MAX
from glowmcu.quant.linear_layers import group_count, is_linear
from glowmcu.quant.profile import ChannelProfile, Profile, TensorProfile, profiled_values

#: Factors beyond this would trade one problem for another.
_LARGEST_FACTOR = 64.0


@dataclass(frozen=True, eq=False)
class _Pair:
    """Two layers with nothing but a tensor between them."""

    first: Node
    second: Node


def equalize(graph: Graph, profile: Profile) -> tuple[Graph, Profile]:
    """The same network with its channels levelled, and its profile.

    Tensors that were scaled keep exact ranges and means, but no histogram: profile the new graph
    again for methods other than `minmax`.
    """
    names = profiled_values(graph)
    constants: dict[Value, Array] = {}
    tensors = dict(profile.tensors)
    for pair in _pairs(graph):
        name = names[pair.first.output]
        factors = _factors(graph, pair, tensors[name], constants)
        if factors is None:
            continue
        _scale(graph, pair, factors, constants)
        tensors[name] = _scaled(tensors[name], factors)
    nodes = [
        replace(node, op=constant(constants[node.output])) if node.output in constants else node
        for node in graph.nodes
    ]
    return graph.replace(nodes), replace(profile, tensors=tensors)


def _pairs(graph: Graph) -> list[_Pair]:
    found = []
    for node in graph.nodes:
        users = graph.users.get(node.output, []) if is_linear(node) else []
        alone = len(users) == 1 and node.output not in graph.outputs
        if alone and is_linear(users[0]) and _is_homogeneous(node):
            pair = _Pair(node, users[0])
            if users[0].inputs[0] is node.output and _own_constants(graph, pair):
                found.append(pair)
    return found


def _is_homogeneous(node: Node) -> bool:
    """Whether the fused activation does not mind a positive factor."""
    clamp: tuple[float, float] | None = getattr(node.op, "clamp", None)
    return clamp is None or (clamp[0] in (0.0, -FLOAT_MAX) and clamp[1] == FLOAT_MAX)


def _own_constants(graph: Graph, pair: _Pair) -> bool:
    """Whether weights and biases are constants that nobody else reads."""
    values = (*pair.first.inputs[1:3], pair.second.inputs[1])
    return all(graph.constant_data(v) is not None and len(graph.users[v]) == 1 for v in values)


def _data(graph: Graph, value: Value, constants: dict[Value, Array]) -> Array:
    data = constants.get(value, graph.constant_data(value))
    assert data is not None
    return data


def _factors(
    graph: Graph, pair: _Pair, tensor: TensorProfile, constants: dict[Value, Array]
) -> Array | None:
    """What each channel of the tensor between is divided by; None if nothing is to be had."""
    if tensor.channels is None:
        return None
    reach = np.maximum(np.abs(tensor.channels.low), np.abs(tensor.channels.high)).astype(np.float64)
    largest = float(reach.max())
    if largest == 0.0:
        return None
    factors = np.maximum(reach / largest, 1.0 / _LARGEST_FACTOR)
    if not isinstance(pair.second.op, DepthwiseConv2D):
        weights = np.abs(
            _input_channels(pair.second, _data(graph, pair.second.inputs[1], constants))
        )
        load = weights.max(axis=0)
        load = np.maximum(load / max(float(load.max()), 1e-30), 1.0 / _LARGEST_FACTOR)
        factors = np.sqrt(factors / load)
        factors /= factors.max()
    # Powers of two change no bit of any weight's fraction.
    return np.asarray(np.exp2(np.round(np.log2(factors))))


def _input_channels(node: Node, weights: Array) -> Array:
    """`(anything, input channels)` of the weights of a second layer that is not depthwise, groups
    side by side.
    """
    groups = group_count(node)
    split = weights.reshape(groups, -1, weights.shape[-1])
    return np.asarray(split.transpose(1, 0, 2).reshape(split.shape[1], -1))


def _scale(graph: Graph, pair: _Pair, factors: Array, constants: dict[Value, Array]) -> None:
    """Divide the first layer's channels, multiply what the second makes of them."""
    _, weights, bias = pair.first.inputs
    axis = -1 if isinstance(pair.first.op, DepthwiseConv2D) else 0
    data = _data(graph, weights, constants)
    shape = [1] * data.ndim
    shape[axis] = -1
    constants[weights] = _single(data / factors.reshape(shape))
    constants[bias] = _single(_data(graph, bias, constants) / factors)
    following = pair.second.inputs[1]
    data = _data(graph, following, constants)
    constants[following] = _single(data * _per_weight(pair.second, data, factors))


def _single(data: Array) -> Array:
    return np.ascontiguousarray(data, np.float32)


def _per_weight(node: Node, weights: Array, factors: Array) -> Array:
    """`factors` of input channels in a shape that broadcasts against the weights."""
    if isinstance(node.op, DepthwiseConv2D):
        return np.repeat(factors, weights.shape[3] // len(factors))
    groups = group_count(node)
    if groups == 1:
        return factors
    rows = np.repeat(factors.reshape(groups, -1), weights.shape[0] // groups, axis=0)
    return rows[:, np.newaxis, np.newaxis, :]


def _scaled(tensor: TensorProfile, factors: Array) -> TensorProfile:
    assert tensor.channels is not None
    low, high, mean = (
        _single(values / factors)
        for values in (tensor.channels.low, tensor.channels.high, tensor.channels.mean)
    )
    channels = ChannelProfile(low, high, mean)
    return replace(
        tensor,
        low=float(low.min()),
        high=float(high.max()),
        mean=float(mean.mean()),
        variance=0.0,
        histogram=None,
        channels=channels,
    )


def scaled_values(before: Profile, after: Profile) -> Sequence[str]:
    """Names of the tensors that equalization changed."""
    return [name for name, tensor in after.tensors.items() if tensor != before.tensors[name]]
