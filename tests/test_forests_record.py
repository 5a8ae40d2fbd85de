"""What is recorded of forests beside other compilers: all of it there, and what it is for."""

from __future__ import annotations

import warnings

import pytest

from benchmarks.forest_engines import ENGINES
from benchmarks.forests import CORES, LEVELS, SAMPLES, TREES
from benchmarks.forests_page import OURS, PAGE, Row, page, record
from benchmarks.kernel_sources import is_of_today


def of(engine: str, trees: int, core: str) -> list[Row]:
    rows = record().rows
    return [row for row in rows if (row.engine, row.trees, row.core) == (engine, trees, core)]


def test_the_page_of_forests_is_what_was_recorded() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_engine_was_measured_for_every_forest() -> None:
    wanted = [
        (trees, core, engine.name, level)
        for trees in TREES
        for core in CORES
        for engine in ENGINES
        for level in LEVELS
        if trees <= engine.most_trees
    ]
    assert [(row.trees, row.core, row.engine, row.level) for row in record().rows] == wanted
    if not is_of_today(record().kernels):
        warnings.warn("stale: python -m benchmarks.forests", stacklevel=1)


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("trees", TREES)
def test_one_bundle_is_smaller_and_faster_than_all_others(trees: int, core: str) -> None:
    ours = of(OURS, trees, core)
    others = [row for e in ENGINES if e.packages for row in of(e.name, trees, core)]
    assert max(row.flash_bytes for row in ours) < min(row.flash_bytes for row in others)
    assert max(row.cycles for row in ours) < min(row.cycles for row in others)
    assert all(row.same == SAMPLES for row in ours)
