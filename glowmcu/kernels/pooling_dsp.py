"""Kernels of int8 pooling with the DSP instructions: four channels a word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from glowmcu.kernels.convolution import is_int8
from glowmcu.kernels.kernel import Cost, Kernel, KernelCode, Site, Target, kernel
from glowmcu.kernels.pooling import integer_code
from glowmcu.kernels.window_work import window_work
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D

#: So many elements of int8 add up inside 16 bits.
MOST_TAPS = 256


def _op(site: Site) -> AveragePool2D | MaxPool2D:
    op = site.node.op
    assert isinstance(op, AveragePool2D | MaxPool2D)
    return op


def _accepts(site: Site, target: Target) -> bool:
    return target.core.has_dsp and is_int8(site) and site.signature.output.shape[3] >= 4


def _work(site: Site) -> dict[str, float]:
    """Of eight channels, then four, at a time over the window."""
    window = window_work(_op(site), site.signature, _op(site).kernel)
    channels = site.signature.output.shape[3]
    eights, fours = channels // 8, -(-(channels % 8) // 4)
    return {
        "call": 1.0,
        "pixel": window.pixels,
        "eight_tap": window.taps * eights,
        "four_tap": window.taps * fours,
        "row": window.rows * (eights + fours),
        "word": window.pixels * (2 * eights + fours),
    }


def _code(site: Site, name: str) -> KernelCode:
    code = integer_code(site, name)
    return replace(code, function=f"glowmcu_{name}_dsp_s8", header=f"glowmcu_{name}_dsp.h")


@kernel("average_pool_2d.dsp", AveragePool2D)
class AveragePoolDsp(Kernel):
    """Sums of 16 bits, a multiplication instead of the division; cores with DSP instructions."""

    def accepts(self, site: Site, target: Target) -> bool:
        if not _accepts(site, target):
            return False
        _, height, width, _ = site.signature.inputs[0].shape
        kernel_height, kernel_width = _op(site).kernel
        return min(kernel_height, height) * min(kernel_width, width) <= MOST_TAPS

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        return _work(site)

    def cost(self, site: Site, target: Target) -> Cost:
        return _estimate(site, word=22.0, code_bytes=460)

    def generate(self, site: Site, target: Target) -> KernelCode:
        return _code(site, "average_pool_2d")


@kernel("max_pool_2d.dsp", MaxPool2D)
class MaxPoolDsp(Kernel):
    """Maxima of four bytes at once; cores with DSP instructions."""

    def accepts(self, site: Site, target: Target) -> bool:
        return _accepts(site, target)

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        return _work(site)

    def cost(self, site: Site, target: Target) -> Cost:
        return _estimate(site, word=6.0, code_bytes=400)

    def generate(self, site: Site, target: Target) -> KernelCode:
        return _code(site, "max_pool_2d")


def _estimate(site: Site, word: float, code_bytes: int) -> Cost:
    work = _work(site)
    prices = {"call": 60.0, "pixel": 120.0, "eight_tap": 12.0, "four_tap": 9.0, "row": 8.0}
    prices["word"] = word
    return Cost(sum(prices[name] * amount for name, amount in work.items()), code_bytes)
