"""Kernels of int8 pooling with Helium: eight channels at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from glowmcu.kernels.common.layer_fields import is_int8
from glowmcu.kernels.common.overlap import channel_overlaps
from glowmcu.kernels.common.pool_layer import pool_work
from glowmcu.kernels.kernel import Cost, Kernel, KernelCode, Site, Target, kernel
from glowmcu.kernels.portable.pooling import integer_code
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D

#: Most elements of int8 whose sum always stays inside 16 bits.
_MOST_TAPS = 256
_LANES = 8
_CYCLES = {"call": 60.0, "pixel": 110.0, "eight": 30.0, "row": 8.0, "tap": 4.0}


def _op(site: Site) -> AveragePool2D | MaxPool2D:
    op = site.node.op
    assert isinstance(op, AveragePool2D | MaxPool2D)
    return op


class _VectorPool(Kernel):
    """What both kernels share."""

    function: ClassVar[str]

    def accepts(self, site: Site, target: Target) -> bool:
        enough = site.signature.output.shape[3] >= _LANES
        return target.core.has_mve and is_int8(site) and enough

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        return pool_work(site, "eight", _LANES)

    def cost(self, site: Site, target: Target) -> Cost:
        work = self.work(site, target)
        return Cost(sum(_CYCLES[name] * amount for name, amount in work.items()), 500)

    def generate(self, site: Site, target: Target) -> KernelCode:
        code, op = integer_code(site, self.function), _op(site)
        name = f"glowmcu_{self.function}_mve"
        overlaps = channel_overlaps(op, site.signature, op.kernel, at_once=_LANES)
        return replace(code, function=f"{name}_s8", header=f"{name}.h", overlaps=overlaps)


@kernel("average_pool_2d.mve", AveragePool2D)
class VectorAveragePool(_VectorPool):
    """Sums of 16 bits, a multiplication instead of the division."""

    function = "average_pool_2d"

    def accepts(self, site: Site, target: Target) -> bool:
        _, height, width, _ = site.signature.inputs[0].shape
        kernel_height, kernel_width = _op(site).kernel
        taps = min(kernel_height, height) * min(kernel_width, width)
        return taps <= _MOST_TAPS and super().accepts(site, target)


@kernel("max_pool_2d.mve", MaxPool2D)
class VectorMaxPool(_VectorPool):
    """Maxima of eight channels at once."""

    function = "max_pool_2d"
