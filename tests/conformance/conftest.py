"""Outcomes of the conformance cases, found once a test run, whichever worker asks first."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.conformance import Case, Outcome, by_model, read_cases, run_cases

CASES = Path(__file__).resolve().parents[3] / "shared" / "cases"
ALL_CASES = read_cases(CASES) if CASES.is_dir() else []


@pytest.fixture(scope="session")
def outcome_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Case], Outcome]:
    """`outcome_of(case)`; workers of xdist share what they found through files."""
    groups = {case.id: group for group in by_model(ALL_CASES) for case in group}
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "conformance"
    folder.mkdir(exist_ok=True)

    def find(case: Case) -> Outcome:
        file = folder / f"{case.id.replace('/', '.')}.json"
        if not file.is_file():
            for outcome in run_cases(groups[case.id]):
                _store(folder / f"{outcome.case_id.replace('/', '.')}.json", outcome)
        return Outcome(**json.loads(file.read_text(encoding="utf-8")))

    return find


def _store(file: Path, outcome: Outcome) -> None:
    """In one step, so that another worker reads all of it or does not see it."""
    fresh = file.with_name(f"{file.name}.{os.getpid()}")
    fresh.write_text(json.dumps(dataclasses.asdict(outcome)), encoding="utf-8")
    fresh.replace(file)
