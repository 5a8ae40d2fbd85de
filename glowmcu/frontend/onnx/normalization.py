"""Softmax, LogSoftmax, LpNormalization, LRN, and normalizations by mean and variance."""

from __future__ import annotations

import math

import numpy as np

from glowmcu.frontend.onnx.axes import positive_axis
from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Operation
from glowmcu.ir.types import Shape
from glowmcu.ops.activation import Abs
from glowmcu.ops.division import Div
from glowmcu.ops.elementwise import Add, Maximum, Mul, Sub
from glowmcu.ops.moments import LocalResponseNormalization, MeanVarianceNormalization
from glowmcu.ops.normalization import L2Normalization, LogSoftmax, Softmax
from glowmcu.ops.real_functions import Square
from glowmcu.ops.reduction import Mean, Sum
from glowmcu.ops.shape import Reshape
from glowmcu.ops.transcendental import Rsqrt
from glowmcu.ops.transpose import Transpose


def along_axis(state: Import, op: NodeRecord, operation: Operation, axis: int) -> None:
    """Bind the result of an operator on the last axis, applied along another one."""
    x = state.value(op, 0)
    rank = x.type.rank
    axis = positive_axis(op, axis, rank)
    if axis == rank - 1:
        state.emit(op, operation, [x])
        return
    swap = list(range(rank))
    swap[axis], swap[-1] = swap[-1], swap[axis]
    swapped = state.add(op, Transpose(tuple(swap)), [x])
    result = state.add(op, operation, [swapped])
    state.emit(op, Transpose(tuple(swap)), [result])


@importer("Softmax", "LogSoftmax")
def import_softmax(state: Import, op: NodeRecord) -> None:
    """Before opset 13 all axes from `axis` on are one."""
    operation = Softmax() if op.kind == "Softmax" else LogSoftmax()
    if state.opset >= 13:
        along_axis(state, op, operation, op.integer("axis", -1))
        return
    x = state.value(op, 0)
    axis = positive_axis(op, op.integer("axis", 1), x.type.rank)
    if axis == x.type.rank - 1:
        state.emit(op, operation, [x])
        return
    rows = state.add(op, operation, [_rows(state, op, x, axis)])
    state.emit(op, Reshape(x.type.shape), [rows])


def _rows(state: Import, op: NodeRecord, x: Value, axis: int) -> Value:
    """`x` with all axes from `axis` on as one row."""
    if axis == x.type.rank - 1:
        return x
    head = math.prod(x.type.shape[:axis])
    return state.add(op, Reshape((head, math.prod(x.type.shape[axis:]))), [x])


def _reshaped(state: Import, op: NodeRecord, x: Value, shape: Shape) -> Value:
    return x if x.type.shape == shape else state.add(op, Reshape(shape), [x])


@importer("LpNormalization")
def import_lp_normalization(state: Import, op: NodeRecord) -> None:
    """Rows of length 1 by the sum of squares (p = 2) or of sizes (p = 1); zeros stay zeros."""
    p, axis = op.integer("p", 2), op.integer("axis", -1)
    if p == 2:
        along_axis(state, op, L2Normalization(1e-30), axis)
        return
    if p != 1:
        raise Unsupported("GM105", f"LpNormalization: p is 1 or 2, got {p}")
    x = state.value(op, 0)
    axes = (positive_axis(op, axis, x.type.rank),)
    total = state.add(op, Sum(axes, True), [state.add(op, Abs(), [x])])
    least = state.add_constant(np.array(1e-30, np.float32), "least")
    state.emit(op, Div(), [x, state.add(op, Maximum(), [total, least])])


@importer("LRN")
def import_lrn(state: Import, op: NodeRecord) -> None:
    """`size` channels around each one; alpha counts for all of them."""
    size = op.integer("size", 1)
    x = state.value(op, 0)
    if size < 1 or x.type.rank < 3:
        raise Unsupported("GM105", f"LRN: size {size} on {x.type}")
    operation = LocalResponseNormalization(
        (size - 1) // 2,
        size // 2,
        op.number("alpha", 1e-4) / size,
        op.number("beta", 0.75),
        op.number("bias", 1.0),
    )
    state.from_nhwc(op, state.add(op, operation, [state.to_nhwc(op, x)]))


@importer("BatchNormalization")
def import_batch_normalization(state: Import, op: NodeRecord) -> None:
    """(x - mean) * scale / sqrt(variance + epsilon) + bias: one factor and one addend a channel, or
    an element before opset 9 where `spatial` is 0.
    """
    if _is_training(state, op):
        raise Unsupported(
            "GM105", "BatchNormalization in training mode",
            "export the model for inference: model.eval()",
        )  # fmt: skip
    x = state.value(op, 0)
    scale, bias, mean, variance = (state.value(op, position) for position in range(1, 5))
    by_element = state.opset < 9 and not op.flag("spatial", True)
    channels = x.type.shape[1] if x.type.rank > 1 else 1
    expected = x.type.shape[1:] if by_element else (channels,)
    needed = (
        f"{expected}, a number for each element, as spatial is 0"
        if by_element
        else f"a vector of {channels}, a number for each place of axis 1"
    )
    for name, value in (("scale", scale), ("B", bias), ("mean", mean), ("var", variance)):
        if value.type.shape != expected:
            raise Unsupported(
                "GM106", f"BatchNormalization: {name} is {value.type}; {x.type} needs {needed}"
            )
    epsilon = op.number("epsilon", 1e-5)
    if all(state.known(op, position) for position in range(1, 5)):
        known = [state.builder.known[v].astype(np.float64) for v in (scale, bias, mean, variance)]
        gain = known[0] / np.sqrt(known[3] + epsilon)
        factor = state.add_constant(gain.astype(np.float32), "factor")
        addend = state.add_constant((known[1] - known[2] * gain).astype(np.float32), "addend")
    else:
        shifted = state.add(op, Add(), [variance, _number(state, epsilon)])
        factor = state.add(op, Mul(), [scale, state.add(op, Rsqrt(), [shifted])])
        addend = state.add(op, Sub(), [bias, state.add(op, Mul(), [mean, factor])])
    if by_element or x.type.rank <= 2:
        state.bind(op, [_scaled(state, op, x, factor, addend)])
    else:
        state.from_nhwc(op, _scaled(state, op, state.to_nhwc(op, x), factor, addend))


def _is_training(state: Import, op: NodeRecord) -> bool:
    """An attribute says so, or from opset 7 to 13 that there are results besides the first."""
    if state.opset < 7:
        return not op.flag("is_test")
    return op.flag("training_mode") if state.opset >= 14 else any(op.outputs[1:])


def _number(state: Import, value: float) -> Value:
    return state.add_constant(np.array(value, np.float32), "number")


def _scaled(state: Import, op: NodeRecord, x: Value, factor: Value, addend: Value | None) -> Value:
    product = state.add(op, Mul(), [x, factor])
    return product if addend is None else state.add(op, Add(), [product, addend])


@importer("InstanceNormalization")
def import_instance_normalization(state: Import, op: NodeRecord) -> None:
    """Each channel of each image for itself."""
    x = state.value(op, 0)
    state.bind(op, [_by_groups(state, op, x, x.type.shape[1])])


@importer("GroupNormalization")
def import_group_normalization(state: Import, op: NodeRecord) -> None:
    """Groups of channels; before opset 21 one scale and bias a group."""
    x = state.value(op, 0)
    state.bind(op, [_by_groups(state, op, x, op.integer("num_groups", 1))])


def _by_groups(state: Import, op: NodeRecord, x: Value, groups: int) -> Value:
    """Normalized over everything that a group of channels of an image has, then scaled."""
    batch, channels = x.type.shape[:2]
    if groups < 1 or channels % groups:
        raise Unsupported("GM106", f"{op.kind}: {channels} channels in {groups} groups")
    depth = math.prod(x.type.shape[2:]) * channels // groups
    rows = _reshaped(state, op, x, (batch, groups, depth))
    operation = MeanVarianceNormalization(op.number("epsilon", 1e-5))
    rows = state.add(op, operation, [rows])
    scale, bias = state.value(op, 1), state.value(op, 2)
    count = scale.type.element_count
    if count not in (groups, channels):
        raise Unsupported("GM106", f"{op.kind}: a scale of {scale.type} for {x.type}")
    inner = (batch, count, x.type.element_count // max(batch * count, 1))
    rows = _reshaped(state, op, rows, inner)
    factors = [_reshaped(state, op, value, (count, 1)) for value in (scale, bias)]
    return _reshaped(state, op, _scaled(state, op, rows, *factors), x.type.shape)


@importer("LayerNormalization", "RMSNormalization")
def import_layer_normalization(state: Import, op: NodeRecord) -> None:
    """Over all axes from `axis` on; RMSNormalization leaves the mean in."""
    x = state.value(op, 0)
    axis = positive_axis(op, op.integer("axis", -1), x.type.rank)
    epsilon, center = op.number("epsilon", 1e-5), op.kind == "LayerNormalization"
    rows = state.add(op, MeanVarianceNormalization(epsilon, center), [_rows(state, op, x, axis)])
    normal = _reshaped(state, op, rows, x.type.shape)
    bias = state.value(op, 2) if state.has(op, 2) else None
    results = [_scaled(state, op, normal, state.value(op, 1), bias)]
    if any(op.outputs[1:]):
        results += _moments(state, op, x, tuple(range(axis, x.type.rank)), epsilon)
    state.bind(op, results)


def _moments(
    state: Import, op: NodeRecord, x: Value, axes: tuple[int, ...], epsilon: float
) -> list[Value]:
    """Mean and 1 / sqrt(variance + epsilon), which training asks for."""
    mean = state.add(op, Mean(axes, True), [x])
    offsets = state.add(op, Square(), [state.add(op, Sub(), [x, mean])])
    variance = state.add(op, Mean(axes, True), [offsets])
    shifted = state.add(op, Add(), [variance, _number(state, epsilon)])
    return [mean, state.add(op, Rsqrt(), [shifted])]
