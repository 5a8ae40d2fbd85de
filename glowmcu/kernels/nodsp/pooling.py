"""Kernels of int8 pooling without DSP instructions: four channels of a word in plain arithmetic.

Bytes are compared four at a time by a subtraction that carries from none to the next, and sums of
16 bits are two in a register (Warren, Hacker's Delight, 2nd edition, 2-18).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from glowmcu.kernels.common.layer_fields import is_int8
from glowmcu.kernels.common.pool_layer import most_taps, word_code, word_work
from glowmcu.kernels.kernel import Kernel, KernelCode, Site, Target, kernel
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D

#: Most elements of a window: as many bytes add up inside 16 bits.
MOST_TAPS = 256
#: Four channels are read as a word.
_ALIGN = 4


def _accepts(site: Site, target: Target) -> bool:
    if target.core.has_dsp or not is_int8(site) or site.operands_align % _ALIGN:
        return False
    return site.signature.output.shape[3] % 4 == 0


def _code(site: Site, name: str) -> KernelCode:
    code = word_code(
        site, f"glowmcu_{name}_nodsp_s8", f"glowmcu_{name}_nodsp.h", "glowmcu_pool_2d_words"
    )
    return replace(code, operand_align=_ALIGN)


@kernel("average_pool_2d.words_nodsp", AveragePool2D)
class AveragePoolWords(Kernel):
    """Two sums in a register, a multiplication instead of the division; Arm cores without DSP.

    RISC-V cores divide in a few cycles: for 912 bytes of code they gain too little.
    """

    def accepts(self, site: Site, target: Target) -> bool:
        is_small = most_taps(site) <= MOST_TAPS
        return is_small and not target.core.is_riscv and _accepts(site, target)

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        return word_work(site)

    def generate(self, site: Site, target: Target) -> KernelCode:
        return _code(site, "average_pool_2d")


@kernel("max_pool_2d.words_nodsp", MaxPool2D)
class MaxPoolWords(Kernel):
    """Maxima of four bytes at once; cores without DSP instructions."""

    def accepts(self, site: Site, target: Target) -> bool:
        return _accepts(site, target)

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        return word_work(site)

    def generate(self, site: Site, target: Target) -> KernelCode:
        return _code(site, "max_pool_2d")
