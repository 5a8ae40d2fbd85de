"""Depthwise convolution along one axis for cores with the DSP extension (Armv7E-M, Armv8-M).

Windows of one row or one column, as audio models have: four outputs of a channel at a time from a
line expanded to words of two neighbours, `glowmcu_depthwise_strip_dsp.h`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from glowmcu.ir.function_names import specialized
from glowmcu.ir.operation import Array
from glowmcu.kernels.common.bounds import accumulator_bound, bound_note
from glowmcu.kernels.common.layer_fields import constant, is_constant, is_int8
from glowmcu.kernels.common.overlap import Overlaps, lines_of_pixels, plane_overlaps
from glowmcu.kernels.dsp.depthwise.forms import (
    Words,
    form_constants,
    form_facts,
    rounding_field,
    scaled_form,
    weights_of,
)
from glowmcu.kernels.dsp.depthwise.strip_assembly import StripShape, strip_assembly
from glowmcu.kernels.dsp.depthwise.taps import block_starts
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

#: What the constant's comment says of it; see glowmcu_depthwise_strip_dsp.h.
_BLOCKS = "4 channels' weights after a zero, then constants"
#: Words of weights up to which a loop of its own may be worth its code.
_MOST_UNROLLED = 9
#: Of the C around the loop.
_AROUND_BYTES = 600


def _op(site: Site) -> DepthwiseConv2D:
    assert isinstance(site.node.op, DepthwiseConv2D)
    return site.node.op


def strip_axis(site: Site) -> int | None:
    """The axis of a window of one row or column (0: a column); None for other windows."""
    op, (x, weights, _) = _op(site), site.signature.inputs
    if x.shape[3] != weights.shape[3] or x.shape[3] < 4:
        return None
    for axis in (0, 1):
        other = 1 - axis
        suits = (
            weights.shape[1 + axis] > 1
            and weights.shape[1 + other] == 1
            and op.strides[axis] == op.dilations[axis] == 1
            and op.padding[other] == op.padding[other + 2] == 0
        )
        if suits:
            return axis
    return None


def _form(site: Site) -> Form | None:
    return scaled_form(requantization_task(site))


def _overlaps(site: Site) -> Overlaps:
    """All of four channels, a line after another, which is read as a whole first."""
    op, axis = _op(site), strip_axis(site)
    assert axis is not None
    x, out = site.signature.inputs[0].shape, site.signature.output.shape
    if x[0] != 1 or x[3] % 4:
        return {}
    stride = op.strides[1 - axis]
    # Lines between those under an output are read by nobody.
    read = np.where(np.arange(x[2 - axis]) % stride == 0, np.arange(x[2 - axis]) // stride, -1)
    written = np.arange(out[2 - axis])
    return plane_overlaps(
        lines_of_pixels(read, x[1:3], axis == 0),
        lines_of_pixels(written, out[1:3], axis == 0),
        x[3],
    )


def _weights_step(taps: int) -> int:
    """Bytes of a channel: a zero, the taps, and one more zero if they are even."""
    return taps // 2 * 2 + 2


def _blocks(weights: Array, constants: Words) -> Words:
    """A row for four channels. `weights` are (taps, channels)."""
    taps, channels = weights.shape
    spaced = np.zeros((channels, _weights_step(taps)), np.int8)
    spaced[:, 1 : 1 + taps] = weights.T
    rows = []
    for start in block_starts(channels):
        block = np.concatenate([spaced[start : start + 4].reshape(-1), np.zeros(4, np.int8)])
        rows.append(
            np.concatenate([block.view(np.int32), constants[start : start + 4].reshape(-1)])
        )
    return np.stack(rows)


@kernel("depthwise_conv_2d.strip_dsp", DepthwiseConv2D)
class StripDepthwise(Kernel):
    """Window of one row or column, stride 1 along it; four channels and outputs at a time."""

    #: Of `work` on a Cortex-M4.
    _cycles: ClassVar[Mapping[str, float]] = {
        "call": 60.0, "line": 70.0, "channel": 60.0, "weight": 14.0, "word": 24.0,
        "four floor": 44.0, "four literal": 51.0, "step": 9.5,
    }  # fmt: skip

    def accepts(self, site: Site, target: Target) -> bool:
        known = target.core.has_dsp and is_constant(site, 1, 2) and is_int8(site)
        return known and strip_axis(site) is not None and _form(site) is not None

    def cost(self, site: Site, target: Target) -> Cost:
        cycles = sum(self._cycles[name] * much for name, much in self.work(site, target).items())
        return Cost(
            cycles,
            self._code_bytes(site),
            self.flash_bytes(site, target),
            self.scratch_bytes(site, target),
            code_key=self.code_key(site, target),
            around="depthwise_strip",
            around_bytes=_AROUND_BYTES,
        )

    def _code_bytes(self, site: Site) -> int:
        return 380

    def work(self, site: Site, target: Target) -> dict[str, float]:
        outputs, lines, words, weights = self._sizes(site)
        blocks = site.signature.output.shape[0] * -(-site.signature.output.shape[3] // 4)
        fours = -(-outputs // 4)
        form = _form(site)
        assert form is not None
        return {
            "call": 1.0,
            "line": blocks * lines,
            "channel": 4 * blocks * lines,
            "weight": 4 * blocks * lines * weights,
            "word": blocks * lines * words,
            f"four {form.kind.value}": 4 * blocks * lines * fours,
            "step": 4 * blocks * lines * fours * weights,
        }

    def flash_bytes(self, site: Site, target: Target) -> int:
        shape = site.signature.inputs[1].shape
        return -(-shape[3] // 4) * (4 * _weights_step(shape[1] * shape[2]) + 4 + 32)

    def scratch_bytes(self, site: Site, target: Target) -> int:
        _, _, words, weights = self._sizes(site)
        return 8 * weights + 16 * words

    def code_key(self, site: Site, target: Target) -> str:
        form = _form(site)
        assert form is not None
        return specialized("strip", *form_facts(form))

    def generate(self, site: Site, target: Target) -> KernelCode:
        form = _form(site)
        assert form is not None
        weights = constant(site, 1)
        taps = weights.reshape(-1, weights.shape[3])
        bound = accumulator_bound(site, taps.T, constant(site, 2))
        shape = replace(self._shape(site), overlaps=target.core.dual_issue)
        constants = form_constants(form, site.signature.output.zero_point)
        blocks = _blocks(weights_of(form, taps), constants)
        return KernelCode(
            function=self.code_key(site, target),
            operands=(0,),
            template="dsp/depthwise/depthwise_strip_dsp.c.j2",
            view={
                "assembly": ordered(strip_assembly(shape), target, apart=("r2", "r11")),
                "form": shape.kind.name,
                "postshift": shape.postshift,
                "headers": ("glowmcu_depthwise_strip_dsp.h",),
            },
            parameters=Parameters("glowmcu_depthwise_strips", self._fields(site, form, blocks)),
            rows=site.signature.output.shape[1],
            batches=site.signature.output.shape[0],
            overlaps=_overlaps(site),
            scratch_bytes=self.scratch_bytes(site, target),
            notes=(bound_note(site.node.macs, bound),),
        )

    def _fields(self, site: Site, form: Form, blocks: Words) -> tuple[Field, ...]:
        op, axis = _op(site), strip_axis(site)
        assert axis is not None
        x, out = site.signature.inputs[0].shape, site.signature.output.shape
        outputs, lines, _, weights = self._sizes(site)
        in_steps, out_steps = (x[2] * x[3], x[3]), (out[2] * out[3], out[3])
        clamp_min, clamp_max = form.clamp or (-128, 127)
        strip = (
            Field("outputs", outputs),
            Field("out_step", out_steps[axis]),
            Field("words", weights),
            Field("weights_step", 2 * weights),
            rounding_field(site.signature.output.zero_point),
            Field("clamp_min", clamp_min),
            Field("clamp_max", clamp_max),
        )
        return (
            Field("strip", Parameters("glowmcu_depthwise_strip", strip)),
            Field("rows_are_along", int(axis == 0)),
            Field("in_length", x[1 + axis]),
            Field("in_step", in_steps[axis]),
            Field("pad_before", op.padding[axis]),
            Field("taps", site.signature.inputs[1].shape[1 + axis]),
            Field("in_line_step", in_steps[1 - axis] * op.strides[1 - axis]),
            Field("out_line_step", out_steps[1 - axis]),
            Field("lines", lines),
            Field("channels", x[3]),
            Field("in_zero_point", site.signature.inputs[0].zero_point),
            Field("block_words", blocks.shape[1]),
            Field("blocks", ConstantArray("blocks", blocks, _BLOCKS)),
        )

    @staticmethod
    def _sizes(site: Site) -> tuple[int, int, int, int]:
        """Outputs of a line, lines, words of a line, words of weights."""
        axis = strip_axis(site)
        assert axis is not None
        out = site.signature.output.shape
        weights = site.signature.inputs[1].shape[1 + axis] // 2 + 1
        outputs = out[1 + axis]
        return outputs, out[2 - axis], 2 * ((outputs - 1) // 4) + weights + 1, weights

    def _shape(self, site: Site) -> StripShape:
        form = _form(site)
        assert form is not None
        return StripShape(form.kind, form.postshift, form.clamp is not None)


@kernel("depthwise_conv_2d.strip_unrolled_dsp", DepthwiseConv2D)
class UnrolledStripDepthwise(StripDepthwise):
    """The same with a loop for one length of window."""

    _cycles: ClassVar[Mapping[str, float]] = {
        **StripDepthwise._cycles, "four floor": 37.0, "four literal": 44.0, "step": 8.0,
    }  # fmt: skip

    def accepts(self, site: Site, target: Target) -> bool:
        return super().accepts(site, target) and self._sizes(site)[3] <= _MOST_UNROLLED

    def code_key(self, site: Site, target: Target) -> str:
        return f"{super().code_key(site, target)}, words {self._sizes(site)[3]}"

    def _code_bytes(self, site: Site) -> int:
        return 280 + 28 * self._sizes(site)[3]

    def _shape(self, site: Site) -> StripShape:
        return replace(super()._shape(site), words=self._sizes(site)[3])
