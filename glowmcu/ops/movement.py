"""What all operators that only move elements have in common: each is a few strided copies.

A `Region` is a set of elements of a C-ordered tensor: one loop an axis, each with a count and a
stride. A copy pairs two regions of equal shape. Transposing, slicing, padding, joining, splitting,
tiling and space-to-depth differ in their regions alone, so one kernel serves them all, and whether
a result is free (bytes of an operand as they stand) follows from the regions too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from glowmcu.ir.operation import Operation, OperationError, Rounding, Signature
from glowmcu.ir.quantization_rule import QuantizationRule, ResultRange
from glowmcu.ir.types import Shape
from glowmcu.ir.value_range import ValueRange
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.ranges import at_extremes

Loop = tuple[int, int]


@dataclass(frozen=True)
class Region:
    """Elements `first + sum(index * stride)`; `loops` is `(count, stride)`, outermost first.

    Strides are in elements; 0 repeats, negative walks backwards.
    """

    first: int
    loops: tuple[Loop, ...]

    @property
    def shape(self) -> Shape:
        return tuple(count for count, _ in self.loops)

    @property
    def contiguous(self) -> bool:
        """Whether the elements lie one behind the other in memory, in order."""
        expected = 1
        for count, stride in reversed(self.loops):
            if count != 1 and stride != expected:
                return False
            expected *= count
        return True

    def along(self, axis: int, start: int, count: int, step: int = 1) -> Region:
        """Only the positions `start, start + step, …` of one axis."""
        _, stride = self.loops[axis]
        return replace(
            self._with_axis(axis, (count, stride * step)), first=self.first + start * stride
        )

    def split(self, axis: int, inner: int) -> Region:
        """An axis of `n` as two of `n // inner` and `inner`."""
        count, stride = self.loops[axis]
        assert count % inner == 0
        return self._with_axis(axis, (count // inner, stride * inner), (inner, stride))

    def repeated(self, axis: int, count: int) -> Region:
        """A further axis in front of `axis` that shows the same elements `count` times."""
        return replace(self, loops=(*self.loops[:axis], (count, 0), *self.loops[axis:]))

    def permuted(self, order: Sequence[int]) -> Region:
        """Axis `i` of the new region is axis `order[i]` of this one."""
        return replace(self, loops=tuple(self.loops[axis] for axis in order))

    def _with_axis(self, axis: int, *loops: Loop) -> Region:
        return replace(self, loops=(*self.loops[:axis], *loops, *self.loops[axis + 1 :]))


def whole(shape: Shape) -> Region:
    """All elements of a tensor."""
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    return Region(0, tuple(zip(shape, strides, strict=True)))


@dataclass(frozen=True)
class Copy:
    """Elements of `source` go to `target`, a region of result `result`.

    The source is part of `operand`, or of the result itself if `operand` is None.
    """

    source: Region
    target: Region
    operand: int | None = 0
    result: int = 0

    def __post_init__(self) -> None:
        assert math.prod(self.source.shape) == math.prod(self.target.shape)


class Movement(Operation):
    """Base of the operators that are strided copies, of any element type."""

    keeps_bits = True

    def copies(self, signature: Signature) -> tuple[Copy, ...]:
        """What is copied, in order; with `fill`, after the results have been filled."""
        raise AssertionError(f"{type(self).__name__} has no copies")

    def fill(self, signature: Signature) -> int | float | None:
        """Stored value of the elements that no copy reaches; None if there are none."""
        return None

    def verify(self, signature: Signature) -> None:
        elements = {type_.element.value for type_ in (*signature.inputs, *signature.outputs)}
        if len(elements) > 1:
            raise OperationError(f"expected one element type, got {', '.join(sorted(elements))}")

    def quantization_rule(self, signature: Signature) -> QuantizationRule | None:
        """Elements stay what they are; several operands must agree with the result."""
        operands = tuple(range(len(signature.inputs)))
        return QuantizationRule(operands, result=ResultRange.SAME, unified=len(operands) > 1)

    def ranges_from(
        self, known: Sequence[ValueRange], signature: Signature, rounding: Rounding
    ) -> tuple[ValueRange | None, ...]:
        return at_extremes(self, known, signature, rounding)

    def aliases(self, signature: Signature) -> Mapping[int, int]:
        sources = self._alias_sources(signature)
        return {result: operand for result, (operand, _) in sources.items()}

    def alias_offset(self, signature: Signature, result: int) -> int:
        _, source = self._alias_sources(signature)[result]
        return source.first * signature.outputs[result].element.size_bytes

    def contained_operands(self, signature: Signature) -> Mapping[int, int]:
        if self.fill(signature) is not None or self.aliases(signature):
            return {}
        size_bytes = signature.output.element.size_bytes
        copies = self.copies(signature)
        read = [copy.operand for copy in copies]
        if None in read:
            return {}  # parts of the result are made from others: the kernel must run
        return {
            copy.operand: copy.target.first * size_bytes
            for copy in copies
            if copy.operand is not None
            and copy.result == 0
            and read.count(copy.operand) == 1
            and copy.source == whole(signature.inputs[copy.operand].shape)
            and copy.target.contiguous
        }

    def _alias_sources(self, signature: Signature) -> dict[int, tuple[int, Region]]:
        """`{result: (operand, source)}` when every result is one unbroken piece of an operand.

        The last answer is kept: planning asks about each result of a node, one after the other, and
        a split may have thousands.
        """
        for operation, types, sources in _last_sources:
            if operation is self and types is signature:
                return sources
        sources = self._found_alias_sources(signature)
        _last_sources[:] = [(self, signature, sources)]
        return sources

    def _found_alias_sources(self, signature: Signature) -> dict[int, tuple[int, Region]]:
        copies = self.copies(signature)
        results = [copy.result for copy in copies]
        if self.fill(signature) is not None or sorted(results) != list(
            range(len(signature.outputs))
        ):
            return {}
        sources: dict[int, tuple[int, Region]] = {}
        for copy in copies:
            count = signature.outputs[copy.result].element_count
            unbroken = copy.source.contiguous and copy.target.contiguous
            if copy.operand is None or not unbroken or math.prod(copy.target.shape) != count:
                return {}
            sources[copy.result] = (copy.operand, copy.source)
        return sources


_last_sources: list[tuple[Movement, Signature, dict[int, tuple[int, Region]]]] = []
