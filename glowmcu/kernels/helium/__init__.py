"""Kernels for cores with Helium (M-profile Vector Extension)."""

from __future__ import annotations

from glowmcu.cores import Core


def serves(core: Core) -> bool:
    """Whether a kernel of this room can compute anything on the core."""
    return core.has_mve
