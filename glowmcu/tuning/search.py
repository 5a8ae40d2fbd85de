"""The order in which quantizations are tried. A generator: it yields stages and is sent trials.

1. defaults, then schemas x range methods: what matters everywhere
2. bias correction, equalization, adaptive rounding, all combinations: they help each other
3. the layers that cost the output most (by `quant.comparison`) in int16 or float: each alone, then
   the most useful ones together
4. neighbours of the best, until none is better

It only depends on the trials it is sent, never on time or on their order of arrival.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import Any

from glowmcu.lazy_dataclass import dataclass
from glowmcu.quant.options import QuantizationOptions
from glowmcu.quant.ranges import Calibration, Method
from glowmcu.quant.schemas import Schema
from glowmcu.tuning.trial import Budget, Trial, best_of, nearest_of

#: Shares of values (per cent) that the percentile method is tried with.
PERCENTILES = (99.0, 99.5, 99.9, 99.95, 99.99, 99.995, 99.999)
_FIRST_PERCENTILES = (99.9, 99.99, 99.999)
#: Layers tried in higher precision, and how many of them together at most.
_MOST_LAYERS = 8
_MOST_TOGETHER = 6
_MIXED = ("int16", "keep_float")
_SWITCHES = ("bias_correction", "equalization", "adaptive_rounding", "per_channel")


@dataclass(frozen=True)
class Stage:
    """Candidates that may run at once."""

    name: str
    candidates: tuple[QuantizationOptions, ...]


#: Yields stages; is sent the trials of each, in the order of its candidates.
Search = Generator[Stage, Sequence[Trial], None]
#: Names of a quantization's layers, the most harmful first.
Rank = Callable[[QuantizationOptions], Sequence[str]]


def search(start: QuantizationOptions, bounds: Callable[[Trial], Budget], rank: Rank) -> Search:
    """Stages for a model; `bounds` gives the budget when the cost of `start` is known."""
    trials = list((yield Stage("defaults", (start,))))
    budget = bounds(trials[0])
    trials += yield Stage("schemas and ranges", _grid(start))
    trials += yield Stage("corrections", _switches(_leader(trials, budget, start)))
    base = _leader(trials, budget, start)
    layers = [name for name in rank(base) if "," not in name][:_MOST_LAYERS]
    for kind in _MIXED:
        # Whether a layer can be int16 shows only when it is tried.
        singles = yield Stage(f"single layers, {kind}", _singles(base, kind, layers))
        trials += singles
        useful = _useful(singles, kind, base, trials)
        trials += yield Stage(f"layers together, {kind}", _together(base, kind, useful))
    while True:
        before = _leader(trials, budget, start)
        trials += yield Stage("refinement", _neighbours(before))
        if _leader(trials, budget, start) == before:
            return


def _leader(trials: Sequence[Trial], budget: Budget, start: QuantizationOptions) -> (
    QuantizationOptions
):  # fmt: skip
    """What to go on from: the best that fits, else what misses the budget by the least."""
    found = best_of(trials, budget) or nearest_of(trials, budget)
    return start if found is None else found.options


def _grid(start: QuantizationOptions) -> tuple[QuantizationOptions, ...]:
    percentile = start.calibration.percentile
    methods = [
        (method, share)
        for method in Method
        for share in (_FIRST_PERCENTILES if method is Method.PERCENTILE else (percentile,))
    ]
    return tuple(
        replace(start, calibration=Calibration(method, schema, share))
        for schema in Schema
        for method, share in methods
    )


def _switches(base: QuantizationOptions) -> tuple[QuantizationOptions, ...]:
    return tuple(
        replace(base, bias_correction=bias, equalization=level, adaptive_rounding=rounding)
        for bias, level, rounding in itertools.product((True, False), repeat=3)
    )


def _singles(
    base: QuantizationOptions, kind: str, layers: Sequence[str]
) -> tuple[QuantizationOptions, ...]:
    return tuple(_with_layers(base, kind, (name,)) for name in layers)


def _with_layers(
    base: QuantizationOptions, kind: str, layers: Sequence[str]
) -> QuantizationOptions:
    """`layers` added in that precision, and no longer in the other."""
    (other,) = set(_MIXED) - {kind}
    own = dict.fromkeys((*getattr(base, kind), *layers))
    rest = tuple(name for name in getattr(base, other) if name not in own)
    changes: dict[str, Any] = {kind: tuple(own), other: rest}
    return replace(base, **changes)


def _useful(
    singles: Sequence[Trial], kind: str, base: QuantizationOptions, trials: Sequence[Trial]
) -> list[str]:
    """Layers that gained something by themselves, most gain a cycle first."""
    plain = next((trial for trial in trials if trial.options == base), None)
    if plain is None or plain.cost is None:
        return []
    gains: list[tuple[float, str]] = []
    for trial in singles:
        if trial.cost is not None and trial.quality > plain.quality:
            gain = trial.sqnr_db - plain.sqnr_db + 100 * (trial.quality[0] - plain.quality[0])
            cycles = max(trial.cost.cycles - plain.cost.cycles, 1)
            gains.append((-gain / cycles, getattr(trial.options, kind)[-1]))
    return [name for _, name in sorted(gains)]


def _together(
    base: QuantizationOptions, kind: str, layers: Sequence[str]
) -> tuple[QuantizationOptions, ...]:
    most = min(len(layers), _MOST_TOGETHER)
    return tuple(_with_layers(base, kind, layers[:count]) for count in range(2, most + 1))


def _neighbours(base: QuantizationOptions) -> tuple[QuantizationOptions, ...]:
    """Everything that differs from `base` in one choice."""
    old = base.calibration
    calibrations = [replace(old, schema=schema) for schema in Schema]
    calibrations += [replace(old, method=method) for method in Method]
    if old.method is Method.PERCENTILE:
        here = bisect.bisect_left(PERCENTILES, old.percentile)
        near = PERCENTILES[max(here - 2, 0) : here + 3]
        calibrations += [replace(old, percentile=share) for share in near]
    found = [replace(base, calibration=item) for item in calibrations]
    changes: list[dict[str, Any]] = [{name: not getattr(base, name)} for name in _SWITCHES]
    for kind in _MIXED:
        names: tuple[str, ...] = getattr(base, kind)
        changes += [{kind: tuple(n for n in names if n != name)} for name in names]
    found += [replace(base, **change) for change in changes]
    return tuple(dict.fromkeys(item for item in found if item != base))
