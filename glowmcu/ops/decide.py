"""`decide`: whether the last results of a classifier are a detection.

The rule is that of streaming detectors: a moving average, a threshold, and a pause after each
detection. Source: TensorFlow's micro_speech example (`recognize_commands`), microWakeWord (the
sliding window of ESPHome's `micro_wake_word`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, Signature
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.registry import operation

_SCORES = (ElementType.I8, ElementType.UI8, ElementType.I16, ElementType.I32, ElementType.F32)


@operation("decide")
@dataclass(frozen=True)
class Decide(Operation):
    """Scores [results, classes], oldest first, and an i32[1] of how many results to wait: the class
    whose mean is largest (of equal ones the first) if that reaches `threshold`, else -1, as i32[1];
    and how many results to wait from now on, `distance` after a detection.

    Sums of integers are exact, those of real numbers float32 in order of time. Classes in `ignored`
    are never detected.
    """

    chooses = True

    threshold: float = 0.0
    distance: int = 0
    ignored: tuple[int, ...] = ()

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        scores, wait = inputs
        if scores.rank != 2 or not scores.element_count or wait.shape != (1,):
            raise OperationError(f"expected [results, classes] and [1], got {scores} and {wait}")
        return ((1,), (1,))

    def verify(self, signature: Signature) -> None:
        scores, wait = signature.inputs
        others = (wait, *signature.outputs)
        if any(item.element is not ElementType.I32 or item.quantization for item in others):
            raise OperationError("expected plain i32 beside the scores")
        if scores.element not in _SCORES:
            raise OperationError(f"cannot decide by {scores.element.value}")
        if not math.isfinite(self.threshold) or self.distance < 0:
            raise OperationError(f"no threshold and distance: {self.threshold}, {self.distance}")
        if not self.classes(signature):
            raise OperationError("every class is ignored")

    def classes(self, signature: Signature) -> tuple[int, ...]:
        """Those that may be detected."""
        count = signature.inputs[0].shape[1]
        return tuple(number for number in range(count) if number not in self.ignored)

    def least_sum(self, signature: Signature) -> int | float:
        """What stored scores of a class must add up to: rows of the mean `threshold`."""
        scores = signature.inputs[0]
        rows = scores.shape[0]
        if scores.element is ElementType.F32:
            return float(np.float32(rows * self.threshold))
        if scores.quantization is None:
            return math.ceil(rows * self.threshold)
        return math.ceil(rows * (self.threshold / scores.scale + scores.zero_point))

    def updates(self, signature: Signature) -> Mapping[int, int]:
        return {1: 1}

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        scores, wait = inputs
        classes = self.classes(signature)
        is_real = signature.inputs[0].element is ElementType.F32
        sums: Array = np.zeros(len(classes), np.float32 if is_real else np.int64)
        for row in scores:
            sums = sums + row[list(classes)].astype(sums.dtype)
        # A NaN is no largest: it is passed over, as comparisons in C do.
        best = 0
        for place in range(1, len(classes)):
            if sums[place] > sums[best]:
                best = place
        left = int(wait[0])
        found = left <= 0 and bool(sums[best] >= self.least_sum(signature))
        left = self.distance if found else max(left - 1, 0)
        decision = classes[best] if found else -1
        return np.array([decision], np.int32), np.array([left], np.int32)
