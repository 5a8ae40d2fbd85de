"""How a tensor that a pair quantizes is stored here: 8 bits as int8, 16 bits as int16 around zero.

uint8 is int8 with a zero point 128 lower. int16 with another zero point than 0 is stored in steps
that are wider, twice as wide at most, and ends where the file's own type does.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from glowmcu.ir.operation import Array, Operation
from glowmcu.ir.types import ElementType, Quantization, Shape, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.gather import Gather, GatherElements, GatherNd
from glowmcu.ops.movement import Movement
from glowmcu.ops.normalization import LogSoftmax
from glowmcu.ops.pooling import MaxPool2D
from glowmcu.ops.reduction import ReduceMax, ReduceMin
from glowmcu.ops.resize import ResizeNearestNeighbor
from glowmcu.ops.scan import TopK
from glowmcu.ops.shape import Reshape
from glowmcu.ops.wide import INT16_MAX

#: What a pair may store a tensor as.
PAIRED = (ElementType.I8, ElementType.UI8, ElementType.I16)
_CHOOSING = (
    Reshape, MaxPool2D, ResizeNearestNeighbor, Gather, GatherElements, GatherNd, ReduceMax,
    ReduceMin, TopK,
)  # fmt: skip
#: In steps of the file: what an operator of fixed int16 parameters may have.
_WIDEST_STEP = 2.0


@dataclass(frozen=True)
class Form:
    """Element type and parameters. `clamp`: stored numbers at which the file's own type ends, where
    `element` goes on.
    """

    element: ElementType
    quantization: Quantization
    clamp: tuple[int, int] | None = None

    @property
    def is_wide(self) -> bool:
        return self.element is ElementType.I16

    def of(self, shape: Shape) -> TensorType:
        """The type of a tensor."""
        return TensorType(shape, self.element, self.quantization)

    def widened(self) -> Form:
        """int16 that holds the same numbers: each has one of its own."""
        return self if self.is_wide else around_zero(self.quantization.scales[0])

    def refined(self) -> Form:
        """int16 in steps as fine as the whole range of this form allows."""
        if self.is_wide:
            return self
        (scale,), (point,) = self.quantization.scales, self.quantization.zero_points
        return around_zero(scale * _farthest(ElementType.I8, point) / INT16_MAX)

    def stored(self, real: Array) -> Array:
        """Real numbers in this form, per tensor."""
        (scale,), (point,) = self.quantization.scales, self.quantization.zero_points
        steps = np.rint(real.astype(np.float64) / scale) + point
        stored: Array = np.clip(steps, *self.element.limits).astype(self.element.numpy)
        return stored


def moved_operands(op: Operation, count: int) -> int:
    """How many of `count` operands, the first ones, hold what becomes elements of the result: it
    has their parameters where integers stand for real numbers. 0 for all that compute.
    """
    return count if isinstance(op, Movement) else int(isinstance(op, _CHOOSING))


def form_of(type_: TensorType) -> Form:
    """How a tensor is stored here that the file stores as `type_`, which is in PAIRED."""
    quantization = type_.quantization
    assert quantization is not None
    if type_.element is not ElementType.I16:
        shift = 128 if type_.element is ElementType.UI8 else 0
        points = tuple(point - shift for point in quantization.zero_points)
        return Form(ElementType.I8, replace(quantization, zero_points=points))
    (scale,), (point,) = quantization.scales, quantization.zero_points
    if point == 0:
        return Form(ElementType.I16, quantization)
    wider = around_zero(scale * _farthest(ElementType.I16, point) / INT16_MAX)
    ratio = scale / wider.quantization.scales[0]
    low, high = (round((limit - point) * ratio) for limit in ElementType.I16.limits)
    return replace(wider, clamp=(low, high))


def around_zero(scale: float) -> Form:
    """int16 in steps of `scale`, or the nearest that float32 has with all digits."""
    limits = np.finfo(np.float32)
    inside = np.float32(min(max(scale, float(limits.tiny)), float(limits.max)))
    return Form(ElementType.I16, Quantization((float(inside),), (0,)))


def _farthest(element: ElementType, point: int) -> int:
    """The greatest distance of a stored number to the zero point."""
    low, high = element.limits
    return max(high - point, point - low)


def is_as_fine(fixed: Form, wanted: Form, op: Operation) -> bool:
    """Whether `fixed`, an operator's own form, loses nothing that `wanted` could tell."""
    if fixed.is_wide:
        return fixed.quantization.scales[0] <= _WIDEST_STEP * wanted.quantization.scales[0]
    scale, point = wanted.quantization.scales[0], wanted.quantization.zero_points[0]
    lowest = (ElementType.I8.limits[0] - point) * scale
    own, own_point = fixed.quantization.scales[0], fixed.quantization.zero_points[0]
    cut = (ElementType.I8.limits[0] - own_point) * own
    # All other functions of fixed parameters have no values beyond them.
    is_cut = isinstance(op, LogSoftmax) and lowest < cut - scale
    return bool(scale >= np.float32(own)) and not is_cut
