"""What `make test` leaves out is there, and was run."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

from benchmarks.kernel_sources import is_of_today
from benchmarks.long_test_choice import ALWAYS
from benchmarks.long_tests import long_tests, stored

ROOT = Path(__file__).resolve().parents[1]


def test_every_listed_test_is_a_test_and_listed_once() -> None:
    names = long_tests()
    assert len(set(names)) == len(names)
    for name in names:
        path, function = name.partition("[")[0].split("::")
        text = (ROOT / path).read_text(encoding="utf-8")
        assert re.search(rf"^def {function}\(", text, re.MULTILINE), name


def test_what_is_to_be_told_at_once_is_not_listed() -> None:
    assert [name for name in long_tests() if name.startswith(ALWAYS)] == []


def test_the_last_run_was_of_all_of_them_and_none_failed() -> None:
    record = stored()
    assert record.failed == ()
    assert record.passed + record.skipped == len(long_tests()), "python -m benchmarks.long_tests"
    if not is_of_today(record.kernels):
        warnings.warn("kernels changed: run python -m benchmarks.long_tests", stacklevel=1)
