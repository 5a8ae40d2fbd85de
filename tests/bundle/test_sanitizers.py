"""What C leaves undefined is not relied on: random bundles under compilers and their sanitizers.

More of them: `python -m benchmarks.compilers`.
"""

from __future__ import annotations

import re
import shutil

import pytest

from benchmarks.compilers import ARM64, DARING, PLAIN, SANITIZED, available, failures
from benchmarks.random_bundles import CORES
from tests.bundle.conftest import BundleOf
from tests.bundle.models import BUILT

#: Each core once, then bundles that once failed: bytes beyond a window that nobody wrote (Helium),
#: an input outside that no output depends on.
SEEDS = (*range(len(CORES)), 29, 48)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_bundles_pass_their_self_test_under_sanitizers(seed: int) -> None:
    if shutil.which("clang") is None:
        pytest.skip("needs clang (Debian packages clang and libclang-rt-14-dev)")
    assert list(failures(seed, SANITIZED)) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_random_bundles_pass_their_self_test_at_every_optimization(seed: int) -> None:
    builds = (*PLAIN, *DARING)
    chosen = [build for at, build in enumerate(builds) if (at + seed) % 3 == 0]
    assert list(failures(seed, chosen)) == []


@pytest.mark.parametrize("seed", range(2 * len(CORES), 3 * len(CORES)))
def test_random_bundles_pass_their_self_test_on_arm64(seed: int) -> None:
    builds = available(ARM64)
    if not builds:
        pytest.skip("needs gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user")
    assert list(failures(seed, [builds[seed % len(builds)]])) == []


@pytest.mark.parametrize("name", BUILT)
def test_constants_are_declared_with_the_alignment_that_they_have(
    name: str, bundle_of: BundleOf
) -> None:
    """On x86-64 clang takes an array of 16 bytes that it sees no alignment of as aligned to 16."""
    bundle = bundle_of(name)
    line = re.compile(r"(GLOWMCU_ALIGNED\(\d+\)) (?:extern )?const (\w+ \w+)\[")
    defined = line.findall((bundle / f"{name}_weights.c").read_text())
    assert defined
    assert line.findall((bundle / f"{name}_weights.h").read_text()) == defined
