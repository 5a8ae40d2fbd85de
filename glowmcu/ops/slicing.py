"""Operators that take parts of a tensor: `slice` and `split`."""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.ir.operation import Array, OperationError, Rounding, RowWindow, Signature
from glowmcu.ir.types import Shape, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.movement import Copy, Movement, whole
from glowmcu.ops.registry import operation


@operation("slice")
@dataclass(frozen=True)
class Slice(Movement):
    """Positions `begin, begin + step, …`, `size` of them, along every axis.

    Steps may be negative. Free where what is taken lies together.
    """

    begin: tuple[int, ...] = ()
    size: tuple[int, ...] = ()
    step: tuple[int, ...] = ()

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        (x,) = inputs
        if not len(self.begin) == len(self.size) == len(self.step) == x.rank:
            raise OperationError(f"expected begin, size and step for each axis of {x.shape}")
        for length, begin, size, step in zip(
            x.shape, self.begin, self.size, self.step, strict=True
        ):
            last = begin + (size - 1) * step
            if size < 0 or not step or (size and not (0 <= begin < length and 0 <= last < length)):
                raise OperationError(
                    f"{size} positions from {begin} in steps of {step} leave an axis of {length}"
                )
        return (self.size,)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        parts = []
        for begin, size, step in zip(self.begin, self.size, self.step, strict=True):
            end = begin + size * step
            parts.append(slice(begin, None if end < 0 else end, step))
        return (inputs[0][tuple(parts)],)

    def input_rows(
        self, signature: Signature, first: int, end: int
    ) -> tuple[RowWindow | None, ...]:
        """Row for row where all rows are taken."""
        rows = signature.inputs[0].shape[1:2]
        if (self.begin[1:2], self.size[1:2], self.step[1:2]) != ((0,), rows, (1,)):
            return (None,)
        return (RowWindow(first, end),)

    def copies(self, signature: Signature) -> tuple[Copy, ...]:
        source = whole(signature.inputs[0].shape)
        for axis, (begin, size, step) in enumerate(
            zip(self.begin, self.size, self.step, strict=True)
        ):
            source = source.along(axis, begin, size, step)
        return (Copy(source, whole(self.size)),)


@operation("split")
@dataclass(frozen=True)
class Split(Movement):
    """Consecutive parts of `sizes` along `axis`; `drop_axis` removes it (parts of length 1).

    Free along the outermost axis longer than 1.
    """

    axis: int = 0
    sizes: tuple[int, ...] = ()
    drop_axis: bool = False

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        (x,) = inputs
        if not 0 <= self.axis < x.rank:
            raise OperationError(f"axis {self.axis} is not in {x.shape}")
        if sum(self.sizes) != x.shape[self.axis] or any(size < 0 for size in self.sizes):
            raise OperationError(f"parts of {self.sizes} do not make up axis {self.axis} of {x}")
        if self.drop_axis and set(self.sizes) != {1}:
            raise OperationError(f"only parts of length 1 can lose their axis, got {self.sizes}")
        head, tail = x.shape[: self.axis], x.shape[self.axis + 1 :]
        return tuple(
            (*head, *tail) if self.drop_axis else (*head, size, *tail) for size in self.sizes
        )

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        results, start = [], 0
        for size, type_ in zip(self.sizes, signature.outputs, strict=True):
            part = inputs[0].swapaxes(0, self.axis)[start : start + size].swapaxes(0, self.axis)
            results.append(part.reshape(type_.shape))
            start += size
        return tuple(results)

    def copies(self, signature: Signature) -> tuple[Copy, ...]:
        copies, start = [], 0
        shape = signature.inputs[0].shape
        for result, size in enumerate(self.sizes):
            part = (*shape[: self.axis], size, *shape[self.axis + 1 :])
            source = whole(shape).along(self.axis, start, size)
            copies.append(Copy(source, whole(part), result=result))
            start += size
        return tuple(copies)
