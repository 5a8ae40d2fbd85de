"""`glowmcu.tune`: the quantization that is best on the user's data, as a profile for `compile`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TypeVar

from glowmcu.api.given_model import ExampleInputs, ModelGiven, read_given
from glowmcu.api.quantization import ProfileGiven, SamplesGiven
from glowmcu.argument_types import arguments_checked
from glowmcu.asked_in_python import in_python
from glowmcu.board import Board, find_board
from glowmcu.compilation import Options
from glowmcu.cores import core
from glowmcu.custom_c import CustomGiven
from glowmcu.errors import ExitCode, GlowmcuError, error
from glowmcu.given_paths import is_file, is_there
from glowmcu.goals import Goal
from glowmcu.input_options import inputs_of
from glowmcu.ir.operation import Array, Rounding
from glowmcu.ir.types import Shape
from glowmcu.kernels.kernel import Target
from glowmcu.lazy_dataclass import dataclass
from glowmcu.notebook import Card, Column, Record, Shown
from glowmcu.number_text import count
from glowmcu.option_words import Optimize, RoundingWord, TunedIoWord
from glowmcu.pipeline import float_graph
from glowmcu.quant.choices import choice_text
from glowmcu.quant.images import read_preprocessing
from glowmcu.quant.options import Interface, QuantizationOptions
from glowmcu.quant.profile import Profile, check_profile
from glowmcu.quant.profile_file import read_profile, write_profile
from glowmcu.quant.profiling import profile_graph
from glowmcu.quant.sample_source import SampleSource
from glowmcu.quant.samples import samples_of
from glowmcu.tuning.evaluation import Build, Evaluator, Job
from glowmcu.tuning.labelled import LabelsGiven, read_labelled
from glowmcu.tuning.remedies import Remedy, border_advice
from glowmcu.tuning.state_file import StateFile, key_of
from glowmcu.tuning.trial import Budget, Cost, Trial, nearest_of, pareto_front
from glowmcu.tuning.tuner import Outcome, Settings, TuningObserver, TuningProgress, run_search
from glowmcu.tuning.workers import read_workers

__all__ = ["DEFAULT_TRIALS", "TuningProgress", "TuningResult", "tune"]

DEFAULT_TRIALS = 100
#: Stack that a firmware needs besides the arena, as `compile` assumes it.
_STACK_RESERVE_BYTES = 1024


_COLUMNS = (
    Column("", "mark"), Column("accuracy", "accuracy", "percent", 2),
    Column("SQNR dB", "sqnr_db", "number"), Column("cycles", "cycles", "count"),
    Column("arena B", "arena_bytes", "count"), Column("flash B", "flash_bytes", "count"),
    Column("quantization", "quantization"),
)  # fmt: skip


@dataclass(frozen=True)
class TuningResult(Shown):
    """`best` is in the profile file `output`; `plain` is int8 with the defaults; `trials` are all,
    in the search's order, `front` those that no other beats in quality, cycles, arena and flash at
    once; `budget` has also the bounds that were not given (cycles, bytes). `samples` is their
    number, `labelled` whether they had labels; `stopped` says what ended the search early, empty
    otherwise. `advice` are real numbers at the border, where storing inputs or outputs does harm,
    the best loses much and `io` was left open.

    >>> found = glowmcu.tune("digits.onnx", "calibration.npz", trials=3)
    >>> found.best.sqnr_db >= found.plain.sqnr_db, found.best.cost.cycles > 0
    (True, True)
    """

    best: Trial
    plain: Trial
    front: tuple[Trial, ...]
    trials: tuple[Trial, ...]
    budget: Budget
    samples: int
    labelled: bool
    stopped: str
    output: Path | None
    advice: Remedy | None = None

    def _card(self) -> Card:
        first = [self.best, *(trial for trial in self.front if trial != self.best)]
        others = [trial for trial in self.trials if trial not in first]
        facts = (
            ("trials", f"{len(self.trials)} on {count(self.samples)} samples"),
            ("profile", "-" if self.output is None else str(self.output)),
        )
        records = [self._record(trial) for trial in (*first, *others)]
        notes = [self.stopped] if self.stopped else []
        if self.advice is not None:
            gain = self.advice.trial.sqnr_db - self.best.sqnr_db
            notes.append(f"{in_python(self.advice.arguments)} gains {gain:.1f} dB")
        return Card("Quantizations, the best first", facts, _COLUMNS, records, tuple(notes))

    def _record(self, trial: Trial) -> Record:
        marks = (("best", trial == self.best), ("plain", trial == self.plain))
        cost = trial.cost
        return {
            "mark": " ".join(word for word, is_so in marks if is_so),
            "pareto": trial in self.front,
            "accuracy": trial.accuracy,
            "sqnr_db": trial.sqnr_db,
            "cycles": None if cost is None else cost.cycles,
            "arena_bytes": None if cost is None else cost.arena_bytes,
            "flash_bytes": None if cost is None else cost.flash_bytes,
            "quantization": choice_text(trial.options),
            "problem": trial.problem,
        }


@arguments_checked
def tune(
    model: ModelGiven,
    samples: SamplesGiven,
    labels: LabelsGiven | None = None,
    *,
    output: str | Path | None = None,
    profile: ProfileGiven | None = None, preprocess: str | Path | None = None,
    board: str = "generic", optimize: Optimize = "balanced", rounding: RoundingWord = "double",
    io: TunedIoWord | None = None, arena_budget: int | None = None, flash_budget: int | None = None,
    cycle_budget: int | None = None, simplify: bool = True, trials: int = DEFAULT_TRIALS,
    time_limit: float | None = None, jobs: int | str = 1, measure: bool = False,
    input_shapes: Mapping[str, Shape] | None = None, define: Mapping[str, int] | None = None,
    bind: Mapping[str, Array] | None = None, states: Mapping[str, str] | None = None,
    custom: Mapping[str, CustomGiven] | None = None,
    observer: TuningObserver | None = None, example_inputs: ExampleInputs | None = None,
) -> TuningResult:  # fmt: skip
    """Search the quantization of a float model for the greatest accuracy on labelled samples, or
    without labels for the least error of its outputs, within budgets (bytes, cycles).

    `samples` are as for `profile`, `labels` class indices, int[N], or a file of them. The best is
    written to `output`, a profile that `compile` takes; beside it the trials, with which a search
    that was stopped goes on. Ranges are those of `profile`, or of the samples. `trials` bounds how
    many quantizations are tried, `time_limit` (seconds) how long. `jobs` are processes, or the
    scheduler of a Dask cluster, `dask://host:8786`. `cycle_budget` (cycles), `arena_budget` and
    `flash_budget` (bytes) bound one inference. `measure` counts cycles on the modelled core, not by
    estimate; `observer` is called with a `TuningProgress` after each trial. The other options are
    as for `compile`.

    Raises GM3xx for samples, labels, profiles, options and a cluster, GM342 if no trial fits the
    budget.

    >>> found = glowmcu.tune(
    ...     "digits.onnx", "calibration.npz", trials=3, board="nrf52", output="tuned.json"
    ... )
    >>> bundle = glowmcu.compile("digits.onnx", profile="tuned.json", output="build/tuned")
    """
    given, found = read_given(model, example_inputs), find_board(board)
    given.check_output(output)
    _expect_file(output)
    settings = Settings(
        start=QuantizationOptions(interface=_choice(Interface, io or "int8", "io")),
        budget=_budget(cycle_budget, arena_budget, flash_budget),
        ceiling=_ceiling(found),
        trials=_positive(trials, "trials"),
        time_s=None if time_limit is None else _positive(time_limit, "time"),
        workers=read_workers(jobs),
    )
    options = Options(
        name="tuned", board=found.name, core=found.core,
        goal=_choice(Goal, optimize, "optimize"),
        rounding=_choice(Rounding, rounding, "rounding"),
        inputs=inputs_of(input_shapes, define, bind, states, custom=custom), simplify=simplify,
    )  # fmt: skip
    source = SampleSource(samples, read_preprocessing(Path(preprocess)) if preprocess else None)
    folder = None if output is None else Path(output)
    build = Build(given.data, given.name, options, found)
    job, sha256 = _job(build, source, labels, profile, measure)
    state = StateFile(_state_path(folder), _key(job, sha256, settings, options))
    result = _result(run_search(job, settings, state, observer), job, folder)
    return result if io is not None else _advised(result, job)


_Number = TypeVar("_Number", int, float)
_Choice = TypeVar("_Choice", bound=Enum)


def _positive(value: _Number, name: str) -> _Number:
    if not value > 0:
        raise error("GM344", f"{name} must be greater than 0, got {value!r}")
    return value


def _choice(kind: type[_Choice], word: str, option: str) -> _Choice:
    try:
        return kind(word)
    except ValueError as cause:
        names = ", ".join(str(item.value) for item in kind)
        raise error("GM347", f"{option} must be one of {names}, got {word!r}") from cause


def _budget(cycles: int | None, arena: int | None, flash: int | None) -> Budget:
    for name, limit in (("cycle", cycles), ("arena", arena), ("flash", flash)):
        if limit is not None:
            _positive(limit, f"{name}_budget")
    return Budget(cycles, arena, flash)


def _ceiling(board: Board) -> Budget:
    """The board's bytes of RAM for an arena and of flash; no bounds if it names no regions."""
    if board.placement is None:
        return Budget()
    ram = board.region(board.placement.arena).size_bytes - _STACK_RESERVE_BYTES
    return Budget(None, ram, board.region(board.placement.constants).size_bytes)


def _job(
    build: Build,
    source: SampleSource,
    labels: LabelsGiven | None,
    profile: ProfileGiven | None,
    measure: bool,
) -> tuple[Job, str]:
    """The job, and the model's sha256."""
    options = build.options
    graph = float_graph(build.data, build.file_name, options.rounding, options.inputs)
    sha256 = hashlib.sha256(build.data).hexdigest()
    read = read_labelled(graph, source, labels)
    if profile is None:
        measured: Profile = profile_graph(graph, samples_of(graph, read.samples), sha256)
    else:
        measured = profile if isinstance(profile, Profile) else read_profile(Path(profile))
        name = "" if isinstance(profile, Profile) else str(profile)
        check_profile(measured, graph, sha256, name)
    target = Target(core(options.core), options.goal)
    measuring = build if measure else None
    job = Job(
        graph,
        measured,
        read.samples,
        read.labels,
        target,
        measuring,
        options.simplify,
        read.lengths,
    )
    return job, sha256


def _expect_file(output: str | Path | None) -> None:
    """Other files go beside it. Raises GM303."""
    if output is not None and is_there(Path(output)) and not is_file(Path(output)):
        reason = "cannot write the profile: what is there is no file"
        raise error("GM303", reason, str(output), "choose another file with -o")


def _state_path(output: Path | None) -> Path | None:
    return None if output is None else output.with_suffix(".trials.jsonl")


def _key(job: Job, sha256: str, settings: Settings, options: Options) -> str:
    inputs = options.inputs
    target = (
        options.board, options.core, options.goal.value, options.rounding.value,
        settings.start.interface.value, job.build is not None, options.simplify,
        sorted(inputs.shapes.items()), sorted(inputs.symbols.items()), job.lengths,
    )  # fmt: skip
    return key_of(sha256, job.profile, job.samples, job.labels, repr(target))


def _result(outcome: Outcome, job: Job, output: Path | None) -> TuningResult:
    """The best, also written to `output`. Raises GM342, GM346."""
    best = outcome.best
    if best is None:
        raise _nothing_fits(outcome)
    if output is not None:
        write_profile(replace(job.profile, options=best.options), output)
    return TuningResult(
        best,
        outcome.trials[0],
        tuple(pareto_front(outcome.trials)),
        outcome.trials,
        outcome.budget,
        len(job.samples),
        job.labels is not None,
        outcome.stopped,
        output,
    )


def _advised(result: TuningResult, job: Job) -> TuningResult:
    if result.stopped == "interrupted":
        return result
    return replace(result, advice=border_advice(job.graph, Evaluator(job), result.best))


def _nothing_fits(outcome: Outcome) -> GlowmcuError:
    nearest = nearest_of(outcome.trials, outcome.budget)
    if nearest is None or nearest.cost is None:
        why = next((t.problem for t in outcome.trials), outcome.stopped or "no trial was finished")
        return error("GM346", f"no trial gave a model; the first: {why}")
    cost, budget = nearest.cost, outcome.budget
    wants = "; ".join(_excess_text(cost, budget))
    return error(
        "GM342",
        f"none of {len(outcome.trials)} trials fits the budget; the nearest: {wants}",
        hint="raise that budget, or choose a larger board or another --optimize",
        exit_code=ExitCode.DOES_NOT_FIT,
    )


def _excess_text(cost: Cost, budget: Budget) -> list[str]:
    rows = (
        (cost.cycles, budget.cycles, "cycles"),
        (cost.arena_bytes, budget.arena_bytes, "B of arena"),
        (cost.flash_bytes, budget.flash_bytes, "B of flash"),
    )
    return [
        f"it takes {used} {what}, {limit} are allowed"
        for used, limit, what in rows
        if limit is not None and used > limit
    ]
