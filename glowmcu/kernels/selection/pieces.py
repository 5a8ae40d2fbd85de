"""Pieces of a layer as layers of their own: bands of its rows, or some of its channels.

What a kernel may overwrite while it computes a band is what it may in a layer of that size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from glowmcu.errors import GlowmcuError
from glowmcu.ir.graph import Node, Value
from glowmcu.ir.kernel_code import KernelCode, RowRule
from glowmcu.ir.types import Quantization, TensorType
from glowmcu.kernels.kernel import Kernel, Site, Target
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D

#: Channels of a piece are a multiple of one of these, the largest that leaves halves alike.
_CHANNELS_AT_ONCE = (16, 8, 4)
#: So much longer the cores may take by the division with the larger step.
_STEP_SLOWDOWN = 1.03


def band_code(
    variant: Kernel, site: Site, target: Target, rules: Sequence[RowRule], first: int, end: int
) -> KernelCode | None:
    """The code for rows [first, end) of the result as a layer of its own; None if the variant
    does not compute such a layer.
    """
    node = _band(site.node, rules, first, end)
    return None if node is None else _code(variant, replace(site, node=node), target)


def channel_codes(
    variant: Kernel, site: Site, target: Target, slower: float = 1.0
) -> Mapping[tuple[int, int], KernelCode]:
    """The code of two pieces of a single pixel's channels, of which the second one's core takes
    `slower` times as long for each; nothing if they cannot be divided.
    """
    split = _split(site, slower)
    if split is None:
        return {}
    count = site.signature.output.shape[-1]
    found = {}
    for first, end in ((0, split), (split, count)):
        code = _code(variant, _channels(site, first, end), target)
        if code is None or code.batches > 1:
            return {}
        found[first, end] = code
    return found


def _code(variant: Kernel, site: Site, target: Target) -> KernelCode | None:
    site = replace(site, memory={})
    try:
        return variant.generate(site, target) if variant.accepts(site, target) else None
    except GlowmcuError:
        return None


def _band(node: Node, rules: Sequence[RowRule], first: int, end: int) -> Node | None:
    op, rule = node.op, rules[0]
    if isinstance(op, Conv2D | DepthwiseConv2D | AveragePool2D | MaxPool2D):
        _, left, _, right = op.padding
        top = max(rule.before - first * rule.stride, 0)
        bottom = max((end - 1) * rule.stride - rule.before + rule.extent - rule.rows, 0)
        op = replace(op, padding=(top, left, bottom, right))
    elif not all(each.is_same_row for each in rules) or not op.elementwise:
        return None
    inputs = list(node.inputs)
    for position, each in enumerate(rules):
        value, height = inputs[position], each.end(end - 1) - each.first(first)
        if value.type.rank != 4 or height < 1:
            return None
        inputs[position] = Value(_of_rows(value.type, height), value.name)
    (output,) = node.outputs
    result = Value(_of_rows(output.type, end - first), output.name)
    return Node(op, tuple(inputs), (result,), node.name, node.source, node.stage)


def _of_rows(type_: TensorType, rows: int) -> TensorType:
    return type_.with_shape((type_.shape[0], rows, *type_.shape[2:]))


def _split(site: Site, slower: float) -> int | None:
    """Where channels are cut in two, of a layer with constant weights and one pixel."""
    op, out = site.node.op, site.signature.output
    if not isinstance(op, FullyConnected | Conv2D) or out.element_count != out.shape[-1]:
        return None
    if any(data is None for data in site.constants[1:3]):
        return None
    weights = site.signature.inputs[1]
    if isinstance(op, Conv2D) and weights.shape[3] != site.signature.inputs[0].shape[3]:
        return None
    if slower != 1.0:
        return _uneven_split(out.shape[-1], slower)
    for step in _CHANNELS_AT_ONCE:
        split = -(-out.shape[-1] // (2 * step)) * step
        if 0 < split <= out.shape[-1] * 3 // 5:
            return split
    return None


def _uneven_split(count: int, slower: float) -> int | None:
    """The multiple of the largest step with which both cores are done at about the same time."""

    def time(split: int) -> float:
        return max(split, (count - split) * slower)

    found = [min(range(step, count, step), key=time, default=count) for step in _CHANNELS_AT_ONCE]
    best = min(map(time, found))
    split = next(item for item in found if time(item) <= _STEP_SLOWDOWN * best)
    return split if split < count else None


def _channels(site: Site, first: int, end: int) -> Site:
    node = site.node
    (output,) = node.outputs
    inputs, constants = list(node.inputs), list(site.constants)
    for position in (1, 2):
        data = constants[position]
        assert data is not None
        part: Any = np.ascontiguousarray(data[first:end])
        part.flags.writeable = False
        value = inputs[position]
        inputs[position] = Value(_some_of(value.type, first, end), value.name)
        constants[position] = part
    shape = (*output.type.shape[:-1], end - first)
    result = Value(output.type.with_shape(shape), output.name)
    piece = Node(node.op, tuple(inputs), (result,), node.name, node.source, node.stage)
    ranges = site.input_ranges
    kept = tuple(r if position not in (1, 2) else None for position, r in enumerate(ranges))
    return replace(site, node=piece, constants=tuple(constants), input_ranges=kept)


def _some_of(type_: TensorType, first: int, end: int) -> TensorType:
    """Slices of axis 0, with their scales."""
    found = type_.quantization
    if found is not None and found.per_channel:
        scales, points = found.scales[first:end], found.zero_points[first:end]
        found = Quantization(scales, points, found.axis)
    return TensorType((end - first, *type_.shape[1:]), type_.element, found)
