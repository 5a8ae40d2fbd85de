"""Operators that put elements around a tensor: `pad` and `mirror_pad`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.ir.operation import Array, OperationError, Rounding, Signature
from glowmcu.ir.types import Shape, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.movement import Copy, Movement, Region, whole
from glowmcu.ops.registry import operation

Paddings = tuple[tuple[int, int], ...]


def padded_shape(shape: Shape, paddings: Paddings) -> Shape:
    """`shape` with `paddings[axis]` elements before and after each axis."""
    if len(paddings) != len(shape) or any(size < 0 for pair in paddings for size in pair):
        raise OperationError(f"{paddings} are no paddings for the axes of {shape}")
    return tuple(
        before + size + after for size, (before, after) in zip(shape, paddings, strict=True)
    )


def interior(shape: Shape, paddings: Paddings) -> Region:
    """Where the unpadded tensor of `shape` lies within the padded one."""
    region = whole(padded_shape(shape, paddings))
    for axis, (before, _) in enumerate(paddings):
        region = region.along(axis, before, shape[axis])
    return region


@operation("pad")
@dataclass(frozen=True)
class Pad(Movement):
    """`paddings[axis]` elements of the stored value `value` before and after each axis."""

    paddings: Paddings = ()
    value: int | float = 0

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        return (padded_shape(inputs[0].shape, self.paddings),)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        return (np.pad(inputs[0], self.paddings, constant_values=self.value),)

    def fill(self, signature: Signature) -> int | float | None:
        return self.value if any(map(any, self.paddings)) else None

    def copies(self, signature: Signature) -> tuple[Copy, ...]:
        shape = signature.inputs[0].shape
        return (Copy(whole(shape), interior(shape, self.paddings)),)


@operation("mirror_pad")
@dataclass(frozen=True)
class MirrorPad(Movement):
    """Each axis goes on backwards beyond its ends.

    `edge_twice` repeats the outermost element (`SYMMETRIC`), else it is the mirror (`REFLECT`).
    """

    paddings: Paddings = ()
    edge_twice: bool = False

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        (x,) = inputs
        shape = padded_shape(x.shape, self.paddings)
        for size, pair in zip(x.shape, self.paddings, strict=True):
            most = size if self.edge_twice else size - 1
            if max(pair) > max(most, 0):
                raise OperationError(f"cannot mirror {max(pair)} elements of an axis of {size}")
        return (shape,)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        mode = "symmetric" if self.edge_twice else "reflect"
        return (np.pad(inputs[0], self.paddings, mode=mode),)  # type: ignore[call-overload]

    def copies(self, signature: Signature) -> tuple[Copy, ...]:
        """The operand into the middle, then axis by axis the result's own elements outwards."""
        shape = signature.inputs[0].shape
        filled = interior(shape, self.paddings)
        copies = [Copy(whole(shape), filled)]
        for axis, (before, after) in enumerate(self.paddings):
            size, skip = shape[axis], 0 if self.edge_twice else 1
            if before:
                source = filled.along(axis, skip + before - 1, before, -1)
                copies.append(Copy(source, filled.along(axis, -before, before), operand=None))
            if after:
                source = filled.along(axis, size - 1 - skip, after, -1)
                copies.append(Copy(source, filled.along(axis, size, after), operand=None))
            filled = filled.along(axis, -before, before + size + after)
        return tuple(copies)
