"""What a quantization may be chosen from where its user has left it open, and in which order.

The set is small and fixed. Ranges and equalization go first, together, since either changes what
the other is worth; then bias correction, on top of the best of these. None of it costs the bundle a
cycle. Where that is not enough, single layers are given 16 bits, which costs some. Adaptive
rounding is left out: a profile alone could not make the same model again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from glowmcu.lazy_dataclass import dataclass
from glowmcu.quant.options import QuantizationOptions
from glowmcu.quant.ranges import Calibration, Method

#: Ways to find a range, those that are easier to understand first.
_RANGES = (
    (Method.MINMAX, 99.99),
    (Method.PERCENTILE, 99.99),
    (Method.MSE, 99.99),
    (Method.ENTROPY, 99.99),
    (Method.PERCENTILE, 99.9),
)


@dataclass(frozen=True)
class SearchSpace:
    """What is open: the ranges' method, equalization, bias correction, layers of 16 bits."""

    calibration: bool = True
    equalization: bool = True
    bias_correction: bool = True
    int16: bool = True

    def ranges(self, start: QuantizationOptions) -> list[QuantizationOptions]:
        """`start` and what else there is of ranges and equalization, the simplest first."""
        found = [start]
        for equalization in (False, True) if self.equalization else (start.equalization,):
            for calibration in self._calibrations(start.calibration):
                found.append(replace(start, calibration=calibration, equalization=equalization))
        return list(dict.fromkeys(found))

    def weights(self, best: QuantizationOptions) -> list[QuantizationOptions]:
        """`best` and what else can be done about the errors of rounded weights."""
        other = replace(best, bias_correction=not best.bias_correction)
        return [best, other] if self.bias_correction else [best]

    def precision(
        self, best: QuantizationOptions, layers: Sequence[str]
    ) -> list[QuantizationOptions]:
        """`best` with 16 bits for some of the layers, the worst first: each alone, then several."""
        if not self.int16:
            return []
        open_ = [name for name in dict.fromkeys(layers) if name not in best.keep_float]
        groups = [[name] for name in open_] + [open_[:many] for many in range(2, len(open_) + 1)]
        return [replace(best, int16=(*best.int16, *group)) for group in groups]

    def _calibrations(self, start: Calibration) -> Iterator[Calibration]:
        if not self.calibration:
            yield start
            return
        for method, percentile in _RANGES:
            share = percentile if method is Method.PERCENTILE else start.percentile
            yield replace(start, method=method, percentile=share)
