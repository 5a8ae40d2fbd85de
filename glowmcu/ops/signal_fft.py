"""`signal_rfft`, `signal_irfft`: spectra of real samples along the last axis.

A spectrum is stored as pairs of real and imaginary part. `mixed_radix_fft.py` is what they compute.
Source: TensorFlow Lite Micro `signal/micro/kernels/{rfft,irfft}.cc`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, Signature
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.mixed_radix_fft import (
    LONGEST,
    SHORTEST,
    inverse_real_transform,
    is_transformable,
    real_transform,
)
from glowmcu.ops.registry import operation

FFT_TYPES = (ElementType.I16, ElementType.I32, ElementType.F32)


@dataclass(frozen=True)
class Fft(Operation):
    """Base: `length` real samples on one side, `length / 2 + 1` pairs on the other."""

    length: int = 512

    def _expect_length(self) -> None:
        if not is_transformable(self.length):
            raise OperationError(
                f"a transform of {self.length} samples; expected an even number from {SHORTEST} "
                f"to {LONGEST} without prime factors but 2, 3 and 5"
            )

    def verify(self, signature: Signature) -> None:
        x, out = signature.inputs[0], signature.output
        if x.element not in FFT_TYPES or out.element is not x.element:
            raise OperationError(f"expected i16, i32 or f32 throughout, got {x} and {out}")


@operation("signal_rfft")
class Rfft(Fft):
    """The spectrum of at most `length` samples; those that lack are 0. Of integers it is divided by
    `length`.
    """

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        (x,) = inputs
        self._expect_length()
        if not x.shape or not 1 <= x.shape[-1] <= self.length:
            raise OperationError(f"{x} has no 1 to {self.length} samples along its last axis")
        return ((*x.shape[:-1], self.length + 2),)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        (x,) = inputs
        padding = [(0, 0)] * (x.ndim - 1) + [(0, self.length - x.shape[-1])]
        with np.errstate(over="ignore", invalid="ignore"):
            return (real_transform(np.pad(x, padding)),)


@operation("signal_irfft")
class Irfft(Fft):
    """Samples from their spectrum: the inverse transform. The spectrum that `signal_rfft` makes of
    integers is divided by `length`, and so are the samples that come back.
    """

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        (x,) = inputs
        self._expect_length()
        if not x.shape or x.shape[-1] != self.length + 2:
            raise OperationError(f"{x} has no {self.length // 2 + 1} pairs along its last axis")
        return ((*x.shape[:-1], self.length),)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        with np.errstate(over="ignore", invalid="ignore"):
            return (inverse_real_transform(inputs[0]),)
