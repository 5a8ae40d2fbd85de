"""Where a gradient in fixed point begins: `cross_entropy_gradient`, `squared_error_gradient`.

cross entropy: g = p - onehot(label), p = softmax; the loss is -log p[label]. Exponentials are a
table over the distance from the largest score, logarithms a bit at a time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, Signature
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.block_gradient import BITS, SHARED, expect_gradient, expect_stored, shared
from glowmcu.ops.registry import operation

#: exp(0) in the table.
ONE = 32767
#: The natural logarithms of that, times 2^16, and of 2, times 2^15.
LOG_ONE, LOG_TWO = round(math.log(ONE) * 65536), round(math.log(2) * 32768)
#: Most classes, whose exponentials sum to less than 2^30; and the end of scales of a score.
_MOST_CLASSES, _SCALE_END = 2**15, 128.0
_LOSS = TensorType((1,), ElementType.I32)


def binary_logarithm(value: int) -> int:
    """log2 of 1 <= value < 2^31, times 2^16, rounded down at each of 16 squarings."""
    whole = value.bit_length() - 1
    y = value << (15 - whole) if whole <= 15 else value >> (whole - 15)
    found = whole
    for _ in range(16):
        y = (y * y) >> 15
        bit = y >> 16
        y >>= bit
        found = 2 * found + bit
    return found


@operation("cross_entropy_gradient")
@dataclass(frozen=True)
class CrossEntropyGradient(Operation):
    """Operands: scores i8 (…, C), of all but one class nothing else; label i32[1] from 0 to C - 1.

    Results: the gradient by what goes into a softmax, `scale` real units a stored step, as i16 of
    the scores' shape; exponent and peak; the loss times 2^16 as i32[1]. Magnitudes are up to
    2^bits.
    """

    scale: float = 1.0
    bits: int = BITS

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        scores, label = inputs
        if not scores.shape or scores.shape[-1] != scores.element_count or label.shape != (1,):
            raise OperationError(f"expected a row of scores and a label, got {scores} and {label}")
        if not 2 <= scores.element_count <= _MOST_CLASSES:
            raise OperationError(f"{scores.element_count} classes: 2 to {_MOST_CLASSES} are known")
        return (scores.shape, SHARED.shape, _LOSS.shape)

    def verify(self, signature: Signature) -> None:
        expect_stored(signature.inputs[0])
        expect_gradient(*signature.outputs[:2])
        if signature.inputs[1] != _LOSS or signature.outputs[2] != _LOSS:
            raise OperationError("expected a label and a loss of plain i32")
        if not 0 < self.scale < _SCALE_END or not 1 <= self.bits <= BITS:
            raise OperationError(f"no scale of scores and bits: {self.scale}, {self.bits}")

    @property
    def exponentials(self) -> Array:
        """int16: exp(-scale d) by the distance d from the largest score, 0 behind the last."""
        distances = np.arange(256, dtype=np.float64)
        found = np.rint(ONE * np.exp(-self.scale * distances)).astype(np.int16)
        table: Array = found[: max(1, int(np.count_nonzero(found)))]
        return table

    @property
    def step(self) -> int:
        """A stored step of the scores, times 2^16."""
        return round(self.scale * 65536)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        scores, label = inputs[0].reshape(-1).astype(np.int64), int(inputs[1][0])
        table = np.zeros(256, np.int64)
        table[: len(self.exponentials)] = self.exponentials
        distances = scores.max() - scores
        parts = table[distances]
        total = int(parts.sum())
        gradient = ((parts << self.bits) + total // 2) // total
        loss = 0
        if 0 <= label < len(scores):
            gradient[label] -= 1 << self.bits
            logarithm = ((binary_logarithm(total) >> 5) * LOG_TWO) >> 10
            loss = max(0, int(distances[label]) * self.step + logarithm - LOG_ONE)
        numbers = gradient.reshape(inputs[0].shape).astype(np.int16)
        return numbers, shared(-self.bits, numbers), np.array([loss], np.int32)


@operation("squared_error_gradient")
@dataclass(frozen=True)
class SquaredErrorGradient(Operation):
    """Operands: what an output is and what it should be, both i8 of one type.

    Results: the difference as i16 of that shape, exponent (of `bits`) and peak, and the sum of its
    squares, which ends at 2^31 - 1, as i32[1].
    """

    bits: int = BITS

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        result, target = inputs
        if result.shape != target.shape or not result.element_count:
            raise OperationError(f"expected two tensors of one shape, got {result} and {target}")
        return (result.shape, SHARED.shape, _LOSS.shape)

    def verify(self, signature: Signature) -> None:
        expect_stored(signature.inputs[0])
        expect_gradient(*signature.outputs[:2])
        if signature.inputs[0] != signature.inputs[1] or signature.outputs[2] != _LOSS:
            raise OperationError(f"expected two of a type, got {signature.inputs}")
        if not 9 <= self.bits <= BITS:
            raise OperationError(f"differences of 9 bits do not fit {self.bits}")

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        result, target = (each.astype(np.int64) for each in inputs)
        difference = result - target
        numbers = (difference << (self.bits - 9)).astype(np.int16)
        total = min(int((difference**2).sum()), 2**31 - 1)
        return numbers, shared(9 - self.bits, numbers), np.array([total], np.int32)
