"""TOSA's element-wise operations and reductions, on stored integers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from glowmcu.frontend.tosa.import_sums import import_sum
from glowmcu.frontend.tosa.importer import Import, Table, importer, limits_of, unsigned_of
from glowmcu.frontend.tosa.records import Ref, TosaOp
from glowmcu.frontend.tosa.rescaling import Factors, apply
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Operation
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.ops.activation import Clip
from glowmcu.ops.bitwise import BitwiseAnd, BitwiseOr, BitwiseXor
from glowmcu.ops.cast import Cast
from glowmcu.ops.elementwise import Add, Maximum, Minimum, Mul, Sub
from glowmcu.ops.lookup import Lookup, all_values
from glowmcu.ops.quantization import Requantize
from glowmcu.ops.reduction import ReduceMax, ReduceMin, Sum
from glowmcu.ops.scan import ArgMax

_I8, _I32 = ElementType.I8, ElementType.I32
_PLAIN: dict[str, type[Operation]] = {
    "add": Add, "sub": Sub, "mul": Mul, "maximum": Maximum, "minimum": Minimum,
    "bitwise_and": BitwiseAnd, "bitwise_or": BitwiseOr, "bitwise_xor": BitwiseXor,
}  # fmt: skip


def _plain(type_: TensorType) -> TensorType:
    return TensorType(type_.shape, type_.element)


def _expect_operands(op: TosaOp, count: int) -> tuple[Ref, ...]:
    if len(op.operands) != count:
        raise Unsupported("GM106", f"{op.name} has {count} operands, got {len(op.operands)}")
    return op.operands


@importer("rescale")
def import_rescale(state: Import, op: TosaOp) -> None:
    """Of int8, or what is a function of it, a table of what it gives for each; of int32 a
    requantization to int8.
    """
    factors, points = state.rescale_of(op, takes_unsigned=True)
    x, out = op.operands[0], op.results[0].type
    if any(unsigned_of(op)):
        _import_unsigned(state, op, factors, points)
        return
    is_byte = x.type.element is _I8
    table = Table(x, all_values(_I8), 1.0, points[0]) if is_byte else state.tables.get(x)
    if table is not None and not factors.per_channel:
        results = apply(table.results.astype(np.int64) - points[0], factors) + points[1]
        stored = np.clip(results, *out.element.limits).astype(out.element.numpy)
        factor = table.factor * float(state.exact_factors(factors)[0])
        state.tables[op.results[0]] = replace(table, results=stored, factor=factor)
        type_ = state.type_of(op.results[0], points[1])
        state.emit(op, Lookup(stored), [state.value(table.source)], type_)
        return
    if x.type.element is not _I32 or out.element is not _I8 or factors.per_channel or points[0]:
        raise Unsupported(
            "GM105", f"rescale of {x.type} to {out} alone",
            "read are i8 to anything and i32 to i8, by one factor; by one a channel behind conv2d",
        )  # fmt: skip
    (real,) = state.real_factors(factors).tolist()
    if real <= 0:
        raise Unsupported("GM105", "rescale by 0")
    wide = state.retyped(state.value(x), Quantization((real,), (0,)))
    state.emit(op, Requantize(), [wide], state.type_of(op.results[0], points[1]))


def _import_unsigned(state: Import, op: TosaOp, factors: Factors, points: tuple[int, int]) -> None:
    """Bytes to bytes, of which one side or both have no sign: a table."""
    x, out = op.operands[0], op.results[0].type
    if x.type.element is not _I8 or out.element is not _I8 or factors.per_channel:
        raise Unsupported("GM105", f"rescale of {x.type} to {out} without a sign; i8 is read")
    types = [ElementType.UI8 if flag else _I8 for flag in unsigned_of(op)]
    before, after = (
        int(np.int8(point).view(type_.numpy)) for point, type_ in zip(points, types, strict=True)
    )
    values = np.arange(256, dtype=np.uint8).view(types[0].numpy).astype(np.int64)
    results = np.clip(apply(values - before, factors) + after, *types[1].limits)
    table = results.astype(types[1].numpy).view(np.int8)
    state.emit(op, Lookup(table), [state.value(x)], state.type_of(op.results[0]))


@importer("clamp")
def import_clamp(state: Import, op: TosaOp) -> None:
    """Of stored int8."""
    (x,) = _expect_operands(op, 1)
    if x.type.element is not _I8:
        raise Unsupported("GM105", f"clamp of {x.type}; i8 is read")
    value = state.value(x)
    state.emit(op, Clip(limits_of(op)), [value], value.type)


@importer("table")
def import_table(state: Import, op: TosaOp) -> None:
    """256 entries by stored value; ours are by byte."""
    x, table = _expect_operands(op, 2)
    data = state.constant(table, "the table")
    if x.type.element is not _I8 or data.shape != (256,) or data.dtype != np.int8:
        raise Unsupported("GM105", f"table of {x.type} with {table.type}; i8 is read")
    entries = np.ascontiguousarray(data[all_values(_I8).astype(np.int64) + 128])
    state.emit(op, Lookup(entries), [state.value(x)], state.type_of(op.results[0]))


@importer("cast")
def import_cast(state: Import, op: TosaOp) -> None:
    """Between integers: what does not fit wraps."""
    (x,) = _expect_operands(op, 1)
    plain = state.retyped(state.value(x), None)
    result = state.inner(op, Cast(), [plain], _plain(op.results[0].type))
    quantization = state.type_of(op.results[0]).quantization
    state.values[op.results[0]] = state.retyped(result, quantization)


@importer(*_PLAIN)
def import_plain(state: Import, op: TosaOp) -> None:
    """On int32 as TOSA has it, without scales; MUL with a shift of 0."""
    refs = _expect_operands(op, 3 if op.name == "mul" else 2)
    if op.name == "mul" and state.number(refs[2], "the shift"):
        raise Unsupported("GM105", "mul with a shift", "it is read as part of a softmax of ours")
    ranks = {ref.type.rank for ref in refs[:2]}
    if any(ref.type.element is not _I32 for ref in refs[:2]) or len(ranks) > 1:
        raise Unsupported(
            "GM105", f"{op.name} of {refs[0].type} and {refs[1].type}; two of i32 and one rank "
            "are read",
        )  # fmt: skip
    if op.name in ("add", "sub") and import_sum(state, op):
        return
    operation = _PLAIN[op.name]()
    state.emit(op, operation, [state.value(ref) for ref in refs[:2]], op.results[0].type)


@importer("argmax")
def import_argmax(state: Import, op: TosaOp) -> None:
    """The first of the largest along one axis, which goes."""
    (x,) = _expect_operands(op, 1)
    axis = op.attributes.get("axis")
    if type(axis) is not int or not 0 <= axis < x.type.rank:
        raise Unsupported("GM106", f"argmax along axis {axis} of {x.type}")
    state.emit(op, ArgMax(axis), [state.value(x)], op.results[0].type)


@importer("reduce_sum", "reduce_max", "reduce_min")
def import_reduction(state: Import, op: TosaOp) -> None:
    """Along one axis, which stays."""
    (x,) = _expect_operands(op, 1)
    axis = op.attributes.get("axis")
    if type(axis) is not int or not 0 <= axis < x.type.rank:
        raise Unsupported("GM106", f"{op.name} along axis {axis} of {x.type}")
    value: Value = state.value(x)
    if op.name == "reduce_sum":
        if x.type.element is not _I32:
            raise Unsupported("GM105", f"reduce_sum of {x.type}; i32 is read")
        state.emit(op, Sum((axis,), keep_dims=True), [value], value.type)
        return
    kind = ReduceMax if op.name == "reduce_max" else ReduceMin
    state.emit(op, kind((axis,), keep_dims=True), [value], value.type)
