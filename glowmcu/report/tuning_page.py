"""The report of `glowmcu tune`: one HTML file, and the section of it in a bundle's report."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from glowmcu.api.tuning import TuningResult
from glowmcu.facts.document import Facts
from glowmcu.notebook import writable
from glowmcu.quant.choices import choice_text
from glowmcu.report.page_templates import environment
from glowmcu.report.plots import can_plot, pareto_svg
from glowmcu.report.tuning import tuning_json
from glowmcu.tuning.trial import trial_of


def tuning_page(model_name: str, result: TuningResult, next_command: str) -> str:
    """All of a search that has ended, with its picture where one can be drawn."""
    svg = pareto_svg(result) if can_plot() else ""
    page = environment().get_template("tuning_page.html.j2").render(
        model_name=model_name,
        tuning=tuning_view(tuning_json(result)),
        picture=Markup(svg[svg.index("<svg") :]) if svg else None,
        next_command=next_command,
    )  # fmt: skip
    return writable(page)


def tuning_view(body: Facts) -> dict[str, Any]:
    """Of `tune --json`: the trials that no other beats, with the best marked, then plain int8.

    Raises KeyError, TypeError, ValueError or GlowmcuError for what no tuning wrote.
    """
    rows = [_row(record, record == body["best"]) for record in body["pareto"]]
    if body["best"] not in body["pareto"]:
        rows.append(_row(body["best"], True))
    return {
        "rows": [*rows, {**_row(body["plain"], False), "mark": "plain"}],
        "tried": sum(record["cost"] is not None for record in body["trials"]),
        "samples": body["samples"],
        "labelled": body["labelled"],
        "stopped": body["stopped"],
        "budget": body["budget"],
    }


def _row(record: Facts, is_best: bool) -> dict[str, Any]:
    trial = trial_of(record)
    cost = trial.cost
    problem = trial.problem.splitlines()[0] if trial.problem else ""
    return {
        "mark": "best" if is_best else "",
        "accuracy": trial.accuracy,
        "sqnr_db": trial.sqnr_db,
        "cycles": None if cost is None else cost.cycles,
        "arena_bytes": None if cost is None else cost.arena_bytes,
        "flash_bytes": None if cost is None else cost.flash_bytes,
        "text": problem or choice_text(trial.options),
    }
