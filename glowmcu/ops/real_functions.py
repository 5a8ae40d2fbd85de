"""Functions of one tensor that TensorFlow Lite Micro has on real numbers only: sqrt, sin, erf, …

Any float function has an int8 meaning: the nearest stored value (halves away from zero) of the
function of the real number that a stored value stands for, in float32. It is lowered to a table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from glowmcu.ir.operation import Array, Rounding, Signature
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.activation import UnaryFunction
from glowmcu.ops.fixed_point import saturate
from glowmcu.ops.real import erf
from glowmcu.ops.registry import operation
from glowmcu.ops.wide import expect_symmetric, is_wide


class RealFunction(UnaryFunction):
    """Base: the int8 meaning follows from the float one."""

    def _verify_scales(self, signature: Signature) -> None:
        """Any scales."""

    def _stored(self, x: Array, signature: Signature, rounding: Rounding) -> Array:
        source, out = signature.inputs[0], signature.output
        offsets = (x.astype(np.int64) - source.zero_point).astype(np.float32)
        with np.errstate(all="ignore"):
            real = np.asarray(self._real(offsets * np.float32(source.scale)), np.float32)
            quotients = (real / np.float32(out.scale)).astype(np.float64)
        limited = np.clip(np.nan_to_num(quotients, nan=0.0), -(2.0**17), 2.0**17)
        whole = self._whole(limited).astype(np.int64)
        return saturate(whole + out.zero_point, *out.element.limits, dtype=out.element.numpy)

    def _whole(self, quotients: Array) -> Array:
        """Whole numbers of steps."""
        whole: Array = np.trunc(quotients + np.copysign(0.5, quotients))
        return whole


class _Numpy(RealFunction):
    """Base of functions that numpy has."""

    function: ClassVar[Callable[[Array], Array]]

    def _real(self, x: Array) -> Array:
        return type(self).function(x)


class _Smooth(_Numpy):
    """Base of those whose results of int16 lie on lines between the entries of a table."""

    interpolates: ClassVar[bool] = True


@operation("sqrt")
@dataclass(frozen=True)
class Sqrt(_Numpy):
    """Square root; not a number below 0. `truncates`: stored values as LiteRT's kernel has them,
    which leaves out what is behind the point.
    """

    takes_wide: ClassVar[bool] = True
    function: ClassVar[Callable[[Array], Array]] = np.sqrt
    truncates: bool = False

    def _verify_scales(self, signature: Signature) -> None:
        if is_wide(signature):
            expect_symmetric(*signature.inputs, signature.output)

    def _whole(self, quotients: Array) -> Array:
        return np.trunc(quotients) if self.truncates else super()._whole(quotients)


@operation("square")
class Square(RealFunction):
    """x * x. Where samples choose int16 for it, it becomes a product."""

    takes_integers: ClassVar[bool] = True

    def _real(self, x: Array) -> Array:
        return np.multiply(x, x)


@operation("reciprocal")
class Reciprocal(RealFunction):
    """1 / x."""

    interpolates: ClassVar[bool] = True

    def _real(self, x: Array) -> Array:
        return 1 / x


@operation("power")
@dataclass(frozen=True)
class Power(RealFunction):
    """x^exponent, as C's pow."""

    interpolates: ClassVar[bool] = True
    exponent: float = 1.0

    def _real(self, x: Array) -> Array:
        return np.asarray(np.power(x, np.float32(self.exponent)))


@operation("sin")
class Sin(_Smooth):
    """Sine of radians."""

    function: ClassVar[Callable[[Array], Array]] = np.sin


@operation("cos")
class Cos(_Smooth):
    """Cosine of radians."""

    function: ClassVar[Callable[[Array], Array]] = np.cos


@operation("tan")
class Tan(_Smooth):
    """Tangent of radians."""

    function: ClassVar[Callable[[Array], Array]] = np.tan


@operation("asin")
class Asin(_Smooth):
    """Arc sine in radians; not a number outside of [-1, 1]."""

    function: ClassVar[Callable[[Array], Array]] = np.arcsin


@operation("acos")
class Acos(_Smooth):
    """Arc cosine in radians; not a number outside of [-1, 1]."""

    function: ClassVar[Callable[[Array], Array]] = np.arccos


@operation("atan")
class Atan(_Smooth):
    """Arc tangent in radians."""

    function: ClassVar[Callable[[Array], Array]] = np.arctan


@operation("sinh")
class Sinh(_Smooth):
    """Hyperbolic sine."""

    function: ClassVar[Callable[[Array], Array]] = np.sinh


@operation("cosh")
class Cosh(_Smooth):
    """Hyperbolic cosine."""

    function: ClassVar[Callable[[Array], Array]] = np.cosh


@operation("asinh")
class Asinh(_Smooth):
    """Inverse of sinh."""

    function: ClassVar[Callable[[Array], Array]] = np.arcsinh


@operation("acosh")
class Acosh(_Smooth):
    """Inverse of cosh; not a number below 1."""

    function: ClassVar[Callable[[Array], Array]] = np.arccosh


@operation("atanh")
class Atanh(_Smooth):
    """Inverse of tanh; not a number outside of [-1, 1]."""

    function: ClassVar[Callable[[Array], Array]] = np.arctanh


@operation("erf")
class Erf(RealFunction):
    """The error function."""

    interpolates: ClassVar[bool] = True

    def _real(self, x: Array) -> Array:
        return erf(x)


@operation("floor")
class Floor(_Numpy):
    """The next whole number below."""

    function: ClassVar[Callable[[Array], Array]] = np.floor


@operation("ceil")
class Ceil(_Numpy):
    """The next whole number above."""

    function: ClassVar[Callable[[Array], Array]] = np.ceil


@operation("round")
class Round(_Numpy):
    """The nearest whole number, halves to the even one."""

    function: ClassVar[Callable[[Array], Array]] = np.round


@operation("sign")
class Sign(_Numpy):
    """-1, 0 or 1."""

    takes_integers: ClassVar[bool] = True
    function: ClassVar[Callable[[Array], Array]] = np.sign
