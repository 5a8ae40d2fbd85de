"""Runs a search: candidates to workers, trials to the state file, until the end or a limit.

The outcome does not depend on who computes the trials: a stage's trials are handed to the search in
the order of its candidates.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

from glowmcu.lazy_dataclass import dataclass
from glowmcu.quant.options import QuantizationOptions
from glowmcu.tuning.evaluation import Evaluator, Job
from glowmcu.tuning.search import Search, Stage, search
from glowmcu.tuning.state_file import StateFile
from glowmcu.tuning.trial import Budget, Trial, best_of
from glowmcu.tuning.workers import Task, Workers, working

#: What mixed precision may cost if no budget is given, against plain int8.
SLACK = 1.25


@dataclass(frozen=True)
class Settings:
    """`budget` is the user's, `ceiling` what the board has at all. `trials` counts those that gave
    a result, also those that an earlier run left; `time_s` is None for no limit.
    """

    start: QuantizationOptions = field(default_factory=QuantizationOptions)
    budget: Budget = field(default_factory=Budget)
    ceiling: Budget = field(default_factory=Budget)
    trials: int = 100
    time_s: float | None = None
    workers: Workers = field(default_factory=Workers)
    slack: float = SLACK

    def bounds(self, plain: Trial) -> Budget:
        """What trials must keep to, once the plain int8 model is known."""
        return self.budget.completed(plain, self.slack).within(self.ceiling)


@dataclass(frozen=True)
class TuningProgress:
    """After a trial. `remaining_s` is the longest that it can still take at this pace."""

    stage: str
    done: int
    total: int
    elapsed_s: float
    remaining_s: float
    best: Trial | None


TuningObserver = Callable[[TuningProgress], None]


@dataclass(frozen=True)
class Outcome:
    """All trials in the search's order. `stopped` says what ended it early, empty otherwise."""

    trials: tuple[Trial, ...]
    budget: Budget
    stopped: str = ""

    @property
    def best(self) -> Trial | None:
        """The best that fits the budget."""
        return best_of(self.trials, self.budget)


class _Stop(Exception):
    """A limit was reached; the text says which."""


def run_search(
    job: Job,
    settings: Settings,
    state: StateFile,
    observer: TuningObserver | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Outcome:
    """Search until nothing better is near, a limit is reached or the user interrupts.

    Raises KeyboardInterrupt where an interrupt comes before a trial fits the budget.
    """
    runner = _Runner(settings, state, observer, clock)
    evaluator = Evaluator(job)
    stopped = ""
    try:
        task = Task(job, Evaluator, Evaluator.evaluate)
        with working(task, settings.workers, evaluator) as evaluate:
            stages = search(settings.start, settings.bounds, evaluator.rank)
            runner.run(stages, evaluate)
    except KeyboardInterrupt:
        if best_of(runner.trials, runner.budget) is None:
            raise
        stopped = "interrupted"
    except _Stop as cause:
        stopped = str(cause)
    return Outcome(tuple(runner.trials), runner.budget, stopped)


#: Takes candidates, gives trials as they are done.
Evaluate = Callable[[Sequence[QuantizationOptions]], Iterator[Trial]]


class _Runner:
    """Feeds a search and keeps what it found."""

    def __init__(
        self,
        settings: Settings,
        state: StateFile,
        observer: TuningObserver | None,
        clock: Callable[[], float],
    ) -> None:
        self.trials: list[Trial] = []
        self.budget = settings.budget.within(settings.ceiling)
        self._settings, self._state, self._observer = settings, state, observer
        self._clock, self._started = clock, clock()
        self._found: dict[QuantizationOptions, Trial] = {}
        self._fresh = 0

    def run(self, stages: Search, evaluate: Evaluate) -> None:
        """Until the search ends. Raises _Stop."""
        sent: Sequence[Trial] | None = None
        while True:
            try:
                stage = next(stages) if sent is None else stages.send(sent)
            except StopIteration:
                return
            sent = self._run_stage(stage, evaluate)

    def _run_stage(self, stage: Stage, evaluate: Evaluate) -> list[Trial]:
        """Trials of the stage's candidates. Raises _Stop where the trials do not suffice."""
        waiting = [item for item in stage.candidates if item not in self._found]
        while waiting:
            left = self._settings.trials - sum(trial.cost is not None for trial in self.trials)
            if left <= 0:
                raise _Stop(f"{self._settings.trials} trials done")
            self._try(stage.name, waiting[:left], evaluate)
            waiting = waiting[left:]
        return [self._found[item] for item in stage.candidates]

    def _try(
        self, stage: str, candidates: Sequence[QuantizationOptions], evaluate: Evaluate
    ) -> None:
        known = {item: self._state.get(item) for item in candidates}
        found = {item: trial for item, trial in known.items() if trial is not None}
        try:
            for trial in evaluate([item for item in candidates if item not in found]):
                self._state.add(trial)
                found[trial.options] = trial
                self._fresh += 1
                self._tell(stage, found)
                self._check_time()
        finally:
            # In the candidates' order, whatever process was first.
            for item in candidates:
                if item in found:
                    self._keep(found[item])

    def _keep(self, trial: Trial) -> None:
        if not self.trials:
            self.budget = self._settings.bounds(trial)
        self.trials.append(trial)
        self._found[trial.options] = trial

    def _check_time(self) -> None:
        limit = self._settings.time_s
        if limit is not None and self._clock() - self._started >= limit:
            raise _Stop(f"{limit:g} s are over")

    def _tell(self, stage: str, found: dict[QuantizationOptions, Trial]) -> None:
        if self._observer is None:
            return
        measured = [t for t in (*self.trials, *found.values()) if t.cost is not None]
        done, total = len(measured), self._settings.trials
        elapsed = self._clock() - self._started
        remaining = elapsed / self._fresh * max(total - done, 0)
        if self._settings.time_s is not None:
            remaining = min(remaining, max(self._settings.time_s - elapsed, 0.0))
        best = best_of(measured, self.budget)
        self._observer(TuningProgress(stage, done, total, elapsed, remaining, best))


__all__ = ["Budget", "Outcome", "Settings", "TuningObserver", "TuningProgress", "run_search"]
