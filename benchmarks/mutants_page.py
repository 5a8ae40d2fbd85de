"""mutants.md: how many small changes the fast tests notice, and which ones they do not."""

from __future__ import annotations

import sys
from typing import Any

from benchmarks.mutant_areas import REPO
from glowmcu.report.tables import count

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

EQUIVALENT = REPO / "benchmarks" / "mutants_equivalent.toml"

_HEAD = """# Mutants

Written by `python -m benchmarks.mutants` from `mutants.json` and `mutants_equivalent.toml`. A
mutant is the compiler with one small change in a function: another comparison, operator, constant,
a condition that holds always or never, a statement or part of a condition less. It is killed when
a fast test of its area fails (`mutant_areas.py`) or takes far longer than without it, by the
processor's time or the clock. Samples are drawn at random by their seed.
*At first* is before anybody read the survivors and wrote tests for them; of code that was then
simplified the mutants are gone. One is equivalent when no test can tell it from the original, for
the reason given below.

| area | mutants | seed | killed at first | tried | killed | equivalent | of the others |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
"""


def equivalent() -> dict[str, str]:
    """Reasons by mutant."""
    return tomllib.loads(EQUIVALENT.read_text(encoding="utf-8"))


def page(body: dict[str, Any]) -> str:
    known = equivalent()
    rows, lists = [], []
    for area, entry in sorted(body.items()):
        for seed, run in sorted(entry["runs"].items(), key=lambda item: int(item[0])):
            rows.append(_row(area, entry["mutants"], seed, run, known))
        alive = sorted({key for run in entry["runs"].values() for key in run["alive"]})
        lists += _list(f"{area}: no test notices", [(key, "") for key in alive if key not in known])
        same = [(key, known[key]) for key in alive if key in known]
        lists += _list(f"{area}: the same program", same)
    return _HEAD + "\n".join(rows + lists) + "\n"


def _row(area: str, mutants: int, seed: str, run: dict[str, Any], known: dict[str, str]) -> str:
    same = sum(key in known for key in run["alive"])
    killed, rest = run["tried"] - len(run["alive"]), run["tried"] - same
    at_first = "{} of {}".format(*run["at_first"])
    share = f"{100 * killed / rest:.1f} %" if rest else ""
    cells = area, count(mutants), seed, at_first, run["tried"], killed, same, share
    return f"| {' | '.join(map(str, cells))} |"


def _list(title: str, entries: list[tuple[str, str]]) -> list[str]:
    if not entries:
        return []
    lines = ["", f"## {title[0].upper()}{title[1:]}", ""]
    for key, reason in entries:
        place, _, change = key.partition(": ")
        lines.append(f"- `{place}`: `{change}`" + (f"  \n  {reason}" if reason else ""))
    return lines
