"""softmax of 16 bits: exponentials and the reciprocal of their sum from tables of 513 values.

Source: TensorFlow Lite `reference/softmax.h` (`SoftmaxInt16`) and TensorFlow Lite Micro's
`softmax_common.cc`.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from glowmcu.ir.operation import Array, OperationError, Rounding, Signature
from glowmcu.ir.types import TensorType
from glowmcu.ops.broadcasting import expect_representable
from glowmcu.ops.fixed_point import (
    multiply_by_quantized_multiplier,
    quantize_multiplier,
)
from glowmcu.ops.interpolated_table import HIGH, LOW, look_up, table_between
from glowmcu.ops.wide import expect_symmetric

_RANGE = 2**16 - 1
#: Most exponentials of at most 1 in Q0.15 whose sum stays inside int32.
_LARGEST_DEPTH = 2**16 - 1
_F = np.float32
#: Of what the tables hold: [-1, 1].
_UNIT = _F(2) / _F(_RANGE)


@cache
def exponentials() -> Array:
    """exp on [-10, 0]."""
    scale = _F(10) / _F(_RANGE)
    return table_between(lambda x: _F(math.exp(float(x))), scale * _F(-_RANGE), _F(0), _UNIT)


@cache
def reciprocals() -> Array:
    """1 / (1 + x) on [0, 1]."""
    scale = _F(1) / _F(_RANGE)
    return table_between(lambda x: _F(1) / (_F(1) + x), _F(0), scale * _F(_RANGE), _UNIT)


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
    exps = look_up(exponentials(), np.clip(scaled + HIGH, LOW, HIGH))
    sums = exps.sum(axis=-1, keepdims=True)
    # The bits of a sum say by how much it is shifted to be in [2^30, 2^31).
    bits = np.frexp(sums.astype(np.float64))[1].astype(np.int64)
    mantissas = ((sums << (31 - bits)) + (1 << 13)) >> 14
    at = np.clip(mantissas - 3 * 2**15, LOW, HIGH)
    factors = look_up(reciprocals(), at)
    results = (exps * factors + (np.int64(1) << (bits - 2))) >> (bits - 1)
    return np.asarray(np.clip(results, 0, HIGH).astype(np.int16))
