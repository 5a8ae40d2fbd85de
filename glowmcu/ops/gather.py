"""Operators that take elements by computed positions: `gather`, `gather_nd` and `gather_elements`.

A position outside its axis is clamped to the nearest end: no index, whatever computed it, can make
the generated code read beyond the tensor. The reference kernels leave that case undefined.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, Signature
from glowmcu.ir.quantization_rule import QuantizationRule, ResultRange
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.ir.value_range import ValueRange
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.ranges import over_channels, united
from glowmcu.ops.registry import operation


class _Gathering(Operation):
    """Base: operands are the tensor and int32 indices; elements of any type."""

    def quantization_rule(self, signature: Signature) -> QuantizationRule | None:
        return QuantizationRule(result=ResultRange.SAME)

    def keeps_channels(self, signature: Signature) -> bool:
        """Whether elements stay in their channel, the last axis."""
        return False

    def ranges_from(
        self, known: Sequence[ValueRange], signature: Signature, rounding: Rounding
    ) -> tuple[ValueRange | None, ...]:
        if self.keeps_channels(signature):
            return (over_channels(signature.output, known[0].low, known[0].high),)
        return (united(known[0], signature.output),)

    def verify(self, signature: Signature) -> None:
        x, indices = signature.inputs
        if indices.element is not ElementType.I32:
            raise OperationError(f"expected i32 indices, got {indices}")
        if x.element is not signature.output.element:
            raise OperationError(f"expected a result like {x}, got {signature.output}")


@operation("gather")
@dataclass(frozen=True)
class Gather(_Gathering):
    """Slices of `x` along `axis`; the first `batch_dims` axes of both operands go together.

    Result: x.shape[:axis] + indices.shape[batch_dims:] + x.shape[axis + 1:].
    """

    axis: int = 0
    batch_dims: int = 0

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        x, indices = inputs
        batch = x.shape[: self.batch_dims]
        if not 0 <= self.batch_dims <= self.axis < x.rank:
            raise OperationError(
                f"axis {self.axis} with {self.batch_dims} batch axes is not in {x.shape}"
            )
        if x.shape[self.axis] == 0 or indices.shape[: self.batch_dims] != batch:
            raise OperationError(f"cannot gather from {x.shape} by {indices.shape}")
        head, tail = x.shape[: self.axis], x.shape[self.axis + 1 :]
        return ((*head, *indices.shape[self.batch_dims :], *tail),)

    def keeps_channels(self, signature: Signature) -> bool:
        return self.axis < signature.inputs[0].rank - 1

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        x, indices = inputs
        inside = np.clip(indices, 0, x.shape[self.axis] - 1)
        batch = x.shape[: self.batch_dims]
        parts = [
            np.take(x[place], inside[place], axis=self.axis - self.batch_dims)
            for place in np.ndindex(*batch)
        ]
        return (np.array(parts, x.dtype).reshape(signature.output.shape),)


@operation("gather_nd")
class GatherNd(_Gathering):
    """Slices of `x` by coordinates: the last axis of `indices` goes over the first axes of `x`."""

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        x, indices = inputs
        if indices.rank < 1 or not 1 <= indices.shape[-1] <= x.rank or 0 in x.shape:
            raise OperationError(f"cannot gather from {x.shape} by coordinates {indices.shape}")
        return ((*indices.shape[:-1], *x.shape[indices.shape[-1] :]),)

    def keeps_channels(self, signature: Signature) -> bool:
        x, indices = signature.inputs
        return indices.shape[-1] < x.rank

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        x, indices = inputs
        last = np.array(x.shape[: indices.shape[-1]]) - 1
        inside = np.clip(indices, 0, last)
        return (np.asarray(x[tuple(np.moveaxis(inside, -1, 0))]),)


@operation("gather_elements")
@dataclass(frozen=True)
class GatherElements(_Gathering):
    """An element for every index: at the index's own place, but along `axis` where it says.

    The indices may be fewer than the tensor's elements along any axis.
    """

    axis: int = 0

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        x, indices = inputs
        if x.rank != indices.rank or not 0 <= self.axis < x.rank or x.shape[self.axis] == 0:
            raise OperationError(f"cannot gather along {self.axis} of {x.shape} by {indices.shape}")
        for axis, (size, count) in enumerate(zip(x.shape, indices.shape, strict=True)):
            if axis != self.axis and count > size:
                raise OperationError(f"{indices.shape} positions leave axis {axis} of {x.shape}")
        return (indices.shape,)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        x, indices = inputs
        return (np.asarray(x[element_places(x.shape, indices, self.axis)]),)


def element_places(shape: Shape, indices: Array, axis: int) -> tuple[Array, ...]:
    """Coordinates in a tensor of `shape`: the index's own, but along `axis` what it says."""
    places: list[Array] = list(np.indices(indices.shape))
    places[axis] = np.clip(indices, 0, shape[axis] - 1)
    return tuple(places)
