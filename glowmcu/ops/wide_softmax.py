"""softmax of 16 bits: exponentials and the reciprocal of their sum from tables of 513 values.

Tables are linear in between and shifted by half of the error in the middle, filled in float32.
Source: TensorFlow Lite `reference/softmax.h` (`SoftmaxInt16`), `internal/common.h`
(`LUTPopulateInt16`), and TensorFlow Lite Micro's `softmax_common.cc`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from glowmcu.ir.operation import Array, OperationError, Rounding, Signature
from glowmcu.ir.types import TensorType
from glowmcu.ops.broadcasting import expect_representable
from glowmcu.ops.fixed_point import (
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    round_half_away,
)
from glowmcu.ops.wide import expect_symmetric

_LOW, _HIGH = -(2**15), 2**15 - 1
_RANGE = 2**16 - 1
_STEPS = 512
#: Most exponentials of at most 1 in Q0.15 whose sum stays inside int32.
_LARGEST_DEPTH = 2**16 - 1
_F = np.float32


def _rounded(value: np.float32) -> np.float32:
    nearest: np.float32 = _F(round_half_away(float(value)))
    return nearest


def _table(function: Callable[[float], float], first: np.float32, last: np.float32) -> Array:
    """Entries for [first, last] of a function in [-1, 1], Q0.15."""
    step = (last - first) / _F(_STEPS)
    output_scale = _F(2) / _F(_RANGE)
    per_unit = _F(2**16) / (output_scale * _F(_HIGH) - output_scale * _F(_LOW))

    def at(argument: np.float32) -> np.float32:
        stored: np.float32 = _F(function(float(argument))) * per_unit
        return stored

    entries = []
    for i in range(_STEPS):
        here = _rounded(at(first + _F(i) * step))
        following = at(first + _F(i + 1) * step)
        middle = _rounded(at(first + _F(i) * step + step / _F(2)))
        error = _rounded((following + here) / _F(2)) - middle
        entries.append(here - _rounded(error / _F(2)))
    entries.append(_rounded(at(last)))
    return np.clip(np.array(entries, np.float64), _LOW, _HIGH).astype(np.int16)


@cache
def exponentials() -> Array:
    """exp on [-10, 0]."""
    scale = _F(10) / _F(_RANGE)
    return _table(math.exp, scale * _F(-_RANGE), _F(0))


@cache
def reciprocals() -> Array:
    """1 / (1 + x) on [0, 1]."""
    scale = _F(1) / _F(_RANGE)
    return _table(lambda x: float(_F(1) / (_F(1) + _F(x))), _F(0), scale * _F(_RANGE))


def _look_up(table: Array, at: Array) -> Array:
    """Value at -32768 to 32767, between two entries."""
    wide = table.astype(np.int64)
    index, offset = 256 + (at >> 7), at & 0x7F
    return np.asarray(wide[index] + (((wide[index + 1] - wide[index]) * offset + 64) >> 7))


def difference_factor(beta: float, x: TensorType) -> float:
    """A difference of stored values to steps of 10 / 65535."""
    return x.scale * beta / (10.0 / _RANGE)


def verify_softmax(beta: float, signature: Signature) -> None:
    """OperationError for types and scales that the tables do not take."""
    x, out = signature.inputs[0], signature.output
    expect_symmetric(x, out)
    if not math.isclose(out.scale, 2.0**-15, rel_tol=1e-3):
        raise OperationError(f"i16 gives scale 1/32768, got {out}")
    if x.shape[-1] > _LARGEST_DEPTH:
        raise OperationError(f"a last axis of {x.shape[-1]} exceeds {_LARGEST_DEPTH}")
    factor = difference_factor(beta, x)
    if not factor > 0:
        raise OperationError(f"beta must be above 0, got {beta}")
    expect_representable("softmax", _RANGE, factor)


def softmax(x: Array, beta: float, type_: TensorType, rounding: Rounding) -> Array:
    """Stored results, Q0.15, of each row of the last axis."""
    wide = x.astype(np.int64)
    multiplier, shift = quantize_multiplier(difference_factor(beta, type_))
    differences = wide - wide.max(axis=-1, keepdims=True)
    scaled = multiply_by_quantized_multiplier(differences, multiplier, shift, rounding)
    exps = _look_up(exponentials(), np.clip(scaled + _HIGH, _LOW, _HIGH))
    sums = exps.sum(axis=-1, keepdims=True)
    # The bits of a sum say by how much it is shifted to be in [2^30, 2^31).
    bits = np.frexp(sums.astype(np.float64))[1].astype(np.int64)
    mantissas = ((sums << (31 - bits)) + (1 << 13)) >> 14
    at = np.clip(mantissas - 3 * 2**15, _LOW, _HIGH)
    factors = _look_up(reciprocals(), at)
    results = (exps * factors + (np.int64(1) << (bits - 2))) >> (bits - 1)
    return np.asarray(np.clip(results, 0, _HIGH).astype(np.int16))
