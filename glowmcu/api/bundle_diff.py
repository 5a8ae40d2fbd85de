"""`glowmcu.diff`: what changed between two bundles."""

from __future__ import annotations

import os
from pathlib import Path

from glowmcu.api.given_bundle import BundleGiven
from glowmcu.argument_types import arguments_checked
from glowmcu.bundle import Bundle
from glowmcu.facts.bundle_diff import BundleDiff, diff_bundles


@arguments_checked
def diff(before: BundleGiven, after: BundleGiven) -> BundleDiff:
    """Compare two bundles (or their folders): memory, cycles, layers, interface.

    Bytes and cycles of both stand side by side; cycles are measured if `glowmcu.bench` has run
    for both, else estimated. Raises GM171, GM172, GM601 for what is no bundle.

    >>> fast, small = (
    ...     glowmcu.compile("digits_int8.tflite", board="nrf52", output=f"build/{goal}",
    ...                     name="digits", optimize=goal)
    ...     for goal in ("speed", "size")
    ... )
    >>> found = glowmcu.diff(fast, small)
    >>> next(q for q in found.quantities if q.name == "cycles").growth > 0
    True
    """
    return diff_bundles(_folder(before), _folder(after))


def _folder(bundle: BundleGiven) -> Path:
    return bundle.path if isinstance(bundle, Bundle) else Path(os.fspath(bundle))
