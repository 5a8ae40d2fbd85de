"""Single bits flip while bundles run on modelled cores: what do the runs do then?

    python -m benchmarks.fault_campaign --hours N [--jobs 2]   continue where the ledger ends
    python -m benchmarks.fault_campaign --runs N               N more seeds of each case
    python -m benchmarks.fault_campaign --case C --seed S      one run again, with what happened

A seed is a kind of place (`fault_machine.KINDS`), a bit of it and an instruction of the run. A wild
write after a flip in the arena, or a constant whose flip `<name>_check` does not notice, makes the
exit code 1. A case whose program is not what it was begins anew.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import islice

from benchmarks.fault_cases import Case, cases
from benchmarks.fault_page import Ledger
from benchmarks.fault_run import run_seeds
from benchmarks.kernel_sources import list_sources

_STEP = 60  # seeds a process takes at a time, and ten times that for small bundles
_SMALL_INSTRUCTIONS = 200_000


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fault_campaign")
    parser.add_argument("--hours", type=float)
    parser.add_argument("--runs", type=int)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--case", action="append", choices=[case.name for case in cases()])
    parser.add_argument("--seed", type=int)
    given = parser.parse_args()
    list_sources()
    chosen = [case for case in cases() if not given.case or case.name in given.case]
    if given.seed is not None:
        for case in chosen:
            print(run_seeds(case, range(given.seed, given.seed + 1)))
        return 0
    seconds = float("inf") if given.hours is None else given.hours * 3600
    if given.hours is None and given.runs is None:
        parser.error("give --hours, --runs or --seed")
    return int(bool(campaign(chosen, seconds, given.runs, given.jobs)))


def campaign(chosen: list[Case], seconds: float, runs: int | None, jobs: int) -> list[str]:
    """Run and record; returns what breaks a guarantee."""
    ledger = Ledger.stored()
    ledger.forget_others([case.name for case in cases()])
    ends = time.monotonic() + seconds
    rounds = _rounds(chosen, ledger, runs)
    with ProcessPoolExecutor(jobs) as pool:
        waiting = {pool.submit(run_seeds, c, seeds): c for c, seeds in islice(rounds, jobs)}
        while waiting:
            done = next(as_completed(waiting))
            case = waiting.pop(done)
            ledger.add(case.name, done.result())
            ledger.store()
            print(f"{case.name}: {ledger.runs(case.name)} runs", flush=True)
            if time.monotonic() < ends:
                for following, seeds in islice(rounds, 1):
                    waiting[pool.submit(run_seeds, following, seeds)] = following
    for text in ledger.broken:
        print(text, file=sys.stderr)
    return ledger.broken


def _rounds(chosen: list[Case], ledger: Ledger, runs: int | None) -> Iterator[tuple[Case, range]]:
    """Cases in turn with their next seeds, until each has `runs` more."""
    left = {case.name: runs for case in chosen}
    begun = {case.name: ledger.next_seed(case.name) for case in chosen}
    while any(count is None or count > 0 for count in left.values()):
        for case in chosen:
            remaining = left[case.name]
            if remaining is not None and remaining <= 0:
                continue
            size = _STEP
            known = ledger.instructions(case.name)
            if known is not None and known < _SMALL_INSTRUCTIONS:
                size *= 10
            if remaining is not None:
                size = min(size, remaining)
                left[case.name] = remaining - size
            first = begun[case.name]
            begun[case.name] = first + size
            yield case, range(first, first + size)


if __name__ == "__main__":
    sys.exit(main())
