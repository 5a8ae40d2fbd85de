"""What `glowmcu tune` shows and writes: the trials that no other beats, as table, JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import asdict

from rich.markup import escape
from rich.table import Table

from glowmcu.api.tuning import TuningResult
from glowmcu.facts.tuning import profile_digest
from glowmcu.quant.choices import choice_text
from glowmcu.report.float_comparison import remedy_line
from glowmcu.report.tables import count, plain_table
from glowmcu.tuning.remedies import remedy_record
from glowmcu.tuning.trial import Trial, trial_record


def tuning_table(result: TuningResult) -> Table:
    """The Pareto front, the chosen trial marked, plain int8 below."""
    table = plain_table(
        "", ("", "l"), ("accuracy", "r"), ("SQNR dB", "r"), ("cycles", "r"), ("arena B", "r"),
        ("flash B", "r"), ("quantization", "t"),
    )  # fmt: skip
    for trial in result.front:
        chosen = trial == result.best
        table.add_row(*_cells("best" if chosen else "", trial), style="bold" if chosen else "")
    if result.best not in result.front:
        table.add_row(*_cells("best", result.best), style="bold")
    table.add_row(*_cells("plain", result.plain))
    return table


def _cells(mark: str, trial: Trial) -> tuple[str, ...]:
    cost = trial.cost
    accuracy = "-" if trial.accuracy is None else f"{100 * trial.accuracy:.2f} %"
    sizes = (None,) * 3 if cost is None else (cost.cycles, cost.arena_bytes, cost.flash_bytes)
    text = escape(trial.problem.splitlines()[0] if trial.problem else choice_text(trial.options))
    return mark, accuracy, f"{trial.sqnr_db:.1f}", *map(count, sizes), text


def tuning_lines(result: TuningResult) -> list[str]:
    """A summary, plain text."""
    budget = result.budget
    lines = [
        f"{sum(t.cost is not None for t in result.trials)} trials on {result.samples} "
        f"{'labelled ' if result.labelled else ''}samples"
        + (f"; {result.stopped}" if result.stopped else ""),
        f"  budget   {count(budget.cycles)} cycles, {count(budget.arena_bytes)} B of arena, "
        f"{count(budget.flash_bytes)} B of flash",
    ]
    if result.output is not None:
        lines.append(f"  profile  {result.output}")
    if result.advice is not None:
        lines.append(remedy_line(result.advice, result.best))
    return lines


def tuning_json(result: TuningResult) -> dict[str, object]:
    """All of it as data. `trials` are in the order of the search."""
    return {
        "best": trial_record(result.best),
        "plain": trial_record(result.plain),
        "budget": asdict(result.budget),
        "samples": result.samples,
        "labelled": result.labelled,
        "stopped": result.stopped,
        "profile": None if result.output is None else str(result.output),
        "profile_sha256": None if result.output is None else profile_digest(result.output),
        "advice": None if result.advice is None else remedy_record(result.advice),
        "pareto": [trial_record(trial) for trial in result.front],
        "trials": [trial_record(trial) for trial in result.trials],
    }


def tuning_csv(result: TuningResult) -> str:
    """Every trial that gave a model, one a line; `pareto` is 1 for those that no other beats."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ["accuracy", "sqnr_db", "cycles", "arena_bytes", "flash_bytes", "pareto", "best",
         "quantization"]
    )  # fmt: skip
    for trial in result.trials:
        if trial.cost is not None:
            writer.writerow(_row(trial, result.front, trial == result.best))
    return text.getvalue()


def _row(trial: Trial, front: Sequence[Trial], best: bool) -> list[object]:
    assert trial.cost is not None
    accuracy = "" if trial.accuracy is None else f"{trial.accuracy:.6f}"
    cost = trial.cost
    return [
        accuracy, f"{trial.sqnr_db:.3f}", cost.cycles, cost.arena_bytes, cost.flash_bytes,
        int(trial in front), int(best), choice_text(trial.options),
    ]  # fmt: skip


def tuning_files(result: TuningResult) -> dict[str, str]:
    """Content of the files beside the profile, by what follows its name."""
    return {
        ".pareto.json": json.dumps(tuning_json(result), indent=1) + "\n",
        ".pareto.csv": tuning_csv(result),
    }
