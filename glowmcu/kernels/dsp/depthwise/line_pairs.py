"""Depthwise 3x3 of stride 1 on cores with DSP instructions, two lines of outputs at a time.

The same lines of words as in lines.py; each word is loaded for two lines instead of one.
Distances between outputs are built in, so a layer has a function of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from glowmcu.kernels.dsp.depthwise.line_pairs_assembly import LinePairShape, line_pairs_assembly
from glowmcu.kernels.dsp.depthwise.lines import LinesDepthwise, depthwise_form, part_of
from glowmcu.kernels.kernel import Cost, Field, Site, Target, kernel
from glowmcu.kernels.requantization.forms import FormKind
from glowmcu.ops.convolution import DepthwiseConv2D

#: Blocks of two outputs in a round.
_MOST_UNROLLED = 6
#: Output lines from one filling of the words to the next.
_BAND = 6
#: Of a function, of a block in it, of the C that fills the scratch.
_CODE_BYTES, _BLOCK_CODE, _AROUND_BYTES = 312, 180, 1760


@kernel("depthwise_conv_2d.line_pairs_dsp", DepthwiseConv2D)
class LinePairsDepthwise(LinesDepthwise):
    """3x3 of stride 1, one line of integers a channel, no clamp; four channels at a time."""

    _cycles: ClassVar[Mapping[str, float]] = {
        "call": 400.0, "band": 420.0, "word": 16.0, "two lines": 34.0, "block": 51.0,
    }  # fmt: skip

    def accepts(self, site: Site, target: Target) -> bool:
        if not super().accepts(site, target):
            return False
        form = depthwise_form(site)
        lines = self._lines(site)
        return (
            form.kind is FormKind.FLOOR
            and form.clamp is None
            and all(axis.stride == 1 for axis in lines)
            and lines[1].out_length > 1
            and self._pair_shape(site, target).fits
        )

    def work(self, site: Site, target: Target) -> dict[str, float]:
        along, across = self._lines(site)
        batches, *_, channels = site.signature.output.shape
        part = part_of(along, target.goal, site.scratch_limit)
        parts = batches * -(-along.out_length // part)
        blocks = parts * -(-channels // 4)
        bands = -(-across.out_length // _BAND)
        lines = blocks * min(across.out_length + 2 * bands, across.in_length + 2 * (bands - 1))
        pairs = 4 * blocks * -(-across.out_length // 2)
        return {
            "call": 1.0,
            "band": blocks * (bands + across.out_length % 2),
            "word": lines * along.words(part),
            "two lines": pairs,
            "block": pairs * (part + part % 2) / 2,
        }

    def cost(self, site: Site, target: Target) -> Cost:
        unrolled = self._pair_shape(site, target).unrolled
        return replace(
            super().cost(site, target),
            code_bytes=_CODE_BYTES + _BLOCK_CODE * unrolled,
            around="depthwise_line_pairs",
            around_bytes=_AROUND_BYTES,
        )

    def code_key(self, site: Site, target: Target) -> str:
        shape = self._pair_shape(site, target)
        steps = f"{shape.out_step}_{shape.line_step}_by_{shape.unrolled}"
        return f"glowmcu_depthwise_3x3_line_pairs_{steps}_s{shape.postshift}"

    def template(self) -> str:
        return "dsp/depthwise/depthwise_line_pairs_dsp.c.j2"

    def view(self, site: Site, target: Target) -> dict[str, object]:
        shape = self._pair_shape(site, target)
        return {
            "assembly": line_pairs_assembly(shape),
            "postshift": shape.postshift,
            "headers": ("glowmcu_depthwise_line_pairs_dsp.h",),
        }

    def loop_fields(self, site: Site, target: Target) -> tuple[Field, ...]:
        unrolled = self._pair_shape(site, target).unrolled
        return Field("unrolled", unrolled), Field("has_known_step", 1)

    def _pair_shape(self, site: Site, target: Target) -> LinePairShape:
        along, across = self._lines(site)
        blocks = max(part_of(along, target.goal, site.scratch_limit) // 2, 1)
        unrolled = blocks if blocks <= _MOST_UNROLLED else _unrolled(blocks)
        return LinePairShape(
            along.out_step, across.out_step, unrolled, depthwise_form(site).postshift
        )


def _unrolled(blocks: int) -> int:
    """An even number that leaves out few blocks of the first round."""
    return min((6, 4), key=lambda size: -blocks % size)
