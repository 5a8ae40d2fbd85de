"""What is recorded of classical estimators, and a part of it measured again."""

from __future__ import annotations

import warnings

import pytest

from benchmarks.classical_cases import Case, listed, usual_ones
from benchmarks.classical_data import DATA
from benchmarks.classical_page import (
    DIFFERS,
    EQUAL,
    NO_RUNTIME,
    NOT_WRITTEN,
    PAGE,
    REFUSED,
    page,
    record,
)
from benchmarks.kernel_sources import is_of_today

#: Estimators with their defaults: so many there were in scikit-learn when this was written.
_ESTIMATORS = 200
#: What onnxruntime runs and is refused, and why.
REFUSALS = {"FeatureHasher(8, input_type='string'), text": "strings have no place in C"}
AGAIN = (
    Case("KNeighborsClassifier(weights='distance')", "three classes"),
    Case("GaussianProcessClassifier()", "two classes"),
    Case("GaussianNB()", "classes with names"),
    Case("make_pipeline(StandardScaler(), SVC())", "classes with names"),
    Case("SVC(gamma=0.001)", "digits"),
    Case("RandomForestClassifier(10)", "three classes, double"),
    Case("LogisticRegression()", "three classes", "zipmap='columns'"),
)


def test_the_page_of_estimators_is_what_was_recorded() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(record())


def test_every_case_was_measured() -> None:
    measured = {row.name for row in record().rows}
    assert {case.name for case in listed()} <= measured
    assert len({row.estimator for row in record().rows}) >= _ESTIMATORS
    assert [(size.expression, size.data) for size in record().sizes] == [
        (case.expression, case.data) for case in usual_ones()
    ]


def test_every_case_has_data() -> None:
    assert {case.data for case in listed()} <= set(DATA)


def test_nothing_differs_from_onnxruntime() -> None:
    assert {row.name: row.detail for row in record().rows if row.outcome == DIFFERS} == {}


def test_what_is_refused_is_known() -> None:
    assert {row.name for row in record().rows if row.outcome == REFUSED} == set(REFUSALS)


def test_whatever_does_not_become_c_says_why() -> None:
    rows = [row for row in record().rows if row.outcome in (REFUSED, NO_RUNTIME, NOT_WRITTEN)]
    assert all(row.detail for row in rows)
    if not all(is_of_today(row.kernels) for row in record().rows):
        warnings.warn("stale: python -m benchmarks.classical --record", stacklevel=1)


@pytest.mark.parametrize("case", AGAIN, ids=[case.name for case in AGAIN])
def test_a_part_is_still_so(case: Case) -> None:
    pytest.importorskip("skl2onnx", reason="pip install skl2onnx")
    from benchmarks.classical import measure

    row = measure(case)
    assert row.outcome in (EQUAL, NO_RUNTIME), row.detail
    assert row.as_estimator is not None
    assert row.as_estimator >= row.rows - 2
