"""Operators that change the order of elements: `transpose` and `reverse`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.ir.operation import Array, OperationError, Rounding, Signature
from glowmcu.ir.types import Shape, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.movement import Copy, Movement, whole
from glowmcu.ops.registry import operation


@operation("transpose")
@dataclass(frozen=True)
class Transpose(Movement):
    """Axis `i` of the result is axis `permutation[i]` of the operand.

    Free where only axes of length 1 change their places.
    """

    permutation: tuple[int, ...] = ()

    @property
    def inverse(self) -> Transpose:
        """The one that puts all axes back."""
        return Transpose(tuple(int(axis) for axis in np.argsort(self.permutation)))

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        (x,) = inputs
        if sorted(self.permutation) != list(range(x.rank)):
            raise OperationError(f"{self.permutation} is no permutation of the axes of {x.shape}")
        return (tuple(x.shape[axis] for axis in self.permutation),)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        return (inputs[0].transpose(self.permutation),)

    def copies(self, signature: Signature) -> tuple[Copy, ...]:
        source = whole(signature.inputs[0].shape).permuted(self.permutation)
        return (Copy(source, whole(signature.output.shape)),)


@operation("reverse")
@dataclass(frozen=True)
class Reverse(Movement):
    """Elements in opposite order along `axes`."""

    axes: tuple[int, ...] = ()

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        (x,) = inputs
        if not all(0 <= axis < x.rank for axis in self.axes):
            raise OperationError(f"axes {self.axes} are not all in {x.shape}")
        return (x.shape,)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        return (np.flip(inputs[0], self.axes),)

    def copies(self, signature: Signature) -> tuple[Copy, ...]:
        shape = signature.output.shape
        source = whole(shape)
        for axis in sorted(set(self.axes)):
            source = source.along(axis, shape[axis] - 1, shape[axis], -1)
        return (Copy(source, whole(shape)),)
