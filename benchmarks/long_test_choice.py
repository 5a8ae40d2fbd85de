"""Tests that `make test` should leave out, by what they take: adds them to `tests/long_tests.txt`.

    GLOWMCU_TEST_JOBS=2 scripts/test --durations=0 --durations-min=0.02 >LOG
    python -m benchmarks.long_test_choice LOG

What the list leaves out already is not in LOG. Of each function the quickest cases stay in
`make test`, as many as take `KEPT_SECONDS` together, one at least; of the others those that take
`LEAST_SECONDS`. A function's only or quickest case goes if it takes `ALONE_SECONDS`. The seconds
are those of a slow machine: another gives another list, and either is right.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from pathlib import Path

from benchmarks.long_tests import LIST_FILE, long_tests
from glowmcu.file_writing import write_text_file

KEPT_SECONDS = 0.5
LEAST_SECONDS = 0.3
ALONE_SECONDS = 4.0
#: House rules and MISRA's: a change that breaks one is to be told at once, whatever it takes.
ALWAYS = (
    "tests/test_style.py::",
    "tests/bundle/test_misra.py::test_every_finding_that_is_not_advisory_has_a_deviation[",
)
_LINE = re.compile(r"([\d.]+)s (call|setup|teardown)\s+(tests/\S+::.*\S)\s*")


def seconds_of_tests(log: str) -> dict[str, float]:
    """What each test itself takes, without the fixtures that others of its file share."""
    seconds: dict[str, float] = {}
    for line in log.splitlines():
        found = _LINE.fullmatch(line)
        if found and found[2] == "call" and not found[3].startswith(ALWAYS):
            seconds[found[3]] = float(found[1])
    return seconds


def long_ones(seconds: dict[str, float]) -> list[str]:
    """Node IDs of those to leave out."""
    cases = defaultdict(list)
    for name, taken in seconds.items():
        cases[name.partition("[")[0]].append((taken, name))
    found = []
    for of_one in cases.values():
        quickest, *others = sorted(of_one)
        if quickest[0] >= ALONE_SECONDS:
            found.append(quickest[1])
        kept = quickest[0]
        for taken, name in others:
            kept += taken
            if kept > KEPT_SECONDS and taken >= LEAST_SECONDS:
                found.append(name)
    return found


def main() -> None:
    """Add them to the list."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.long_test_choice", description=__doc__
    )
    parser.add_argument("log", type=Path, help="what scripts/test printed")
    seconds = seconds_of_tests(parser.parse_args().log.read_text(encoding="utf-8"))
    found = set(long_ones(seconds)) - set(long_tests())
    lines = LIST_FILE.read_text(encoding="utf-8").splitlines()
    comments = [line for line in lines if line.startswith("#")]
    write_text_file(LIST_FILE, "\n".join([*comments, *sorted({*long_tests(), *found})]) + "\n")
    total = sum(seconds.values())
    print(
        f"{len(found)} tests more are listed: {sum(seconds[name] for name in found):.0f} of "
        f"{total:.0f} s"
    )


if __name__ == "__main__":
    main()
