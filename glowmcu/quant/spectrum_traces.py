"""What every value behind a spectrum is made of it, element by element: found from node to node.

Exporters put frames, bins and channels along other axes each, cut them and join them again. So a
value is known by its places: for each of its elements which number of the spectrum it comes from.
What only moves elements moves places; what computes says what becomes of them, or ends the trace.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from enum import Enum

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array, Operation, Rounding
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.activation import Relu
from glowmcu.ops.division import Div, Pow
from glowmcu.ops.elementwise import Add, Arithmetic, Maximum, Minimum, Mul, Sub
from glowmcu.ops.gather import Gather
from glowmcu.ops.matmul import BatchMatMul, FullyConnected
from glowmcu.ops.movement import Movement
from glowmcu.ops.real_functions import Power, Sqrt, Square
from glowmcu.ops.reduction import ReduceSumSquare, Sum
from glowmcu.ops.shape import Reshape
from glowmcu.ops.signal_fft import Rfft
from glowmcu.ops.transcendental import Log

MOST = float(np.finfo(np.float32).max)


class Kind(Enum):
    """What the elements of a value are."""

    PARTS = "real and imaginary parts"
    SQUARES = "squares of parts"
    FEATURES = "bins, or sums of them by a filter bank"


@dataclass(frozen=True, eq=False)
class Chain:
    """How features come from `s`, a squared magnitude or what `bank` sums of them (of their roots
    where `of_roots`): `clip(gain * s + floor, low, high) ** exponent`, or its logarithm times
    `slope`, plus `offset`.
    """

    bank: Array | None = None
    of_roots: bool = False
    gain: float = 1.0
    floor: float = 0.0
    low: float = 0.0
    high: float = MOST
    exponent: float = 1.0
    is_logarithm: bool = False
    slope: float = 1.0
    offset: float = 0.0

    @property
    def is_plain(self) -> bool:
        """Whether nothing is added or cut off."""
        return self.floor == 0 and self.low == 0 and self.high >= MOST

    def times(self, factor: float) -> Chain | None:
        if self.is_logarithm:
            return replace(self, slope=self.slope * factor, offset=self.offset * factor)
        if not factor > 0:
            return None
        inside = factor ** (1 / self.exponent)
        return replace(
            self, gain=self.gain * inside, floor=self.floor * inside, low=self.low * inside,
            high=min(self.high * inside, MOST) if self.high < MOST else MOST,
        )  # fmt: skip

    def plus(self, number: float) -> Chain | None:
        if self.is_logarithm:
            return replace(self, offset=self.offset + number)
        found = self.rooted()
        if found is None or number < 0 or found.low > 0 or found.high < MOST:
            return None
        return replace(found, floor=found.floor + number)

    def clipped(self, low: float = 0.0, high: float = MOST) -> Chain | None:
        """None if nothing is left but one number; features are never below 0."""
        if self.is_logarithm:
            return None
        low, high = (max(end, 0.0) ** (1 / self.exponent) for end in (low, high))
        found = replace(self, low=max(self.low, low), high=min(self.high, high))
        return found if found.low < found.high else None

    def to_power(self, exponent: float) -> Chain | None:
        if self.is_logarithm or self.exponent * exponent not in (0.5, 1.0):
            return None
        return replace(self, exponent=self.exponent * exponent)

    def log(self) -> Chain | None:
        if self.is_logarithm:
            return None
        return replace(self, is_logarithm=True, slope=self.exponent, exponent=1.0)

    def rooted(self) -> Chain | None:
        """The same with an exponent of 1: roots go in front of the sums, if there are none."""
        if self.exponent == 1:
            return self
        if self.bank is not None or self.of_roots or self.floor:
            return None
        high = math.sqrt(self.high) if self.high < MOST else MOST
        return replace(
            self, of_roots=True, gain=math.sqrt(self.gain), low=math.sqrt(self.low), high=high,
            exponent=1.0,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Trace:
    """A value's elements: `places` count from 1 on in `[frames, width]` of what `source` leads to;
    0 is what is 0. `factors` are those of parts and squares.
    """

    source: Node
    kind: Kind
    width: int
    places: Array
    factors: Array
    before: Value
    chain: Chain = Chain()


def traces_of(graph: Graph) -> dict[Value, Trace]:
    """Of all values that are made of one spectrum each, and of constants."""
    found: dict[Value, Trace] = {}
    for node in graph.nodes:
        if isinstance(node.op, Rfft):
            shape = node.output.type.shape
            places = np.arange(1, 1 + node.output.type.element_count).reshape(shape)
            found[node.output] = Trace(
                node, Kind.PARTS, shape[-1], places, np.ones(shape), node.inputs[0]
            )
            continue
        known = [found[value] for value in node.inputs if value in found]
        if not known or len(node.outputs) != 1 or len({id(t.source) for t in known}) > 1:
            continue
        made = _made(graph, node, found)
        if made is not None:
            before = next(value for value in node.inputs if value in found)
            found[node.output] = replace(made, before=before)
    return found


def _made(graph: Graph, node: Node, found: dict[Value, Trace]) -> Trace | None:
    operands = [found.get(value) for value in node.inputs]
    constants = [graph.constant_data(value) for value in node.inputs]
    if any(t is None and c is None for t, c in zip(operands, constants, strict=True)):
        return None
    if moves(node.op):
        return _moved(node, operands, constants)
    traced = [trace for trace in operands if trace is not None]
    made = _RULES[traced[0].kind](node, traced, constants)
    if made is None or made.places.shape != node.output.type.shape:
        return None
    return made


def moves(op: Operation) -> bool:
    """Whether an operator moves elements of its first operand, or joins those of all."""
    return isinstance(op, Movement | Reshape | Gather)


def moved(node: Node, operands: list[Array]) -> Array:
    """What a node that moves elements makes of other ones."""
    return node.op.evaluate(operands, node.signature, Rounding.DOUBLE)[0]


def _moved(node: Node, operands: list[Trace | None], constants: list[Array | None]) -> Trace | None:
    first = operands[0]
    if first is None or getattr(node.op, "value", 0) != 0:
        return None
    known = [trace for trace in operands if trace is not None]
    if any((t.kind, t.width) != (first.kind, first.width) for t in known):
        return None
    if any(t.chain is not first.chain for t in known):
        return None
    if not isinstance(node.op, Gather) and len(known) < len(operands):
        return None

    def with_all(pick: Callable[[Trace], Array]) -> Array:
        pairs = zip(operands, constants, strict=True)
        return moved(node, [c if t is None else pick(t) for t, c in pairs])  # type: ignore[misc]

    return replace(
        first, places=with_all(lambda t: t.places), factors=with_all(lambda t: t.factors)
    )


def _of_parts(node: Node, traced: list[Trace], constants: list[Array | None]) -> Trace | None:
    """Products with constants, and squares."""
    x, op = traced[0], node.op
    if isinstance(op, Mul) and len(traced) == 1 and op.clamp is None:
        (data,) = (data for data in constants if data is not None)
        return replace(x, factors=x.factors * data.astype(np.float64))
    if isinstance(op, Add | Sub) and len(traced) == 2:
        return _of_two_parts(op, x, traced[1])
    if isinstance(op, ReduceSumSquare):
        return _summed(_squares(x), op.axes, op.keep_dims)
    is_product = isinstance(op, Mul) and op.clamp is None
    is_power = isinstance(op, Power | Pow) and _exponent(node, constants) == 2
    if isinstance(op, Square) or is_power or (is_product and node.inputs[0] is node.inputs[1]):
        return _squares(x)
    return None


def _of_two_parts(op: Add | Sub, x: Trace, y: Trace) -> Trace | None:
    """A sum of which one operand is 0: numbers times a real one, written as complex products."""
    if op.clamp is not None:
        return None
    if not y.factors.any():
        return x
    sign = -1.0 if isinstance(op, Sub) else 1.0
    return None if x.factors.any() else replace(y, factors=sign * y.factors)


def _squares(x: Trace) -> Trace:
    return replace(x, kind=Kind.SQUARES, factors=x.factors**2)


def _exponent(node: Node, constants: list[Array | None]) -> float | None:
    if isinstance(node.op, Power):
        return float(node.op.exponent)
    return _only_number(constants[1])


def _only_number(data: Array | None) -> float | None:
    """The finite number that all elements are, None without one."""
    numbers = np.unique([] if data is None else data)
    return float(numbers[0]) if numbers.size == 1 and np.isfinite(numbers[0]) else None


def _of_squares(node: Node, traced: list[Trace], constants: list[Array | None]) -> Trace | None:
    """Sums of the two that belong together."""
    x, op = traced[0], node.op
    if isinstance(op, Sum):
        return _summed(x, op.axes, op.keep_dims)
    if isinstance(op, Add) and len(traced) == 2 and op.clamp is None:
        y = traced[1]
        if y.kind is not Kind.SQUARES or y.places.shape != x.places.shape:
            return None
        return _bins(x, np.stack([x.places, y.places]), np.stack([x.factors, y.factors]))
    return None


def _summed(x: Trace, axes: tuple[int, ...], keep_dims: bool) -> Trace | None:
    if len(axes) != 1 or x.places.shape[axes[0]] != 2:
        return None
    places, factors = (np.moveaxis(a, axes[0], 0) for a in (x.places, x.factors))
    found = _bins(x, places, factors)
    if found is None or not keep_dims:
        return found
    places, factors = (np.expand_dims(a, axes[0]) for a in (found.places, found.factors))
    return replace(found, places=places, factors=factors)


def _bins(x: Trace, places: Array, factors: Array) -> Trace | None:
    """Bins of `[2, …]` squares, if these are of both parts of a bin each, times the same factor."""
    first, second = np.sort(places - 1, axis=0)
    is_pair = (first >= 0) & (first % 2 == 0) & (second == first + 1)
    gain = float(factors.reshape(-1)[0])
    if not is_pair.all() or gain <= 0 or not np.allclose(factors, gain, rtol=1e-6, atol=0):
        return None
    # Frames have an even number of parts.
    made = first // 2 + 1
    return replace(
        x, kind=Kind.FEATURES, width=x.width // 2, places=made, factors=np.ones(made.shape),
        chain=Chain(gain=gain),
    )  # fmt: skip


def _of_features(node: Node, traced: list[Trace], constants: list[Array | None]) -> Trace | None:
    """Filter banks, and functions of one feature."""
    x, op = traced[0], node.op
    if isinstance(op, FullyConnected | BatchMatMul):
        found = _banked(node, x, constants)
        clamp = op.clamp if isinstance(op, FullyConnected) else None
    elif isinstance(op, Mul) and node.inputs[0] is node.inputs[1]:
        found, clamp = _with_chain(x, x.chain.to_power(2)), op.clamp
    else:
        found = _with_chain(x, _function(node, x.chain, constants))
        clamp = op.clamp if isinstance(op, Arithmetic) else None
    if found is None or clamp is None:
        return found
    return _with_chain(found, found.chain.clipped(*clamp))


def _with_chain(x: Trace, chain: Chain | None) -> Trace | None:
    return None if chain is None else replace(x, chain=chain)


def _function(node: Node, chain: Chain, constants: list[Array | None]) -> Chain | None:
    op = node.op
    if isinstance(op, Relu):
        return chain.clipped(*op.clamp)
    if isinstance(op, Sqrt | Square):
        return chain.to_power(0.5 if isinstance(op, Sqrt) else 2.0)
    if isinstance(op, Log):
        return chain.log()
    if isinstance(op, Power | Pow):
        exponent = _exponent(node, constants)
        return None if exponent is None else chain.to_power(exponent)
    number = _only_number(next((data for data in constants if data is not None), None))
    if number is None:
        return None
    is_first = constants[0] is not None
    if isinstance(op, Mul):
        return chain.times(number)
    if isinstance(op, Div) and not is_first and number:
        return chain.times(1 / number)
    if isinstance(op, Add):
        return chain.plus(number)
    if isinstance(op, Sub):
        turned = chain.times(-1.0) if is_first else chain
        return None if turned is None else turned.plus(number if is_first else -number)
    if isinstance(op, Maximum):
        return chain.clipped(low=number)
    return chain.clipped(high=number) if isinstance(op, Minimum) else None


def _banked(node: Node, x: Trace, constants: list[Array | None]) -> Trace | None:
    """Sums of bins; those of a row must be bins of one frame, the same bins in every row."""
    op, chain = node.op, x.chain.rooted()
    if chain is None or chain.bank is not None or chain.is_logarithm or not chain.is_plain:
        return None
    position = 1 if constants[0] is None else 0
    weights = constants[position]
    if weights is None or math.prod(weights.shape[:-2]) != 1:
        return None
    weights, places, bias = weights.reshape(weights.shape[-2:]), x.places, 0.0
    if isinstance(op, BatchMatMul):
        if (op.adj_y if position == 1 else op.adj_x) == (position == 0):
            weights = weights.T
        if (op.adj_x if position == 1 else op.adj_y) == (position == 1):
            places = np.swapaxes(places, -1, -2)
    else:
        number = _only_number(constants[2])
        if position == 0 or number is None or number < 0:
            return None
        bias = number
    rows = places.reshape(-1, places.shape[-1]) - 1
    frames, bins = rows // x.width, rows % x.width
    is_row = (rows >= 0) & (frames == frames[:, :1]) & (bins == bins[:1])
    if not is_row.all() or not np.isfinite(weights).all() or (weights < 0).any():
        return None
    bank = np.zeros((len(weights), x.width))
    for place, column in zip(bins[0].tolist(), weights.T, strict=True):
        bank[:, place] += column
    count = len(bank)
    made = (frames[:, :1] * count + np.arange(1, 1 + count)).reshape(*places.shape[:-1], count)
    if position == 0:
        made = np.swapaxes(made, -1, -2)
    return replace(
        x, width=count, places=made, factors=np.ones(made.shape),
        chain=replace(chain, bank=bank, floor=bias),
    )  # fmt: skip


_RULES = {Kind.PARTS: _of_parts, Kind.SQUARES: _of_squares, Kind.FEATURES: _of_features}
