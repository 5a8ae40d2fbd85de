"""Einsum: a sum of products in Einstein's notation, two operands at a time."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

import numpy as np

from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.onnx.spatial import reshaped
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.types import Shape
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.elementwise import Mul
from glowmcu.ops.matmul import BatchMatMul, FullyConnected
from glowmcu.ops.reduction import Sum
from glowmcu.ops.slicing import Slice
from glowmcu.ops.transpose import Transpose

_EQUATION = re.compile(r"[A-Za-z.]*(?:,[A-Za-z.]*)*(?:->[A-Za-z.]*)?")
#: Axes that an ellipsis stands for, the last one first.
_UNNAMED = "0123456789"


@dataclass(frozen=True)
class _Term:
    """A tensor, and one letter for each of its axes."""

    value: Value
    axes: str

    def size(self, axis: str) -> int:
        return self.value.type.shape[self.axes.index(axis)]

    def sizes(self, axes: Iterable[str]) -> Shape:
        return tuple(self.size(axis) for axis in axes)


@importer("Einsum")
def import_einsum(state: Import, op: NodeRecord) -> None:
    """Matrix products, products, sums, transpositions and diagonals of operands."""
    values = [state.value(op, position) for position in range(len(op.inputs))]
    operands, result = _parsed(op.text("equation", ""), [value.type.rank for value in values])
    terms = [
        _diagonal(state, op, _Term(value, axes))
        for value, axes in zip(values, operands, strict=True)
    ]
    terms = _without_broadcast_axes(state, op, terms)
    while len(terms) > 1:
        kept = {*result, *(axis for term in terms[2:] for axis in term.axes)}
        terms[:2] = [_product(state, op, terms[0], terms[1], kept)]
    (term,) = terms
    term = _summed(state, op, term, result)
    if set(term.axes) != set(result):
        missing = ", ".join(sorted(set(result) - set(term.axes)))
        raise Unsupported("GM106", f"Einsum: no operand has the axis {missing}")
    state.bind(op, [_ordered(state, op, term, result).value])


def _parsed(equation: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """One letter for each axis of the operands and of the result; digits for an ellipsis."""
    text = equation.replace(" ", "")
    left, arrow, result = text.partition("->")
    operands = left.split(",")
    if not _EQUATION.fullmatch(text) or len(operands) != len(ranks):
        raise Unsupported("GM106", f"Einsum: {equation[:80]!r} for {len(ranks)} operands")
    named = [operand.replace("...", "") for operand in operands]
    unnamed = [rank - len(axes) for rank, axes in zip(ranks, named, strict=True)]
    for operand, count, rank in zip(operands, unnamed, ranks, strict=True):
        if not 0 <= count <= len(_UNNAMED) or (count and "..." not in operand):
            raise Unsupported("GM106", f"Einsum: {operand[:40]!r} of a tensor of rank {rank}")
    most = max(unnamed, default=0)
    if not arrow:
        letters = "".join(named)
        result = "..." + "".join(sorted(axis for axis in {*letters} if letters.count(axis) == 1))
    result = result.replace("...", _digits(most), 1)
    filled = [
        operand.replace("...", _digits(count), 1)
        for operand, count in zip(operands, unnamed, strict=True)
    ]
    if any("." in axes for axes in (*filled, result)):
        raise Unsupported("GM106", f"Einsum: {equation[:80]!r} has a dot that is no ellipsis")
    if len(set(result)) < len(result):
        raise Unsupported("GM106", f"Einsum: {equation[:80]!r} has an axis twice in its result")
    return filled, result


def _digits(count: int) -> str:
    return _UNNAMED[:count][::-1]


def _diagonal(state: Import, op: NodeRecord, term: _Term) -> _Term:
    """Of a letter that stands for several axes, the places that are the same on all of them."""
    for axis in dict.fromkeys(term.axes):
        count = term.axes.count(axis)
        if count == 1:
            continue
        lengths = {n for a, n in zip(term.axes, term.value.type.shape, strict=True) if a == axis}
        if len(lengths) > 1:
            sizes = " and ".join(map(str, sorted(lengths)))
            raise Unsupported("GM106", f"Einsum: axis {axis} has {sizes} elements")
        (size,) = lengths
        others = term.axes.replace(axis, "")
        places = [p for p, a in enumerate(term.axes) if a != axis]
        places += [p for p, a in enumerate(term.axes) if a == axis]
        quantization = term.value.type.quantization
        moved = state.add(op, Transpose(tuple(places)), [term.value], quantization=quantization)
        outer = tuple(term.value.type.shape[p] for p in places[: len(others)])
        flat = reshaped(state, op, moved, (*outer, size**count))
        stride = sum(size**power for power in range(count))
        zeros, ones = (0,) * len(outer), (1,) * len(outer)
        taken = Slice((*zeros, 0), (*outer, size), (*ones, stride))
        value = state.add(op, taken, [flat], quantization=quantization)
        term = _Term(value, others + axis)
    return term


def _without_broadcast_axes(state: Import, op: NodeRecord, terms: list[_Term]) -> list[_Term]:
    """An axis of length 1 that is longer elsewhere goes; other lengths have to agree."""
    sizes: dict[str, int] = {}
    for term in terms:
        for axis, size in zip(term.axes, term.value.type.shape, strict=True):
            if size != 1 and sizes.setdefault(axis, size) != size:
                raise Unsupported("GM106", f"Einsum: an axis has {sizes[axis]} and {size} elements")
    found = []
    for term in terms:
        axes = "".join(a for a in term.axes if term.size(a) == sizes.get(a, 1))
        found.append(_Term(reshaped(state, op, term.value, term.sizes(axes)), axes))
    return found


def _summed(state: Import, op: NodeRecord, term: _Term, kept: Iterable[str]) -> _Term:
    """Without the axes that nothing else needs."""
    gone = tuple(place for place, axis in enumerate(term.axes) if axis not in kept)
    if not gone:
        return term
    left = "".join(axis for axis in term.axes if axis in kept)
    return _Term(state.add(op, Sum(gone, False), [term.value]), left)


def _ordered(state: Import, op: NodeRecord, term: _Term, axes: str) -> _Term:
    """The same tensor with its axes in this order."""
    order = tuple(map(term.axes.index, axes))
    if order == tuple(range(len(order))):
        return term
    quantization = term.value.type.quantization
    moved = state.add(op, Transpose(order), [term.value], quantization=quantization)
    return _Term(moved, axes)


def _product(state: Import, op: NodeRecord, left: _Term, right: _Term, kept: set[str]) -> _Term:
    """Of two operands; axes that are in both and that nothing else needs are summed over."""
    left = _summed(state, op, left, kept | set(right.axes))
    right = _summed(state, op, right, kept | set(left.axes))
    shared = "".join(axis for axis in left.axes if axis in right.axes)
    batch = "".join(axis for axis in shared if axis in kept)
    summed = "".join(axis for axis in shared if axis not in kept)
    rows = "".join(axis for axis in left.axes if axis not in shared)
    columns = "".join(axis for axis in right.axes if axis not in shared)
    axes = batch + rows + columns
    shape = (*left.sizes(batch + rows), *right.sizes(columns))
    left = _ordered(state, op, left, batch + rows + summed)
    right = _ordered(state, op, right, batch + summed + columns)
    outer = left.sizes(batch)
    height, depth = math.prod(left.sizes(rows)), math.prod(left.sizes(summed))
    width = math.prod(right.sizes(columns))
    ours = (*outer, height, depth if summed else 1)
    theirs = (*outer, depth, width) if summed else (*outer, 1, width)
    operands = [reshaped(state, op, left.value, ours), reshaped(state, op, right.value, theirs)]
    if not summed:
        product = state.add(op, Mul(), operands)
    else:
        product = _matrix_product(state, op, operands)
    return _Term(reshaped(state, op, product, shape), axes)


def _matrix_product(state: Import, op: NodeRecord, operands: list[Value]) -> Value:
    """A constant matrix on the right makes a fully connected layer."""
    left, right = operands
    matrix = state.builder.known.get(right)
    if matrix is None or matrix.ndim != 2:
        return state.add(op, BatchMatMul(), operands)
    weights = state.add_constant(np.ascontiguousarray(matrix.T), right.name)
    bias = state.builder.add_no_bias(matrix.shape[1])
    return state.add(op, FullyConnected(), [left, weights, bias])
