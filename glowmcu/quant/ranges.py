"""Calibration: which part of what was measured becomes the 256 steps of int8.

All methods but `minmax` give up rare large values for finer steps; they look at the histogram.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

import numpy as np
import numpy.typing as npt

from glowmcu.ir.operation import Array
from glowmcu.lazy_dataclass import dataclass
from glowmcu.quant.histogram import BIN_COUNT, Histogram, coarsened
from glowmcu.quant.profile import TensorProfile
from glowmcu.quant.schemas import INT8_MAX, INT8_MIN, Schema, choose_parameters

Doubles = npt.NDArray[np.float64]
Range = tuple[float, float]


class Method(Enum):
    """How a range is chosen."""

    #: Everything that was seen.
    MINMAX = "minmax"
    #: All but a share of the values at both ends.
    PERCENTILE = "percentile"
    #: The least mean squared error of quantized values.
    MSE = "mse"
    #: The least information lost: Kullback-Leibler divergence, as in NVIDIA's TensorRT.
    ENTROPY = "entropy"


@dataclass(frozen=True)
class Calibration:
    """Method and schema of activations; `percentile`: per cent of the values that are kept."""

    method: Method = Method.MINMAX
    schema: Schema = Schema.ASYMMETRIC
    percentile: float = 99.99


def choose_range(tensor: TensorProfile, calibration: Calibration) -> Range:
    """The real range that int8 has to span; within what was seen."""
    histogram = tensor.histogram
    if histogram is None or tensor.low == tensor.high:
        return tensor.low, tensor.high
    choose = _METHODS[calibration.method]
    low, high = choose(tensor, histogram, calibration)
    return max(low, tensor.low), min(high, tensor.high)


def _minmax(tensor: TensorProfile, histogram: Histogram, calibration: Calibration) -> Range:
    return tensor.low, tensor.high


def _percentile(tensor: TensorProfile, histogram: Histogram, calibration: Calibration) -> Range:
    """Ends of the bins in which the two quantiles lie, interpolated within the bin."""
    dropped = (1.0 - calibration.percentile / 100.0) * histogram.total / 2
    seen = np.concatenate([[0], np.cumsum(histogram.counts)])
    low, high = np.interp([dropped, histogram.total - dropped], seen, histogram.edges)
    return float(low), float(high)


#: Shares of the full range that the search for the least squared error looks at.
_SHARES = np.linspace(0.05, 1.0, 96)


def _mse(tensor: TensorProfile, histogram: Histogram, calibration: Calibration) -> Range:
    """Coordinate descent over both ends; a symmetric schema only has one."""
    low, high = min(tensor.low, 0.0), max(tensor.high, 0.0)
    best_low, best_high = low, high
    for _ in range(3):
        before = best_low, best_high
        best_high = _least(histogram, calibration, [(best_low, high * share) for share in _SHARES])[
            1
        ]
        best_low = _least(histogram, calibration, [(low * share, best_high) for share in _SHARES])[
            0
        ]
        if (best_low, best_high) == before:
            break
    return best_low, best_high


def _least(histogram: Histogram, calibration: Calibration, candidates: list[Range]) -> Range:
    errors = [squared_error(histogram, candidate, calibration.schema) for candidate in candidates]
    # The widest of the best: where a range does not matter, nothing is to be cut off.
    best = len(errors) - 1 - int(np.argmin(errors[::-1]))
    return candidates[best]


def squared_error(histogram: Histogram, span: Range, schema: Schema) -> float:
    """Mean squared error of the histogram's values, quantized for the range `span`.

    A value uniform in a bin that is narrower than a step errs as its middle does, plus a constant.
    """
    parameters = choose_parameters(*span, schema)
    scale, zero_point = parameters.scales[0], parameters.zero_points[0]
    real = histogram.centres
    stored = np.clip(np.rint(real / scale) + zero_point, INT8_MIN, INT8_MAX)
    errors = (stored - zero_point) * scale - real
    return float(np.dot(histogram.counts, errors * errors)) / histogram.total


#: Thresholds that the search for the least divergence looks at.
_THRESHOLDS = 128
#: Bins from zero to the farthest value, 64 a level; more would tell the levels apart no better.
_MOST_MAGNITUDES = 8 * BIN_COUNT


def _entropy(tensor: TensorProfile, histogram: Histogram, calibration: Calibration) -> Range:
    """The threshold T whose quantized histogram of |x| is nearest to the one measured."""
    one_sided = tensor.low >= 0.0 or tensor.high <= 0.0
    levels = 255 if one_sided and calibration.schema is Schema.ASYMMETRIC else 128
    histogram = _reaching_zero(histogram)
    counts = _magnitudes(histogram)
    if len(counts) <= levels:
        return tensor.low, tensor.high
    ends = np.unique(np.linspace(levels, len(counts), _THRESHOLDS).astype(np.int64))
    divergences = [divergence(counts, int(end), levels) for end in ends]
    best = len(ends) - 1 - int(np.argmin(divergences[::-1]))
    threshold = float(ends[best]) * histogram.width
    return max(tensor.low, -threshold), min(tensor.high, threshold)


def _reaching_zero(histogram: Histogram) -> Histogram:
    """With bins so wide that few lie between zero and the farthest value: a tensor that is 1000 and
    little more has narrow ones, of which it takes millions to zero.
    """
    farthest = max(histogram.first + len(histogram.counts), -histogram.first)
    steps = max(0, (farthest - 1).bit_length() - _MOST_MAGNITUDES.bit_length() + 1)
    return coarsened(histogram, histogram.exponent + steps)


def _magnitudes(histogram: Histogram) -> Doubles:
    """Counts of |x| in bins of the same width from 0 on; bin edges are multiples of the width."""
    places = histogram.first + np.arange(len(histogram.counts))
    folded = np.where(places >= 0, places, -places - 1)
    counts: Doubles = np.bincount(folded, weights=histogram.counts).astype(np.float64)
    # The bin at 0 holds what is exactly 0, which every scale stores exactly: not to be fitted.
    if len(counts) > 1:
        counts[0] = min(counts[0], counts[1])
    return counts


def divergence(counts: Array, end: int, levels: int) -> float:
    """KL divergence of the first `end` bins, the rest saturated into the last, from the same with
    `levels` steps: each step spreads its values evenly over those of its bins that hold any.

    What was cut off is missing from the second, which is not scaled up to make up for it: else a
    tensor of few values would fit best when nearly all of them are gone.
    """
    clipped = counts[:end].copy()
    reference = clipped.copy()
    reference[-1] += counts[end:].sum()
    step = np.arange(end) * levels // end
    occupied = clipped > 0
    held = np.bincount(step, weights=clipped, minlength=levels)
    bins = np.bincount(step, weights=occupied, minlength=levels)
    even = np.divide(held, bins, out=np.zeros_like(held), where=bins > 0)
    quantized = np.where(occupied, even[step], 0.0)
    return _kullback_leibler(reference, quantized)


def _kullback_leibler(p: Array, q: Array) -> float:
    """Of counts, both as shares of p's; what q holds nothing of counts as nearly nothing."""
    p, q = p / p.sum(), np.maximum(q / p.sum(), 1e-12)
    used = p > 0
    return float(np.sum(p[used] * np.log(p[used] / q[used])))


_METHODS: dict[Method, Callable[[TensorProfile, Histogram, Calibration], Range]] = {
    Method.MINMAX: _minmax,
    Method.PERCENTILE: _percentile,
    Method.MSE: _mse,
    Method.ENTROPY: _entropy,
}
