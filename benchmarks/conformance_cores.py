"""Runs the conformance cases on emulated cores: python -m benchmarks.conformance_cores [--core C]

A core's results go to conformance_cores.json, and from there to docs/conformance.md.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

from benchmarks.kernel_sources import kernel_sources_digest, list_sources
from tests.support.conformance import KINDS, Case, Outcome, by_model, read_cases, run_cases

CASES = Path(__file__).resolve().parents[2] / "shared" / "cases"
RECORD = Path(__file__).resolve().parent / "conformance_cores.json"
CORES = (
    "cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55",
)  # fmt: skip


@dataclass(frozen=True)
class CoreResult:
    """Cases and how many passed, by kind; the reasons of the others, by case.

    `kernels` is a digest of the kernels' sources when they ran.
    """

    kernels: str
    cases: dict[str, int] = field(default_factory=dict)
    passed: dict[str, int] = field(default_factory=dict)
    others: dict[str, str] = field(default_factory=dict)


def stored() -> dict[str, CoreResult]:
    """What is recorded, by core."""
    if not RECORD.is_file():
        return {}
    found = json.loads(RECORD.read_text(encoding="utf-8"))
    return {core: CoreResult(**found[core]) for core in CORES if core in found}


def section() -> str:
    """What docs/conformance.md says of the cores."""
    results = stored()
    if not results:
        return ""
    lines = [
        "## On emulated cores",
        "",
        "The same cases compiled for each core, on its emulator (Helium: QEMU): how many pass.",
        "Reproduce: `python -m benchmarks.conformance_cores`, about 4 minutes a core.",
        "",
        f"| kind | cases | {' | '.join(results)} |",
        f"|---|{'--:|' * (1 + len(results))}",
    ]
    for kind in KINDS:
        cases = max(result.cases.get(kind, 0) for result in results.values())
        passed = [str(result.passed.get(kind, 0)) for result in results.values()]
        lines.append(f"| {kind} | {cases} | {' | '.join(passed)} |")
    failed = [
        f"- {case_id} on {core}, {reason}"
        for core, result in results.items()
        for case_id, reason in result.others.items()
        if reason.startswith("failed")
    ]
    return "\n".join([*lines, "", *failed]).rstrip() + "\n"


def result_of(cases: Sequence[Case], outcomes: Sequence[Outcome]) -> CoreResult:
    """Outcomes of the cases on a core, counted."""
    verdicts = {outcome.case_id: outcome for outcome in outcomes}
    passed = [case for case in cases if verdicts[case.id].verdict == "passed"]
    others = [verdicts[case.id] for case in cases if verdicts[case.id].verdict != "passed"]
    return CoreResult(
        kernel_sources_digest(),
        dict(Counter(case.kind for case in cases)),
        dict(Counter(case.kind for case in passed)),
        {outcome.case_id: f"{outcome.verdict}: {outcome.reason}" for outcome in others},
    )


def main() -> None:
    """Exit code 1 when a case failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.conformance_cores")
    parser.add_argument("--core", action="append", choices=CORES)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    list_sources()
    cases = read_cases(CASES)
    failed = False
    for core_name in given.core or CORES:
        with ProcessPoolExecutor(given.jobs) as pool:
            run = partial(run_cases, core_name=core_name)
            done = pool.map(run, by_model(cases), chunksize=4)
            outcomes = [outcome for outcomes in done for outcome in outcomes]
        found = result_of(cases, outcomes)
        failed |= any(reason.startswith("failed") for reason in found.others.values())
        results = {core: asdict(result) for core, result in stored().items()}
        results[core_name] = asdict(found)
        RECORD.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        print(f"{core_name}: {sum(found.passed.values())} of {len(cases)} passed", flush=True)
        for case_id, reason in found.others.items():
            if reason.startswith("failed"):
                print(f"  {case_id} {reason}", flush=True)
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
