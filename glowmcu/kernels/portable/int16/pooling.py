"""Portable kernels of average_pool_2d and max_pool_2d on 16-bit activations."""

from __future__ import annotations

from glowmcu.kernels.kernel import Cost, Kernel, KernelCode, Site, Target, kernel
from glowmcu.kernels.portable.int16.accumulation import is_wide
from glowmcu.kernels.portable.pooling import integer_code, pool_cycles
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D


@kernel("average_pool_2d.portable_s16", AveragePool2D)
class WideAveragePool2D(Kernel):
    """One channel at a time over the window; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return is_wide(site)

    def cost(self, site: Site, target: Target) -> Cost:
        return Cost(pool_cycles(site, 5.0, 40.0), 260)

    def generate(self, site: Site, target: Target) -> KernelCode:
        return integer_code(site, "average_pool_2d", "s16")


@kernel("max_pool_2d.portable_s16", MaxPool2D)
class WideMaxPool2D(Kernel):
    """One channel at a time over the window; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return is_wide(site)

    def cost(self, site: Site, target: Target) -> Cost:
        return Cost(pool_cycles(site, 6.0, 20.0), 230)

    def generate(self, site: Site, target: Target) -> KernelCode:
        return integer_code(site, "max_pool_2d", "s16")
