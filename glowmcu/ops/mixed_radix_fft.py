"""Spectra of real samples as KISS FFT computes them: to the bit, in int16, int32 and float32.

n real samples are n / 2 complex ones; their transform is taken apart into that of the real ones.
A transform of p * m samples recombines p transforms of m (p is 4, 2, 3 or 5, in this order): each
part is divided by p, turned by its twiddle, and the parts are added in butterflies. Integers are
Q15 and Q31: products are rounded, halves up, and whatever leaves the type wraps.
Source: KISS FFT v130 (`kiss_fft.c`, `tools/kiss_fftr.c`, `_kiss_fft_guts.h`) with the patch of
TensorFlow Lite Micro (`third_party/kissfft`), in which other factors end the process.
"""

from __future__ import annotations

import math

import numpy as np

from glowmcu.ir.operation import Array
from glowmcu.lazy_dataclass import dataclass

#: Smallest and largest number of real samples.
SHORTEST, LONGEST = 4, 2**16
_RADICES = (4, 2, 3, 5)


@dataclass(frozen=True, eq=False)
class Complex:
    """Real and imaginary parts, of the type that is computed in."""

    re: Array
    im: Array

    def __add__(self, other: Complex) -> Complex:
        return Complex(self.re + other.re, self.im + other.im)

    def __sub__(self, other: Complex) -> Complex:
        return Complex(self.re - other.re, self.im - other.im)

    def at(self, places: int | slice | Array) -> Complex:
        """Along the last axis."""
        return Complex(self.re[..., places], self.im[..., places])

    def put(self, places: int | Array, values: Complex) -> None:
        """Along the last axis."""
        self.re[..., places], self.im[..., places] = values.re, values.im

    def row(self, place: int) -> Complex:
        """Along the axis before the last."""
        return Complex(self.re[..., place, :], self.im[..., place, :])

    @property
    def conjugate(self) -> Complex:
        return Complex(self.re, -self.im)

    @property
    def turned_right(self) -> Complex:
        """Times -i."""
        return Complex(self.im, -self.re)


def is_transformable(length: int) -> bool:
    """Whether KISS FFT has a transform of `length` real samples."""
    if length % 2 or not SHORTEST <= length <= LONGEST:
        return False
    return math.prod(radices(length // 2)) == length // 2


def radices(length: int) -> tuple[int, ...]:
    """Factors of a complex transform, the outermost first; of other primes they lack."""
    found = []
    for radix in _RADICES:
        while length % radix == 0:
            found.append(radix)
            length //= radix
    return tuple(found)


@dataclass(frozen=True)
class Arithmetic:
    """Numbers of one type: how they are multiplied, divided and how cosines are stored."""

    dtype: np.dtype[np.generic]

    @property
    def is_float(self) -> bool:
        return self.dtype.kind == "f"

    @property
    def fraction_bits(self) -> int:
        """15 or 31."""
        return 8 * self.dtype.itemsize - 1

    def stored(self, values: list[float]) -> Array:
        """Sines and cosines as constants: float32, or Q15 and Q31 with 1 as the largest value."""
        if self.is_float:
            return np.array(values, np.float32)
        one = 2**self.fraction_bits - 1
        return np.array([math.floor(0.5 + one * value) for value in values], self.dtype)

    def rounded(self, products: Array) -> Array:
        """Sums of products back to the type."""
        half = np.int64(1) << (self.fraction_bits - 1)
        return ((products + half) >> self.fraction_bits).astype(self.dtype)

    def scaled(self, x: Array, factor: Array) -> Array:
        """`x * factor` of real numbers, the factor a constant."""
        if self.is_float:
            return np.asarray(x * factor)
        return self.rounded(x.astype(np.int64) * factor.astype(np.int64))

    def times(self, a: Complex, b: Complex) -> Complex:
        """The product of complex numbers."""
        if self.is_float:
            return Complex(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)
        ar, ai, br, bi = (part.astype(np.int64) for part in (a.re, a.im, b.re, b.im))
        return Complex(self.rounded(ar * br - ai * bi), self.rounded(ar * bi + ai * br))

    def shared(self, x: Complex, parts: int) -> Complex:
        """`x / parts` for integers, so that a sum of `parts` fits; real numbers as they are."""
        if self.is_float:
            return x
        share = np.array((2**self.fraction_bits - 1) // parts, self.dtype)
        return Complex(self.scaled(x.re, share), self.scaled(x.im, share))

    def half_sum(self, a: Array, b: Array) -> Array:
        """`(a + b) / 2`, cut; sums of int16 are not cut before, those of int32 wrap."""
        if self.is_float:
            return np.asarray((a + b) * np.float32(0.5))
        wide = np.int32 if self.dtype.itemsize == 2 else self.dtype
        return ((a.astype(wide) + b.astype(wide)) >> 1).astype(self.dtype)

    def half(self, x: Array) -> Array:
        """`x / 2`, cut."""
        return np.asarray(x * np.float32(0.5) if self.is_float else x >> 1)


def arithmetic_of(dtype: np.dtype[np.generic]) -> Arithmetic:
    """How numbers of `dtype` (int16, int32, float32) are computed."""
    return Arithmetic(np.dtype(dtype))


def twiddles(length: int, inverse: bool, numbers: Arithmetic) -> Complex:
    """The `length` roots of 1 that a complex transform turns by."""
    phases = [-2 * math.pi * k / length for k in range(length)]
    return _turns([-phase for phase in phases] if inverse else phases, numbers)


def real_twiddles(length: int, inverse: bool, numbers: Arithmetic) -> Complex:
    """What takes a transform of `length` complex numbers and one of real ones apart."""
    phases = [-math.pi * ((k + 1) / length + 0.5) for k in range(length // 2)]
    return _turns([-phase for phase in phases] if inverse else phases, numbers)


def _turns(phases: list[float], numbers: Arithmetic) -> Complex:
    cosines, sines = map(math.cos, phases), map(math.sin, phases)
    return Complex(numbers.stored(list(cosines)), numbers.stored(list(sines)))


def real_transform(x: Array) -> Array:
    """`[…, n]` samples to `[…, n + 2]`: n / 2 + 1 pairs of real and imaginary part, which of
    integers are divided by n.
    """
    half = x.shape[-1] // 2
    numbers = arithmetic_of(x.dtype)
    z = _transform(_pairs(x), False, numbers)
    out = Complex(*np.zeros((2, *x.shape[:-1], half + 1), x.dtype))
    first = numbers.shared(z.at(0), 2)
    out.re[..., 0] = first.re + first.im
    out.re[..., half] = first.re - first.im
    k = np.arange(1, half // 2 + 1)
    ahead, behind = numbers.shared(z.at(k), 2), numbers.shared(z.at(half - k).conjugate, 2)
    even = ahead + behind
    odd = numbers.times(ahead - behind, real_twiddles(half, False, numbers))
    low = Complex(numbers.half_sum(even.re, odd.re), numbers.half_sum(even.im, odd.im))
    high = Complex(_half_difference(numbers, even.re, odd.re),
                   _half_difference(numbers, odd.im, even.im))  # fmt: skip
    out.put(k, low)
    out.put(half - k, high)
    return _interleaved(out)


def _half_difference(numbers: Arithmetic, a: Array, b: Array) -> Array:
    wide = np.int32 if numbers.dtype.itemsize == 2 else numbers.dtype
    difference = a.astype(wide) - b.astype(wide)
    return numbers.half(difference).astype(numbers.dtype)


def inverse_real_transform(x: Array) -> Array:
    """`[…, n + 2]` to `[…, n]` samples: the inverse transform, with its division by n."""
    length = x.shape[-1] - 2
    half = length // 2
    numbers = arithmetic_of(x.dtype)
    f = _pairs(x)
    z = Complex(*np.zeros((2, *x.shape[:-1], half), x.dtype))
    ends = Complex(f.re[..., 0] + f.re[..., half], f.re[..., 0] - f.re[..., half])
    z.put(0, numbers.shared(ends, 2))
    k = np.arange(1, half // 2 + 1)
    ahead, behind = numbers.shared(f.at(k), 2), numbers.shared(f.at(half - k).conjugate, 2)
    even = ahead + behind
    odd = numbers.times(ahead - behind, real_twiddles(half, True, numbers))
    z.put(k, even + odd)
    z.put(half - k, (even - odd).conjugate)
    samples = _interleaved(_transform(z, True, numbers))
    return samples / np.float32(length) if numbers.is_float else samples


def _pairs(x: Array) -> Complex:
    return Complex(x[..., 0::2], x[..., 1::2])


def _interleaved(z: Complex) -> Array:
    return np.stack([z.re, z.im], -1).reshape(*z.re.shape[:-1], -1)


def _transform(z: Complex, inverse: bool, numbers: Arithmetic) -> Complex:
    """The complex transform along the last axis."""
    length = z.re.shape[-1]
    return _recombined(z, radices(length), inverse, numbers, twiddles(length, inverse, numbers))


def _recombined(
    z: Complex, factors: tuple[int, ...], inverse: bool, numbers: Arithmetic, turns: Complex
) -> Complex:
    """Part q of the p parts is every p-th sample from q on."""
    if not factors:
        return z
    p, length = factors[0], z.re.shape[-1]
    m = length // p
    parts = Complex(*(_dealt(array, p, m) for array in (z.re, z.im)))
    parts = numbers.shared(_recombined(parts, factors[1:], inverse, numbers, turns), p)
    step = turns.re.size // length
    turned = [parts.row(0)] + [
        numbers.times(parts.row(q), turns.at(np.arange(m) * (q * step))) for q in range(1, p)
    ]
    third = turns.at(slice(m * step, m * step + 1))
    if p == 2:
        sums = [turned[0] + turned[1], turned[0] - turned[1]]
    elif p == 4:
        sums = _four(turned, inverse)
    elif p == 3:
        sums = _three(turned, third, numbers)
    else:
        sums = _five(turned, third, turns.at(slice(2 * m * step, 2 * m * step + 1)), numbers)
    return Complex(
        np.concatenate([part.re for part in sums], -1),
        np.concatenate([part.im for part in sums], -1),
    )


def _dealt(x: Array, p: int, m: int) -> Array:
    return np.swapaxes(x.reshape(*x.shape[:-1], m, p), -1, -2)


def _four(t: list[Complex], inverse: bool) -> list[Complex]:
    even, odd = t[0] + t[2], t[1] + t[3]
    apart, turned = t[0] - t[2], (t[1] - t[3]).turned_right
    if inverse:
        return [even + odd, apart - turned, even - odd, apart + turned]
    return [even + odd, apart + turned, even - odd, apart - turned]


def _three(t: list[Complex], root: Complex, numbers: Arithmetic) -> list[Complex]:
    total, difference = t[1] + t[2], t[1] - t[2]
    middle = Complex(t[0].re - numbers.half(total.re), t[0].im - numbers.half(total.im))
    side = Complex(
        numbers.scaled(difference.re, root.im), numbers.scaled(difference.im, root.im)
    ).turned_right
    return [t[0] + total, middle - side, middle + side]


def _five(t: list[Complex], first: Complex, second: Complex, numbers: Arithmetic) -> list[Complex]:
    outer, outer_apart = t[1] + t[4], t[1] - t[4]
    inner, inner_apart = t[2] + t[3], t[2] - t[3]

    def near(a: Complex, b: Complex) -> Complex:
        def part(x: Array, u: Array, v: Array) -> Array:
            return np.asarray(x + numbers.scaled(u, a.re) + numbers.scaled(v, b.re))

        return Complex(part(t[0].re, outer.re, inner.re), part(t[0].im, outer.im, inner.im))

    def along(x: Array, root: Complex) -> Array:
        return numbers.scaled(x, root.im)

    side = Complex(
        along(outer_apart.im, first) + along(inner_apart.im, second),
        -along(outer_apart.re, first) - along(inner_apart.re, second),
    )
    cross = Complex(
        -along(outer_apart.im, second) + along(inner_apart.im, first),
        along(outer_apart.re, second) - along(inner_apart.re, first),
    )
    beside, across = near(first, second), near(second, first)
    total = t[0] + (outer + inner)
    return [total, beside - side, across + cross, across - cross, beside + side]
