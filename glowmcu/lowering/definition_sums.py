"""Sums of a definition as layers: products with weights, convolutions, products of matrices."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence

import numpy as np

from glowmcu.index_notation.places import Place, Subscript, factors
from glowmcu.index_notation.rewriting import number, times
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Array
from glowmcu.lazy_dataclass import dataclass
from glowmcu.lowering.definition_terms import NotComposed, Term, Terms
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.elementwise import Add, Mul, Sub
from glowmcu.ops.matmul import BatchMatMul, FullyConnected
from glowmcu.ops.reduction import Mean, Sum


@dataclass(frozen=True)
class _Axis:
    """An axis of a convolution's image: `stride` of the result's index `outer`, if it has one, and
    `dilation` of the index `inner` of the weights.
    """

    outer: str | None
    inner: str
    stride: int
    dilation: int


@dataclass(frozen=True)
class _Image:
    """What a convolution reads: an axis of the tensor each, by the index that it moves with."""

    batch: tuple[str, ...]
    windows: tuple[_Axis, ...]
    channels: tuple[str, ...]
    #: Whether each channel has weights of its own.
    depthwise: bool


class Sums:
    """Sums over the indices that the statement's target, of `kept` indices, does not have."""

    def __init__(self, terms: Terms, kept: Sequence[str]) -> None:
        self._terms, self._kept, self._sizes = terms, tuple(kept), terms.sizes

    def sum(self, node: ast.expr) -> Term:
        """Of a value over all indices. Raises NotComposed."""
        if self._terms.is_known(node):
            return self._terms.constant(self._reduced(self._terms.data(node), self._kept))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            op = Add() if isinstance(node.op, ast.Add) else Sub()
            return self._terms.binary(op, self.sum(node.left), self.sum(node.right))
        parts = factors(node)
        known = [part for part in parts if self._terms.is_known(part)]
        factor: ast.expr = number(1.0)
        for part in known:
            factor = times(factor, part)
        others = self._terms.groups([part for part in parts if part not in known])
        windows = [self._window(part) for part in others]
        if any(windows):
            if len(others) != 1 or windows[0] is None:
                raise NotComposed("a product of windows")
            return self._convolution(*windows[0], self._terms.data(factor))
        made = [self._terms.term(part) for part in others]
        data = self._terms.data(factor)
        if len(made) == 1:
            return self._linear(made[0], data)
        return self._products(made, data)

    def _reduced(self, data: Array, kept: Sequence[str]) -> Array:
        """Known data over all indices, summed over all but `kept` ones."""
        names = list(self._sizes)
        gone = tuple(axis for axis, name in enumerate(names) if name not in kept)
        turns = math.prod(self._sizes[names[axis]] for axis in gone if data.shape[axis] == 1)
        summed: Array = data.sum(axis=gone, keepdims=True, dtype=np.float64) * turns
        return summed.astype(np.float32)

    def _window(self, node: ast.expr) -> tuple[Value, Place] | None:
        """The tensor, its function taken, and its place, if that has windows."""
        variables = self._terms.variables(node)
        if len(variables) != 1:
            return None
        ((text, read),) = variables.items()
        place = self._terms.place(read)
        if not place.is_window:
            return None
        value = self._terms.applied(node, text, self._terms.made[place.tensor])
        return value, place

    def _axes_of(self, data: Array) -> set[str]:
        """Indices that known data depend on."""
        return {name for axis, name in enumerate(self._sizes) if data.shape[axis] > 1}

    def _linear(self, term: Term, data: Array) -> Term:
        """The sum of a term times known data."""
        gone = [name for name in term.axes if name not in self._kept]
        weights = self._reduced(data, [*self._kept, *gone])
        weighted = self._axes_of(weights)
        if not weighted & {*gone}:
            return self._summed(term, weights)
        shared = [name for name in term.axes if name in weighted and name in self._kept]
        if shared:
            subscripts = tuple(Subscript(((name, 1),), 0) for name in term.axes)
            return self._convolution(term.value, Place("", subscripts), data)
        return self._fully_connected(term, weights, gone)

    def _summed(self, term: Term, data: Array) -> Term:
        """The sum over all other indices, times known data; a mean where these say so."""
        count = math.prod(self._sizes[name] for name in term.axes if name not in self._kept)
        if count > 1 and data.size == 1 and math.isclose(data.item() * count, 1, rel_tol=1e-6):
            return self._without(term, {*self._kept}, Mean)
        term = self._without(term, {*self._kept}, Sum)
        if bool((data == 1).all()):
            return term
        return self._terms.binary(Mul(), term, self._terms.constant(data))

    def _fully_connected(self, term: Term, data: Array, gone: Sequence[str]) -> Term:
        """Weights over what is summed and over indices that only they have."""
        emit, sizes = self._terms.emit, self._sizes
        rows = [name for name in term.axes if name in self._kept]
        columns = [name for name in self._kept if name in self._axes_of(data)]
        weights = self._weights(data, [*columns, *gone]).reshape(
            math.prod(sizes[name] for name in columns), -1
        )
        x = emit.transpose(term.value, [term.axes.index(name) for name in (*rows, *gone)])
        x = emit.reshape(x, (math.prod(sizes[name] for name in rows), weights.shape[1]))
        bias = emit.no_bias(weights.shape[0])
        y = emit.add(FullyConnected(), x, emit.constant(weights), bias)
        return self._result(y, (*rows, *columns))

    def _result(self, value: Value, axes: tuple[str, ...]) -> Term:
        value = self._terms.emit.reshape(value, tuple(self._sizes[name] for name in axes))
        return self._terms.reordered(Term(value, axes))

    def _weights(self, data: Array, names: Sequence[str]) -> Array:
        """Known data over these indices alone, in this order, all of their length."""
        order = list(self._sizes)
        if self._axes_of(data) - {*names}:
            raise NotComposed("weights that depend on where in the image they stand")
        places = [order.index(name) for name in names]
        others = [axis for axis in range(len(order)) if axis not in places]
        made = data.transpose([*places, *others]).reshape([data.shape[axis] for axis in places])
        return np.broadcast_to(made, [self._sizes[name] for name in names])

    def _convolution(self, value: Value, place: Place, data: Array) -> Term:
        """Weights that move along the image, one set for all channels or one for each."""
        reach = [name for name in place.indices if name not in self._kept]
        data = self._reduced(data, [*self._kept, *reach])
        weighted = self._axes_of(data)
        image = self._image(place, weighted)
        columns = [n for n in self._kept if n in weighted and n not in place.indices]
        emit, sizes = self._terms.emit, self._sizes
        sliced = self._terms.sliced(value, place)
        x = emit.reshape(sliced, tuple(
            length for length, each in zip(sliced.type.shape, place.subscripts, strict=True)
            if each.coefficients
        ))  # fmt: skip
        names = [*image.batch, *(axis.inner for axis in image.windows), *image.channels]
        axes = [each.indices for each in place.subscripts if each.coefficients]
        x = emit.transpose(x, [next(i for i, a in enumerate(axes) if n in a) for n in names])
        lengths = [x.type.shape[len(image.batch) + i] for i in range(len(image.windows))]
        height_width = [1] * (2 - len(lengths)) + lengths
        depth = math.prod(sizes[name] for name in image.channels)
        batch = math.prod(sizes[name] for name in image.batch)
        x = emit.reshape(x, (batch, height_width[0], height_width[1], depth))
        y = self._convolved(x, image, columns, data)
        outer = tuple(axis.outer for axis in image.windows if axis.outer is not None)
        channels = (*image.channels, *columns) if image.depthwise else tuple(columns)
        return self._result(y, (*image.batch, *outer, *channels))

    def _convolved(self, x: Value, image: _Image, columns: Sequence[str], data: Array) -> Value:
        sizes, emit = self._sizes, self._terms.emit
        inner = [axis.inner for axis in image.windows]
        taps = [1] * (2 - len(inner)) + [sizes[name] for name in inner]
        strides = (1, *(axis.stride for axis in image.windows))[-2:]
        dilations = (1, *(axis.dilation for axis in image.windows))[-2:]
        if image.depthwise:
            weights = self._weights(data, [*inner, *image.channels, *columns])
            weights = weights.reshape(1, *taps, -1)
            op: Conv2D | DepthwiseConv2D = DepthwiseConv2D(_pair(strides), _pair(dilations))
        else:
            weights = self._weights(data, [*columns, *inner, *image.channels])
            weights = weights.reshape(-1, *taps, x.type.shape[3])
            op = Conv2D(_pair(strides), _pair(dilations))
        count = weights.shape[3] if image.depthwise else weights.shape[0]
        return emit.add(op, x, emit.constant(weights), emit.no_bias(count))

    def _image(self, place: Place, weighted: set[str]) -> _Image:
        """Which axis is what. Raises NotComposed."""
        plain = [each.indices[0] for each in place.subscripts if len(each.coefficients) == 1]
        windows = [self._axis(each) for each in place.subscripts if len(each.coefficients) > 1]
        own = [name for name in plain if name in self._kept and name in weighted]
        batch = [name for name in plain if name in self._kept and name not in weighted]
        summed = [name for name in plain if name not in self._kept]
        if own:
            windows += [_Axis(None, name, 1, 1) for name in summed]
        if not 0 < len(windows) <= 2:
            raise NotComposed(f"windows along {len(windows)} axes")
        channels = own if own else summed
        return _Image(tuple(batch), tuple(windows), tuple(channels), bool(own))

    def _axis(self, each: Subscript) -> _Axis:
        factors_of: Mapping[str, int] = dict(each.coefficients)
        outer = [name for name in factors_of if name in self._kept]
        inner = [name for name in factors_of if name not in self._kept]
        if len(outer) != 1 or len(inner) != 1 or min(factors_of.values()) < 1:
            raise NotComposed("a window of another kind")
        return _Axis(outer[0], inner[0], factors_of[outer[0]], factors_of[inner[0]])

    def _products(self, made: Sequence[Term], data: Array) -> Term:
        """Of tensors that the network computes, two at a time, times a number."""
        if data.size != 1:
            made = [*made[:-1], self._terms.binary(Mul(), made[-1], self._terms.constant(data))]
            data = np.ones(1, np.float32)
        left = made[0]
        for place, right in enumerate(made[1:], 1):
            later = {axis for term in made[place + 1 :] for axis in term.axes}
            left = self._product(left, right, {*self._kept, *later})
        read = {axis for term in made for axis in term.axes} | {*self._kept}
        turns = math.prod(size for name, size in self._sizes.items() if name not in read)
        return self._summed(left, data.reshape((1,) * len(self._sizes)) * np.float32(turns))

    def _product(self, left: Term, right: Term, kept: set[str]) -> Term:
        """Of two tensors, summed over what both have and nothing else needs."""
        emit, sizes = self._terms.emit, self._sizes
        axes = {*left.axes}
        left = self._without(left, kept | {*right.axes}, Sum)
        right = self._without(right, kept | axes, Sum)
        shared = [name for name in left.axes if name in right.axes]
        batch = [name for name in shared if name in kept]
        summed = [name for name in shared if name not in kept]
        if not summed:
            return self._terms.binary(Mul(), left, right)
        rows = [name for name in left.axes if name not in shared]
        columns = [name for name in right.axes if name not in shared]
        depth = math.prod(sizes[name] for name in summed)
        outer = tuple(sizes[name] for name in batch)
        ours = emit.transpose(left.value, [left.axes.index(n) for n in (*batch, *rows, *summed)])
        theirs = emit.transpose(
            right.value, [right.axes.index(n) for n in (*batch, *summed, *columns)]
        )
        height, width = (math.prod(sizes[n] for n in names) for names in (rows, columns))
        product = emit.add(
            BatchMatMul(),
            emit.reshape(ours, (*outer, height, depth)),
            emit.reshape(theirs, (*outer, depth, width)),
        )
        return self._result(product, (*batch, *rows, *columns))

    def _without(self, term: Term, kept: set[str], op: type[Sum | Mean]) -> Term:
        """Summed over all indices but these."""
        axes = tuple(i for i, name in enumerate(term.axes) if name not in kept)
        if not axes:
            return term
        left = tuple(name for name in term.axes if name in kept)
        return Term(self._terms.emit.add(op(axes, False), term.value), left)


def _pair(numbers: Sequence[int]) -> tuple[int, int]:
    return numbers[0], numbers[1]
