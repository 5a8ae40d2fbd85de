"""benchmarks/float.md is the page of its record, and the record is what was asked for."""

from __future__ import annotations

import json

import pytest

from benchmarks.float_models import PAGE, RECORD, page

RECORDED = json.loads(RECORD.read_text(encoding="utf-8"))


def test_the_page_is_written_from_the_record() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(RECORDED), "python -m benchmarks.float_models"


@pytest.mark.parametrize("key", RECORDED)
def test_cycles_were_estimated_within_a_tenth(key: str) -> None:
    row = RECORDED[key]
    assert abs(row["estimated_cycles"] / row["cycles"] - 1.0) < 0.1
