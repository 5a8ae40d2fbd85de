"""Cycles on a board: those of the core and the waits for its memories, as selection weighs them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from glowmcu.kernels.kernel import Cost, Kernel
from glowmcu.kernels.memory_waits import mean
from glowmcu.kernels.selection.choices import Candidates


def with_waits(candidates: Candidates) -> Candidates:
    """The same with waits among the cycles.

    Where waits are known of some variants of a layer only, the others wait for as large a part of
    their cycles as the one that waits most: what was not measured is not chosen for that.
    """
    return {node: _weighed(found) for node, found in candidates.items()}


def _weighed(found: Mapping[Kernel, Cost]) -> Mapping[Kernel, Cost]:
    known = {kernel: mean(cost.waits) for kernel, cost in found.items() if cost.waits is not None}
    if not known:
        return found
    most = max(waits / max(found[kernel].cycles, 1.0) for kernel, waits in known.items())
    return {
        kernel: replace(cost, cycles=cost.cycles + known.get(kernel, most * cost.cycles))
        for kernel, cost in found.items()
    }
