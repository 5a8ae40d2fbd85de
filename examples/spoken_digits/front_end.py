"""What the network hears: energies of 20 mel bands, 62.5 times a second, all in integers.

The firmware example computes the same in C, bit for bit (`firmware_examples/spoken_digits`), so the
network is trained on exactly what it will be given. A frame is 256 samples at 8 kHz (32 ms), the
next one begins 128 samples later:

    samples int16 -> times window -> scaled up by 2^shift -> FFT, halved in every stage -> power
    -> bands -> log2 in 1/16 -> less the shift -> int8
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

SAMPLE_RATE = 8000
FRAME, HOP = 256, 128
BANDS = 20
LOWEST_HZ, HIGHEST_HZ = 100.0, 3800.0
#: Weights of a band are at most 2^WEIGHT_BITS; a feature is log2(energy) in 1/16, less this.
WEIGHT_BITS, FEATURE_OFFSET = 8, 208
_STAGES = FRAME.bit_length() - 1


def window() -> Ints:
    """A Hann window in Q15."""
    return np.rint(32767 * np.hanning(FRAME + 1)[:FRAME]).astype(np.int64)


def twiddles() -> tuple[Ints, Ints]:
    """cos and -sin of k / FRAME turns in Q15, k < FRAME / 2."""
    angles = 2 * np.pi * np.arange(FRAME // 2) / FRAME
    cos, sin = np.cos(angles), -np.sin(angles)
    return np.rint(32767 * cos).astype(np.int64), np.rint(32767 * sin).astype(np.int64)


def bands() -> tuple[Ints, list[Ints]]:
    """First FFT bin of each band, and the weights of its bins: triangles on the mel scale."""
    mel = 2595 * np.log10(1 + np.array([LOWEST_HZ, HIGHEST_HZ]) / 700)
    edges_hz = 700 * (10 ** (np.linspace(mel[0], mel[1], BANDS + 2) / 2595) - 1)
    edges = edges_hz * FRAME / SAMPLE_RATE
    bins = np.arange(FRAME // 2)
    first, weights = [], []
    for low, middle, high in zip(edges, edges[1:], edges[2:], strict=False):
        shape = np.minimum((bins - low) / (middle - low), (high - bins) / (high - middle))
        scaled = np.rint(np.clip(shape, 0, 1) * (1 << WEIGHT_BITS)).astype(np.int64)
        inside = np.flatnonzero(scaled)
        if inside.size == 0:  # narrower than a bin: the nearest one
            inside = np.array([round(middle)])
            scaled[inside] = 1 << WEIGHT_BITS
        first.append(inside[0])
        weights.append(scaled[inside[0] : inside[-1] + 1])
    return np.array(first), weights


def features(samples: Ints) -> Ints:
    """(frames, BANDS) int8 values of 16-bit samples; frames end where the samples do."""
    count = (len(samples) - FRAME) // HOP + 1
    frames = np.stack([samples[i * HOP : i * HOP + FRAME] for i in range(count)])
    weighted = (frames * window() + (1 << 14)) >> 15
    shifts = _headroom(np.abs(weighted).max(axis=1))
    powers = _powers(weighted << shifts[:, None])
    energies = np.stack(
        [powers[:, k : k + len(w)] @ w for k, w in zip(*bands(), strict=True)], axis=1
    )
    values = _log2_16(energies >> WEIGHT_BITS) - 32 * shifts[:, None]
    return np.clip(values - FEATURE_OFFSET, -128, 127)


def _headroom(peaks: Ints) -> Ints:
    """By how much a frame can be shifted up and stay below 2^15."""
    return np.array([max(0, 15 - int(peak).bit_length()) for peak in peaks])


def _powers(frames: Ints) -> Ints:
    """|FFT / FRAME|^2 of bins below half the sample rate; radix 2, decimation in time."""
    reverse = np.array([int(f"{i:0{_STAGES}b}"[::-1], 2) for i in range(FRAME)])
    re, im = frames[:, reverse], np.zeros_like(frames)
    cos, sin = twiddles()
    for stage in range(_STAGES):
        half = 1 << stage
        for k in range(half):
            turn = k * (FRAME // 2 // half)
            a = np.arange(k, FRAME, 2 * half)
            b = a + half
            x = (re[:, b] * cos[turn] - im[:, b] * sin[turn] + (1 << 14)) >> 15
            y = (re[:, b] * sin[turn] + im[:, b] * cos[turn] + (1 << 14)) >> 15
            re[:, b], im[:, b] = (re[:, a] - x) >> 1, (im[:, a] - y) >> 1
            re[:, a], im[:, a] = (re[:, a] + x) >> 1, (im[:, a] + y) >> 1
    half = FRAME // 2
    return re[:, :half] ** 2 + im[:, :half] ** 2


def _log2_16(energies: Ints) -> Ints:
    """16 * log2(1 + energy), the fraction linear in the mantissa."""
    values = energies + 1
    whole = np.array([int(value).bit_length() - 1 for value in values.reshape(-1)])
    whole = whole.reshape(values.shape)
    fraction = ((values << 4) >> whole) - 16
    return 16 * whole + fraction
