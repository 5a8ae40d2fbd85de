"""Tests that take a second or more each: run here, with a record, and not by `make test`.

    python -m benchmarks.long_tests [--jobs N] [--failed] [--listed-since COMMIT]

`tests/long_tests.txt` lists them. The record, `long_tests.json`, says how many passed and were
skipped, which failed, and of which kernels that is true (`kernel_sources.py`). With `--failed`
those that failed run again, with `--listed-since` those that the list of a commit did not have yet;
the kernels are those of the whole run then.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from xml.etree import ElementTree

from glowmcu.file_writing import write_text_file

ROOT = Path(__file__).resolve().parents[1]
LIST_FILE = ROOT / "tests" / "long_tests.txt"
RECORD_FILE = Path(__file__).with_suffix(".json")


@dataclass(frozen=True)
class Record:
    """What became of the listed tests with the kernels whose digest is `kernels`."""

    kernels: str
    passed: int
    skipped: int
    failed: tuple[str, ...]


def long_tests() -> list[str]:
    """Node IDs, as pytest prints them."""
    lines = LIST_FILE.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def stored() -> Record:
    """The last run."""
    found = json.loads(RECORD_FILE.read_text(encoding="utf-8"))
    return Record(**{**found, "failed": tuple(found["failed"])})


def run(jobs: int) -> Record:
    """Run them all, in `jobs` processes."""
    from benchmarks.kernel_sources import kernel_sources_digest, list_sources

    count, bad = _outcomes(["--long", "only", "-n", str(jobs), "tests"])
    list_sources()
    return Record(kernel_sources_digest(), count["passed"], count["skipped"], bad)


def run_some(before: Record, names: list[str], failed_again: bool, jobs: int) -> Record:
    """Run the tests `names`, and what failed in the run `before` if `failed_again`, in `jobs`."""
    again = [*map(_node_id, before.failed)] if failed_again else []
    count, bad = _outcomes(["--long", "also", "-n", str(jobs), *again, *names])
    assert count["passed"] + count["skipped"] + len(bad) == len(again) + len(names)
    passed, skipped = before.passed + count["passed"], before.skipped + count["skipped"]
    return Record(before.kernels, passed, skipped, (*(() if again else before.failed), *bad))


def listed_since(commit: str) -> list[str]:
    """Those that are in the list now, and were not at `commit`."""
    command = ["git", "show", f"{commit}:{LIST_FILE.relative_to(ROOT)}"]
    before = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    known = set(before.splitlines())
    return [name for name in long_tests() if name not in known]


def _outcomes(options: list[str]) -> tuple[Counter[str], tuple[str, ...]]:
    """Of tests that pytest runs with these options: how many of each kind, and what failed."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", f"--junit-xml={report}", *options]
        subprocess.run(command, cwd=ROOT, check=False)
        # A module that is skipped as a whole is a case without a class.
        cases = [
            case for case in ElementTree.parse(report).iter("testcase") if case.get("classname")
        ]
    outcomes = [(case, next((child.tag for child in case), "passed")) for case in cases]
    count = Counter(outcome for _, outcome in outcomes)
    bad = [f"{case.get('classname')}::{case.get('name')}" for case, outcome in outcomes
           if outcome in ("failure", "error")]  # fmt: skip
    return count, tuple(bad)


def _node_id(failed: str) -> str:
    """As pytest takes it."""
    module, _, test = failed.partition("::")
    return f"{module.replace('.', '/')}.py::{test}"


def main() -> None:
    """Run and record."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.long_tests", description=__doc__)
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--failed", action="store_true", help="only what failed in the last run")
    parser.add_argument("--listed-since", metavar="COMMIT", help="only what was listed since")
    given = parser.parse_args()
    names = listed_since(given.listed_since) if given.listed_since else []
    is_part = given.failed or given.listed_since
    record = run_some(stored(), names, given.failed, given.jobs) if is_part else run(given.jobs)
    write_text_file(RECORD_FILE, json.dumps(asdict(record), indent=1) + "\n")
    print(f"{record.passed} passed, {record.skipped} skipped, {len(record.failed)} failed")
    sys.exit(1 if record.failed else 0)


if __name__ == "__main__":
    main()
