"""Random networks in random modes against TensorFlow Lite Micro, for as long as one likes.

    python -m benchmarks.differential --hours N [--jobs 2]     continue where the ledger ends
    python -m benchmarks.differential --seed S                 one case again, with what happened
    python -m benchmarks.differential --again                  those that failed: are they mended?

A seed is a network (`random_networks.py`) and a way to compile it: board, goal, what streams, stays
outside or is kept, budgets, places, with or without simplification. Its bundle runs on this
computer, and every eighth on its board's core as well. All outputs are compared with TensorFlow
Lite Micro's in every byte. Most of the time was gcc's: so it compiles a share of the bundles, tcc
(Debian's package of that name) the others.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import count, islice
from pathlib import Path

from benchmarks.differential_case import TCC, Outcome, run_case
from benchmarks.differential_page import Ledger

_STEP = 24  # seeds a process takes at a time


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=0.0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    if shutil.which(TCC) is None:
        parser.error(f"{TCC} is not on PATH: apt-get install tcc")
    if options.again:
        return run_again()
    if options.seed is not None:
        [outcome] = run_cases([options.seed])
        print(outcome)
        return int(bool(outcome.failure))
    return search(options.hours * 3600, options.jobs)


def search(seconds: float, jobs: int) -> int:
    """Run and record cases for about `seconds`; the number of those that failed."""
    ledger = Ledger.stored()
    ends = time.monotonic() + seconds
    blocks = _blocks(ledger.next_seed)
    failed = 0
    with ProcessPoolExecutor(jobs, max_tasks_per_child=8) as pool:
        waiting = {pool.submit(run_cases, block): block for block in islice(blocks, jobs)}
        finished: dict[int, list[Outcome]] = {}
        while waiting:
            done = next(as_completed(waiting))
            finished[waiting.pop(done)[0]] = done.result()
            if time.monotonic() < ends:
                block = next(blocks)
                waiting[pool.submit(run_cases, block)] = block
            # In the order of seeds, so that the ledger has no holes.
            while ledger.next_seed in finished:
                for outcome in finished.pop(ledger.next_seed):
                    ledger.add(outcome)
                    failed += bool(outcome.failure)
                    if outcome.failure:
                        print(f"seed {outcome.seed}: {outcome.failure}", file=sys.stderr)
                ledger.store()
    print(f"{ledger.bundles} bundles recorded, {len(ledger.failures)} failed")
    return failed


def run_again() -> int:
    """Run what failed once more and record it; the number of those that still fail."""
    ledger = Ledger.stored()
    for outcome in run_cases([int(seed) for seed in ledger.failures]):
        ledger.mend(outcome)
    ledger.store()
    print(f"{len(ledger.mended)} mended, {len(ledger.failures)} failed")
    return len(ledger.failures)


def run_cases(seeds: list[int]) -> list[Outcome]:
    """What became of each. The oracle's complaints about operators that it lacks are not shown."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    with tempfile.TemporaryDirectory(prefix="glowmcu-differential-") as work:
        return [run_case(seed, Path(work) / str(seed)) for seed in seeds]


def _blocks(first: int) -> Iterator[list[int]]:
    for start in count(first, _STEP):
        yield list(range(start, start + _STEP))


if __name__ == "__main__":
    sys.exit(main())
