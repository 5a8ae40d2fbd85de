"""Random networks in random modes against TensorFlow Lite Micro, for as long as one likes.

    python -m benchmarks.differential --hours N [--jobs 2]     continue where the ledger ends
    python -m benchmarks.differential --hours N --jobs dask://HOST:8786    on a Dask cluster
    python -m benchmarks.differential --seed S                 one case again, with what happened
    python -m benchmarks.differential --again                  those that failed: are they mended?

A seed is a network (`random_networks.py`) and a way to compile it: board, goal, what streams, stays
outside or is kept, budgets, places, with or without simplification. Seeds from `WIDE_FROM` on are
more than networks (`differential_subjects.py`, `differential_others.py`) and have more ways
(`differential_modes.py`); `differential_options.py` lists the options of both. A bundle runs on
this computer, and every eighth on its board's core as well. Outputs are compared with TensorFlow
Lite Micro's in every byte, or with what else defines them. Most of the time was gcc's: so it
compiles a share of the bundles, tcc (Debian's package of that name) the others.

Workers of a cluster need this checkout on their PYTHONPATH, tcc and tflite-micro. What a lost one
had another computes, and the ledger goes on where it ends.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import count, islice
from pathlib import Path

from benchmarks.differential_case import run_case
from benchmarks.differential_outcome import Outcome
from benchmarks.differential_page import Ledger
from glowmcu.tuning.workers import Task, Workers, read_workers, working
from tests.support.quick_host import TCC

_STEP = 24  # seeds a process takes at a time
_BLOCKS_AT_ONCE = 32  # that a cluster is given at a time


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=0.0)
    parser.add_argument("--jobs", default="2", metavar="N|dask://HOST:PORT")
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
    return search(options.hours * 3600, read_workers(options.jobs))


def search(seconds: float, workers: Workers, block_seeds: int = _STEP) -> int:
    """Run and record cases for about `seconds`; the number of those that failed. Raises GM353 for a
    cluster that cannot be used.
    """
    ledger = Ledger.stored()
    ends = time.monotonic() + seconds
    blocks = _blocks(ledger.next_seed, block_seeds)
    failed = 0
    finished: dict[int, list[Outcome]] = {}
    found = _on_cluster if workers.address else _in_processes
    for outcomes in found(blocks, workers, lambda: time.monotonic() < ends):
        finished[outcomes[0].seed] = outcomes
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


def _in_processes(
    blocks: Iterator[list[int]], workers: Workers, goes_on: Callable[[], bool]
) -> Iterator[list[Outcome]]:
    """What became of blocks, as they are done, until nothing is begun any more."""
    count = workers.processes
    with ProcessPoolExecutor(count, max_tasks_per_child=8) as pool:
        waiting = {pool.submit(run_cases, block) for block in islice(blocks, count)}
        while waiting:
            done = next(as_completed(waiting))
            waiting.remove(done)
            yield done.result()
            if goes_on():
                waiting.add(pool.submit(run_cases, next(blocks)))


def _on_cluster(
    blocks: Iterator[list[int]], workers: Workers, goes_on: Callable[[], bool]
) -> Iterator[list[Outcome]]:
    """The same on a cluster, some blocks at a time."""
    with working(Task(None, _nothing, _run_block), workers) as compute:
        is_first = True
        while is_first or goes_on():
            is_first = False
            yield from compute(list(islice(blocks, _BLOCKS_AT_ONCE)))


def _nothing(given: None) -> None:
    """What all blocks have in common."""


def _run_block(ready: None, seeds: list[int]) -> list[Outcome]:
    return cases(seeds)


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
    return cases(seeds)


def cases(seeds: list[int]) -> list[Outcome]:
    """The same, whatever is said meanwhile."""
    with tempfile.TemporaryDirectory(prefix="glowmcu-differential-") as work:
        return [run_case(seed, Path(work) / str(seed)) for seed in seeds]


def _blocks(first: int, size: int) -> Iterator[list[int]]:
    for start in count(first, size):
        yield list(range(start, start + size))


if __name__ == "__main__":
    sys.exit(main())
