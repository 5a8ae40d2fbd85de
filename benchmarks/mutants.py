"""Whether the fast tests of an area notice small changes to its code.

    python -m benchmarks.mutants --area overlap --sample 100 --seed 1    # new ones, recorded
    python -m benchmarks.mutants --area overlap --again                  # those that survived
    python -m benchmarks.mutants --area overlap --again --tests tests/memplan/test_overlaps.py
    python -m benchmarks.mutants --area overlap --only _of_run           # not recorded
    python -m benchmarks.mutants --page

Each mutant has one change (`mutant_sites.py`) and meets the area's fast tests that reach it until
one fails (`mutant_runner.py`). mutants.json has what survived; mutants_equivalent.toml says, by
hand, why some of these are the same program; mutants.md shows both.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

from benchmarks.ledger import read_ledger, write_ledger
from benchmarks.mutant_areas import AREAS, REPO, Area
from benchmarks.mutant_runner import Fate, Runner
from benchmarks.mutant_sites import Mutant, mutants_of
from benchmarks.mutants_page import equivalent, page

LEDGER = REPO / "benchmarks" / "mutants.json"
Body = dict[str, Any]


def stored() -> Body:
    return read_ledger(LEDGER, {})


def all_mutants(area: str) -> list[Mutant]:
    return [
        mutant
        for file in AREAS[area].sources
        for mutant in mutants_of((REPO / file).read_text(encoding="utf-8"), file)
    ]


def sample(area: str, count: int, seed: int) -> list[Mutant]:
    """Some of an area's mutants, in the order of its files."""
    mutants = all_mutants(area)
    chosen = Random(seed).sample(range(len(mutants)), min(count, len(mutants)))
    return [mutants[place] for place in sorted(chosen)]


def narrowed(area: Area, tests: Sequence[str]) -> Area:
    """With some of its tests' files alone: what these kill the others need not meet."""
    for test in tests:
        if not any(test == known or test.startswith(f"{known}/") for known in area.tests):
            raise ValueError(f"{test} is not among the area's tests: {', '.join(area.tests)}")
    options = area.tests[area.tests.index("-k") :] if "-k" in area.tests else ()
    return replace(area, tests=(*tests, *options)) if tests else area


def try_out(
    area: str, mutants: Sequence[Mutant], jobs: int, tests: Sequence[str] = ()
) -> list[Fate]:
    """What became of them, by all the area's tests or some; survivors are printed as they come."""
    fates: list[Fate] = []
    if not mutants:
        return fates  # no test needs to run without mutants either

    def tell(fate: Fate) -> None:
        fates.append(fate)
        how = f"{fate.tests} tests pass" if fate.tests else "no test reaches it"
        text = f"killed by {fate.killer}" if fate.killer else f"SURVIVES: {how}"
        print(f"{len(fates)}/{len(mutants)} line {fate.mutant.line} {fate.mutant.key}\n    {text}")
        sys.stdout.flush()

    runner = Runner(narrowed(AREAS[area], tests), mutants, jobs, tell)
    code = runner.run()
    if len(fates) != len(mutants):
        sys.exit(f"the tests of {area} could not be run: pytest ended with {code}")
    for test in runner.broken:
        print(f"fails without any mutant and was left out: {test}", file=sys.stderr)
    return fates


def record(area: str, seed: int, fates: Sequence[Fate]) -> None:
    """A sample's result in place of that of an earlier run with the same seed."""
    body = stored()
    alive = sorted(fate.mutant.key for fate in fates if not fate.killer)
    runs = body.setdefault(area, {"runs": {}})["runs"]
    at_first = len(fates) - len(alive), len(fates)
    runs[str(seed)] = {"tried": len(fates), "alive": alive, "at_first": at_first}
    body[area]["mutants"] = len(all_mutants(area))
    write_ledger(LEDGER, body, page(body))


def again(area: str, jobs: int, tests: Sequence[str] = ()) -> None:
    """Survivors against the tests of today; code that is gone is counted no more."""
    known = equivalent()
    keys = {key for run in stored()[area]["runs"].values() for key in run["alive"]} - known.keys()
    mutants = {mutant.key: mutant for mutant in all_mutants(area)}
    fates = try_out(area, [mutants[key] for key in sorted(keys & mutants.keys())], jobs, tests)
    killed = {fate.mutant.key for fate in fates if fate.killer}
    body = stored()
    for run in body[area]["runs"].values():
        gone = [key for key in run["alive"] if key not in mutants]
        run["alive"] = [key for key in run["alive"] if key in mutants and key not in killed]
        run["tried"] -= len(gone)
    write_ledger(LEDGER, body, page(body))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--area", choices=AREAS)
    parser.add_argument("--sample", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--only", help="mutants whose name has this")
    parser.add_argument("--tests", nargs="+", default=[], help="with --again: of the area's tests")
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    if options.page:
        write_ledger(LEDGER, stored(), page(stored()))
        return
    if options.area is None:
        parser.error("--area is needed")
    if options.again:
        again(options.area, options.jobs, options.tests)
    elif options.only:
        chosen = [m for m in all_mutants(options.area) if options.only in m.key]
        try_out(options.area, chosen, options.jobs)
    else:
        mutants = sample(options.area, options.sample, options.seed)
        record(options.area, options.seed, try_out(options.area, mutants, options.jobs))


if __name__ == "__main__":
    main()
