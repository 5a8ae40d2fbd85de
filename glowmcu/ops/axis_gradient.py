"""Gradients in fixed point of what goes along an axis: `axis_gradient`, `gather_gradient`.

What mixes elements of an axis, as resized images and means of windows do, is a matrix for it; each
element gets back by its row, whose numbers lie beside each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, Signature
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.block_gradient import (
    BITS,
    SHARED,
    excess,
    expect_gradient,
    is_packed,
    rounded_shift,
    shared,
)
from glowmcu.ops.fixed_point import Int64Array
from glowmcu.ops.registry import operation

#: What magnitudes of a row of weights may sum up to.
REACH_END = 2**15 - 1
#: Gradients that meet in an element are added in int16, each rounded up by a half at most.
MOST_MEETING = 2**12


def _expect_plain(signature: Signature, bits: int) -> None:
    """Raise OperationError unless the gradient and the result are i16."""
    expect_gradient(*signature.inputs[:2])
    expect_gradient(*signature.outputs)
    if is_packed(signature.inputs[0]) or is_packed(signature.output) or not 1 <= bits <= BITS:
        raise OperationError(f"expected gradients of i16, of 1 to {BITS} bits")


@operation("axis_gradient")
@dataclass(frozen=True)
class AxisGradient(Operation):
    """Operands: a gradient i16, exponent and peak; for each element of the result's `axis` where
    the numbers begin that it gets from, i16 (size,), and their weights, i16 (size, count), of which
    a row sums up to less than 2^15. Results: the sums, i16, magnitudes up to 2^bits; exponent and
    peak.
    """

    axis: int = 0
    bits: int = BITS

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        gradient, _, starts, weights = inputs
        if not 0 <= self.axis < gradient.rank or starts.rank != 1 or weights.rank != 2:
            raise OperationError(f"axis {self.axis} of {gradient} by {starts} and {weights}")
        if starts.shape != weights.shape[:1] or weights.shape[1] > gradient.shape[self.axis]:
            raise OperationError(f"{weights} are no weights along axis {self.axis} of {gradient}")
        shape = list(gradient.shape)
        shape[self.axis] = starts.shape[0]
        return (tuple(shape), SHARED.shape)

    def verify(self, signature: Signature) -> None:
        _expect_plain(signature, self.bits)
        if any(type_.element is not ElementType.I16 for type_ in signature.inputs[2:]):
            raise OperationError("expected places and weights of i16")

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        gradient, common, starts, weights = inputs
        exponent, peak = (int(number) for number in common)
        shift = excess(peak * reach(weights), self.bits)
        given = np.moveaxis(gradient, self.axis, 0).astype(np.int64)
        total = np.zeros((len(starts), *given.shape[1:]), np.int64)
        for place in range(weights.shape[1]):
            share = weights[:, place].astype(np.int64)
            total += share.reshape(-1, *[1] * (given.ndim - 1)) * given[starts + place]
        found = np.moveaxis(rounded_shift(total, shift), 0, self.axis).astype(np.int16)
        return np.ascontiguousarray(found), shared(exponent + shift, found)


def reach(weights: Array) -> int:
    """The largest sum of the magnitudes of a row."""
    return int(np.abs(weights.astype(np.int64)).sum(axis=1).max(initial=0))


def band(matrix: Array) -> tuple[Array, Array, float]:
    """Places and weights of a matrix (size, numbers), each less than 2^15, and what real weights
    are multiplied by: a power of 2, or such that all are 1.
    """
    wide = np.asarray(matrix, np.float64)
    single = np.unique(wide[wide != 0])
    unit = float(single[0]) if len(single) == 1 else 1.0
    wide = wide / unit
    most = float(np.abs(wide).sum(axis=1).max(initial=0)) or 1.0
    exponent = math.floor(math.log2(REACH_END / most))
    whole: Int64Array = np.trunc(wide * 2.0**exponent).astype(np.int64)
    while whole.any() and not (whole & 1).any():
        exponent, whole = exponent - 1, whole >> 1
    rows = [np.flatnonzero(row) for row in whole]
    count = max(max((row[-1] - row[0] + 1 for row in rows if len(row)), default=1), 1)
    latest = matrix.shape[1] - count
    starts = np.array([min(row[0], latest) if len(row) else 0 for row in rows], np.int16)
    weights = [row[start : start + count] for row, start in zip(whole, starts, strict=True)]
    return starts, np.array(weights, np.int16).reshape(-1, count), unit * 2.0**-exponent


@operation("gather_gradient")
@dataclass(frozen=True)
class GatherGradient(Operation):
    """Operands: the gradient by slices that were taken, i16, exponent and peak; their places, i32,
    as `gather` takes them of an axis of `length`. Results: the gradient by what they were taken of,
    i16, magnitudes up to 2^bits; exponent and peak.
    """

    axis: int = 0
    batch_dims: int = 0
    length: int = 1
    bits: int = BITS

    def meeting(self, indices: TensorType) -> int:
        """Slices that may all be of one place."""
        return math.prod(indices.shape[self.batch_dims :])

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        gradient, _, indices = inputs
        batch, places = gradient.shape[: self.batch_dims], indices.shape[self.batch_dims :]
        end = self.axis + len(places)
        is_taken = 0 <= self.batch_dims <= self.axis and gradient.shape[self.axis : end] == places
        if not is_taken or indices.shape[: self.batch_dims] != batch or self.length < 1:
            raise OperationError(f"{gradient} is no gradient of slices by {indices}")
        shape = (*gradient.shape[: self.axis], self.length, *gradient.shape[end:])
        return (shape, SHARED.shape)

    def verify(self, signature: Signature) -> None:
        _expect_plain(signature, self.bits)
        indices = signature.inputs[2]
        if indices.element is not ElementType.I32 or self.meeting(indices) > MOST_MEETING:
            raise OperationError(f"{self.meeting(indices)} slices meet in an element: {indices}")

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        gradient, common, indices = inputs
        exponent, peak = (int(number) for number in common)
        shift = excess(peak * self.meeting(signature.inputs[2]), self.bits)
        given, most = rounded_shift(gradient, shift), 1 << self.bits
        inside = np.clip(indices, 0, self.length - 1)
        total = np.zeros(signature.output.shape, np.int64)
        count, own = self.meeting(signature.inputs[2]), self.axis - self.batch_dims
        for batch in np.ndindex(*indices.shape[: self.batch_dims]):
            slices = np.reshape(given[batch], (*total[batch].shape[:own], count, -1))
            places = np.moveaxis(total[batch].reshape(*slices.shape[:own], self.length, -1), own, 0)
            np.add.at(places, inside[batch].reshape(-1), np.moveaxis(slices, own, 0))
        found = np.clip(total, -most, most).astype(np.int16)
        return found, shared(exponent + shift, found)
