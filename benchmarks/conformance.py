"""Runs the conformance cases and writes docs/conformance.md: python benchmarks/conformance.py

`--check` writes nothing and exits 1 when the document is stale.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
if str(REPO) not in sys.path:
    sys.path.insert(0, str(REPO))

from tests.support.conformance import (  # noqa: E402
    Case,
    Outcome,
    by_model,
    read_cases,
    run_cases,
)

DOCUMENT = REPO / "docs" / "conformance.md"
CASES = REPO.parent / "shared" / "cases"
_HEAD = """\
# Conformance

Models with inputs and outputs that others wrote, through the whole compiler: file, graph, kernels,
plan, C, this computer's C compiler, and every output compared as the case asks (`exact` nearly
always). `cmsis_tflite` is CMSIS-NN's unit-test data wrapped as models of one operator; `mlonmcu`
are whole models. Written by `python benchmarks/conformance.py`; do not edit.

"""


def render_document(cases: Sequence[Case], outcomes: Sequence[Outcome]) -> str:
    """The document: totals, a table a suite, and every case that did not pass with its reason."""
    verdicts = {outcome.case_id: outcome for outcome in outcomes}
    parts = [_HEAD, _totals(cases, verdicts)]
    for suite in sorted({case.suite for case in cases}):
        parts.append(_suite(suite, [case for case in cases if case.suite == suite], verdicts))
    parts.append(_reasons(cases, verdicts))
    return "\n".join(parts)


def _count(cases: Sequence[Case], verdicts: dict[str, Outcome], verdict: str) -> int:
    return sum(verdicts[case.id].verdict == verdict for case in cases)


def _row(title: str, cases: Sequence[Case], verdicts: dict[str, Outcome]) -> str:
    counts = [_count(cases, verdicts, verdict) for verdict in ("passed", "refused", "failed")]
    return f"| {title} | {len(cases)} | {' | '.join(map(str, counts))} |"


def _table(rows: Sequence[str], heading: str) -> str:
    lines = [f"| {heading} | cases | passed | refused | failed |", "|---|--:|--:|--:|--:|", *rows]
    return "\n".join(lines) + "\n"


def _totals(cases: Sequence[Case], verdicts: dict[str, Outcome]) -> str:
    int8 = [case for case in cases if case.is_int8]
    wider = [case for case in cases if not case.is_int8]
    share = 100 * _count(int8, verdicts, "passed") / max(len(int8), 1)
    rows = [_row("int8 (int4 weights too)", int8, verdicts), _row("other types", wider, verdicts)]
    return f"{share:.1f} % of the int8 cases pass.\n\n" + _table(rows, "types")


def _suite(suite: str, cases: Sequence[Case], verdicts: dict[str, Outcome]) -> str:
    rows = []
    for operator in sorted({case.operator for case in cases}):
        for title, wanted in ((operator, True), (f"{operator}, other types", False)):
            chosen = [c for c in cases if c.operator == operator and c.is_int8 is wanted]
            if chosen:
                rows.append(_row(title, chosen, verdicts))
    return f"## {suite}\n\n" + _table(rows, "operator")


def _reasons(cases: Sequence[Case], verdicts: dict[str, Outcome]) -> str:
    lines = ["## What did not pass, and why", "", "| case | types | verdict | reason |"]
    lines.append("|---|---|---|---|")
    for case in sorted(cases, key=lambda case: (not case.is_int8, case.id)):
        outcome = verdicts[case.id]
        if outcome.verdict != "passed":
            reason = outcome.reason.replace("|", "\\|")
            types = "int8" if case.is_int8 else ", ".join(case.dtypes)
            lines.append(f"| {case.id} | {types} | {outcome.verdict} | {reason} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="exit 1 when stale, write nothing")
    check = parser.parse_args().check
    if not CASES.is_dir():
        print(f"needs the cases in {CASES}", file=sys.stderr)
        return 2
    cases = read_cases(CASES)
    outcomes = [outcome for group in by_model(cases) for outcome in run_cases(group)]
    text = render_document(cases, outcomes)
    if check:
        return int(not DOCUMENT.is_file() or DOCUMENT.read_text(encoding="utf-8") != text)
    DOCUMENT.write_text(text, encoding="utf-8")
    print(DOCUMENT.relative_to(REPO))
    return 0


if __name__ == "__main__":
    sys.exit(main())
