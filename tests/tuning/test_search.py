"""What is tried, in which order, and what wins: on trials that are made up."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

import pytest

from glowmcu.quant.options import QuantizationOptions
from glowmcu.quant.ranges import Calibration, Method
from glowmcu.quant.schemas import Schema
from glowmcu.tuning.search import search
from glowmcu.tuning.trial import Budget, Cost, Trial, best_of, nearest_of, pareto_front

DEFAULT = QuantizationOptions()
LAYERS = ("a", "b", "c")


def trial(
    sqnr: float, cycles: int = 100, accuracy: float | None = None, **options: object
) -> Trial:
    chosen = QuantizationOptions(**options)  # type: ignore[arg-type]
    return Trial(chosen, accuracy, sqnr, Cost(cycles, 10, 1000))


def played(judge: Callable[[QuantizationOptions], Trial], budget: Budget) -> dict[str, list[Trial]]:
    """All stages of a search whose trials `judge` makes."""
    stages = search(DEFAULT, lambda _: budget, lambda _: LAYERS)
    found: dict[str, list[Trial]] = {}
    stage = next(stages)
    while True:
        trials = [judge(item) for item in stage.candidates]
        found.setdefault(stage.name, []).extend(trials)
        try:
            stage = stages.send(trials)
        except StopIteration:
            return found


def layer_by_layer(options: QuantizationOptions) -> Trial:
    """int16 is refused; float gains 3, 2, 1 dB a layer, and each costs the same; entropy 1 dB."""
    if options.int16:
        return Trial(options, problem="error[GM313]: no")
    gain = sum({"a": 3, "b": 2, "c": 1}[name] for name in options.keep_float)
    gain += options.calibration.method is Method.ENTROPY
    cost = Cost(100 + 20 * len(options.keep_float), 10, 1000)
    return Trial(options, None, 40.0 + gain, cost)


def test_the_defaults_come_first_then_every_schema_with_every_method() -> None:
    stages = played(layer_by_layer, Budget())
    assert list(stages)[:2] == ["defaults", "schemas and ranges"]
    assert [t.options for t in stages["defaults"]] == [DEFAULT]
    pairs = {(t.options.calibration.schema, t.options.calibration.method)
             for t in stages["schemas and ranges"]}  # fmt: skip
    assert pairs == {(schema, method) for schema in Schema for method in Method}


def test_the_most_useful_layers_are_taken_together_while_the_budget_allows() -> None:
    trials = [*chain(*played(layer_by_layer, Budget(cycles=145)).values())]
    best = best_of(trials, Budget(cycles=145))
    assert best is not None
    assert set(best.options.keep_float) == {"a", "b"}
    assert best.options.calibration.method is Method.ENTROPY


def test_a_refused_precision_leads_nowhere() -> None:
    stages = played(layer_by_layer, Budget())
    assert stages["layers together, int16"] == []
    assert all(t.options.int16 == () for t in stages["refinement"])


def test_refinement_goes_on_until_nothing_near_is_better() -> None:
    def judge(options: QuantizationOptions) -> Trial:
        calibration = options.calibration
        near = calibration.method is Method.PERCENTILE and calibration.percentile
        ladder = {99.99: 41.0, 99.95: 42.0, 99.9: 40.5, 99.5: 43.0}
        return Trial(options, None, ladder.get(near, 40.0), Cost(100, 10, 1000))

    trials = [*chain(*played(judge, Budget()).values())]
    best = best_of(trials, Budget())
    assert best is not None
    assert best.options.calibration == Calibration(Method.PERCENTILE, percentile=99.5)


def test_accuracy_counts_before_signal_and_cost_decides_between_equals() -> None:
    right, loud = trial(30, accuracy=0.9), trial(50, accuracy=0.8)
    assert best_of([loud, right], Budget()) is right
    cheap, dear = trial(39.95, 90), trial(40.0, 100)
    assert best_of([trial(30), dear, cheap], Budget()) is cheap
    assert best_of([trial(30), dear, trial(39.85, 90)], Budget()) is dear


def test_the_best_is_never_worse_than_the_defaults_even_for_fewer_cycles() -> None:
    defaults, cheap = trial(40.0, 100), trial(39.95, 90)
    assert best_of([defaults, cheap], Budget()) is defaults


def test_what_is_above_the_budget_never_wins_but_the_nearest_is_known() -> None:
    trials = [trial(60, 200), trial(50, 150), trial(40, 130)]
    assert best_of(trials, Budget(cycles=120)) is None
    assert nearest_of(trials, Budget(cycles=120)) is trials[2]
    assert best_of(trials, Budget(cycles=150)) is trials[1]


def test_open_bounds_are_those_of_plain_int8_and_the_board_caps_all() -> None:
    budget = Budget(arena_bytes=11).completed(trial(40, 100), 1.25)
    assert budget == Budget(125, 11, 1250)
    assert budget.within(Budget(None, 5, 2000)) == Budget(125, 5, 1250)


@pytest.mark.parametrize(
    ("sqnr", "cycles", "dominates"),
    [
        (50.0, 100, False),
        (50.0, 101, True),
        (49.9, 100, True),
        (49.9, 99, False),
        (50.1, 101, False),
    ],
    ids=["the same", "as good, dearer", "worse, as dear", "worse, cheaper", "better, dearer"],
)
def test_a_trial_dominates_what_is_no_better_at_anything(
    sqnr: float, cycles: int, dominates: bool
) -> None:
    other = Trial(DEFAULT, None, sqnr, Cost(cycles, 10, 1000))
    assert Trial(DEFAULT, None, 50.0, Cost(100, 10, 1000)).dominates(other) is dominates


def test_the_front_has_each_trial_that_no_other_beats_once() -> None:
    best, cheap, beaten = trial(50, 100), trial(40, 80), trial(45, 100)
    twin = trial(40, 80, equalization=True)
    failed = Trial(DEFAULT, problem="error[GM501]: no")
    assert pareto_front([beaten, cheap, twin, failed, best]) == [best, cheap]
