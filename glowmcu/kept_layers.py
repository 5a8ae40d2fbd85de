"""Which layers of a window that slides keep their rows, where memory is short.

Rows that are kept save cycles and cost RAM. They are kept from the input on: of the first layers,
as many as the arena budget has room for; what comes behind is computed in full.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from glowmcu.compilation import Compilation
from glowmcu.errors import GlowmcuError
from glowmcu.goals import PlanPoint

#: The arena budget is too small for any plan of these rows.
_TOO_SMALL = "GM403"


def fit_kept_layers(
    compiled: Callable[[int], Compilation], layers: int, wants_curve: bool
) -> Compilation:
    """The fastest compilation within the budget, with rows of at most `layers` layers kept; its
    curve is that of all such choices if it is wanted. Raises GM403 if none is small enough.
    """
    found: list[Compilation] = []
    refusal: GlowmcuError | None = None
    for count in range(layers, -1, -1):
        try:
            found.append(compiled(count))
        except GlowmcuError as cause:
            if cause.code != _TOO_SMALL:
                raise
            refusal = cause
            continue
        # One layer less costs cycles, but may need no streaming of rows to fit.
        if len(found) > 1 and not wants_curve:
            break
    if not found:
        assert refusal is not None
        raise refusal
    best = min(found, key=lambda item: (item.estimated_cycles, item.manifest.arena_bytes))
    return replace(best, curve=_best_of([point for item in found for point in item.curve]))


def _best_of(points: list[PlanPoint]) -> tuple[PlanPoint, ...]:
    """Those of which none is both smaller and faster than another, the smallest arena first."""
    curve: list[PlanPoint] = []
    for point in sorted(points, key=lambda item: (item.arena_bytes, item.cycles)):
        if not curve or point.cycles < curve[-1].cycles:
            curve.append(point)
    return tuple(curve)
