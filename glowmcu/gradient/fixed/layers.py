"""Gradients in fixed point of layers with weights: of their sums, of what they read, and steps.

A layer is a convolution here: a fully connected one sees each row as a pixel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from glowmcu.gradient.fixed.builder import FixedBuilder, FixedGradient
from glowmcu.gradient.fixed.elementwise import open_bounds
from glowmcu.gradient.rules import NoGradient
from glowmcu.ir.graph import Node, Value
from glowmcu.ir.operation import Array
from glowmcu.ir.types import Shape
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.block_gradient import bits_for
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.parameter_step import (
    WEIGHT_SHIFT,
    BiasStep,
    Conv2DStep,
    DepthwiseStep,
    channel_factors,
)
from glowmcu.ops.stored_gradient import Conv2DInputGradient, DepthwiseInputGradient, InputGradient
from glowmcu.ops.transpose_conv import TransposeConv2D
from glowmcu.ops.transpose_conv_gradient import TransposeConvInputGradient, TransposeConvStep

#: Channels of a gradient that is packed, at least.
_LEAST_PACKED = 8

LAYERS = (FullyConnected, Conv2D, DepthwiseConv2D, TransposeConv2D)


@dataclass(frozen=True)
class Pace:
    """How fast parameters move: the rate, and with momentum that and the velocity before."""

    rate: Value
    momentum: Value | None = None
    velocity: Value | None = None

    @property
    def values(self) -> tuple[Value, ...]:
        """The operands at the end of a step."""
        if self.velocity is None or self.momentum is None:
            return ()
        return self.velocity, self.momentum


@dataclass(frozen=True)
class LayerShape:
    """Of a layer as a convolution: image, result and weights."""

    image: Shape
    out: Shape
    weights: Shape

    @property
    def pixels(self) -> int:
        """Of the result."""
        return self.out[1] * self.out[2]

    @property
    def image_pixels(self) -> int:
        """Of what the layer reads."""
        return self.image[1] * self.image[2]


def layer_shape(node: Node) -> LayerShape:
    """Raises NoGradient for layers that have none."""
    x, weights, out = node.inputs[0].type, node.inputs[1].type, node.output.type
    if weights.quantization is None or any(weights.quantization.zero_points):
        raise NoGradient("weights with a zero point")
    if isinstance(node.op, FullyConnected):
        outputs, inputs = weights.shape
        rows = x.element_count // inputs
        return LayerShape((1, 1, rows, inputs), (1, 1, rows, outputs), (outputs, 1, 1, inputs))
    if x.shape[0] != 1:
        raise NoGradient(f"a batch of {x.shape[0]} images")
    if isinstance(node.op, Conv2D) and weights.shape[3] != x.shape[3]:
        raise NoGradient(f"a convolution of {x.shape[3] // weights.shape[3]} groups")
    return LayerShape(x.shape, out.shape, weights.shape)


def _scales(node: Node) -> tuple[float, ...]:
    quantization = node.inputs[1].type.quantization
    assert quantization is not None
    return quantization.scales


def is_packed(node: Node) -> bool:
    """Whether gradients of a layer's sums and of what it reads are packed: images of layers that
    see each pixel, or each channel, alone; few channels would not pay for the shifts.
    """
    shape, op = layer_shape(node), node.op
    is_image = shape.pixels > 1 and min(shape.image[3], shape.out[3]) >= _LEAST_PACKED
    if isinstance(op, DepthwiseConv2D):
        return is_image and shape.image[3] == shape.out[3]
    is_plain = isinstance(op, Conv2D) and op.strides == (1, 1) and not any(op.padding)
    return is_image and is_plain and shape.weights[1:3] == (1, 1)


def _products(node: Node, shape: LayerShape) -> int:
    """That meet in the gradient of an element that the layer reads."""
    per_channel = shape.image[3] if isinstance(node.op, DepthwiseConv2D) else shape.weights[3]
    return int(np.prod(shape.weights)) // per_channel


def by_sums(build: FixedBuilder, node: Node, given: FixedGradient) -> FixedGradient:
    """The gradient by the layer's sums, (1, h, w, O), with as many bits as all that reads it can
    take. Raises NoGradient.
    """
    shape, op = layer_shape(node), node.op
    assert isinstance(op, FullyConnected | Conv2D | DepthwiseConv2D | TransposeConv2D)
    bits = min(bits_for(shape.pixels, 255), bits_for(_products(node, shape), 128))
    if isinstance(op, TransposeConv2D):  # a weight meets each pixel of the image once
        bits = min(
            bits_for(shape.image_pixels, 255), bits_for(shape.pixels, 1),
            bits_for(_products(node, shape), 128),
        )  # fmt: skip
    x, out = node.inputs[0].type, node.output
    scales = [x.scale * scale / out.type.scale for scale in _scales(node)]
    bounds = open_bounds(op.clamp_range(node.signature), out.type)
    found = build.requantized(given, out, scales, bounds, bits, is_packed(node))
    return build.reshaped(found, shape.out)


def by_input(build: FixedBuilder, node: Node, sums: FixedGradient, weights: Value) -> FixedGradient:
    """The gradient by what the layer reads; `weights` have four axes."""
    shape, op = layer_shape(node), node.op
    _, height, width, channels = shape.image
    made: InputGradient = Conv2DInputGradient(height=height, width=width, taken=sums.bits)
    if isinstance(op, DepthwiseConv2D):
        made = DepthwiseInputGradient(
            height=height, width=width, taken=sums.bits, channels=channels
        )
    elif isinstance(op, TransposeConv2D):
        made = TransposeConvInputGradient(height=height, width=width, taken=sums.bits)
    made = replace(made, is_packed=sums.is_packed)
    if isinstance(op, TransposeConv2D):
        made = replace(made, strides=op.strides, padding=(*op.padding, 0, 0))
    elif isinstance(op, Conv2D | DepthwiseConv2D):
        made = replace(made, strides=op.strides, dilations=op.dilations, padding=op.padding)
    inputs = (sums.numbers, sums.common, weights)
    found = build.gradient(made, inputs, sums.scale, made.bits, sums.is_packed)
    return build.reshaped(found, node.inputs[0].type.shape)


def weights_step(
    build: FixedBuilder, node: Node, sums: FixedGradient, kept: Value, pace: Pace
) -> tuple[Value, ...]:
    """The layer's weights from now on, of four axes, and their velocity if they have one."""
    shape, op = layer_shape(node), node.op
    x = build.typed_reshape(node.inputs[0], shape.image)
    learning = kept.type.shape[3 if isinstance(op, DepthwiseConv2D) else 0]
    factors = channel_factors(
        [sums.scale * 2.0**WEIGHT_SHIFT / scale**2 for scale in _scales(node)[:learning]]
    )
    made: Conv2DStep | DepthwiseStep = Conv2DStep(taken=sums.bits)
    if isinstance(op, Conv2D):
        made = replace(made, strides=op.strides, dilations=op.dilations, padding=op.padding)
    elif isinstance(op, DepthwiseConv2D):
        made = DepthwiseStep(op.strides, op.dilations, op.padding, sums.bits)
    elif isinstance(op, TransposeConv2D):
        made = TransposeConvStep(op.strides, (1, 1), (*op.padding, 0, 0), sums.bits)
    return _stepped(build, made, (kept, sums.numbers, sums.common), factors, pace, (x,))


def bias_step(
    build: FixedBuilder, node: Node, sums: FixedGradient, kept: Value, pace: Pace, shift: int,
    units: Sequence[float] | None = None,
) -> tuple[Value, ...]:  # fmt: skip
    """The layer's biases from now on, which have `shift` bits behind those that are read, and their
    velocity if they have one. Those that another layer reads, but were one with this one's, are
    stored in its `units`.
    """
    x = node.inputs[0].type
    own = [x.scale * scale for scale in _scales(node)]
    pairs = list(zip(own, units or own, strict=True))[: kept.type.shape[0]]
    reals = [sums.scale * 2.0**shift / (here * there) for here, there in pairs]
    factors = channel_factors(reals)
    given = (kept, sums.numbers, sums.common)
    return _stepped(build, BiasStep(sums.bits), given, factors, pace, ())


def _stepped(
    build: FixedBuilder,
    op: Conv2DStep | DepthwiseStep | BiasStep,
    given: Sequence[Value],
    factors: Array,
    pace: Pace,
    image: Sequence[Value],
) -> tuple[Value, ...]:
    op = replace(op, has_momentum=bool(pace.values))
    inputs = (*given, build.constant(factors), pace.rate, *image, *pace.values)
    types = [given[0].type, *(value.type for value in pace.values[:1])]
    return build.add_all(op, inputs, types)
