"""Kernels for cores with the DSP instructions: M4, M7, M33."""

from __future__ import annotations

from glowmcu.cores import Core


def serves(core: Core) -> bool:
    """Whether a kernel of this room can compute anything on the core."""
    return core.has_dsp
