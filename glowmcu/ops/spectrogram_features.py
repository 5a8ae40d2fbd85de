"""From sums of integers to features: what `spectrogram` does behind its filter bank.

A sum is a number of 31 bits and an exponent, so that quiet frames and loud ones are equally exact.
Logarithms are those of `signal_filter_bank.py`: log2 in units of 2^-16, a line in each of 128
segments; a feature's scale is a constant that is added to them.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from glowmcu.ir.operation import Array, OperationError, Signature
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.signal_filter_bank import log_table

if TYPE_CHECKING:
    from glowmcu.ops.spectrogram import Spectrogram

#: Bits of a number that is not 0, and of fractions of a logarithm.
NUMBER_BITS, LOG_BITS = 31, 16
#: The logarithm of 0, and the largest that any may be.
LEAST_LOG = -(2**25)
_SLOPE_BITS = 24
_Integers = npt.NDArray[np.int64]
_Numbers = tuple[_Integers, _Integers]


@dataclass(frozen=True)
class Features:
    """Constants of all features of a layer, exact integers.

    `floors` and `factors` are numbers with their exponents, a feature each; None if nothing is
    added. `log_units` are added to logarithms, which are kept from `least_log` to `most_log`; then
    a feature is `(log * slope + offset) >> shift`. Without logarithms it is the product with its
    factor, rounded, plus `zero_point`. All end from `least` to `most`.
    """

    is_logarithm: bool
    floors: _Numbers | None
    factors: _Numbers
    log_units: _Integers
    least_log: int
    most_log: int
    slope: int
    offset: int
    shift: int
    zero_point: int
    least: int
    most: int

    def of(self, sums: Array, exponents: Array) -> Array:
        """Features of `[…, features]` sums, `exponents` in front of each."""
        numbers, powers = normal(np.asarray(sums, np.int64))
        powers = powers + exponents
        if self.floors is not None:
            numbers, powers = plus((numbers, powers), self.floors)
        found = self._logarithms(numbers, powers) if self.is_logarithm else self._products(
            numbers, powers)  # fmt: skip
        return np.clip(found, self.least, self.most)

    def _logarithms(self, numbers: _Integers, powers: _Integers) -> _Integers:
        logs = log2(numbers) + (powers << LOG_BITS) + self.log_units
        logs = np.clip(np.where(numbers == 0, LEAST_LOG, logs), self.least_log, self.most_log)
        return np.asarray((logs * self.slope + self.offset) >> self.shift)

    def _products(self, numbers: _Integers, powers: _Integers) -> _Integers:
        factors, exponents = self.factors
        products = numbers * factors
        shifts = -(powers + exponents)
        half = np.int64(1) << (np.clip(shifts, 1, 62) - 1)
        near = (products + half) >> np.clip(shifts, 1, 62)
        # Products that are not 0 have 61 bits or more.
        large = np.where(products == 0, 0, 2**16)
        rounded = np.where(shifts > 62, 0, np.where(shifts < 44, large, near))
        return np.asarray(rounded + self.zero_point)


def normal(x: _Integers) -> _Numbers:
    """Numbers from 2^30 to 2^31 with exponents, or 0."""
    bits = np.array([int(each).bit_length() for each in x.reshape(-1)], np.int64).reshape(x.shape)
    powers = bits - NUMBER_BITS
    numbers = np.where(powers > 0, x >> np.maximum(powers, 0), x << np.maximum(-powers, 0))
    return numbers, np.where(x == 0, 0, powers)


def plus(a: _Numbers, b: _Numbers) -> _Numbers:
    """Sums with numbers that are not 0; what is too small to count is cut off."""
    x, y = np.broadcast_arrays(a[0], b[0])
    at, other = np.broadcast_arrays(np.where(a[0] == 0, -(2**20), a[1]), b[1])
    power = np.maximum(at, other)
    total = (x >> np.minimum(power - at, 32)) + (y >> np.minimum(power - other, 32))
    is_above = total >> NUMBER_BITS
    return total >> is_above, power + is_above


def log2(x: _Integers) -> _Integers:
    """Of numbers from 2^30 to 2^31, in units of 2^-16.

    Not as `signal_filter_bank_log` has it, whose lines are steps: it shifts what lies between two
    entries by 16 bits instead of 9.
    """
    table = log_table().astype(np.int64)
    fractions = (np.maximum(x, 2**30) - 2**30) >> (NUMBER_BITS - 1 - LOG_BITS)
    segments, inside = fractions >> 9, fractions & 511
    lines = table[segments] + (((table[segments + 1] - table[segments]) * inside) >> 9)
    return np.asarray(((NUMBER_BITS - 1) << LOG_BITS) + fractions + lines)


def features_of(op: Spectrogram, signature: Signature, halvings: int) -> Features:
    """Constants for a spectrum that was divided by two to the power of `halvings`.

    Raises OperationError for scales that they cannot express.
    """
    x, window = signature.inputs[:2]
    unit = x.scale * window.scale * 2.0**halvings
    unit = op.gain * (unit * 2.0**-15 if op.is_magnitude else unit**2)
    scales = np.ones(op.bins)
    if len(signature.inputs) == 3:
        bank = signature.inputs[2].quantization
        assert bank is not None
        scales = np.broadcast_to(np.array(bank.scales), signature.inputs[2].shape[:1])
    units = (unit * scales).tolist()
    out, limits = signature.output, signature.output.element.limits
    found = Features(
        op.is_logarithm, _stored([op.floor / each for each in units]) if op.floor else None,
        _stored([each / out.scale for each in units]),
        np.array([_log(each) for each in units], np.int64),
        _log(op.low) if op.low else LEAST_LOG, min(_log(op.high), -LEAST_LOG),
        0, 0, 0, out.zero_point, *limits,
    )  # fmt: skip
    if int(np.abs(found.log_units).max()) > 2**24:
        raise OperationError(f"sums in units of {min(units)} to {max(units)}")
    if op.is_logarithm:
        return _with_slope(found, op.slope * math.log(2) / 2**LOG_BITS / out.scale,
                           op.offset / out.scale + out.zero_point)  # fmt: skip
    if (op.slope, op.offset) != (1.0, 0.0):
        raise OperationError("a slope and an offset are those of logarithms")
    ends = [round(min(end / out.scale, 2**16)) + out.zero_point for end in (op.low, op.high)]
    return replace(found, least=max(ends[0], limits[0]), most=min(ends[1], limits[1]))


def _with_slope(found: Features, slope: float, offset: float) -> Features:
    shift = _SLOPE_BITS - math.frexp(slope)[1]
    if slope == 0 or not 1 <= shift <= 61 or abs(offset) * 2.0**shift >= 2**61:
        raise OperationError(f"logarithms times {slope}, plus {offset}")
    start = round(offset * 2.0**shift) + (1 << (shift - 1))
    return replace(found, slope=round(slope * 2.0**shift), offset=start, shift=shift)


def _log(x: float) -> int:
    return round(math.log2(x) * (1 << LOG_BITS))


def _stored(values: list[float]) -> _Numbers:
    """Positive real numbers as numbers with exponents."""
    pairs = []
    for value in values:
        fraction, power = math.frexp(value)
        number = round(fraction * 2**NUMBER_BITS)
        is_above = number >> NUMBER_BITS
        pairs.append((number >> is_above, power - NUMBER_BITS + is_above))
    numbers, powers = np.array(pairs, np.int64).T
    return numbers, powers
