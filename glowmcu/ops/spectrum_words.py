"""Spectra of real frames in words of 32 bits: what `spectrogram` computes with, step by step.

A sample of int16 times a weight of the window has 31 bits; shifted right once, for good, nothing on
the way to the spectrum leaves 31 bits, so that quiet frames keep what they have and loud ones never
overflow. Twiddles are Q15: a word times a half is one instruction where there are such, and two
products of 32 bits if there are no longer ones. Stages behind the first halve.
Not `mixed_radix_fft.py`: KISS FFT divides each stage by its radix and rounds once more for that. Of
int16 it leaves a quiet frame few bits, and of int32 its products of 64 bits cost four times these.
"""

from __future__ import annotations

import math

import numpy as np

from glowmcu.ir.operation import Array
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.mixed_radix_fft import Complex, radices

#: What stays below 2^30 has room for a sum of two, and for what rounding adds.
_MOST = 2**30 - 2**12
_HALF = 16
#: Bits of a part of the spectrum when it is squared.
PART_BITS = 15


def turns(phases: Array) -> Complex:
    """Sines and cosines in Q15, 1 as the largest value."""
    parts = (np.cos(phases), np.sin(phases))
    one = 2**15
    return Complex(*(np.minimum(np.rint(one * p), one - 1).astype(np.int64) for p in parts))


def stage_phases(half: int) -> Array:
    """Of the roots of 1 that stages turn by."""
    return np.asarray(-2 * np.pi * np.arange(half) / half)


def real_phases(half: int) -> Array:
    """Of what takes the spectrum of complex numbers and that of real ones apart, from bin 1 on."""
    return np.asarray(-np.pi * ((np.arange(half // 2) + 1) / half + 0.5))


def halved_product(x: Array, factor: Array) -> Array:
    """`x * factor / 2`, the factor in Q15, rounded down."""
    products: Array = x * factor
    return products >> _HALF


def turned(z: Complex, by: Complex) -> Complex:
    """Half of the product of complex numbers."""
    return Complex(
        halved_product(z.re, by.re) - halved_product(z.im, by.im),
        halved_product(z.re, by.im) + halved_product(z.im, by.re),
    )


def window_shift(weights: Array, length: int) -> int:
    """By how many bits windowed samples are shifted right, so that no sum leaves 31 bits.

    After each stage a number is a sum of samples that lie evenly apart, halved once a stage.
    """
    half, factors = length // 2, radices(length // 2)
    pairs = np.zeros(length, np.int64)
    pairs[: weights.size] = np.abs(weights.astype(np.int64))
    sums, most = pairs.reshape(half, 2).sum(1), 0.0
    m = 1
    for stage, radix in enumerate(reversed(factors)):
        m *= radix
        most = max(most, float(sums.reshape(m, half // m).sum(0).max()) / 2**stage)
    shift = 0
    while most * 2**15 / 2**shift > _MOST:
        shift += 1
    return shift


def halvings(length: int) -> int:
    """How often a spectrum is halved."""
    return len(radices(length // 2)) - 1


def words_of_frames(frames: Array, weights: Array, shift: int) -> Array:
    """`[…, samples]` of int16, windowed, as words."""
    return np.asarray((frames.astype(np.int64) * weights.astype(np.int64)) >> shift)


def spectrum(words: Array, length: int) -> Complex:
    """`[…, samples]` to `[…, length / 2 + 1]`: divided by two to the power of `halvings`."""
    padding = [(0, 0)] * (words.ndim - 1) + [(0, length - words.shape[-1])]
    words = np.pad(words, padding)
    half = length // 2
    z = _transform(Complex(words[..., 0::2], words[..., 1::2]), half)
    out = Complex(*np.zeros((2, *words.shape[:-1], half + 1), np.int64))
    out.re[..., 0] = z.re[..., 0] + z.im[..., 0]
    out.re[..., half] = z.re[..., 0] - z.im[..., 0]
    k = np.arange(1, half // 2 + 1)
    ahead, behind = z.at(k), z.at(half - k).conjugate
    both, apart = ahead + behind, ahead - behind
    even, odd = Complex(both.re >> 1, both.im >> 1), turned(apart, turns(real_phases(half)))
    out.put(half - k, (even - odd).conjugate)
    out.put(k, even + odd)
    return out


def _transform(z: Complex, half: int) -> Complex:
    return _recombined(z, radices(half), turns(stage_phases(half)))


def _recombined(z: Complex, factors: tuple[int, ...], roots: Complex) -> Complex:
    """As `mixed_radix_fft.py` has it; numbers alone are neither turned nor halved."""
    if not factors:
        return z
    p, length = factors[0], z.re.shape[-1]
    m = length // p
    dealt = Complex(*(np.swapaxes(a.reshape(*a.shape[:-1], m, p), -1, -2) for a in (z.re, z.im)))
    parts = _recombined(dealt, factors[1:], roots)
    rows = [parts.row(q) for q in range(p)]
    if m > 1:
        step = roots.re.size // length
        places = np.arange(m) * step
        rows = [Complex(rows[0].re >> 1, rows[0].im >> 1)] + [
            turned(row, roots.at(q * places)) for q, row in enumerate(rows[1:], 1)
        ]
    sums = _SUMS[p](rows)
    return Complex(
        np.concatenate([part.re for part in sums], -1),
        np.concatenate([part.im for part in sums], -1),
    )


@dataclass(frozen=True)
class Root:
    """The first roots of 1 of a small order: real and imaginary parts in Q15."""

    re: int
    im: int
    second_re: int
    second_im: int


def root(radix: int) -> Root:
    """Of the sums of 3 and 5."""
    found = turns(np.array([-2 * math.pi / radix, -4 * math.pi / radix]))
    return Root(int(found.re[0]), int(found.im[0]), int(found.re[1]), int(found.im[1]))


def _scaled(z: Complex, factor: int) -> Complex:
    """Times a real number in Q15, rounded down."""
    return Complex((z.re * factor) >> 15, (z.im * factor) >> 15)


def _two(t: list[Complex]) -> list[Complex]:
    return [t[0] + t[1], t[0] - t[1]]


def _four(t: list[Complex]) -> list[Complex]:
    even, odd = t[0] + t[2], t[1] + t[3]
    apart, right = t[0] - t[2], (t[1] - t[3]).turned_right
    return [even + odd, apart + right, even - odd, apart - right]


def _left(z: Complex) -> Complex:
    """Times i."""
    return Complex(-z.im, z.re)


def _three(t: list[Complex]) -> list[Complex]:
    total = t[1] + t[2]
    side = _left(_scaled(t[1] - t[2], root(3).im))
    middle = t[0] - Complex(total.re >> 1, total.im >> 1)
    return [t[0] + total, middle + side, middle - side]


def _five(t: list[Complex]) -> list[Complex]:
    w = root(5)
    outer, inner = t[1] + t[4], t[2] + t[3]
    outer_apart, inner_apart = t[1] - t[4], t[2] - t[3]
    beside = t[0] + _scaled(outer, w.re) + _scaled(inner, w.second_re)
    across = t[0] + _scaled(outer, w.second_re) + _scaled(inner, w.re)
    side = _left(_scaled(outer_apart, w.im) + _scaled(inner_apart, w.second_im))
    cross = _left(_scaled(outer_apart, w.second_im) - _scaled(inner_apart, w.im))
    return [t[0] + outer + inner, beside + side, across + cross, across - cross, beside - side]


_SUMS = {2: _two, 3: _three, 4: _four, 5: _five}


def energies(z: Complex) -> tuple[Array, Array]:
    """`[…, bins]` of squared magnitudes below 2^32, and of each frame by how many bits its parts
    were shifted right before.
    """
    largest = np.maximum((z.re ^ (z.re >> 63)).max(-1), (z.im ^ (z.im >> 63)).max(-1))
    found = [max(0, int(x).bit_length() - PART_BITS) for x in largest.reshape(-1)]
    shifts = np.array(found, np.int64).reshape(largest.shape)
    by = shifts[..., np.newaxis]
    half = (np.int64(1) << by) >> 1
    return ((z.re + half) >> by) ** 2 + ((z.im + half) >> by) ** 2, shifts


def magnitudes(squares: Array) -> Array:
    """Roots of squares below 2^32, in units of 2^-15, rounded down to 16 bits each."""
    found = []
    for x in squares.reshape(-1).tolist():
        up = (32 - int(x).bit_length()) >> 1
        found.append(math.isqrt(int(x) << (2 * up)) << (15 - up) if x else 0)
    return np.array(found, np.int64).reshape(squares.shape)
