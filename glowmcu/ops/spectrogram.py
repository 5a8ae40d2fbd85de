"""`spectrogram`: from samples to the power, mel bands or logarithms that networks listen to.

One operator from frames to features, a frame at a time: between a spectrum and its logarithm lie
words and exponents that no tensor of int8 or int16 holds, and all frames of them at once would take
tens of kilobytes. The operators of TensorFlow Lite Micro (`signal_frame.py`,
`signal_filter_bank.py`) are one step each with bits of their own: a transform of int16, square
roots, filters that share their energies by two. A float model's front end is none of that; what it
has in common with them is taken from there: roots and logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, Signature
from glowmcu.ir.quantization_rule import QuantizationRule, StateRule
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.mixed_radix_fft import is_transformable, radices
from glowmcu.ops.registry import operation
from glowmcu.ops.spectrogram_features import Features, features_of
from glowmcu.ops.spectrum_words import (
    energies,
    halvings,
    magnitudes,
    spectrum,
    window_shift,
    words_of_frames,
)

#: Longest transform: positions in it are int16.
LONGEST_FRAME = 2**14
_MOST = float(np.finfo(np.float32).max)


@operation("spectrogram")
@dataclass(frozen=True)
class Spectrogram(Operation):
    """`[batch, samples]` to `[batch, frames, features]`.

    Operands are samples, a window of int16 with a scale, and maybe a filter bank `[features, bins]`
    of int16 without negative weights, with a scale a feature. Frame f begins at sample
    `first + f * step`; zeros behind it make it `length` samples. A bin is re^2 + im^2, or the root
    of that where `is_magnitude`; without a bank features are `bins` of them from `first_bin` on.
    `x = least(most(gain * sum + floor, low), high)`, and where `is_logarithm` the feature is
    `slope * ln(x) + offset`. Integer samples give int8 or int16, real ones real features.
    """

    length: int = 512
    step: int = 160
    frames: int = 1
    first: int = 0
    first_bin: int = 0
    bins: int = 0
    is_magnitude: bool = False
    gain: float = 1.0
    floor: float = 0.0
    low: float = 0.0
    high: float = _MOST
    is_logarithm: bool = False
    slope: float = 1.0
    offset: float = 0.0

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        x, window = inputs[:2]
        if x.rank != 2 or window.rank != 1:
            raise OperationError(f"expected [batch, samples] and a window, got {x}, {window}")
        if not is_transformable(self.length) or self.length > LONGEST_FRAME:
            raise OperationError(f"no transform of {self.length} samples")
        if not 1 <= window.element_count <= self.length:
            raise OperationError(f"{window} is no window for {self.length} samples")
        reach = self.first + (self.frames - 1) * self.step + window.element_count
        if min(self.frames, self.step) < 1 or self.first < 0 or reach > x.shape[1]:
            raise OperationError(f"{self.frames} frames by {self.step} reach beyond {x}")
        return ((x.shape[0], self.frames, self._features(inputs)),)

    def _features(self, inputs: Sequence[TensorType]) -> int:
        """How many there are."""
        bins = self.length // 2 + 1
        if len(inputs) == 3:
            if inputs[2].rank != 2 or inputs[2].shape[1] != bins:
                raise OperationError(f"expected a bank [features, {bins}], got {inputs[2]}")
            return inputs[2].shape[0]
        if self.first_bin < 0 or self.bins < 1 or self.first_bin + self.bins > bins:
            raise OperationError(f"bins {self.first_bin} on, {self.bins} of them, of {bins}")
        return self.bins

    def verify(self, signature: Signature) -> None:
        x, out = signature.inputs[0], signature.output
        kinds = x.element, out.element
        integers = [(ElementType.I16, each) for each in (ElementType.I8, ElementType.I16)]
        if kinds not in [*integers, (ElementType.F32, ElementType.F32)]:
            raise OperationError(f"expected i16 to i8 or i16, or f32 throughout, got {x}, {out}")
        for constant in signature.inputs[1:]:
            if constant.element is not ElementType.I16 or constant.quantization is None:
                raise OperationError(f"expected a window and a bank of quantized i16: {constant}")
        numbers = self.gain, self.floor, self.low, self.high, self.slope, self.offset
        if not all(map(math.isfinite, numbers)) or self.gain <= 0 or min(self.floor, self.low) < 0:
            raise OperationError(f"cannot compute with {numbers}")
        if x.element is ElementType.I16:
            if x.quantization is None or x.zero_point or out.quantization is None:
                raise OperationError(f"expected quantized samples around 0, got {x}, {out}")
            features_of(self, signature, 0)

    def quantization_rule(self, signature: Signature) -> QuantizationRule | None:
        # Sums as they are span more than int8 has, and who reads them may be a float layer.
        states = () if self.is_logarithm else (StateRule(None, 0, wide=True),)
        return QuantizationRule(samples=(0,), states=states)

    def macs(self, signature: Signature) -> int:
        """Two an addition of the transform, and the bank as if it were dense."""
        stages = len(radices(self.length // 2)) + 1
        bank = signature.inputs[2].element_count if len(signature.inputs) == 3 else 0
        return self.frames * (self.length * 2 * stages + bank)

    def used_bins(self, bank: Array | None) -> tuple[int, int]:
        """The first bin that counts and the one behind the last."""
        if bank is None:
            return self.first_bin, self.first_bin + self.bins
        counted = np.flatnonzero(bank.any(0))
        return (int(counted[0]), int(counted[-1]) + 1) if counted.size else (0, 1)

    def features(self, signature: Signature, window: Array) -> Features:
        """What becomes of sums of integers."""
        shift = window_shift(window, self.length)
        return features_of(self, signature, shift + halvings(self.length))

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        x, window = inputs[:2]
        bank = inputs[2] if len(inputs) == 3 else None
        starts = self.first + self.step * np.arange(self.frames)
        frames = x[:, starts[:, np.newaxis] + np.arange(window.size)]
        if signature.inputs[0].element is ElementType.F32:
            return (self._real(frames, inputs, signature),)
        words = words_of_frames(frames, window, window_shift(window, self.length))
        first, end = self.used_bins(bank)
        squares, shifts = energies(spectrum(words, self.length).at(slice(first, end)))
        sums = magnitudes(squares) if self.is_magnitude else squares
        if bank is not None:
            sums = sums @ bank[:, first:end].astype(np.int64).T
        exponents = shifts if self.is_magnitude else 2 * shifts
        found = self.features(signature, window).of(sums, exponents[..., np.newaxis])
        return (found.astype(signature.output.element.numpy),)

    def _real(self, frames: Array, inputs: Sequence[Array], signature: Signature) -> Array:
        """In float64, rounded once."""
        window_type = signature.inputs[1]
        weights = inputs[1].astype(np.float64) * window_type.scale
        bins = np.abs(np.fft.rfft(frames.astype(np.float64) * weights, self.length))
        bins = bins if self.is_magnitude else bins**2
        if len(inputs) == 3:
            bank = signature.inputs[2].quantization
            assert bank is not None
            sums = (bins @ inputs[2].astype(np.float64).T) * np.array(bank.scales)
        else:
            sums = bins[..., self.first_bin : self.first_bin + self.bins]
        x = np.clip(self.gain * sums + self.floor, self.low, self.high)
        if self.is_logarithm:
            with np.errstate(divide="ignore"):
                x = self.slope * np.log(x) + self.offset
        return np.asarray(x, np.float32)
