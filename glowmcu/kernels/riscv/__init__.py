"""Kernels for 32-bit RISC-V with multiplication: no SIMD, but 31 registers and a high product."""

from __future__ import annotations

from glowmcu.cores import Core


def serves(core: Core) -> bool:
    """Whether a kernel of this room can compute anything on the core."""
    return core.is_riscv
