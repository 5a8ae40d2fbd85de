"""Element-wise arithmetic and reductions of int8 in TOSA."""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.tosa.export_layers import expect_bytes
from glowmcu.frontend.tosa.exporter import Export, exporter
from glowmcu.frontend.tosa.records import Ref, signless
from glowmcu.frontend.tosa.rescaling import apply, factors_of, is_defined
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Node
from glowmcu.ir.operation import Array, Operation, Rounding, Signature
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.ops.activation import Clip
from glowmcu.ops.broadcasting import ElementwiseOperation, largest_offset
from glowmcu.ops.elementwise import (
    Add,
    CommonScale,
    Maximum,
    Minimum,
    Mul,
    Scale,
    SquaredDifference,
    Sub,
)
from glowmcu.ops.lookup import all_values
from glowmcu.ops.quantization import Dequantize, Quantize, Requantize
from glowmcu.ops.reduction import Mean, ReduceMax, ReduceMin, Sum
from glowmcu.ops.registry import load_operations
from glowmcu.ops.scan import ArgMax

_I8, _I32 = ElementType.I8, ElementType.I32


def _functions() -> list[type[Operation]]:
    """Operators of one tensor that have no exporter of their own: a table is all they are."""
    own = (Clip, Requantize, Quantize, Dequantize)
    return [
        cls
        for cls in load_operations().values()
        if issubclass(cls, ElementwiseOperation) and cls.operand_count == 1 and cls not in own
    ]


@exporter(*_functions())
def export_function_of_bytes(state: Export, node: Node) -> None:
    """TABLE of all 256 results, in the order of the stored values."""
    (x,), out = node.inputs, node.output
    expect_bytes(x.type, out.type)
    rounding = state.rounding(node)
    signature = Signature((x.type.with_shape((256,)),), (out.type.with_shape((256,)),))
    (table,) = node.op.evaluate([np.sort(all_values(_I8))], signature, rounding)
    operands = [state.ref(x), state.constant(table)]
    state.bind(out, state.emit("table", operands, out.type.shape, _I8))


@exporter(Clip)
def export_clip(state: Export, node: Node) -> None:
    """CLAMP of stored values."""
    assert isinstance(node.op, Clip)
    expect_bytes(node.output.type)
    state.bind(node.output, state.clamp(state.ref(node.inputs[0]), node.op.clamp))


@exporter(Requantize)
def export_requantize(state: Export, node: Node) -> None:
    """RESCALE."""
    op, (x,), out = node.op, node.inputs, node.output
    assert isinstance(op, Requantize)
    scale = op.scale(node.signature)
    largest = largest_offset(x.type)
    factors = factors_of(scale.multiplier, scale.shift, state.rounding(node), largest)
    operand, point = state.ref(x), x.type.zero_point
    if x.type.element is ElementType.I16 and point:  # which TOSA knows of bytes alone
        shape, number = x.type.shape, state.scalar(point, _I32, x.type.rank)
        wide = state.emit("cast", [operand], shape, _I32)
        operand, point = state.emit("sub", [wide, number], shape, _I32), 0
    unsigned = x.type.element is ElementType.UI8, out.type.element is ElementType.UI8
    element, points = signless(out.type).element, (point, out.type.zero_point)
    state.bind(out, state.rescale(operand, factors, points, element, unsigned))


@exporter(Add, Sub)
def export_sum(state: Export, node: Node) -> None:
    """Both operands RESCALEd to their common scale, added, RESCALEd to the result's."""
    op, signature = node.op, node.signature
    assert isinstance(op, Add | Sub)
    expect_bytes(*signature.inputs, signature.output)
    scale = op.common_scale(signature)
    (a, b), largest = _on_common_scale(state, node, scale)
    total = state.emit(op.name, [a, b], signature.output.shape, _I32)
    _finish(state, node, total, scale.out, largest, op.clamp_range(signature))


@exporter(SquaredDifference)
def export_squared_difference(state: Export, node: Node) -> None:
    """As a difference, multiplied by itself."""
    op, signature = node.op, node.signature
    assert isinstance(op, SquaredDifference)
    expect_bytes(*signature.inputs, signature.output)
    scale = op.common_scale(signature)
    (a, b), largest = _on_common_scale(state, node, scale)
    shape = signature.output.shape
    below = state.emit("sub", [a, b], shape, _I32)
    squares = state.emit("mul", [below, below, state.scalar(0, _I8)], shape, _I32)
    _finish(state, node, squares, scale.out, largest**2, op.clamp_range(signature))


@exporter(Mul)
def export_mul(state: Export, node: Node) -> None:
    """int32 products of what is left of both without zero point."""
    op, signature = node.op, node.signature
    assert isinstance(op, Mul)
    expect_bytes(*signature.inputs, signature.output)
    a, b = (
        _offsets(state, state.ref(value), value.type, signature.output.rank)
        for value in node.inputs
    )
    products = state.emit("mul", [a, b, state.scalar(0, _I8)], signature.output.shape, _I32)
    largest = largest_offset(signature.inputs[0]) * largest_offset(signature.inputs[1])
    _finish(state, node, products, op.scale(signature), largest, op.clamp_range(signature))


@exporter(Maximum, Minimum)
def export_extremum(state: Export, node: Node) -> None:
    """MAXIMUM of int32: TOSA has none of bytes."""
    out = node.output
    expect_bytes(*node.signature.inputs, out.type)
    wide = [
        state.emit("cast", [ref], ref.type.shape, _I32)
        for ref in (_ranked(state, state.ref(value), out.type.rank) for value in node.inputs)
    ]
    attributes = {"nan_mode": "PROPAGATE"}
    found = state.emit(node.op.name, wide, out.type.shape, _I32, **attributes)
    state.bind(out, state.emit("cast", [found], out.type.shape, _I8))


@exporter(Sum, Mean)
def export_summation(state: Export, node: Node) -> None:
    """int32 sums along one axis after the other, then one RESCALE."""
    op, (x,), out = node.op, node.inputs, node.output.type
    assert isinstance(op, Sum | Mean)
    expect_bytes(x.type, out)
    total = _offsets(state, state.ref(x), x.type, x.type.rank)
    for axis in op.axes:
        total = state.emit("reduce_sum", [total], _reduced(total, axis), _I32, axis=axis)
    largest = op.reduced_count(x.type) * largest_offset(x.type)
    if largest >= 2**31:
        raise Unsupported("GM155", f"a sum may reach {largest}, beyond int32")
    scale = op.requantization(node.signature)
    factors = factors_of(scale.multipliers, scale.shifts, state.rounding(node), largest)
    result = state.rescale(total, factors, (0, out.zero_point), _I8)
    state.bind(node.output, state.reshape(result, out.shape))


@exporter(ReduceMax, ReduceMin)
def export_extreme(state: Export, node: Node) -> None:
    """REDUCE_MAX along one axis after the other."""
    op, (x,), out = node.op, node.inputs, node.output.type
    assert isinstance(op, ReduceMax | ReduceMin)
    expect_bytes(x.type)
    found = state.ref(x)
    for axis in op.axes:
        shape = _reduced(found, axis)
        found = state.emit(op.name, [found], shape, _I8, axis=axis, nan_mode="PROPAGATE")
    state.bind(node.output, state.reshape(found, out.shape))


@exporter(ArgMax)
def export_arg_max(state: Export, node: Node) -> None:
    """ARGMAX, which finds the first and makes int32."""
    op, (x,), out = node.op, node.inputs, node.output.type
    assert isinstance(op, ArgMax)
    expect_bytes(x.type)
    if op.last or out.element is not _I32:
        raise Unsupported("GM155", f"TOSA's ARGMAX finds the first, as i32; got {out}")
    found = state.emit(
        "argmax", [state.ref(x)], out.shape, _I32, axis=op.axis, nan_mode="PROPAGATE"
    )
    state.bind(node.output, found)


def _reduced(x: Ref, axis: int) -> Shape:
    shape = x.type.shape
    return (*shape[:axis], 1, *shape[axis + 1 :])


def _ranked(state: Export, x: Ref, rank: int) -> Ref:
    """With axes of length 1 in front: TOSA's operands have the same rank."""
    shape = x.type.shape
    return state.reshape(x, (*(1,) * (rank - len(shape)), *shape))


def _offsets(state: Export, x: Ref, type_: TensorType, rank: int) -> Ref:
    """int32 without zero point: a RESCALE by 1."""
    identity = factors_of(1 << 30, 1, Rounding.SINGLE, largest_offset(type_))
    return state.rescale(_ranked(state, x, rank), identity, (type_.zero_point, 0), _I32)


def _on_common_scale(state: Export, node: Node, scale: CommonScale) -> tuple[list[Ref], int]:
    """Both operands, and a bound of the size of their sum and difference."""
    rounding, rank = state.rounding(node), node.output.type.rank
    refs: list[Ref] = []
    largest = 0
    for value, factor in zip(node.inputs, (scale.a, scale.b), strict=True):
        x = _ranked(state, state.ref(value), rank)
        offsets = np.arange(256, dtype=np.int64) - 128 - value.type.zero_point
        wanted = factor.apply(offsets << scale.left_shift, rounding)
        largest += int(np.abs(wanted).max())
        refs.append(_shifted(state, x, value.type, factor, scale.left_shift, rounding, wanted))
    return refs, largest


def _shifted(
    state: Export,
    x: Ref,
    type_: TensorType,
    factor: Scale,
    left_shift: int,
    rounding: Rounding,
    wanted: Array,
) -> Ref:
    """`x` shifted left and multiplied: one RESCALE if it gives the same for every byte, else one
    that shifts and one that rounds as the kernel does.
    """
    most, points = largest_offset(type_), (type_.zero_point, 0)
    offsets = np.arange(256, dtype=np.int64) - 128 - type_.zero_point
    try:
        at_once = factors_of(factor.multiplier, factor.shift + left_shift, rounding, most)
    except Unsupported:
        at_once = None
    if at_once is not None and np.array_equal(apply(offsets, at_once), wanted):
        assert is_defined(most, at_once)
        return state.rescale(x, at_once, points, _I32)
    shifting = factors_of(1 << 30, 1 + left_shift, Rounding.SINGLE, most)
    wide = state.rescale(x, shifting, points, _I32)
    scaling = factors_of(factor.multiplier, factor.shift, rounding, most << left_shift)
    return state.rescale(wide, scaling, (0, 0), _I32)


def _finish(
    state: Export, node: Node, wide: Ref, scale: Scale, largest: int, limits: tuple[int, int]
) -> None:
    """int32 to the result's scale."""
    if largest >= 2**31:
        raise Unsupported("GM155", f"a result may reach {largest}, beyond int32")
    factors = factors_of(scale.multiplier, scale.shift, state.rounding(node), largest)
    result = state.rescale(wide, factors, (0, node.output.type.zero_point), _I8)
    state.bind(node.output, state.clamp(result, limits))
