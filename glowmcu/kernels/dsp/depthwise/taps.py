"""Depthwise convolution with any window for cores with the DSP extension (Armv7E-M, Armv8-M).

Four output channels and two taps at a time, pixel by pixel: `glowmcu_depthwise_taps_dsp.h`.
"""

from __future__ import annotations

import numpy as np

from glowmcu.ir.function_names import specialized
from glowmcu.ir.operation import Array
from glowmcu.kernels.common.bounds import accumulator_bound, bound_note
from glowmcu.kernels.common.layer_fields import (
    constant,
    depthwise_geometry,
    is_constant,
    is_int8,
    is_padded,
)
from glowmcu.kernels.common.overlap import Overlaps, channel_overlaps, window_overlaps
from glowmcu.kernels.dsp.depthwise.forms import (
    Words,
    common_form,
    form_constants,
    form_facts,
    rounding_field,
    weights_of,
)
from glowmcu.kernels.dsp.depthwise.taps_assembly import pixel_assembly
from glowmcu.kernels.dsp.order.blocks import ordered
from glowmcu.kernels.kernel import (
    ConstantArray,
    Cost,
    Field,
    Kernel,
    KernelCode,
    Parameters,
    Site,
    Target,
    kernel,
)
from glowmcu.kernels.requantization.forms import Form, requantization_task
from glowmcu.ops.convolution import DepthwiseConv2D

#: What the constant's comment says of it; see glowmcu_depthwise_taps_dsp.h.
BLOCKS = "4 channels: 2 words a pair of taps, then constants"
#: Preshifts to try: the greatest keeps most of a sum, smaller ones leave room for large sums.
_PRESHIFTS = (8, 4, 0)
#: The scratch holds pointers; a computer that runs the same code has larger ones.
_POINTER_BYTES = 8


#: Cycles of each amount of work on a Cortex-M4, until the layer is calibrated.
_CYCLES = {
    "call": 160.0,
    "pixel": 103.0,
    "row": 23.0,
    "tap": 31.0,
    "block floor": 45.0,
    "block literal": 68.0,
    "pair": 27.0,
    "copied tap": 18.0,
    "channel": 33.0,
    "word": 0.3,
    "byte": 1.0,
}


def taps_form(site: Site) -> Form | None:
    """How sums of plain products are requantized; None if no form is exact."""
    return common_form(requantization_task(site), _PRESHIFTS)


def block_starts(channels: int) -> list[int]:
    """First channels of blocks of four: the last one starts earlier to end with the channels."""
    return [max(min(start, channels - 4), 0) for start in range(0, channels, 4)]


def tap_blocks(weights: Array, constants: Words) -> Words:
    """A row for each block. `weights` are (taps, channels); a word has two taps of two channels."""
    taps, channels = weights.shape
    padded = np.zeros((taps + taps % 2, channels + max(4 - channels, 0)), np.int8)
    padded[:taps, :channels] = weights
    finish = np.zeros((padded.shape[1], constants.shape[1]), np.int32)
    finish[:channels] = constants
    rows = []
    for start in block_starts(channels):
        # (pair, tap, word, channel) to (pair, word, tap, channel)
        block = padded[:, start : start + 4].reshape(-1, 2, 2, 2).transpose(0, 2, 1, 3)
        words = np.ascontiguousarray(block).reshape(-1).view(np.int32)
        rows.append(np.concatenate([words, finish[start : start + 4].reshape(-1)]))
    return np.stack(rows)


def _is_copied(site: Site) -> bool:
    """Whether four output channels do not read four neighbouring input channels."""
    x, out = site.signature.inputs[0].shape, site.signature.output.shape
    return x[3] != out[3] or x[3] < 4


def _copied_channels(site: Site) -> tuple[int, int]:
    """Input channels of a tap's copy, and how often each is in it; zeros where nothing is."""
    if not _is_copied(site):
        return 0, 0
    channels = site.signature.inputs[0].shape[3]
    return channels, site.signature.output.shape[3] // channels


def _overlaps(site: Site) -> Overlaps:
    """Pixel by pixel: a copy of the window is read first, else four channels after another."""
    op, kernel = site.node.op, site.signature.inputs[1].shape[1:3]
    assert isinstance(op, DepthwiseConv2D)
    if _is_copied(site):
        return window_overlaps(op, site.signature, kernel, reads_first=True)
    return channel_overlaps(op, site.signature, kernel, at_once=4)


@kernel("depthwise_conv_2d.taps_dsp", DepthwiseConv2D)
class TapsDepthwise(Kernel):
    """Any window, stride, dilation and depth multiplier; four channels at a time."""

    def accepts(self, site: Site, target: Target) -> bool:
        known = target.core.has_dsp and is_constant(site, 1, 2) and is_int8(site)
        return known and taps_form(site) is not None

    def cost(self, site: Site, target: Target) -> Cost:
        work = self.work(site, target)
        return Cost(
            sum(_CYCLES[name] * amount for name, amount in work.items()),
            600,
            self.flash_bytes(site, target),
            self.scratch_bytes(site, target),
            code_key=self.code_key(site, target),
        )

    def work(self, site: Site, target: Target) -> dict[str, float]:
        out, weights = site.signature.output.shape, site.signature.inputs[1].shape
        pixels, taps = out[0] * out[1] * out[2], weights[1] * weights[2]
        blocks = pixels * -(-out[3] // 4)
        channels, multiplier = _copied_channels(site)
        copied = pixels * taps * channels
        form = taps_form(site)
        assert form is not None
        return {
            "call": 1.0,
            "pixel": pixels,
            "row": pixels * weights[1],
            "tap": pixels * taps,
            f"block {form.kind.value}": blocks,
            "pair": blocks * ((taps + 1) // 2),
            "copied tap": pixels * taps if channels else 0,
            "channel": copied,
            "word": copied * (multiplier // 4),
            "byte": copied * (multiplier % 4),
        }

    def flash_bytes(self, site: Site, target: Target) -> int:
        weights = site.signature.inputs[1].shape
        pairs = (weights[1] * weights[2] + 1) // 2
        return -(-weights[3] // 4) * (8 * pairs + 32)

    def scratch_bytes(self, site: Site, target: Target) -> int:
        _, height, width, channels = site.signature.inputs[1].shape
        taps = height * width
        table = _POINTER_BYTES * (taps + taps % 2)
        padding = site.signature.inputs[0].shape[3] if is_padded(site) else 0
        copies = max(channels, 4) * taps + 4 if _is_copied(site) else 0
        return table + padding + copies

    def code_key(self, site: Site, target: Target) -> str:
        form = taps_form(site)
        assert form is not None
        return specialized("taps", *form_facts(form))

    def generate(self, site: Site, target: Target) -> KernelCode:
        form = taps_form(site)
        assert form is not None
        weights = constant(site, 1)
        taps = weights.reshape(-1, weights.shape[3])
        bound = accumulator_bound(site, taps.T, constant(site, 2))
        clamp_min, clamp_max = form.clamp or (-128, 127)
        zero_point = site.signature.output.zero_point
        blocks = tap_blocks(weights_of(form, taps), form_constants(form, zero_point))
        fields = (
            Field("pairs", (len(taps) + 1) // 2),
            Field("channels", max(taps.shape[1], 4)),
            Field("clamp_min", clamp_min),
            Field("clamp_max", clamp_max),
            rounding_field(zero_point),
            Field("out_channels", taps.shape[1]),
            *depthwise_geometry(site),
            Field("in_zero_point", site.signature.inputs[0].zero_point),
            Field("is_padded", int(is_padded(site))),
            Field("is_copied", int(_is_copied(site))),
            Field("blocks", ConstantArray("blocks", blocks, BLOCKS)),
        )
        return KernelCode(
            function=self.code_key(site, target),
            operands=(0,),
            template="dsp/depthwise/depthwise_taps_dsp.c.j2",
            view={
                "assembly": ordered(pixel_assembly(form), target),
                "form": form.kind.name,
                "preshift": form.preshift,
                "postshift": form.postshift,
                "headers": ("glowmcu_depthwise_taps_dsp.h",),
            },
            parameters=Parameters("glowmcu_depthwise_taps", fields),
            rows=site.signature.output.shape[1],
            batches=site.signature.output.shape[0],
            overlaps=_overlaps(site),
            scratch_bytes=self.scratch_bytes(site, target),
            notes=(bound_note(site.node.macs, bound),),
        )
