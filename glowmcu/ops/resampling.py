"""`resample`: every result along one axis is a weighted sum of neighbouring inputs.

out[o] = offsets[o] + sum_t weights[o, t] * in[starts[o] + t]; with tables known at compile time it
is every kind of separable interpolation, an axis at a time: linear, cubic, antialiased, cropped.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.ir.equality import operation_key
from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, Signature
from glowmcu.ir.types import Shape, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.real import verify_float
from glowmcu.ops.registry import operation

_LARGEST_SIZE = 2**15 - 1


@operation("resample")
@dataclass(frozen=True, eq=False)
class Resample(Operation):
    """float32. `starts` (O,) are int64, `weights` (O, taps) and `offsets` (O,) float32."""

    axis: int
    starts: Array
    weights: Array
    offsets: Array

    def __post_init__(self) -> None:
        for table in (self.starts, self.weights, self.offsets):
            table.flags.writeable = False

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        (x,) = inputs
        if not 0 <= self.axis < x.rank or not 1 <= x.shape[self.axis] <= _LARGEST_SIZE:
            raise OperationError(f"axis {self.axis} of {x.shape} is not 1 to {_LARGEST_SIZE} long")
        count, taps = self.weights.shape
        if self.starts.shape != (count,) or self.offsets.shape != (count,):
            raise OperationError(f"expected {count} starts and offsets, one a result")
        if count and (self.starts.min() < 0 or self.starts.max() + taps > x.shape[self.axis]):
            raise OperationError(f"{taps} neighbours leave an axis of {x.shape[self.axis]}")
        return ((*x.shape[: self.axis], count, *x.shape[self.axis + 1 :]),)

    def verify(self, signature: Signature) -> None:
        verify_float(signature)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        x = np.moveaxis(inputs[0], self.axis, -1)
        places = self.starts[:, np.newaxis] + np.arange(self.weights.shape[1])
        sums = (x[..., places] * self.weights).sum(axis=-1, dtype=np.float32) + self.offsets
        return (np.ascontiguousarray(np.moveaxis(sums, -1, self.axis)),)

    def macs(self, signature: Signature) -> int:
        return signature.output.element_count * int(self.weights.shape[1])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Resample) and operation_key(self) == operation_key(other)

    def __hash__(self) -> int:
        return hash(operation_key(self))
