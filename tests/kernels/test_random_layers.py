"""A part of the random sweep; `python -m benchmarks.sweep` runs the whole of it."""

from __future__ import annotations

import pytest

from benchmarks.random_layers import FAMILIES
from benchmarks.sweep import sweep
from benchmarks.sweep_page import PAGE, page, stored
from glowmcu.verify import toolchain

needs_arm = pytest.mark.skipif(toolchain.missing() is not None, reason=str(toolchain.missing()))


def test_the_page_of_sweeps_is_what_was_recorded() -> None:
    assert page(stored()) == PAGE.read_text(encoding="utf-8")


def test_every_recorded_sweep_had_two_thousand_layers_and_none_was_wrong() -> None:
    entries = [entry for families in stored().values() for entry in families.values()]
    assert entries
    assert all(entry["layers"] >= 2000 and not entry["wrong"] for entry in entries)


@needs_arm
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m0plus"])
@pytest.mark.parametrize("family", FAMILIES)
def test_random_layers_are_what_they_mean_on_the_core(family: str, core: str) -> None:
    found = sweep(family, core, 200, seed=1000)
    assert not found.wrong
    assert sum(found.layers.values()) >= 200
