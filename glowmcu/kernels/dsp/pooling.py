"""Kernels of int8 pooling with the DSP instructions: four channels a word."""

from __future__ import annotations

from collections.abc import Mapping

from glowmcu.kernels.common.layer_fields import is_int8
from glowmcu.kernels.common.pool_layer import most_taps, word_code, word_work
from glowmcu.kernels.kernel import Cost, Kernel, KernelCode, Site, Target, kernel
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D

#: Most elements of int8 whose sum always stays inside 16 bits.
MOST_TAPS = 256


def _accepts(site: Site, target: Target) -> bool:
    return target.core.has_dsp and is_int8(site) and site.signature.output.shape[3] >= 4


def _code(site: Site, name: str) -> KernelCode:
    return word_code(site, f"glowmcu_{name}_dsp_s8", f"glowmcu_{name}_dsp.h", "glowmcu_pool_2d_dsp")


@kernel("average_pool_2d.dsp", AveragePool2D)
class AveragePoolDsp(Kernel):
    """Sums of 16 bits, a multiplication instead of the division; cores with DSP instructions."""

    def accepts(self, site: Site, target: Target) -> bool:
        return _accepts(site, target) and most_taps(site) <= MOST_TAPS

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        return word_work(site)

    def cost(self, site: Site, target: Target) -> Cost:
        return _estimate(site, word=40.0, code_bytes=608)

    def generate(self, site: Site, target: Target) -> KernelCode:
        return _code(site, "average_pool_2d")


@kernel("max_pool_2d.dsp", MaxPool2D)
class MaxPoolDsp(Kernel):
    """Maxima of four bytes at once; cores with DSP instructions."""

    def accepts(self, site: Site, target: Target) -> bool:
        return _accepts(site, target)

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        return word_work(site)

    def cost(self, site: Site, target: Target) -> Cost:
        return _estimate(site, word=25.0, code_bytes=532)

    def generate(self, site: Site, target: Target) -> KernelCode:
        return _code(site, "max_pool_2d")


def _estimate(site: Site, word: float, code_bytes: int) -> Cost:
    work = word_work(site)
    unit_costs = {"call": 60.0, "pixel": 120.0, "word": word, "row": 12.0, "tap": 6.5}
    return Cost(sum(unit_costs[name] * amount for name, amount in work.items()), code_bytes)
