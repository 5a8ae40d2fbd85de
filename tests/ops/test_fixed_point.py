"""Fixed-point factors are those of TensorFlow Lite's QuantizeMultiplier."""

from __future__ import annotations

import math

import pytest

from glowmcu.ops.fixed_point import quantize_multiplier

LARGEST = 2**31 - 1


@pytest.mark.parametrize(
    ("real", "multiplier", "shift"),
    [
        (0.0, 0, 0),
        (1.0, 2**30, 1),
        (0.75, 3 * 2**29, 0),
        (math.nextafter(1.0, 0.0), 2**30, 1),
        (1.0 - 2.0**-31, LARGEST, 0),
        (2.0**-32, 2**30, -31),
        (math.nextafter(2.0**-32, 0.0), 2**30, -31),
        (0.75 * 2.0**-32, 0, 0),
        (1e-30, 0, 0),
    ],
    ids=["zero", "one", "below one", "rounds up to one", "the largest multiplier",
         "the largest shift", "rounds up to the largest shift", "too small", "far too small"],
)  # fmt: skip
def test_a_real_factor_is_a_31_bit_multiplier_and_a_shift(
    real: float, multiplier: int, shift: int
) -> None:
    assert quantize_multiplier(real) == (multiplier, shift)
