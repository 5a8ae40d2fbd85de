"""Cases that nobody of this project wrote: they pass, or are refused in so many words."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest

from glowmcu.ir.operation import Rounding
from tests.conformance.conftest import ALL_CASES
from tests.conftest import REPO
from tests.support.conformance import Case, Outcome, compare

OutcomeOf = Callable[[Case], Outcome]
#: Share of each kind that has to pass, and the least number of cases that it speaks of.
REQUIRED = {"int8": (0.99, 100), "float": (1.0, 55), "onnx": (0.97, 580), "int16": (1.0, 100)}

needs_cases = pytest.mark.skipif(not ALL_CASES, reason="needs `shared/cases` beside the checkout")


@needs_cases
@pytest.mark.parametrize("case", ALL_CASES, ids=lambda case: case.id)
def test_a_case_passes_or_is_refused_with_its_reason(case: Case, outcome_of: OutcomeOf) -> None:
    outcome = outcome_of(case)
    assert outcome.verdict in ("passed", "refused"), outcome.reason
    if outcome.verdict == "refused":
        assert re.match(r"GM\d{3}: \S.{15,}", outcome.reason), outcome.reason


@needs_cases
@pytest.mark.parametrize("kind", REQUIRED)
def test_enough_cases_of_each_kind_pass(kind: str, outcome_of: OutcomeOf) -> None:
    share, least = REQUIRED[kind]
    outcomes = [outcome_of(case) for case in ALL_CASES if case.kind == kind]
    others = [outcome for outcome in outcomes if outcome.verdict != "passed"]
    report = "\n".join(f"{o.case_id} {o.verdict}: {o.reason}" for o in others)
    print(report)
    assert len(outcomes) >= least, f"the {kind} cases are gone"
    assert 1 - len(others) / len(outcomes) >= share, report


@needs_cases
def test_the_conformance_document_is_what_a_run_gives_today(outcome_of: OutcomeOf) -> None:
    script = _load_script()
    stored = script.DOCUMENT.read_text(encoding="utf-8") if script.DOCUMENT.is_file() else ""
    outcomes = [outcome_of(case) for case in ALL_CASES]
    fresh = script.render_document(ALL_CASES, outcomes, script.stored_section(stored))
    assert stored == fresh, "stale: run python benchmarks/conformance.py"


def _load_script() -> ModuleType:
    """By path: other packages too install a top-level `benchmarks`."""
    file = REPO / "benchmarks" / "conformance.py"
    spec = importlib.util.spec_from_file_location("glowmcu_conformance_script", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@needs_cases
def test_models_made_for_xnnpack_are_asked_under_both_roundings() -> None:
    both = {case.id for case in ALL_CASES if len(case.roundings) == 2}
    assert len(both) == 10
    assert all(case.roundings == (Rounding.DOUBLE,) for case in ALL_CASES if case.id not in both)


@pytest.mark.parametrize(
    ("rule", "got", "fits"),
    [
        ({"mode": "exact"}, [1, 2, 9], True),
        ({"mode": "exact"}, [1, 2, 8], False),
        ({"mode": "int", "max_lsb": 1}, [1, 2, 8], True),
        ({"mode": "int", "max_lsb": 1}, [1, 4, 9], False),
        ({"mode": "abs", "atol": 0.5}, [1, 3, 9], False),
        ({"mode": "rel", "atol": 0, "rtol": 0.5}, [1, 3, 9], True),
        ({"mode": "top1"}, [0, 0, 1], True),
        ({"mode": "top1"}, [5, 0, 1], False),
        ({"mode": "exact"}, [1, 2], False),
    ],
)
def test_a_comparison_holds_what_its_mode_says(
    rule: dict[str, object], got: list[int], fits: bool
) -> None:
    want = np.array([1, 2, 9], np.int8)
    assert (compare(np.array(got, np.int8), want, rule) == "") is fits


def test_another_dtype_or_nan_is_a_difference() -> None:
    want = np.array([1.0, 2.0], np.float32)
    rule = {"mode": "abs", "atol": 0.1}
    assert "float64" in compare(want.astype(np.float64), want, rule)
    assert compare(np.array([1.0, np.nan], np.float32), want, rule)
