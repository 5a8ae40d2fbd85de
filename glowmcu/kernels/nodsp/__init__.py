"""Kernels for Thumb cores without the DSP instructions: M0, M0+, M3."""

from __future__ import annotations

from glowmcu.cores import Core


def serves(core: Core) -> bool:
    """Whether a kernel of this room can compute anything on the core."""
    return not core.has_dsp
