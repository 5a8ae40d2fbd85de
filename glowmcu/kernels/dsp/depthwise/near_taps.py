"""Depthwise convolution of windows without padding for the DSP extension, without scratch.

Like `depthwise_conv_2d.taps_dsp`, but the distances of taps are immediates of loads (so within
4 KB) in a function for each set of distances: no table, no copies. One-dimensional networks are
made of such windows. See glowmcu_depthwise_near_taps_dsp.h.
"""

from __future__ import annotations

from glowmcu.ir.function_names import specialized
from glowmcu.kernels.common.bounds import accumulator_bound, bound_note
from glowmcu.kernels.common.layer_fields import constant, is_constant, is_int8, is_padded
from glowmcu.kernels.common.overlap import channel_overlaps
from glowmcu.kernels.dsp.depthwise.forms import (
    form_constants,
    form_facts,
    rounding_field,
    weights_of,
)
from glowmcu.kernels.dsp.depthwise.near_taps_assembly import window_assembly
from glowmcu.kernels.dsp.depthwise.taps import BLOCKS, tap_blocks, taps_form
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
from glowmcu.kernels.requantization.forms import Form
from glowmcu.ops.convolution import DepthwiseConv2D

#: The farthest that a load reaches from its base.
_MOST_BYTES = 4095
#: Taps beyond which a loop costs less than it saves in code.
_MOST_TAPS = 32

#: Cycles of each amount of work on a Cortex-M4, until the layer is calibrated.
_CYCLES = {"call": 60.0, "pixel": 45.0, "block floor": 38.0, "block literal": 66.0, "pair": 20.5}
_CLAMP_CYCLES = 28.0
_CODE_BYTES, _PAIR_CODE = 300, 66


@kernel("depthwise_conv_2d.near_taps_dsp", DepthwiseConv2D)
class NearTapsDepthwise(Kernel):
    """Windows inside the image, up to 32 taps within 4 KB; four channels at a time."""

    def accepts(self, site: Site, target: Target) -> bool:
        if not target.core.has_dsp or not is_constant(site, 1, 2) or not is_int8(site):
            return False
        x, out = site.signature.inputs[0].shape, site.signature.output.shape
        if is_padded(site) or x[3] != out[3] or x[3] < 4 or not _is_near(site):
            return False
        return taps_form(site) is not None

    def cost(self, site: Site, target: Target) -> Cost:
        form, pairs = _form(site), len(_distances(site)) // 2
        work = self.work(site, target)
        cycles = sum(_CYCLES[name] * amount for name, amount in work.items())
        if form.clamp is not None:
            cycles += _CLAMP_CYCLES * work[f"block {form.kind.value}"]
        return Cost(
            cycles,
            _CODE_BYTES + _PAIR_CODE * pairs,
            self.flash_bytes(site, target),
            code_key=self.code_key(site, target),
        )

    def work(self, site: Site, target: Target) -> dict[str, float]:
        out = site.signature.output.shape
        pixels = out[0] * out[1] * out[2]
        blocks = pixels * -(-out[3] // 4)
        return {
            "call": out[0],
            "pixel": pixels,
            f"block {_form(site).kind.value}": blocks,
            "pair": blocks * len(_distances(site)) // 2,
        }

    def flash_bytes(self, site: Site, target: Target) -> int:
        channels = site.signature.output.shape[3]
        return -(-channels // 4) * (4 * len(_distances(site)) + 32)

    def code_key(self, site: Site, target: Target) -> str:
        op, x = site.node.op, site.signature.inputs[0].shape
        assert isinstance(op, DepthwiseConv2D)
        height, width = site.signature.inputs[1].shape[1:3]
        column, row = op.dilations[1] * x[3], op.dilations[0] * x[2] * x[3]
        shape = (f"{height}x{width} taps", f"{column} apart")
        if width == 1:
            shape = (f"{height} taps", f"{row} apart")
        rows = f"rows {row} apart" if width > 1 and height > 1 else ""
        return specialized("near", *shape, rows, *form_facts(_form(site)))

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, form, out = site.node.op, _form(site), site.signature.output
        assert isinstance(op, DepthwiseConv2D)
        weights = constant(site, 1)
        taps = weights.reshape(-1, weights.shape[3])
        bound = accumulator_bound(site, taps.T, constant(site, 2))
        clamp_min, clamp_max = form.clamp or (-128, 127)
        blocks = tap_blocks(weights_of(form, taps), form_constants(form, out.zero_point))
        _, _, width, channels = site.signature.inputs[0].shape
        fields = (
            Field("channels", channels),
            rounding_field(out.zero_point),
            Field("clamp_min", clamp_min),
            Field("clamp_max", clamp_max),
            Field("out_width", out.shape[2]),
            Field("window_step", op.strides[1] * channels),
            Field("window_row", op.strides[0] * width * channels),
            Field("blocks", ConstantArray("blocks", blocks, BLOCKS)),
        )
        return KernelCode(
            function=self.code_key(site, target),
            operands=(0,),
            template="dsp/depthwise/depthwise_near_taps_dsp.c.j2",
            view={
                "assembly": ordered(window_assembly(form, _distances(site)), target),
                "distances": _distances(site),
                "form": form.kind.name,
                "preshift": form.preshift,
                "postshift": form.postshift,
                "headers": ("glowmcu_depthwise_near_taps_dsp.h",),
            },
            parameters=Parameters("glowmcu_depthwise_near_taps", fields),
            rows=out.shape[1],
            batches=out.shape[0],
            overlaps=channel_overlaps(op, site.signature, weights.shape[1:3], at_once=4),
            notes=(bound_note(site.node.macs, bound),),
        )


def _form(site: Site) -> Form:
    """What `accepts` has found to exist."""
    form = taps_form(site)
    assert form is not None
    return form


def _is_near(site: Site) -> bool:
    height, width = site.signature.inputs[1].shape[1:3]
    return height * width <= _MOST_TAPS and max(_distances(site)) <= _MOST_BYTES


def _distances(site: Site) -> tuple[int, ...]:
    """Bytes from the first tap to each; an odd number of them repeats the last, with no weight."""
    op, x = site.node.op, site.signature.inputs[0].shape
    assert isinstance(op, DepthwiseConv2D)
    height, width = site.signature.inputs[1].shape[1:3]
    found = [
        (ky * op.dilations[0] * x[2] + kx * op.dilations[1]) * x[3]
        for ky in range(height)
        for kx in range(width)
    ]
    return tuple(found + found[-1:] * (len(found) % 2))
