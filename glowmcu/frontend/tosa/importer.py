"""TOSA's operations become nodes: what importers read from and write to.

TOSA's integers have no scales. A tensor of int8 gets the scale 1 and the zero point that operations
give it, so that its real value is its stored one; factors of RESCALE become scales of weights, in
double precision, from which the same multipliers are computed again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np

from glowmcu.discovery import enter, import_members
from glowmcu.frontend.graph_builder import GraphBuilder
from glowmcu.frontend.tosa.records import Ref, TosaFunction, TosaOp
from glowmcu.frontend.tosa.rescaling import DOUBLE, SINGLE, Factors
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Array, Operation, OperationError, Rounding
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.fixed_point import quantize_multiplier
from glowmcu.ops.shape import Reshape

ImportFunction = Callable[["Import", TosaOp], None]
_IMPORTERS: dict[str, ImportFunction] = {}
#: Where operands that are zero points stand, and of which value they are: an operand by number, or
#: the result.
_ZERO_POINTS = {
    "conv2d": ((3, 0),), "depthwise_conv2d": ((3, 0),), "avg_pool2d": ((1, 0), (2, None)),
    "rescale": ((3, 0), (4, None)), "matmul": ((2, 0), (3, 1)), "negate": ((1, 0), (2, None)),
}  # fmt: skip
#: Operations whose result is stored as their first operand is.
_KEEP = (
    "reshape", "transpose", "slice", "concat", "pad", "max_pool2d", "clamp", "reverse", "tile",
    "identity", "reduce_max", "reduce_min",
)  # fmt: skip


def importer(*names: str) -> Callable[[ImportFunction], ImportFunction]:
    """Decorator: this function imports operations of these names."""

    def register(function: ImportFunction) -> ImportFunction:
        for name in names:
            enter(_IMPORTERS, name, function, "a TOSA importer of")
        return function

    return register


@cache
def load_importers() -> Mapping[str, ImportFunction]:
    """All importers by TOSA's name."""
    import_members("glowmcu.frontend.tosa")
    return dict(sorted(_IMPORTERS.items()))


@dataclass(frozen=True)
class Rescaled:
    """A RESCALE that follows a layer: constants, zero point and element of the result, and the
    limits of a CLAMP behind it.
    """

    factors: Factors
    zero_point: int
    element: ElementType
    limits: tuple[int, int] | None


@dataclass(frozen=True, eq=False)
class Table:
    """What a value is by the bytes of an int8 `source`, as RESCALEs make it of that: about `factor`
    times what is above the zero point.
    """

    source: Ref
    results: Array
    factor: float
    zero_point: int


class Import:
    """A function on its way into a graph."""

    def __init__(self, function: TosaFunction, rounding: Rounding) -> None:
        self.function, self.rounding = function, rounding
        self.builder = GraphBuilder()
        self.values: dict[Ref, Value] = {}
        self.users: dict[Ref, list[TosaOp]] = {}
        #: Operations that became part of a node already.
        self.done: set[TosaOp] = set()
        for op in function.operations:
            for ref in dict.fromkeys(op.operands):
                self.users.setdefault(ref, []).append(op)
        self.makers = {ref: op for op in function.operations for ref in op.results}
        #: How many operators of the file are imported, rescales and clamps behind one with it.
        self.step = 0
        #: Whether it makes a difference how often results are rounded.
        self.is_rounding_seen = False
        self.tables: dict[Ref, Table] = {}
        self._zero_points = _zero_points(function)

    def type_of(self, ref: Ref, zero_point: int | None = None) -> TensorType:
        """The type that a value has here: of int8 scale 1 and a zero point."""
        if ref.type.element is not ElementType.I8:
            return ref.type
        point = self._zero_points.get(ref, 0) if zero_point is None else zero_point
        return TensorType(ref.type.shape, ref.type.element, Quantization((1.0,), (point,)))

    def value(self, ref: Ref, zero_point: int | None = None) -> Value:
        """An operand; with `zero_point` as operands of int8 have it who say so."""
        if ref not in self.values:
            if ref.data is None:
                raise Unsupported("GM106", f"%{ref.name[:80]} is not computed")
            if ref.is_shape:
                raise Unsupported("GM106", "a shape is no tensor")
            type_ = self.type_of(ref)
            self.values[ref] = self.builder.add_constant(
                np.ascontiguousarray(ref.data), ref.name, type_.quantization
            )
        found = self.values[ref]
        if zero_point is None or found.type.quantization is None:
            return found
        return found if found.type.zero_point == zero_point else self._stored_as(found, zero_point)

    def _stored_as(self, value: Value, zero_point: int) -> Value:
        type_ = TensorType(
            value.type.shape, value.type.element, Quantization((1.0,), (zero_point,))
        )
        return self._node(Reshape(value.type.shape), [value], [type_], [value.name], "reshape")[0]

    def retyped(self, value: Value, quantization: Quantization | None) -> Value:
        """The same stored values with another meaning."""
        if value.type.quantization == quantization:
            return value
        type_ = TensorType(value.type.shape, value.type.element, quantization)
        return self._node(Reshape(value.type.shape), [value], [type_], [value.name], "reshape")[0]

    def constant(self, ref: Ref, what: str) -> Array:
        """Data of an operand that must be known."""
        if ref.data is None:
            raise Unsupported(
                "GM112", f"{what} must be a constant", "fold it in the compiler that wrote the file"
            )
        return ref.data

    def number(self, ref: Ref, what: str) -> int:
        """A constant of one element."""
        data = self.constant(ref, what)
        if data.size != 1:
            raise Unsupported("GM106", f"{what} has {data.size} elements, expected 1")
        return int(data.reshape(-1)[0])

    def sizes(self, ref: Ref, what: str) -> tuple[int, ...]:
        """A `!tosa.shape`, or integers."""
        return tuple(map(int, self.constant(ref, what).reshape(-1)))

    def emit(
        self,
        op: TosaOp,
        operation: Operation,
        operands: Sequence[Value],
        type_: TensorType,
        last: TosaOp | None = None,
    ) -> Value:
        """A node whose result stands for the operation's, or for that of the `last` one."""
        (ref,) = (last or op).results
        found = self._node(operation, operands, [type_], [ref.name], op.name)[0]
        if found.type.shape != ref.type.shape:
            raise Unsupported(
                "GM106", f"its result is {list(ref.type.shape)}, computed {list(found.type.shape)}"
            )
        self.values[ref] = found
        return found

    def inner(
        self, op: TosaOp, operation: Operation, operands: Sequence[Value], type_: TensorType
    ) -> Value:
        """A node on the way to the operation's result."""
        name = f"{op.results[0].name}/{operation.name}"
        return self._node(operation, operands, [type_], [name], op.name)[0]

    def _node(
        self,
        operation: Operation,
        operands: Sequence[Value],
        types: Sequence[TensorType],
        names: Sequence[str],
        kind: str,
    ) -> tuple[Value, ...]:
        try:
            return self.builder.add_node(
                operation, operands, types, names, f"operator {self.step} {kind}"
            )
        except OperationError as cause:
            raise Unsupported("GM106", str(cause)) from cause

    def only_user(self, ref: Ref, *names: str) -> TosaOp | None:
        """The operation that alone reads a value, if it is one of these."""
        users = self.users.get(ref, [])
        is_result = ref in self.function.results
        if len(users) != 1 or is_result or users[0].name not in names:
            return None
        return users[0]

    def rescaled_behind(self, op: TosaOp) -> tuple[TosaOp, Rescaled]:
        """The RESCALE to int8 that alone reads the operation's result, with a CLAMP behind it; the
        operation returned is the last of them.
        """
        found = self.only_user(op.results[0], "rescale")
        if found is None:
            raise Unsupported(
                "GM105", f"{op.name} must be followed by rescale, and by nothing else",
                "int32 results have no form here: quantize the layer's result",
            )  # fmt: skip
        factors, points = self.rescale_of(found)
        element = found.results[0].type.element
        if points[0] or element is not ElementType.I8:
            raise Unsupported("GM105", f"{op.name} must be rescaled to i8, got {element.value}")
        self.done.add(found)
        clamp = self.only_user(found.results[0], "clamp")
        if clamp is None:
            return found, Rescaled(factors, points[1], element, None)
        self.done.add(clamp)
        return clamp, Rescaled(factors, points[1], element, limits_of(clamp))

    def rescale_of(
        self, op: TosaOp, takes_unsigned: bool = False
    ) -> tuple[Factors, tuple[int, int]]:
        """Constants of a RESCALE, and zero points of operand and result as they are stored."""
        if len(op.operands) != 5:
            raise Unsupported(
                "GM106", f"rescale has 5 operands in TOSA 1.0, got {len(op.operands)}"
            )
        if not op.attributes.get("scale32", True):
            raise Unsupported("GM105", "rescale with 16-bit factors (scale32 = false)")
        if any(unsigned_of(op)) and not takes_unsigned:
            raise Unsupported("GM105", "rescale of unsigned integers where a layer ends")
        _, multipliers, shifts, *points = op.operands
        mode = op.attributes.get("rounding_mode", SINGLE)
        if mode not in (SINGLE, DOUBLE):
            raise Unsupported("GM105", f"rounding mode {mode}", f"{SINGLE} and {DOUBLE} are exact")
        factors = Factors(
            self.constant(multipliers, "the multiplier").astype(np.int64).reshape(-1),
            self.constant(shifts, "the shift").astype(np.int64).reshape(-1),
            str(mode),
        )
        channels = op.results[0].type.shape[-1:] if op.attributes.get("per_channel") else (1,)
        fits = {factors.multipliers.shape, factors.shifts.shape} == {channels}
        legal = (factors.shifts >= 2) & (factors.shifts <= 62) & (factors.multipliers >= 0)
        if not fits or not legal.all():
            raise Unsupported("GM106", "rescale has multipliers or shifts that TOSA does not allow")
        low, high = (self.number(point, "a zero point") for point in points)
        return factors, (low, high)

    def exact_factors(self, factors: Factors) -> Array:
        """multiplier * 2^-shift as doubles, which are exact."""
        real: Array = np.ldexp(
            factors.multipliers.astype(np.float64), -factors.shifts.astype(np.int32)
        )
        return real

    def real_factors(self, factors: Factors) -> Array:
        """The same; Unsupported GM156 where requantizing by them would round otherwise than RESCALE
        does.
        """
        for multiplier, shift in _pairs(factors):
            wanted, exact = _rounding_wanted(multiplier, shift, factors.rounding)
            self.is_rounding_seen |= wanted is not None
            if not exact:
                raise Unsupported(
                    "GM156",
                    f"a RESCALE by {multiplier} * 2^-{shift} rounds twice, the first time "
                    "elsewhere than with a multiplier of 31 bits",
                    "scale the multiplier to 2^30 or more, with a shift to match; or lower the "
                    "model with SINGLE_ROUND",
                )
            if wanted not in (None, _once_or_twice(self.rounding)):
                raise Unsupported(
                    "GM156",
                    f"a RESCALE by {multiplier} * 2^-{shift} rounds "
                    f"{'twice' if wanted is Rounding.DOUBLE else 'once'}, and others of the file "
                    "do not",
                    "lower the whole model with one rounding mode, DOUBLE_ROUND or SINGLE_ROUND",
                )
        return self.exact_factors(factors)


def _pairs(factors: Factors) -> list[tuple[int, int]]:
    """Multiplier and shift of each channel."""
    return list(zip(factors.multipliers.tolist(), factors.shifts.tolist(), strict=True))


def _once_or_twice(rounding: Rounding) -> Rounding:
    return Rounding.SINGLE if rounding is Rounding.SINGLE else Rounding.DOUBLE


def _rounding_wanted(multiplier: int, shift: int, mode: str) -> tuple[Rounding | None, bool]:
    """The rounding with which requantizing by a multiplier of 31 bits is RESCALE, None if all do;
    and whether it is at all.
    """
    if not multiplier:
        return None, True
    mine = 31 - quantize_multiplier(math.ldexp(multiplier, -shift))[1]
    if mode == DOUBLE and shift > 31:
        return Rounding.DOUBLE, mine == shift
    return (Rounding.SINGLE if mine > 31 else None), True


def unsigned_of(rescale: TosaOp) -> tuple[bool, bool]:
    """Whether a RESCALE takes its operand, and makes its result, for integers without a sign."""
    flags = (rescale.attributes.get(f"{side}_unsigned", False) for side in ("input", "output"))
    taken, made = flags
    return bool(taken), bool(made)


def limits_of(clamp: TosaOp) -> tuple[int, int]:
    """Of a CLAMP of integers."""
    least, most = (clamp.attributes.get(key) for key in ("min_val", "max_val"))
    if type(least) is not int or type(most) is not int or least > most:
        raise Unsupported("GM106", f"clamp between {least} and {most}")
    low, high = clamp.results[0].type.element.limits
    return max(least, low), min(most, high)


def _zero_points(function: TosaFunction) -> dict[Ref, int]:
    """What operations say of the values around them, the nearest first."""
    found: dict[Ref, int] = {}
    for op in function.operations:
        for operand, of in _ZERO_POINTS.get(op.name, ()):
            ref = op.results[0] if of is None else op.operands[of : of + 1]
            target = ref[0] if isinstance(ref, tuple) and ref else ref
            data = op.operands[operand].data if operand < len(op.operands) else None
            if isinstance(target, Ref) and data is not None and data.size == 1:
                found.setdefault(target, int(data.reshape(-1)[0]))
    kept = [op for op in function.operations if op.name in _KEEP and op.operands]
    for op in reversed(kept):
        if op.results[0] in found:
            found.setdefault(op.operands[0], found[op.results[0]])
    for op in kept:
        if op.operands[0] in found:
            found.setdefault(op.results[0], found[op.operands[0]])
    return found


def rounding_of(function: TosaFunction) -> Rounding:
    """SINGLE if a RESCALE says so where it makes a difference, and none says DOUBLE."""
    wanted: set[Rounding | None] = set()
    for op in function.operations:
        if op.name != "rescale" or len(op.operands) != 5:
            continue
        values, multipliers, shifts = op.operands[:3]
        if values.type.element is ElementType.I8 or multipliers.data is None or shifts.data is None:
            continue
        mode = op.attributes.get("rounding_mode", SINGLE)
        pairs = zip(multipliers.data.flat, shifts.data.flat, strict=False)
        # Others are refused where the layer is read.
        legal = ((int(m), int(s)) for m, s in pairs if m >= 0 and 2 <= s <= 62)
        wanted |= {_rounding_wanted(*pair, str(mode))[0] for pair in legal}
    return Rounding.SINGLE if wanted - {None} == {Rounding.SINGLE} else Rounding.DOUBLE
