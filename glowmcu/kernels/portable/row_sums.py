"""Kernels of what adds up a whole int8 image a channel and can take it row by row.

Global average pooling, and sums and means over all axes between the first and the last ones: in a
cascade the rows of their operand never exist together. See glowmcu_row_sums.h.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

from glowmcu.ir.types import ElementType
from glowmcu.kernels.common.layer_fields import is_int8
from glowmcu.kernels.common.window_work import window_work
from glowmcu.kernels.kernel import Cost, Field, Kernel, KernelCode, Parameters, Site, Target, kernel
from glowmcu.kernels.portable.reduction import sum_bound
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.pooling import AveragePool2D
from glowmcu.ops.reduction import Mean, Sum, is_plain

#: Most elements of int8 whose sum always stays inside 16 bits.
_MOST_NARROW = 256


@dataclass(frozen=True)
class RowLayout:
    """`rows` rows of `row_pixels` pixels of `channels` elements; a result is a channel's."""

    rows: int
    row_pixels: int
    channels: int

    @property
    def pixels(self) -> int:
        return self.rows * self.row_pixels

    @property
    def sums(self) -> str:
        """Which of the functions in C: how sums are kept."""
        if self.channels < 4:
            return "few"
        return "narrow" if self.pixels <= _MOST_NARROW else "wide"

    @property
    def scratch_bytes(self) -> int:
        if self.sums == "few":
            return 4 * self.channels
        return (8 if self.sums == "narrow" else 16) * -(-self.channels // 4)


#: What it takes to go on with sums of the rows before: as many elements of a word (cheap with DSP
#: instructions, dear without), of a channel.
_WORD_AGAIN_DSP, _WORD_AGAIN, _CHANNEL_AGAIN = 11, 3, 3


def _work(layout: RowLayout, batches: int, calls: int, has_dsp: bool) -> dict[str, float]:
    """For all rows in `calls` calls. Names say how sums are kept; each has a unit cost."""
    again = calls - 1
    if layout.sums == "few":
        channels = batches * layout.channels
        elements = channels * (layout.pixels + _CHANNEL_AGAIN * again)
        return {"call": batches * calls, "channel": channels, "element": elements}
    words = batches * -(-layout.channels // 4)
    again_elements = _WORD_AGAIN_DSP if has_dsp else _WORD_AGAIN
    return {
        "call": batches * calls,
        f"{layout.sums} word": words,
        "word element": words * (layout.pixels + again_elements * again),
    }


class _RowSums(Kernel):
    """Base: a subclass finds the layout and says how a sum becomes a result."""

    accumulates: ClassVar[bool] = True
    #: Of the functions on a Cortex-M4.
    code_sizes: ClassVar[Mapping[str, int]] = {}

    def _layout(self, site: Site) -> RowLayout | None:
        raise AssertionError(f"{self.name} has no layout")

    def _known_layout(self, site: Site) -> RowLayout:
        layout = self._layout(site)
        assert layout is not None
        return layout

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        layout = self._known_layout(site)
        calls = layout.rows if site.by_rows else 1
        return _work(layout, site.signature.inputs[0].shape[0], calls, target.core.has_dsp)

    def flash_bytes(self, site: Site, target: Target) -> int:
        return 36

    def scratch_bytes(self, site: Site, target: Target) -> int:
        return self._known_layout(site).scratch_bytes

    def code_key(self, site: Site, target: Target) -> str:
        stem = self.name.replace(".", "_")
        return f"glowmcu_{stem}_{self._known_layout(site).sums}_s8"

    def cost(self, site: Site, target: Target) -> Cost:
        unit_costs = {"narrow word": 80.0, "wide word": 110.0, "channel": 40.0, "element": 8.0}
        unit_costs |= {"call": 60.0, "word element": 5.0 if target.core.has_dsp else 18.0}
        cycles = sum(unit_costs[name] * count for name, count in self.work(site, target).items())
        code_bytes = self.code_sizes[self._known_layout(site).sums]
        return Cost(
            cycles, code_bytes, self.flash_bytes(site, target), self.scratch_bytes(site, target),
            code_key=self.code_key(site, target),
        )  # fmt: skip

    def _code(
        self, site: Site, target: Target, header: str, result: str, fields: Mapping[str, int],
        bound: int,
    ) -> KernelCode:  # fmt: skip
        layout = self._known_layout(site)
        values = {
            "rows": layout.rows,
            "row_pixels": layout.row_pixels,
            "channels": layout.channels,
            "offset": 0,
            "multiplier": 0,
            "shift": 0,
            "out_zero_point": 0,
            "clamp_min": -128,
            "clamp_max": 127,
            **fields,
        }
        text = f"{layout.pixels:,} elements a result; |acc| <= {bound:,} < 2^31".replace(",", " ")
        return KernelCode(
            function=self.code_key(site, target),
            operands=(0,),
            template="portable/row_sums.c.j2",
            view={"sums": layout.sums, "result": result, "headers": (header,)},
            parameters=Parameters(
                "glowmcu_row_sums", tuple(Field(name, value) for name, value in values.items())
            ),
            rows=layout.rows,
            accumulates=True,
            batches=site.signature.inputs[0].shape[0],
            scratch_bytes=layout.scratch_bytes,
            notes=(text,),
        )


@kernel("average_pool_2d.rows", AveragePool2D)
class AveragePoolRows(_RowSums):
    """One window that sees the whole image, its rows in parts; any core."""

    code_sizes: ClassVar[Mapping[str, int]] = {"few": 170, "narrow": 436, "wide": 484}

    def accepts(self, site: Site, target: Target) -> bool:
        return is_int8(site) and self._layout(site) is not None

    def _layout(self, site: Site) -> RowLayout | None:
        op, (batches, height, width, channels) = site.node.op, site.signature.inputs[0].shape
        assert isinstance(op, AveragePool2D)
        window = window_work(op, site.signature, op.kernel)
        if site.signature.output.shape[1:3] != (1, 1) or window.taps != batches * height * width:
            return None
        return RowLayout(height, width, channels)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, layout = site.node.op, self._known_layout(site)
        assert isinstance(op, AveragePool2D)
        pixels = layout.pixels
        low, high = op.clamp_range(site.signature)
        # Without a 64-bit product the division is the faster one.
        has_reciprocal = layout.sums == "narrow" and target.core.architecture != "armv6s-m"
        multiplier = 0x3FFFFFFF // pixels + 2 if has_reciprocal else pixels
        result = "glowmcu_row_mean" if has_reciprocal else "glowmcu_row_quotient"
        fields = {"multiplier": multiplier, "clamp_min": low, "clamp_max": high}
        return self._code(site, target, "glowmcu_row_means.h", result, fields, 128 * pixels)


@kernel("reduce_sum.rows", Mean, Sum)
class ReduceSumRows(_RowSums):
    """Over the second axis and any that follow it, up to those that are kept; any core."""

    code_sizes: ClassVar[Mapping[str, int]] = {"few": 242, "narrow": 804, "wide": 578}

    def accepts(self, site: Site, target: Target) -> bool:
        x = site.signature.inputs[0]
        return x.element is ElementType.I8 and not is_plain(x) and self._layout(site) is not None

    def _layout(self, site: Site) -> RowLayout | None:
        op, shape = site.node.op, site.signature.inputs[0].shape
        assert isinstance(op, Mean | Sum)
        reduced = sorted({axis for axis in op.axes if axis > 0 or shape[0] > 1})
        if len(shape) < 3 or reduced != list(range(1, len(reduced) + 1)) or not reduced:
            return None
        return RowLayout(
            shape[1], math.prod(shape[2 : len(reduced) + 1]), math.prod(shape[len(reduced) + 1 :])
        )

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, x, pixels = site.node.op, site.signature.inputs[0], self._known_layout(site).pixels
        assert isinstance(op, Mean | Sum)
        scale = op.requantization(site.signature)
        fields = {
            "offset": -x.zero_point * pixels,
            "multiplier": int(scale.multipliers[0]),
            "shift": int(scale.shifts[0]),
            "out_zero_point": site.signature.output.zero_point,
        }
        header, bound = "glowmcu_row_totals.h", sum_bound(site, pixels)
        return self._code(site, target, header, "glowmcu_row_total", fields, bound)
