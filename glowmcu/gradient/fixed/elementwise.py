"""Gradients in fixed point of functions of each element."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.gradient.fixed.builder import SHARE_END, FixedBuilder, FixedGradient, ratio
from glowmcu.gradient.fixed.rules import fixed_gradient
from glowmcu.ir.graph import Node, Value
from glowmcu.ir.operation import Array, Rounding, Signature
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.activation import Abs, Clip, HardSwish, LeakyRelu, Neg, Relu
from glowmcu.ops.block_gradient import BITS
from glowmcu.ops.lookup import Lookup, all_values
from glowmcu.ops.parametric_activation import (
    Celu,
    HardSigmoid,
    Mish,
    Selu,
    Softplus,
    Softsign,
    Swish,
)
from glowmcu.ops.quantization import Requantize
from glowmcu.ops.real_functions import Erf, Square
from glowmcu.ops.shape import Reshape
from glowmcu.ops.stored_gradient import GradientProduct
from glowmcu.ops.tiling import BroadcastTo
from glowmcu.ops.transcendental import Elu, Exp, Gelu, Logistic, Tanh

#: Entries of a table on each side between which its slope is taken.
_REACH = 4


def open_bounds(clamp: tuple[int, int], type_: TensorType) -> tuple[int | None, int | None]:
    """Stored bounds at which an activation has no gradient. What is only what 8 bits can store is
    none, but for 0, below which such a type knows nothing.
    """
    least, most = type_.element.limits
    low, high = clamp
    is_open = low <= least and (low - type_.zero_point) * type_.scale < 0
    return (None if is_open else low), (None if high >= most else high)


@fixed_gradient(Reshape)
def reshape_gradient(
    build: FixedBuilder, node: Node, given: FixedGradient
) -> Sequence[FixedGradient | None]:
    """The same numbers."""
    whole = build.whole(given, node.output)
    return (build.reshaped(whole, node.inputs[0].type.shape),)


@fixed_gradient(Relu, Clip, Requantize)
def rescaling_gradient(
    build: FixedBuilder, node: Node, given: FixedGradient
) -> Sequence[FixedGradient | None]:
    """Nothing at bounds, else the ratio of the scales."""
    op, out = node.op, node.output
    bounds: tuple[int | None, int | None] = (None, None)
    if isinstance(op, Relu):
        bounds = open_bounds(op.clamp_range(node.signature), out.type)
    elif isinstance(op, Clip):
        bounds = open_bounds(op.clamp, out.type)
    return (build.requantized(given, out, (ratio(node),), bounds, given.bits),)


def times(build: FixedBuilder, given: FixedGradient, read: Value, slopes: Array) -> FixedGradient:
    """A gradient of whole numbers times a factor of each element, by what is stored in `read`, i8:
    `slopes`, real, f64 (256,) in the order of a table's entries.
    """
    peak = float(np.abs(slopes).max()) or 1.0
    table = np.rint(slopes * (SHARE_END / peak)).astype(np.int16)
    factor = build.add(Lookup(table), read, element=ElementType.I16)
    if factor.type.shape != given.shape:
        factor = build.add(BroadcastTo(given.shape), factor, element=ElementType.I16)
    inputs = (given.numbers, given.common, factor)
    return build.gradient(GradientProduct(), inputs, given.scale * peak / SHARE_END, BITS)


def offsets(type_: TensorType) -> Array:
    """What each entry of a table stands for, in steps of the type, f64."""
    found: Array = all_values(type_.element).astype(np.float64) - type_.zero_point
    return found


@fixed_gradient(
    Abs, Celu, Elu, Erf, Exp, Gelu, HardSigmoid, HardSwish, LeakyRelu, Logistic, Mish, Neg, Selu,
    Softplus, Softsign, Square, Swish, Tanh,
)  # fmt: skip
def function_gradient(
    build: FixedBuilder, node: Node, given: FixedGradient
) -> Sequence[FixedGradient | None]:
    """By the slope of the function of real numbers between half a step below and above."""
    x, out = node.inputs[0].type, node.output.type
    real = TensorType((256,), ElementType.F32)
    below, above = (
        node.op.evaluate(
            [((offsets(x) + half) * x.scale).astype(np.float32)],
            Signature((real,), (real,)),
            Rounding.DOUBLE,
        )[0].astype(np.float64)
        for half in (-0.5, 0.5)
    )
    slopes = (above - below) / out.scale
    return (times(build, build.whole(given, node.output), node.inputs[0], slopes),)


@fixed_gradient(Lookup)
def table_gradient(
    build: FixedBuilder, node: Node, given: FixedGradient
) -> Sequence[FixedGradient | None]:
    """By the table's slope over a few entries, as each is rounded."""
    op, x = node.op, node.inputs[0]
    assert isinstance(op, Lookup)
    # Entries in the order of what is stored, and back.
    order = np.argsort(all_values(x.type.element), kind="stable")
    places = np.arange(256)
    before, behind = np.maximum(places - _REACH, 0), np.minimum(places + _REACH, 255)
    stored = op.table[order].astype(np.float64)
    slopes = np.empty(256)
    slopes[order] = (stored[behind] - stored[before]) / (behind - before)
    return (times(build, build.whole(given, node.output), x, slopes),)
