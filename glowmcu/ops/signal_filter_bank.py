"""From the energies of a spectrum to the features of a filter bank: `signal_filter_bank`,
`…_square_root`, `…_spectral_subtraction`, `signal_pcan`, `…_log`.

All are functions of unsigned integers that wrap if they are not cut.
Source: TensorFlow Lite Micro `signal/src/{filter_bank,filter_bank_square_root,square_root_32,
square_root_64,filter_bank_spectral_subtraction,pcan_argc_fixed,filter_bank_log,log}.cc`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, Signature
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.registry import operation
from glowmcu.ops.signal_frame import expect_elements

_U32, _U64, _I16, _I32 = ElementType.UI32, ElementType.UI64, ElementType.I16, ElementType.I32


def expect_shift(what: str, shift: int, bits: int) -> None:
    """OperationError for a shift that C leaves open."""
    if not 0 <= shift < bits:
        raise OperationError(f"{what} of {shift}; expected 0 to {bits - 1}")


def expect_vector(what: str, type_: TensorType) -> None:
    """OperationError unless it is a vector that is not empty."""
    if type_.rank != 1 or not type_.element_count:
        raise OperationError(f"expected a vector of {what}, got {type_}")


@operation("signal_filter_bank")
@dataclass(frozen=True)
class FilterBank(Operation):
    """Sums of energies by channel; each energy counts to two neighbours.

    Operands are energies, weights and "unweights". Channel c takes `widths[c]` energies from
    `starts[c]` on, times weights from `weight_starts[c]` on, and what the channel before left it:
    the same of that channel's unweights. The first channel is there for that alone: there is one
    result less. Sums are of 64 bits and wrap; weights are signed.
    """

    starts: tuple[int, ...] = ()
    weight_starts: tuple[int, ...] = ()
    widths: tuple[int, ...] = ()

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        x, weights, unweights = inputs
        expect_vector("energies", x)
        expect_vector("weights", weights)
        expect_vector("weights", unweights)
        counts = {len(self.starts), len(self.weight_starts), len(self.widths)}
        if len(counts) != 1 or len(self.starts) < 2:
            raise OperationError(f"tables of {sorted(counts)} channels; expected equal, 2 or more")
        stored = min(weights.element_count, unweights.element_count)
        for channel, width in enumerate(self.widths):
            self._expect_inside(channel, "energies", self.starts[channel], width, x.shape[0])
            self._expect_inside(channel, "weights", self.weight_starts[channel], width, stored)
        return ((len(self.starts) - 1,),)

    def _expect_inside(self, channel: int, what: str, start: int, width: int, count: int) -> None:
        if width < 0 or start < 0 or start + width > count:
            raise OperationError(
                f"channel {channel} takes {width} {what} from {start} on; there are {count}"
            )

    def verify(self, signature: Signature) -> None:
        types = (*signature.inputs, signature.output)
        expect_elements("energies, weights and result", types, _U32, _I16, _I16, _U64)

    def macs(self, signature: Signature) -> int:
        return 2 * sum(self.widths)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        energies = inputs[0].astype(np.uint64)
        weights, unweights = (array.astype(np.int64).astype(np.uint64) for array in inputs[1:])
        left, sums = np.uint64(0), []
        with np.errstate(over="ignore"):
            for start, at, width in zip(self.starts, self.weight_starts, self.widths, strict=True):
                part = energies[start : start + width]
                sums.append(left + np.sum(weights[at : at + width] * part, dtype=np.uint64))
                left = np.sum(unweights[at : at + width] * part, dtype=np.uint64)
        return (np.array(sums[1:], np.uint64),)


@operation("signal_filter_bank_square_root")
class FilterBankSquareRoot(Operation):
    """The nearest whole square root, shifted right by the second operand.

    The root of less than 2^32 is at most 2^16 - 1. A shift beyond 0 to 31, which C leaves open,
    gives 0.
    """

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        x, bits = inputs
        expect_vector("sums", x)
        if bits.shape:
            raise OperationError(f"expected one number of bits, got {bits}")
        return (x.shape,)

    def verify(self, signature: Signature) -> None:
        types = (*signature.inputs, signature.output)
        expect_elements("sums, bits and result", types, _U64, _I32, _U32)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        bits = int(inputs[1])
        if not 0 <= bits < 32:
            return (np.zeros(inputs[0].shape, np.uint32),)
        roots = [_nearest_root(int(value)) >> bits for value in inputs[0]]
        return (np.array(roots, np.uint32),)


def _nearest_root(x: int) -> int:
    root = math.isqrt(x)
    most = 0xFFFF if x < 2**32 else 0xFFFFFFFF
    return root + int(x - root * root > root and root != most)


@operation("signal_filter_bank_spectral_subtraction")
@dataclass(frozen=True)
class FilterBankSpectralSubtraction(Operation):
    """What is louder than the noise, and what the noise is now.

    The noise of a channel is a low-pass of its input, in units of 2^-smoothing_bits; odd channels
    have coefficients of their own. What remains is at least `min_signal_remaining` of the input.
    Coefficients are in units of 2^-spectral_subtraction_bits. The second operand is the noise
    before, the second result the noise after; with `clamping` it is never above the input.
    """

    smoothing: int = 0
    one_minus_smoothing: int = 0
    alternate_smoothing: int = 0
    alternate_one_minus_smoothing: int = 0
    min_signal_remaining: int = 0
    smoothing_bits: int = 0
    spectral_subtraction_bits: int = 0
    clamping: bool = False

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        x, noise = inputs
        expect_vector("channels", x)
        if noise.shape != x.shape:
            raise OperationError(f"noise of {noise.shape} for channels of {x.shape}")
        expect_shift("smoothing_bits", self.smoothing_bits, 32)
        expect_shift("spectral_subtraction_bits", self.spectral_subtraction_bits, 64)
        for coefficient in (
            *(self.smoothing, self.one_minus_smoothing, self.alternate_smoothing),
            *(self.alternate_one_minus_smoothing, self.min_signal_remaining),
        ):
            if not -(2**31) <= coefficient < 2**31:
                raise OperationError(f"a coefficient of {coefficient}, beyond 32 bits")
        return (x.shape, x.shape)

    def verify(self, signature: Signature) -> None:
        types = (*signature.inputs, *signature.outputs)
        expect_elements("channels and noise", types, *(_U32,) * 4)

    def in_place(self, signature: Signature) -> tuple[int, ...]:
        return (0,)

    def updates(self, signature: Signature) -> Mapping[int, int]:
        return {1: 1}

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        x, before = (array.astype(np.uint64) for array in inputs)
        odd = np.arange(x.size) % 2 == 1
        new = np.where(odd, _u64(self.alternate_smoothing), _u64(self.smoothing))
        old = np.where(
            odd, _u64(self.alternate_one_minus_smoothing), _u64(self.one_minus_smoothing)
        )
        bits = np.uint64(self.spectral_subtraction_bits)
        with np.errstate(over="ignore"):
            scaled = _low(x << np.uint64(self.smoothing_bits))
            noise = _low((scaled * new + before * old) >> bits)
            floor = _low((x * _u64(self.min_signal_remaining)) >> bits)
        known = np.minimum(noise, scaled)
        left = (scaled - known) >> np.uint64(self.smoothing_bits)
        after = known if self.clamping else noise
        return (np.maximum(left, floor).astype(np.uint32), after.astype(np.uint32))


def _u64(coefficient: int) -> np.uint64:
    """A coefficient as the uint32 that it is converted to."""
    return np.uint64(coefficient % 2**32)


def _low(x: Array) -> Array:
    """The lower 32 bits."""
    return x & np.uint64(0xFFFFFFFF)


#: Entries of a gain table: 3 for noise below 3, then 4 (the last unused) for each power of 2.
GAIN_ENTRIES = 125
#: Fraction bits of a ratio of signal to noise, and of the result.
_RATIO_BITS, _RESULT_BITS = 12, 6


@operation("signal_pcan")
@dataclass(frozen=True)
class Pcan(Operation):
    """Per-channel amplitude normalization: `shrink(x * gain(noise) >> snr_shift)`.

    The gain is a parabola for each power of 2 of the noise, from a table of int16; shrink(r) is
    r^2 / 4 below 2 and r - 1 from there on, in units of 2^-12 to units of 2^-6.
    """

    snr_shift: int = 0

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        x, noise, gains = inputs
        expect_vector("channels", x)
        expect_vector("gains", gains)
        if noise.shape != x.shape:
            raise OperationError(f"noise of {noise.shape} for channels of {x.shape}")
        if gains.element_count < GAIN_ENTRIES:
            raise OperationError(f"{gains.element_count} gains; expected {GAIN_ENTRIES}")
        expect_shift("snr_shift", self.snr_shift, 64)
        return (x.shape,)

    def verify(self, signature: Signature) -> None:
        types = (*signature.inputs, signature.output)
        expect_elements("channels, noise, gains, result", types, _U32, _U32, _I16, _U32)

    def in_place(self, signature: Signature) -> tuple[int, ...]:
        return (0, 1)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        x, noise, gains = inputs
        gain = np.array([_gain(int(value), gains) for value in noise], np.uint64)
        with np.errstate(over="ignore"):
            ratio = _low((x.astype(np.uint64) * gain) >> np.uint64(self.snr_shift))
            below = (ratio * ratio) >> np.uint64(2 + 2 * _RATIO_BITS - _RESULT_BITS)
        above = (ratio >> np.uint64(_RATIO_BITS - _RESULT_BITS)).astype(np.int64) - 2**_RESULT_BITS
        shrunk = np.where(ratio < 2 << _RATIO_BITS, below.astype(np.int64), above)
        return (shrunk.astype(np.uint32),)


def _gain(noise: int, gains: Array) -> int:
    """An int16 as uint32."""
    if noise <= 2:
        return int(gains[noise]) % 2**32
    interval = noise.bit_length()
    at = 4 * interval - 6
    constant, linear, square = (int(value) for value in gains[at : at + 3])
    shift = 11 - interval
    fraction = (noise << shift if shift > 0 else noise >> -shift) & 0x3FF
    value = (((square * fraction) >> 5) + linear * 32) * fraction
    value = ((value + 2**14) >> 15) + constant
    return int(np.int64(value).astype(np.int16)) % 2**32


_LOG_BITS, _SEGMENT_BITS = 16, 7
#: ln 2 in units of 2^-16.
_LN2: int = round(math.log(2) * (1 << _LOG_BITS))


def log_table() -> Array:
    """log2(1 + x) - x at 129 places from 0 to 1, in units of 2^-16."""
    segments = 2**_SEGMENT_BITS
    places = [segment / segments for segment in range(segments + 1)]
    return np.array(
        [round((math.log2(1 + place) - place) * 2**_LOG_BITS) for place in places], np.uint16
    )


@operation("signal_filter_bank_log")
@dataclass(frozen=True)
class FilterBankLog(Operation):
    """`output_scale * ln(x << input_correction_bits)`, at most 2^15 - 1; 0 for shifted x below 2.

    log2 is a line in each of 128 segments, in units of 2^-16.
    """

    output_scale: int = 0
    input_correction_bits: int = 0

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        (x,) = inputs
        expect_vector("channels", x)
        expect_shift("input_correction_bits", self.input_correction_bits, 32)
        if not -(2**31) <= self.output_scale < 2**31:
            raise OperationError(f"an output scale of {self.output_scale}, beyond 32 bits")
        return (x.shape,)

    def verify(self, signature: Signature) -> None:
        expect_elements("channels and result", (*signature.inputs, signature.output), _U32, _I16)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        table = [int(entry) for entry in log_table()]
        shifted = [(int(x) << self.input_correction_bits) % 2**32 for x in inputs[0]]
        logs = [self._log(x, table) if x > 1 else 0 for x in shifted]
        return (np.array(logs, np.int16),)

    def _log(self, x: int, table: Sequence[int]) -> int:
        """Of a shifted x of 2 or more."""
        whole = x.bit_length() - 1
        fraction = ((x - (1 << whole)) << _LOG_BITS) >> whole
        segment, inside = divmod(fraction, 1 << (_LOG_BITS - _SEGMENT_BITS))
        slope = table[segment + 1] - table[segment]
        fraction += table[segment] + ((slope * inside) >> _LOG_BITS)
        half = 1 << (_LOG_BITS - 1)
        natural = ((_LN2 * ((whole << _LOG_BITS) + fraction) + half) >> _LOG_BITS) % 2**32
        scaled = ((self.output_scale * natural + half) % 2**32) >> _LOG_BITS
        return min(scaled, 0x7FFF)
