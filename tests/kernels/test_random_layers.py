"""A part of the random sweep; `python -m benchmarks.sweep` runs the whole of it."""

from __future__ import annotations

import pytest

from benchmarks.random_layers import FAMILIES
from benchmarks.sweep import sweep
from glowmcu.verify import toolchain

pytestmark = pytest.mark.skipif(toolchain.missing() is not None, reason=str(toolchain.missing()))


@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m0plus"])
@pytest.mark.parametrize("family", FAMILIES)
def test_random_layers_are_what_they_mean_on_the_core(family: str, core: str) -> None:
    found = sweep(family, core, 200, seed=1000)
    assert not found.wrong
    assert sum(found.layers.values()) >= 200
