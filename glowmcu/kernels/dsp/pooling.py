"""Kernels of int8 pooling with the DSP instructions: four channels a word."""

from __future__ import annotations

from collections.abc import Mapping

from glowmcu.kernels.common.layer_fields import is_int8
from glowmcu.kernels.common.overlap import channel_overlaps
from glowmcu.kernels.common.window_work import window_work
from glowmcu.kernels.kernel import Cost, Field, Kernel, KernelCode, Parameters, Site, Target, kernel
from glowmcu.kernels.portable.pooling import pool_grid
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D

#: Most elements of int8 whose sum always stays inside 16 bits.
MOST_TAPS = 256


def _op(site: Site) -> AveragePool2D | MaxPool2D:
    op = site.node.op
    assert isinstance(op, AveragePool2D | MaxPool2D)
    return op


def _accepts(site: Site, target: Target) -> bool:
    return target.core.has_dsp and is_int8(site) and site.signature.output.shape[3] >= 4


def _work(site: Site) -> dict[str, float]:
    """Of four channels at a time: pairs of taps in a row, then a last one."""
    window = window_work(_op(site), site.signature, _op(site).kernel)
    words = -(-site.signature.output.shape[3] // 4)
    return {
        "call": 1.0,
        "pixel": window.pixels,
        "word": window.pixels * words,
        "row": window.rows * words,
        "tap": window.taps * words,
    }


def _code(site: Site, name: str) -> KernelCode:
    op, out = _op(site), site.signature.output
    fields = (
        Field("grid", _grid(site)),
        *(
            Field(bound, (limit & 0xFF) * 0x01010101)
            for bound, limit in zip(
                ("clamp_min", "clamp_max"), op.clamp_range(site.signature), strict=True
            )
        ),
    )
    return KernelCode(
        function=f"glowmcu_{name}_dsp_s8",
        operands=(0,),
        header=f"glowmcu_{name}_dsp.h",
        parameters=Parameters("glowmcu_pool_2d_dsp", fields),
        rows=out.shape[1],
        batches=out.shape[0],
        overlaps=channel_overlaps(op, site.signature, op.kernel, at_once=4),
    )


def _grid(site: Site) -> Parameters:
    """Where windows lie; one that sees the whole image sees it as a single row."""
    grid = pool_grid(site)
    _, height, width, channels = site.signature.inputs[0].shape
    window = window_work(_op(site), site.signature, _op(site).kernel)
    batches, *size, _ = site.signature.output.shape
    if size != [1, 1] or window.taps != batches * height * width:
        return grid
    row = {
        "in_height": 1,
        "in_width": height * width,
        "channels": channels,
        "out_width": 1,
        "kernel_height": 1,
        "kernel_width": height * width,
        "pad_top": 0,
        "pad_left": 0,
    }
    return Parameters(
        grid.struct, tuple(Field(field.name, row.get(field.name, 1)) for field in grid.fields)
    )


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
        return _estimate(site, word=40.0, code_bytes=608)

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
        return _estimate(site, word=25.0, code_bytes=532)

    def generate(self, site: Site, target: Target) -> KernelCode:
        return _code(site, "max_pool_2d")


def _estimate(site: Site, word: float, code_bytes: int) -> Cost:
    work = _work(site)
    unit_costs = {"call": 60.0, "pixel": 120.0, "word": word, "row": 12.0, "tap": 6.5}
    return Cost(sum(unit_costs[name] * amount for name, amount in work.items()), code_bytes)
