"""Operators that repeat elements: `tile` and `broadcast_to`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.ir.operation import Array, OperationError, Rounding, Signature
from glowmcu.ir.types import Shape, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.movement import Copy, Movement, whole
from glowmcu.ops.registry import operation


@operation("tile")
@dataclass(frozen=True)
class Tile(Movement):
    """The operand `multiples[i]` times along axis `i`."""

    multiples: tuple[int, ...] = ()

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        (x,) = inputs
        if len(self.multiples) != x.rank or any(count < 0 for count in self.multiples):
            raise OperationError(f"{self.multiples} are no multiples for the axes of {x.shape}")
        return (tuple(n * count for n, count in zip(x.shape, self.multiples, strict=True)),)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        return (np.tile(inputs[0], self.multiples),)

    def copies(self, signature: Signature) -> tuple[Copy, ...]:
        source, target = whole(signature.inputs[0].shape), whole(signature.output.shape)
        for axis, size in reversed(list(enumerate(signature.inputs[0].shape))):
            source = source.repeated(axis, self.multiples[axis])
            target = target.split(axis, max(size, 1))
        return (Copy(source, target),)


@operation("broadcast_to")
@dataclass(frozen=True)
class BroadcastTo(Movement):
    """The operand repeated along axes of length 1, and along new ones in front, to `shape`."""

    shape: tuple[int, ...] = ()

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        (x,) = inputs
        tail = self.shape[len(self.shape) - x.rank :]
        if (
            min(self.shape, default=1) < 0
            or x.rank > len(self.shape)
            or any(size not in (1, wanted) for size, wanted in zip(x.shape, tail, strict=True))
        ):
            raise OperationError(f"{x.shape} does not broadcast to {self.shape}")
        return (self.shape,)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        return (np.broadcast_to(inputs[0], self.shape),)

    def copies(self, signature: Signature) -> tuple[Copy, ...]:
        source = whole(signature.inputs[0].shape)
        while len(source.loops) < len(self.shape):
            source = source.repeated(0, 1)
        for axis, count in enumerate(self.shape):
            if source.loops[axis][0] != count:
                source = source.repeated(axis, count).along(axis + 1, 0, 1)
                source = source.permuted([i for i in range(len(source.loops)) if i != axis + 1])
        return (Copy(source, whole(self.shape)),)
