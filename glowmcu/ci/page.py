"""The comment: markdown that `glowmcu diff` wrote, and what else the job found out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path

from glowmcu.errors import GlowmcuError
from glowmcu.facts.bundle_diff import diff_bundles
from glowmcu.lazy_dataclass import dataclass
from glowmcu.report.bundle_diff import MARK, code_span
from glowmcu.report.tables import count

#: GitHub takes 65 536 characters a comment.
_MOST_CHARACTERS = 60_000
_MOST_LINES = 40


@dataclass
class Findings:
    """What the job knows so far. `diff` is markdown, `failures` are `(command, what it said)`."""

    title: str
    diff: str = ""
    verified: str = ""
    notes: list[str] = field(default_factory=list)
    failures: list[tuple[str, str]] = field(default_factory=list)


def mark(title: str) -> str:
    """The first line of the comment of a title, by which it is found again."""
    return f"<!-- glowmcu ci: {re.sub(r'[^A-Za-z0-9_./ -]|--+', '_', title)} -->"


def page(found: Findings, run_url: str) -> str:
    """The whole comment. What comes from models stands in code, where it does nothing."""
    lines = [mark(found.title), f"### GlowMCU: {code_span(found.title)}", ""]
    if found.diff:
        lines += [found.diff.removeprefix(f"{MARK}\n### GlowMCU\n").strip(), ""]
    if found.verified:
        lines += [f"Verified on {found.verified}: every byte equal.", ""]
    lines += [f"- {note}" for note in found.notes]
    for command, said in found.failures:
        lines += ["", f"**Failed:** {code_span(command)}", "", *_fenced(said)]
    whole = "\n".join(lines).rstrip()
    if len(whole) > _MOST_CHARACTERS:
        whole = whole[:_MOST_CHARACTERS] + "\n\n… (the rest is in the log)"
    link = f"\n\n[Log and report]({run_url})" if run_url else ""
    return f"{whole}{link}\n"


def first_figures(bundle: Path) -> str:
    """A table of a bundle that there is nothing to compare with."""
    try:
        quantities = diff_bundles(bundle, bundle).quantities
    except GlowmcuError:
        return ""
    rows = [
        f"| {q.name} | {count(q.after, f' {q.unit}' if q.unit else '')} | {q.how} |"
        for q in quantities
        if q.after is not None
    ]
    return "\n".join(["|  | now |  |", "|---|---|---|", *rows])


def _fenced(text: str) -> Sequence[str]:
    """A block that no line of the text can end."""
    lines = re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", " ", text).strip().splitlines()
    shown = [line.replace("```", "'''") for line in lines[-_MOST_LINES:]]
    return ["```text", *shown, "```"]
