"""Tensor types: shape, element type and quantization.

real = scale * (stored - zero_point); per channel if `Quantization.axis` is set.
"""

from __future__ import annotations

import math
from enum import Enum

import numpy as np
import numpy.typing as npt

from glowmcu.lazy_dataclass import dataclass

Shape = tuple[int, ...]


class ElementType(Enum):
    """Element types of the IR, named as MLIR names them (`ui8` is unsigned, `i1` is bool)."""

    I8 = "i8"
    UI8 = "ui8"
    I16 = "i16"
    I32 = "i32"
    UI32 = "ui32"
    I64 = "i64"
    UI64 = "ui64"
    F32 = "f32"
    BOOL = "i1"

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """The numpy dtype that stores one element."""
        return _NUMPY[self]

    @property
    def size_bytes(self) -> int:
        """Bytes of one element in C and in numpy (bool takes one)."""
        return int(self.numpy.itemsize)

    @property
    def c_name(self) -> str:
        """The C99 type that stores one element."""
        return _C_NAME[self]

    @property
    def is_float(self) -> bool:
        return self is ElementType.F32

    @property
    def limits(self) -> tuple[int, int]:
        """Least and greatest stored value of an integer type."""
        assert not self.is_float
        if self is ElementType.BOOL:
            return 0, 1
        bits = 8 * self.size_bytes
        if self.numpy.kind == "u":
            return 0, 2**bits - 1
        return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1

    @property
    def zero_point_limits(self) -> tuple[int, int]:
        """Least and greatest zero point. That of int8 may be one above the stored values, which
        are all below 0 then: converters write it for results of fully connected layers.
        """
        low, high = self.limits
        return low, high + (self is ElementType.I8)


_NUMPY: dict[ElementType, np.dtype[np.generic]] = {
    ElementType.I8: np.dtype(np.int8),
    ElementType.UI8: np.dtype(np.uint8),
    ElementType.I16: np.dtype(np.int16),
    ElementType.I32: np.dtype(np.int32),
    ElementType.UI32: np.dtype(np.uint32),
    ElementType.I64: np.dtype(np.int64),
    ElementType.UI64: np.dtype(np.uint64),
    ElementType.F32: np.dtype(np.float32),
    ElementType.BOOL: np.dtype(np.bool_),
}
_C_NAME = {
    ElementType.I8: "int8_t",
    ElementType.UI8: "uint8_t",
    ElementType.I16: "int16_t",
    ElementType.I32: "int32_t",
    ElementType.UI32: "uint32_t",
    ElementType.I64: "int64_t",
    ElementType.UI64: "uint64_t",
    ElementType.F32: "float",
    ElementType.BOOL: "uint8_t",
}
_BY_NUMPY = {dtype: element for element, dtype in _NUMPY.items()}


def element_type_of(dtype: npt.DTypeLike) -> ElementType:
    """The element type that stores `dtype`; KeyError for a dtype the IR does not have."""
    return _BY_NUMPY[np.dtype(dtype)]


@dataclass(frozen=True)
class Quantization:
    """Affine quantization: one scale and zero point, or one pair a slice along `axis`.

    Scales are float32 values held exactly in Python floats; doubles where a file has integer
    multipliers in place of scales (TOSA's text), so that the same multipliers follow from them.
    """

    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int | None = None

    @property
    def per_channel(self) -> bool:
        return self.axis is not None


@dataclass(frozen=True)
class TensorType:
    """Shape, element type and (for quantized tensors) quantization."""

    shape: Shape
    element: ElementType
    quantization: Quantization | None = None

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def element_count(self) -> int:
        return math.prod(self.shape)

    @property
    def size_bytes(self) -> int:
        return self.element_count * self.element.size_bytes

    @property
    def scale(self) -> float:
        """Scale of a per-tensor quantized type."""
        assert self.quantization is not None and not self.quantization.per_channel
        return self.quantization.scales[0]

    @property
    def zero_point(self) -> int:
        """Zero point of a per-tensor quantized type."""
        assert self.quantization is not None and not self.quantization.per_channel
        return self.quantization.zero_points[0]

    def with_shape(self, shape: Shape) -> TensorType:
        """The same element type and (per-tensor) quantization with another shape."""
        return TensorType(shape, self.element, self.quantization)

    def __str__(self) -> str:
        """For people: `int8[1x49x10x1] scale 0.58 zp 83`."""
        text = f"{self.element.numpy}[{'x'.join(map(str, self.shape))}]"
        if self.quantization is None:
            return text
        if self.quantization.per_channel:
            return (
                f"{text} {len(self.quantization.scales)} scales along axis {self.quantization.axis}"
            )
        return f"{text} scale {np.float32(self.scale)!s} zp {self.zero_point}"
