"""Frames of samples on their way to a spectrum and back: `signal_window`,
`signal_fft_auto_scale`, `signal_energy`, `signal_overlap_add`.

Source: TensorFlow Lite Micro `signal/src/{window,fft_auto_scale,max_abs,energy,overlap_add}.cc` and
the kernels around them in `signal/micro/kernels`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, Signature
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.registry import operation


def expect_elements(what: str, types: Sequence[TensorType], *elements: ElementType) -> None:
    """OperationError unless `types` have these element types, one each."""
    for type_, element in zip(types, elements, strict=True):
        if type_.element is not element:
            raise OperationError(f"expected {element.value} as {what}, got {type_}")


def saturated_i16(x: Array) -> Array:
    """The nearest int16."""
    return np.clip(x, -(2**15), 2**15 - 1).astype(np.int16)


@operation("signal_window")
@dataclass(frozen=True)
class Window(Operation):
    """`(x * weights) >> shift`, saturated; the weights are used again for each frame in turn."""

    shift: int = 0

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        x, weights = inputs
        if not 0 <= self.shift <= 31:
            raise OperationError(f"a shift of {self.shift}; expected 0 to 31")
        if not x.shape or weights.rank != 1 or not weights.element_count:
            raise OperationError(f"expected a vector of weights for a tensor, got {weights}, {x}")
        if x.element_count % weights.element_count:
            raise OperationError(f"{x.shape} is no multiple of {weights.element_count} weights")
        return (x.shape,)

    def verify(self, signature: Signature) -> None:
        types = (*signature.inputs, signature.output)
        expect_elements("samples, weights and result", types, *(ElementType.I16,) * 3)

    def in_place(self, signature: Signature) -> tuple[int, ...]:
        return (0,)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        x, weights = inputs
        frames = x.reshape(-1, weights.size).astype(np.int32)
        return (saturated_i16((frames * weights.astype(np.int32)) >> self.shift).reshape(x.shape),)


@operation("signal_fft_auto_scale")
class FftAutoScale(Operation):
    """Samples shifted left as far as the largest of them allows, and by how many bits."""

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        (x,) = inputs
        if x.rank != 1 or not x.element_count:
            raise OperationError(f"expected a vector, got {x}")
        return (x.shape, ())

    def verify(self, signature: Signature) -> None:
        expect_elements(
            "samples, result and bits", (*signature.inputs, *signature.outputs),
            *(ElementType.I16, ElementType.I16, ElementType.I32),
        )  # fmt: skip

    def in_place(self, signature: Signature) -> tuple[int, ...]:
        return (0,)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        (x,) = inputs
        largest = _largest_magnitude([int(value) for value in x])
        bits = 15 - largest.bit_length() if largest > 0 else 0
        return ((x.astype(np.int32) << bits).astype(np.int16), np.array(bits, np.int32))


def _largest_magnitude(samples: Sequence[int]) -> int:
    """Of int16, of which the magnitude of -2^15 is -2^15: then what comes after it counts alone.

    A result that is not positive leaves the samples as they are.
    """
    largest = 0
    for sample in samples:
        if sample > largest:
            largest = sample
        elif -sample > largest:
            largest = -sample if sample > -(2**15) else sample
    return largest


@operation("signal_energy")
@dataclass(frozen=True)
class Energy(Operation):
    """re^2 + im^2 of the pairs `[start, end)` of a spectrum; 0 for the others, which the reference
    leaves as they were.
    """

    start: int = 0
    end: int = 0

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        (x,) = inputs
        if x.rank != 1 or not x.element_count or x.shape[0] % 2:
            raise OperationError(f"expected a vector of pairs, got {x}")
        pairs = x.shape[0] // 2
        if not 0 <= self.start <= self.end <= pairs:
            raise OperationError(f"pairs {self.start} to {self.end} of {pairs}")
        return ((pairs,),)

    def verify(self, signature: Signature) -> None:
        types = (*signature.inputs, signature.output)
        expect_elements("spectrum and result", types, ElementType.I16, ElementType.UI32)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        pairs = inputs[0].reshape(-1, 2).astype(np.int64)
        energies = (pairs**2).sum(1).astype(np.uint32)
        energies[: self.start] = 0
        energies[self.end :] = 0
        return (energies,)


@operation("signal_overlap_add")
@dataclass(frozen=True)
class OverlapAdd(Operation):
    """Samples from frames that overlap, each `step` samples after the one before.

    Operands `x [outer…, frames, size]` and the sums so far `[outer…, size - step]`; results
    `[outer…, frames * step]` samples and the sums that the next frames add to. int16 saturates
    with each addition, real numbers are added in this order.
    """

    step: int = 1

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        x, sums = inputs
        if x.rank < 2 or not x.element_count:
            raise OperationError(f"expected frames of samples, got {x}")
        frames, size = x.shape[-2:]
        if not 1 <= self.step <= size:
            raise OperationError(f"a step of {self.step} for frames of {size} samples")
        kept = (*x.shape[:-2], size - self.step)
        if sums.shape != kept:
            raise OperationError(f"sums of {sums.shape} for {x.shape}; expected {kept}")
        return ((*x.shape[:-2], frames * self.step), kept)

    def verify(self, signature: Signature) -> None:
        x = signature.inputs[0].element
        if x not in (ElementType.I16, ElementType.F32):
            raise OperationError(f"expected i16 or f32, got {signature.inputs[0]}")
        expect_elements("sums and results", (signature.inputs[1], *signature.outputs), x, x, x)

    def updates(self, signature: Signature) -> Mapping[int, int]:
        return {1: 1}

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        x, kept = inputs
        frames, size = x.shape[-2:]
        sums = np.concatenate([kept, np.zeros((*kept.shape[:-1], self.step), x.dtype)], -1)
        done = []
        for frame in range(frames):
            sums = _sum(sums, x[..., frame, :])
            done.append(sums[..., : self.step])
            empty = np.zeros((*kept.shape[:-1], self.step), x.dtype)
            sums = np.concatenate([sums[..., self.step :], empty], -1)
        return (np.concatenate(done, -1), np.ascontiguousarray(sums[..., : size - self.step]))

    def macs(self, signature: Signature) -> int:
        return math.prod(signature.inputs[0].shape)


def _sum(a: Array, b: Array) -> Array:
    if a.dtype == np.int16:
        return saturated_i16(a.astype(np.int32) + b.astype(np.int32))
    return np.asarray(a + b)
