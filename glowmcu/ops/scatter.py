"""Operators that put elements at computed positions: `scatter_elements` and `scatter_nd`.

Operands are the tensor, int32 indices and updates; the result is the tensor with the updates in
it, in the order of the indices. A position outside its axis is clamped to the nearest end: no index
can make the generated code write beyond the tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, Signature
from glowmcu.ir.quantization_rule import QuantizationRule, ResultRange
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.gather import element_places
from glowmcu.ops.reduction import is_plain
from glowmcu.ops.registry import operation


class Combine(Enum):
    """How an update joins the element that is there."""

    REPLACE = "none"
    ADD = "add"
    MUL = "mul"
    MAX = "max"
    MIN = "min"


_FUNCTIONS = {
    Combine.ADD: np.add,
    Combine.MUL: np.multiply,
    Combine.MAX: np.maximum,
    Combine.MIN: np.minimum,
}


@dataclass(frozen=True)
class Scatter(Operation):
    """Base: what the two have in common."""

    combine: Combine = Combine.REPLACE

    def verify(self, signature: Signature) -> None:
        x, indices, updates = signature.inputs
        if indices.element is not ElementType.I32:
            raise OperationError(f"expected i32 indices, got {indices}")
        alike = {(t.element, t.quantization) for t in (x, updates, signature.output)}
        if len(alike) > 1:
            raise OperationError(f"expected updates and a result like {x}, got {updates}")
        if self.combine in (Combine.ADD, Combine.MUL) and not is_plain(x):
            raise OperationError(f"expected f32, i32 or i64 to {self.combine.value}, got {x}")

    def quantization_rule(self, signature: Signature) -> QuantizationRule | None:
        if self.combine in (Combine.ADD, Combine.MUL):
            return None
        return QuantizationRule((0, 2), result=ResultRange.SAME, unified=True)

    def in_place(self, signature: Signature) -> tuple[int, ...]:
        return (0,)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        x, indices, updates = inputs
        result = x.copy()
        places = self.places(x.shape, indices)
        for position in np.ndindex(*places[0].shape):
            place = tuple(int(axis[position]) for axis in places)
            function = _FUNCTIONS.get(self.combine)
            new = updates[position]
            result[place] = new if function is None else function(result[place], new)
        return (result,)

    def places(self, shape: Shape, indices: Array) -> tuple[Array, ...]:
        """Coordinates of what every update replaces."""
        raise AssertionError(f"{self.name} has no places")


@operation("scatter_elements")
@dataclass(frozen=True)
class ScatterElements(Scatter):
    """Every update goes to its own place, but along `axis` where its index says."""

    axis: int = 0

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        x, indices, updates = inputs
        if not x.rank == indices.rank == updates.rank or not 0 <= self.axis < x.rank:
            raise OperationError(f"cannot scatter {updates.shape} into {x.shape}")
        if indices.shape != updates.shape:
            raise OperationError(f"{indices.shape} indices are not {updates.shape} updates")
        for axis, (size, count) in enumerate(zip(x.shape, indices.shape, strict=True)):
            if size == 0 or (axis != self.axis and count > size):
                raise OperationError(f"{indices.shape} positions leave axis {axis} of {x.shape}")
        return (x.shape,)

    def places(self, shape: Shape, indices: Array) -> tuple[Array, ...]:
        return element_places(shape, indices, self.axis)


@operation("scatter_nd")
class ScatterNd(Scatter):
    """Slices by coordinates: the indices' last axis goes over the first axes of the tensor."""

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        x, indices, updates = inputs
        depth = indices.shape[-1] if indices.rank else 0
        if not 1 <= depth <= x.rank or 0 in x.shape:
            raise OperationError(f"cannot scatter into {x.shape} by coordinates {indices.shape}")
        expected = (*indices.shape[:-1], *x.shape[depth:])
        if updates.shape != expected:
            raise OperationError(f"expected updates of {expected}, got {updates.shape}")
        return (x.shape,)

    def places(self, shape: Shape, indices: Array) -> tuple[Array, ...]:
        inside = np.clip(indices, 0, np.array(shape[: indices.shape[-1]]) - 1)
        return tuple(np.moveaxis(inside, -1, 0))
