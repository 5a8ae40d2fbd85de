"""The angle of a vector of two coordinates: `atan2`.

Source: TensorFlow Lite `lite/kernels/atan2.cc`, which is C's `atan2f`. Real numbers alone: no
interpreter has an int8 form, and the jump at minus pi would make one step of an operand the whole
range of the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from glowmcu.ir.operation import Array, Rounding, Signature
from glowmcu.ops.broadcasting import ElementwiseOperation
from glowmcu.ops.real import verify_float
from glowmcu.ops.registry import operation


@operation("atan2")
class Atan2(ElementwiseOperation):
    """The angle of (x, y) in radians, from -pi to pi; operand 0 is y, operand 1 is x.

    Both are float32 and broadcast. Zeros have signs, as in C: atan2(-0, -1) is -pi.
    """

    operand_count: ClassVar[int] = 2

    def verify(self, signature: Signature) -> None:
        verify_float(signature)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        y, x = inputs
        return (np.asarray(np.arctan2(y, x), np.float32),)
