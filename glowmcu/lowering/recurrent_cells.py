"""What one step of a loop computes, if it is a step of an LSTM, a GRU or a plain recurrent layer.

Before a gate's function stands a sum: a part of a product with the step's input, one of a product
with the hidden state, and constants. Exporters split the product or the sum, by `split` or `slice`,
and write factors and terms in any order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array, Constant, Operation
from glowmcu.ir.types import ElementType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.elementwise import Add, Mul, Sub
from glowmcu.ops.gather import Gather
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.recurrence import CellKind
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice, Split
from glowmcu.ops.transcendental import Logistic, Tanh
from glowmcu.ops.update_slice import DynamicUpdateSlice

#: Of a sum that is looked at; that of a gate has about ten.
_MOST_VALUES = 64


@dataclass(frozen=True, eq=False)
class Gate:
    """W x + R h + b: weights (H, I) and (H, H), biases (H,) of either product."""

    input_weights: Array
    recurrent_weights: Array
    input_bias: Array
    recurrent_bias: Array


@dataclass(frozen=True, eq=False)
class Cell:
    """`x` is the step's input; `hidden` and `state`, of an LSTM, are positions of what is carried.
    `gates` are in the order of `recurrence`.
    """

    kind: CellKind
    x: Value
    hidden: int
    state: int | None
    gates: tuple[Gate, ...]
    resets_after: bool = False


@dataclass(frozen=True)
class _Term:
    """Positions from `begin` on, along the last axis, of a product or of a constant."""

    of: Node | Value
    begin: int
    size: int


@dataclass(frozen=True, eq=False)
class _Product:
    """Rows of weights and of biases, and what they are multiplied with."""

    source: Value
    weights: Array
    bias: Array


@dataclass(frozen=True, eq=False)
class _Sum:
    products: tuple[_Product, ...]
    bias: Array


class StepGraph:
    """A loop's body, looked at from its results."""

    def __init__(self, body: Graph) -> None:
        self.body = body

    def plain(self, value: Value) -> Value:
        """What is reshaped, perhaps several times."""
        node = self.made(value, Reshape)
        while node is not None:
            value = node.inputs[0]
            node = self.made(value, Reshape)
        return value

    def made(self, value: Value, op: type[Operation]) -> Node | None:
        """The node that makes a value, if it is of this kind and fuses no activation."""
        node = self.body.producers.get(value)
        if node is None or not isinstance(node.op, op) or getattr(node.op, "clamp", None):
            return None
        return node

    def pair(self, value: Value, op: type[Operation]) -> Iterator[tuple[Value, Value]]:
        """Both operands of a sum or product, in either order."""
        node = self.made(self.plain(value), op)
        if node is not None:
            a, b = map(self.plain, node.inputs)
            yield a, b
            yield b, a

    def number(self, value: Value) -> float | None:
        """What a constant of one element holds."""
        data = self.body.constant_data(self.plain(value))
        return None if data is None or data.size != 1 else float(data.reshape(-1)[0])

    def is_next(self, value: Value, old: Value) -> bool:
        """Whether one is the other and 1."""
        return any(a is old and self.number(b) == 1 for a, b in self.pair(value, Add))

    def row(self, value: Value) -> tuple[Value, Value] | None:
        """The tensor and the index of which a value is a row."""
        node = self.made(self.plain(value), Gather)
        if node is None or not isinstance(node.op, Gather) or node.op.axis or node.op.batch_dims:
            return None
        return node.inputs[0], self.plain(node.inputs[1])

    def is_written_row(self, value: Value, old: Value, row: Value, index: Value) -> bool:
        """Whether `value` is the tensor `old` with that row in the place of the one at `index`."""
        node = self.made(value, DynamicUpdateSlice)
        if node is None or node.inputs[0] is not old:
            return False
        if self.plain(node.inputs[1]) is not self.plain(row):
            return False
        place = self.made(node.inputs[2], Concatenation)
        if place is None or self.plain(place.inputs[0]) is not index:
            return False
        rest = [self.body.constant_data(other) for other in place.inputs[1:]]
        return all(data is not None and not data.any() for data in rest)

    def terms(self, value: Value) -> list[_Term] | None:
        """What is summed up; None for more than a cell has, or rows that are shaped otherwise."""
        size = value.type.shape[-1]
        found: list[_Term] = []
        left = [(value, 0)]
        for _ in range(_MOST_VALUES):
            if not left:
                return found
            value, begin = left.pop()
            node = self.body.producers.get(value)
            if node is None or isinstance(node.op, Constant):
                found.append(_Term(value, begin, size))
            elif self.made(value, FullyConnected):
                found.append(_Term(node, begin, size))
            elif self.made(value, Add):
                left += [(x, begin) for x in reversed(node.inputs)]
            elif isinstance(node.op, Split) and node.op.axis == value.type.rank - 1:
                before = sum(node.op.sizes[: node.outputs.index(value)])
                left.append((node.inputs[0], begin + before))
            elif isinstance(node.op, Slice) and self._keeps_rows(node):
                left.append((node.inputs[0], begin + node.op.begin[-1]))
            elif isinstance(node.op, Reshape) and _has_same_rows(node):
                left.append((node.inputs[0], begin))
            else:
                return None
        return None

    def _keeps_rows(self, node: Node) -> bool:
        """Whether a slice takes a part of the last axis, and all of the others."""
        assert isinstance(node.op, Slice)
        return set(node.op.step) == {1} and node.op.size[:-1] == node.inputs[0].type.shape[:-1]

    def products(self, value: Value, hidden: Value) -> _Sum | None:
        """The products with weights in a sum, and its constants; None if it is not as wide as the
        hidden state.
        """
        given, wanted = value.type, hidden.type
        if given.shape[-1:] != wanted.shape[-1:] or given.element_count != wanted.element_count:
            return None
        size = value.type.shape[-1]
        found, bias = [], np.zeros(size, np.float32)
        for term in self.terms(value) or ():
            part = slice(term.begin, term.begin + size)
            if isinstance(term.of, Node):
                weights, own = (self.body.constant_data(x) for x in term.of.inputs[1:3])
                if weights is None or own is None or len(own) < part.stop:
                    return None
                source = self.plain(term.of.inputs[0])
                found.append(_Product(source, weights[part], own[part]))
                continue
            data = self.body.constant_data(term.of)
            if data is None or (data.size != 1 and data.shape[-1:] != (data.size,)):
                return None
            flat = data.reshape(-1)
            if 1 < flat.size < part.stop:
                return None
            bias = bias + (flat if flat.size == 1 else flat[part])
        return _Sum(tuple(found), bias)

    def gate(self, value: Value, hidden: Value) -> tuple[Gate, Value] | None:
        """W x + R h + b, and x."""
        total = self.products(value, hidden)
        if total is None or len(total.products) != 2:
            return None
        one, other = total.products
        given, recurrent = (other, one) if one.source is hidden else (one, other)
        if recurrent.source is not hidden or given.source is hidden:
            return None
        bias = given.bias + total.bias
        return Gate(given.weights, recurrent.weights, bias, recurrent.bias), given.source


def _has_same_rows(reshape: Node) -> bool:
    """Whether a reshape leaves the last axis as it is."""
    return reshape.inputs[0].type.shape[-1:] == reshape.output.type.shape[-1:]


def cell_of(
    step: StepGraph, carried: Sequence[Value], after: Sequence[Value], place: int
) -> Cell | None:
    """The cell whose hidden state is carried at `place`."""
    type_ = carried[place].type
    if type_.rank != 2 or type_.element is not ElementType.F32:
        return None
    found = _lstm(step, carried, after, place) or _gru(step, carried[place], after[place], place)
    return found or _plain(step, carried[place], after[place], place)


def _cell(
    step: StepGraph, kind: CellKind, hidden: Value, places: tuple[int, int | None],
    sums: Sequence[Value],
) -> Cell | None:  # fmt: skip
    """Of the sums before the gates' functions."""
    gates, sources = [], []
    for value in sums:
        found = step.gate(value, hidden)
        if found is None:
            return None
        gates.append(found[0])
        sources.append(found[1])
    if any(source is not sources[0] for source in sources):
        return None
    return Cell(kind, sources[0], *places, tuple(gates))


def _argument(step: StepGraph, value: Value, function: type[Operation]) -> Value | None:
    node = step.made(step.plain(value), function)
    return None if node is None else node.inputs[0]


def _plain(step: StepGraph, hidden: Value, after: Value, place: int) -> Cell | None:
    total = _argument(step, after, Tanh)
    return None if total is None else _cell(step, CellKind.RNN, hidden, (place, None), [total])


def _lstm(
    step: StepGraph, carried: Sequence[Value], after: Sequence[Value], place: int
) -> Cell | None:
    """h' = sigmoid(o) tanh(c'), c' = sigmoid(f) c + sigmoid(i) tanh(g)."""
    for gate, shown in step.pair(after[place], Mul):
        o, state = _argument(step, gate, Logistic), _argument(step, shown, Tanh)
        if o is None or state is None:
            continue
        at = next((i for i, x in enumerate(after) if step.plain(x) is step.plain(state)), None)
        if at is None:
            continue
        for kept, new in step.pair(state, Add):
            f = next((_argument(step, a, Logistic) for a, b in step.pair(kept, Mul)
                      if b is carried[at]), None)  # fmt: skip
            for a, b in step.pair(new, Mul):
                i, g = _argument(step, a, Logistic), _argument(step, b, Tanh)
                if f is not None and i is not None and g is not None:
                    sums = (i, o, f, g)
                    return _cell(step, CellKind.LSTM, carried[place], (place, at), sums)
    return None


def _gru(step: StepGraph, hidden: Value, after: Value, place: int) -> Cell | None:
    """h' = z h + (1 - z) n, n = tanh(W x + b + r (R h + c)): the reset gate acts on the product."""
    for kept, new in step.pair(after, Add):
        z = next((a for a, b in step.pair(kept, Mul) if b is hidden), None)
        if z is None:
            continue
        for rest, candidate in step.pair(new, Mul):
            difference = step.made(rest, Sub)
            total = _argument(step, candidate, Tanh)
            if difference is None or total is None or step.number(difference.inputs[0]) != 1:
                continue
            if step.plain(difference.inputs[1]) is step.plain(z):
                return _reset_after(step, hidden, place, z, total)
    return None


def _reset_after(step: StepGraph, hidden: Value, place: int, z: Value, total: Value) -> Cell | None:
    for given, product in step.pair(total, Add):
        for reset, recurrent in step.pair(product, Mul):
            update, opened = _argument(step, z, Logistic), _argument(step, reset, Logistic)
            if update is None or opened is None:
                continue
            both = _cell(step, CellKind.GRU, hidden, (place, None), (update, opened))
            new = _candidate(step, given, recurrent, hidden)
            if both is not None and new is not None and new[1] is both.x:
                gates = (*both.gates, new[0])
                return Cell(CellKind.GRU, both.x, place, None, gates, resets_after=True)
    return None


def _candidate(
    step: StepGraph, given: Value, recurrent: Value, hidden: Value
) -> tuple[Gate, Value] | None:
    """W x + b and R h + c, and x."""
    sums = step.products(given, hidden), step.products(recurrent, hidden)
    if any(total is None or len(total.products) != 1 for total in sums):
        return None
    (x, own), (h, other) = ((total.products[0], total.bias) for total in sums if total is not None)
    if h.source is not hidden or x.source is hidden:
        return None
    return Gate(x.weights, h.weights, x.bias + own, h.bias + other), x.source
