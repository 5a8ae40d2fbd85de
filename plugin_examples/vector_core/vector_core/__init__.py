"""GlowMCU for VX16: a core that does not exist, whose unit multiplies sixteen bytes at once."""

from __future__ import annotations

from pathlib import Path

from glowmcu.cores import Core

BOARDS = Path(__file__).parent / "boards"
LIBJIT = Path(__file__).parent / "libjit"
#: There is no compiler for it: code is not measured. Kernels without costs of their own are taken
#: to cost what they do on a Cortex-M3.
VX16 = Core("vx16", (), "vx16", executor="vx16", costs_as="cortex-m3")
