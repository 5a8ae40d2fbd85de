"""A search runs to the same end in one process or two, in one go or in several."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.quant.options import QuantizationOptions
from glowmcu.quant.quantizer import quantize
from glowmcu.quant.samples import Samples
from glowmcu.tuning.evaluation import Evaluator, predictions
from glowmcu.tuning.state_file import StateFile, key_of
from glowmcu.tuning.trial import Budget, Trial
from glowmcu.tuning.tuner import Outcome, Settings, TuningProgress, run_search
from glowmcu.tuning.workers import Workers
from tests.quant.networks import convolutions, perceptron, run_real, sqnr_db
from tests.tuning.jobs import small_job


def shown(outcome: Outcome) -> list[tuple[object, ...]]:
    return [(t.options, t.sqnr_db, t.cost, t.problem) for t in outcome.trials]


@pytest.fixture(scope="module")
def whole() -> Outcome:
    return run_search(small_job(), Settings(trials=30), StateFile(None, "key"))


def test_two_processes_find_what_one_finds_in_the_same_order(whole: Outcome) -> None:
    outcome = run_search(
        small_job(), Settings(trials=30, workers=Workers(2)), StateFile(None, "key")
    )
    assert shown(outcome) == shown(whole)
    assert outcome.best == whole.best


@pytest.mark.parametrize("trials_before", [1, 7])
def test_an_interrupted_search_goes_on_where_it_was(
    whole: Outcome, tmp_path: Path, trials_before: int
) -> None:
    def interrupt(progress: TuningProgress) -> None:
        if progress.done == trials_before:
            raise KeyboardInterrupt

    path = tmp_path / "trials.jsonl"
    first = run_search(small_job(), Settings(trials=30), StateFile(path, "key"), interrupt)
    assert first.stopped == "interrupted"
    assert len(first.trials) == trials_before
    assert first.best in first.trials
    fresh: list[TuningProgress] = []
    state = StateFile(path, "key")
    assert len(state) == trials_before
    second = run_search(small_job(), Settings(trials=30), state, fresh.append)
    assert shown(second) == shown(whole)
    assert len(fresh) == len(whole.trials) - trials_before


@pytest.mark.parametrize("trials_before", [0, 1])
def test_an_interrupt_before_anything_fits_is_no_outcome(
    trials_before: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluate, path = Evaluator.evaluate, tmp_path / "trials.jsonl"

    def interrupted(self: Evaluator, options: QuantizationOptions) -> Trial:
        if len(StateFile(path, "key")) == trials_before:
            raise KeyboardInterrupt
        return evaluate(self, options)

    monkeypatch.setattr(Evaluator, "evaluate", interrupted)
    nothing = Settings(trials=30, budget=Budget(flash_bytes=1))
    with pytest.raises(KeyboardInterrupt):
        run_search(small_job(), nothing, StateFile(path, "key"))
    assert len(StateFile(path, "key")) == trials_before


def test_trials_of_other_data_are_not_taken_up(tmp_path: Path) -> None:
    path = tmp_path / "trials.jsonl"
    StateFile(path, "old").add(Trial(QuantizationOptions()))
    assert len(StateFile(path, "old")) == 1
    assert len(StateFile(path, "new")) == 0
    assert len(StateFile(path, "old")) == 0


def test_a_line_that_was_cut_off_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "trials.jsonl"
    state = StateFile(path, "key")
    state.add(Trial(QuantizationOptions()))
    state.add(Trial(QuantizationOptions(equalization=True)))
    path.write_text(path.read_text()[:-20])
    assert len(StateFile(path, "key")) == 1


def test_a_file_of_something_else_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "trials.jsonl"
    path.write_text("my notes\n")
    with pytest.raises(GlowmcuError, match="it holds something else") as caught:
        StateFile(path, "key")
    assert caught.value.code == "GM343"
    assert path.read_text() == "my notes\n"


def test_the_key_sees_every_sample_and_label() -> None:
    job = small_job()
    labels = np.zeros(24, np.int64)
    other = (*job.samples[:-1], job.samples[0])
    keys = {
        key_of("a", job.profile, job.samples, None, "m4"),
        key_of("b", job.profile, job.samples, None, "m4"),
        key_of("a", job.profile, job.samples, labels, "m4"),
        key_of("a", job.profile, other, None, "m4"),
        key_of("a", job.profile, job.samples, None, "m0"),
    }
    assert len(keys) == 5


def test_the_number_of_trials_counts_those_that_gave_a_model() -> None:
    outcome = run_search(small_job(), Settings(trials=5), StateFile(None, "key"))
    assert sum(trial.cost is not None for trial in outcome.trials) == 5
    assert outcome.stopped == "5 trials done"


def test_time_ends_the_search_after_the_trial_that_runs() -> None:
    ticks = iter(range(1000))
    settings = Settings(time_s=8)
    outcome = run_search(
        small_job(), settings, StateFile(None, "key"), clock=lambda: float(next(ticks))
    )
    assert outcome.stopped == "8 s are over"
    assert 1 < len(outcome.trials) < 10


def test_progress_tells_the_best_and_the_time_left(whole: Outcome) -> None:
    seen: list[TuningProgress] = []
    ticks = iter(range(1000))
    run_search(small_job(), Settings(trials=30), StateFile(None, "key"), seen.append,
               clock=lambda: float(next(ticks)))  # fmt: skip
    assert [p.done for p in seen] == sorted(p.done for p in seen)
    assert seen[0].stage == "defaults"
    assert seen[0].total == 30
    assert seen[-1].best == whole.best
    assert all(p.remaining_s >= 0 for p in seen)


def test_a_budget_is_kept(whole: Outcome) -> None:
    assert whole.trials[0].cost is not None
    limit = whole.trials[0].cost.flash_bytes - 1
    settings = Settings(budget=Budget(flash_bytes=limit), trials=30)
    outcome = run_search(small_job(), settings, StateFile(None, "key"))
    best = outcome.best
    assert best is None or (best.cost is not None and best.cost.flash_bytes <= limit)
    assert outcome.budget.flash_bytes == limit


def test_a_trial_measures_what_running_the_int8_graph_gives() -> None:
    job = small_job()
    trial = Evaluator(job).evaluate(QuantizationOptions())
    int8 = quantize(job.graph, job.profile).graph
    samples = Samples(lambda: iter(job.samples), len(job.samples))
    assert trial.sqnr_db == pytest.approx(sqnr_db(convolutions(), int8, samples), abs=1e-3)


def test_accuracy_is_the_share_of_samples_whose_label_has_the_greatest_score() -> None:
    job = small_job(perceptron())
    scores = np.stack([run_real(job.graph, sample)[0].ravel() for sample in job.samples])
    labels = scores.argmax(1)
    wrong = labels.copy()
    wrong[:6] = (wrong[:6] + 1) % 4
    evaluator = Evaluator(replace(job, labels=wrong))
    assert evaluator.float_accuracy == pytest.approx(18 / 24)
    trial = evaluator.evaluate(QuantizationOptions())
    assert trial.accuracy == pytest.approx(18 / 24, abs=0.1)


def test_one_score_is_a_probability_and_an_integer_is_the_class() -> None:
    np.testing.assert_array_equal(predictions(np.array([[0.2], [0.7]], np.float32)), [0, 1])
    np.testing.assert_array_equal(predictions(np.array([[2], [0]])), [2, 0])
    np.testing.assert_array_equal(predictions(np.eye(3, dtype=np.float32)), [0, 1, 2])


def test_harmful_layers_are_ranked_by_their_names() -> None:
    assert set(Evaluator(small_job()).rank(QuantizationOptions())) <= {"first", "second", "third"}
    assert Evaluator(small_job()).rank(QuantizationOptions())
