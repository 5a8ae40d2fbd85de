"""One way to quantize a model and what came of it; which of two is better; what a budget allows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace

from glowmcu.lazy_dataclass import dataclass
from glowmcu.quant.options import QuantizationOptions, options_of, options_record

#: What an output without any error counts as.
BEST_DB = 200.0
#: Decibels that are worth no cycle.
NEAR_DB = 0.1


@dataclass(frozen=True)
class Cost:
    """Of one inference: cycles, the arena, and flash for code and constants."""

    cycles: int
    arena_bytes: int
    flash_bytes: int


@dataclass(frozen=True)
class Trial:
    """`accuracy` is None without labels; `problem` says why a trial gave nothing (`cost` None)."""

    options: QuantizationOptions
    accuracy: float | None = None
    sqnr_db: float = -BEST_DB
    cost: Cost | None = None
    problem: str = ""

    @property
    def quality(self) -> tuple[float, float]:
        """Accuracy before signal to noise; the greater the better."""
        return self.accuracy or 0.0, self.sqnr_db

    def dominates(self, other: Trial) -> bool:
        """Whether this has no more error and no more cycles, and less of one of them. Both trials
        gave a model.
        """
        assert self.cost is not None and other.cost is not None
        mine, its = (-self.sqnr_db, self.cost.cycles), (-other.sqnr_db, other.cost.cycles)
        return mine != its and mine[0] <= its[0] and mine[1] <= its[1]


@dataclass(frozen=True)
class Budget:
    """Upper bounds; None is none."""

    cycles: int | None = None
    arena_bytes: int | None = None
    flash_bytes: int | None = None

    def excess(self, cost: Cost) -> float:
        """By what share the cost is above the budget at worst; 0 if it fits."""
        pairs = [(getattr(cost, name), limit) for name, limit in asdict(self).items()]
        shares = [used / max(limit, 1) - 1 for used, limit in pairs if limit is not None]
        return max(0.0, *shares) if shares else 0.0

    def completed(self, plain: Trial, slack: float) -> Budget:
        """Bounds that were left open become `slack` times what `plain` takes: mixed precision would
        otherwise end with a model all in float.
        """
        if plain.cost is None:
            return self
        given = {name: limit for name, limit in asdict(self).items() if limit is not None}
        open_ = {name: int(slack * used) for name, used in asdict(plain.cost).items()}
        return replace(self, **{**open_, **given})

    def within(self, ceiling: Budget) -> Budget:
        """The lower of each pair of bounds."""
        mine, other = asdict(self), asdict(ceiling)
        pairs = {name: [n for n in (mine[name], other[name]) if n is not None] for name in mine}
        return Budget(**{name: min(limits, default=None) for name, limits in pairs.items()})


def best_of(trials: Sequence[Trial], budget: Budget) -> Trial | None:
    """The cheapest of those that fit and are within `NEAR_DB` of the best of them, accuracy being
    equal; never worse than the first that fits (the defaults, as a search begins with them).
    """
    fitting = [t for t in trials if t.cost is not None and budget.excess(t.cost) == 0.0]
    if not fitting:
        return None
    accuracy, sqnr = max(trial.quality for trial in fitting)
    least = max((accuracy, sqnr - NEAR_DB), fitting[0].quality)
    return min((trial for trial in fitting if trial.quality >= least), key=_cost_order)


def _cost_order(trial: Trial) -> tuple[float, ...]:
    assert trial.cost is not None
    cost = trial.cost
    return cost.cycles, cost.flash_bytes, cost.arena_bytes, -trial.sqnr_db


def nearest_of(trials: Sequence[Trial], budget: Budget) -> Trial | None:
    """What misses the budget by the least."""
    measured = [(budget.excess(t.cost), t) for t in trials if t.cost is not None]
    return min(measured, key=lambda item: (item[0], _order(item[1])), default=(0.0, None))[1]


def _order(trial: Trial) -> tuple[float, ...]:
    assert trial.cost is not None
    accuracy, sqnr = trial.quality
    return -accuracy, -round(sqnr, 2), trial.cost.cycles, trial.cost.flash_bytes


def pareto_front(trials: Sequence[Trial]) -> list[Trial]:
    """Trials that no other beats in quality, cycles, arena and flash at once; best first."""
    points = [(t, (*_losses(t),)) for t in trials if t.cost is not None]
    front: list[Trial] = []
    seen: set[tuple[float, ...]] = set()
    for trial, own in sorted(points, key=lambda item: _order(item[0])):
        beaten = any(
            other != own and all(a <= b for a, b in zip(other, own, strict=True))
            for _, other in points
        )
        if not beaten and own not in seen:
            seen.add(own)
            front.append(trial)
    return front


def _losses(trial: Trial) -> tuple[float, ...]:
    assert trial.cost is not None
    main = trial.sqnr_db if trial.accuracy is None else trial.accuracy
    cost = trial.cost
    return -round(main, 4), cost.cycles, cost.arena_bytes, cost.flash_bytes


def options_key(options: QuantizationOptions) -> str:
    """A text that is equal for equal options."""
    return json.dumps(options_record(options), sort_keys=True)


def trial_record(trial: Trial) -> dict[str, object]:
    """The trial as JSON."""
    return {
        "accuracy": trial.accuracy,
        "sqnr_db": trial.sqnr_db,
        "cost": None if trial.cost is None else asdict(trial.cost),
        "problem": trial.problem,
        "options": options_record(trial.options),
    }


def trial_of(record: dict[str, object]) -> Trial:
    """The inverse. Raises KeyError, TypeError, ValueError or GlowmcuError for anything else."""
    cost, accuracy, sqnr = record["cost"], record["accuracy"], record["sqnr_db"]
    if not isinstance(sqnr, int | float) or not isinstance(accuracy, int | float | None):
        raise TypeError("quality must be numbers")
    if cost is not None and not isinstance(cost, dict):
        raise TypeError("cost must be an object")
    return Trial(
        options_of(record["options"]),
        None if accuracy is None else float(accuracy),
        float(sqnr),
        None if cost is None else Cost(**cost),
        str(record["problem"]),
    )
