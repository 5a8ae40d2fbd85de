"""Depthwise convolution for cores with the DSP extension (Armv7E-M, Armv8-M).

A 3x3 window without dilation runs over lines of the image that are expanded to words of two
neighbours (`glowmcu_depthwise_conv_2d_dsp.h`); `lines_assembly.py` has the inner loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from glowmcu.goals import Goal
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
from glowmcu.kernels.dsp.depthwise.lines_assembly import (
    MOST_KNOWN_STEP,
    WORD_STEP,
    PassShape,
    pass_assembly,
)
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
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.convolution import DepthwiseConv2D

#: What the constant's comment says of it; see glowmcu_depthwise_words.h.
_BLOCKS = "4 channels' weights (k1, k0, k2 a line), then constants"
#: Outputs of a line whose words are in the scratch at a time, half as many with stride 2.
_MOST_OUTPUTS = {Goal.BALANCED: 48, Goal.SPEED: 128, Goal.SIZE: 48, Goal.RAM: 48}
#: The loop keeps the step from output to output in the low half of a register.
_MOST_STEP = 2**16 - 1
#: Lines of a channel in the scratch.
_LINES = 8
#: Of a loop, of the C that fills the scratch.
_CODE_BYTES, _AROUND_BYTES = 710, 1570
#: What a last single output costs, in pairs.
_ODD_OUTPUT = 0.75


@dataclass(frozen=True)
class Axis:
    """One axis of the image; steps are bytes from position to position."""

    in_length: int
    in_step: int
    out_length: int
    out_step: int
    stride: int
    pad_before: int

    def fields(self) -> tuple[Field, ...]:
        """In the order of `glowmcu_depthwise_axis`."""
        return tuple(Field(name, value) for name, value in vars(self).items())

    @property
    def suits_lines(self) -> bool:
        """Whether the loop can run along it."""
        return self.stride in (1, 2) and self.out_step <= _MOST_STEP

    def band_lines(self) -> tuple[int, int, int]:
        """Bands, and lines in and beside the image that are read for all of them."""
        band = (_LINES - 3) // self.stride + 1
        starts = range(0, self.out_length, band)
        used = inside = 0
        for start in starts:
            first = start * self.stride - self.pad_before
            end = first + (min(band, self.out_length - start) - 1) * self.stride + 3
            used += end - first
            inside += max(min(end, self.in_length) - max(first, 0), 0)
        return len(starts), inside, used - inside

    def words(self, outputs: int) -> int:
        """Words of two positions that `outputs` outputs need, for a window of three."""
        return (outputs + 1) // 2 + 1 if self.stride == 1 else outputs + 1


def _op(site: Site) -> DepthwiseConv2D:
    assert isinstance(site.node.op, DepthwiseConv2D)
    return site.node.op


def _axes(site: Site) -> tuple[Axis, Axis]:
    """Down (from row to row) and along the rows."""
    op, x, out = _op(site), site.signature.inputs[0].shape, site.signature.output.shape
    steps = ((x[2] * x[3], out[2] * out[3]), (x[3], out[3]))
    down, right = (
        Axis(x[1 + axis], steps[axis][0], out[1 + axis], steps[axis][1], op.strides[axis],
             op.padding[axis])
        for axis in (0, 1)
    )  # fmt: skip
    return down, right


def line_axis(site: Site) -> int | None:
    """The axis that lines follow: the longer one, 0 for columns; None when neither suits.

    Row by row, lines are rows.
    """
    axes = _axes(site)
    suited = [axis for axis in ((1,) if site.by_rows else (1, 0)) if axes[axis].suits_lines]
    return max(suited, key=lambda axis: axes[axis].out_length, default=None)


def part_of(along: Axis, goal: Goal, scratch_limit: int | None = None) -> int:
    """Outputs of a line at a time: all, or equal parts where scratch is dear."""
    most = _MOST_OUTPUTS[goal] // along.stride
    if scratch_limit is not None:
        most = min(along.out_length, _MOST_OUTPUTS[Goal.BALANCED])
        while most > 2 and WORD_STEP * along.words(most) > scratch_limit:
            most -= 2 - most % 2
    parts = -(-along.out_length // most)
    even = -(-along.out_length // parts)
    return min(even + even % 2, along.out_length)


def _form(site: Site) -> Form | None:
    return scaled_form(requantization_task(site))


def depthwise_form(site: Site) -> Form:
    """The form that `accepts` has found to exist."""
    form = _form(site)
    assert form is not None
    return form


def _blocks(weights: Array, constants: Words) -> Words:
    """Four channels a row; the last four once more where channels are no multiple of four.

    `weights` are (lines, taps, channels); the loop reads a line's bytes as k1, k0, k2.
    """
    channels = weights.shape[2]
    first = [min(start, channels - 4) for start in range(0, channels, 4)]
    ordered = weights[:, [1, 0, 2]].transpose(2, 0, 1).astype(np.int8)
    rows = []
    for start in first:
        taps = np.ascontiguousarray(ordered[start : start + 4]).reshape(-1).view(np.int32)
        rows.append(np.concatenate([taps, constants[start : start + 4].reshape(-1)]))
    return np.stack(rows)


@kernel("depthwise_conv_2d.lines_dsp", DepthwiseConv2D)
class LinesDepthwise(Kernel):
    """3x3 without dilation, stride 1 or 2 along the lines; four channels at a time."""

    #: Of `work` on a Cortex-M4.
    _cycles: ClassVar[Mapping[str, float]] = {
        "call": 200.0, "fill": 20.0, "band": 330.0, "word": 16.8, "padded word": 26.7,
        "line out": 29.0,
        "pair floor 1": 29.7, "pair floor 2": 32.5, "pair literal 1": 44.2, "pair literal 2": 47.4,
    }  # fmt: skip

    def accepts(self, site: Site, target: Target) -> bool:
        if not (target.core.has_dsp and is_constant(site, 1, 2) and is_int8(site)):
            return False
        x, weights, _ = site.signature.inputs
        op = _op(site)
        suits = (
            weights.shape[1:3] == (3, 3)
            and op.dilations == (1, 1)
            and x.shape[3] == weights.shape[3]
            and x.shape[3] >= 4
            and line_axis(site) is not None
        )
        return suits and _form(site) is not None

    def cost(self, site: Site, target: Target) -> Cost:
        cycles = sum(self._cycles[name] * much for name, much in self.work(site, target).items())
        return Cost(
            cycles,
            _CODE_BYTES,
            self.flash_bytes(site, target),
            self.scratch_bytes(site, target),
            code_key=self.code_key(site, target),
            around="depthwise_3x3",
            around_bytes=_AROUND_BYTES,
        )

    def work(self, site: Site, target: Target) -> dict[str, float]:
        along, across = self._lines(site)
        form = _form(site)
        assert form is not None
        batches, *_, channels = site.signature.output.shape
        part = part_of(along, target.goal, site.scratch_limit)
        parts = batches * -(-along.out_length // part)
        blocks = parts * -(-channels // 4)
        bands, inside, outside = across.band_lines()
        words = along.words(part)
        lines = 4 * blocks * across.out_length
        pairs = part // 2 + _ODD_OUTPUT * (part % 2)
        return {
            "call": 1.0,
            "fill": parts * words,
            "band": blocks * bands,
            "word": blocks * inside * words,
            "padded word": blocks * outside * words if bands > 1 else 0,
            "line out": lines,
            f"pair {form.kind.value} {along.stride}": lines * pairs,
        }

    def flash_bytes(self, site: Site, target: Target) -> int:
        return 68 * -(-site.signature.output.shape[3] // 4)

    def scratch_bytes(self, site: Site, target: Target) -> int:
        along, _ = self._lines(site)
        return WORD_STEP * along.words(part_of(along, target.goal, site.scratch_limit))

    def code_key(self, site: Site, target: Target) -> str:
        form = _form(site)
        assert form is not None
        stride = self._lines(site)[0].stride
        return specialized("lines", f"stride {stride}", *form_facts(form))

    def generate(self, site: Site, target: Target) -> KernelCode:
        form = _form(site)
        assert form is not None
        weights = constant(site, 1)
        bound = accumulator_bound(site, weights.reshape(-1, weights.shape[3]).T, constant(site, 2))
        clamp_min, clamp_max = form.clamp or (-128, 127)
        along, across, columns = *self._lines(site), line_axis(site) == 0
        taps = weights_of(form, weights[0].transpose(1, 0, 2) if columns else weights[0])
        zero_point = site.signature.output.zero_point
        blocks = _blocks(taps, form_constants(form, zero_point))
        fields = (
            Field("along", Parameters("glowmcu_depthwise_axis", along.fields())),
            Field("across", Parameters("glowmcu_depthwise_axis", across.fields())),
            Field("rows_are_along", int(columns)),
            Field("part", part_of(along, target.goal, site.scratch_limit)),
            Field("channels", weights.shape[3]),
            Field("in_zero_point", site.signature.inputs[0].zero_point),
            *self.loop_fields(site, target),
            Field("clamp_min", clamp_min),
            Field("clamp_max", clamp_max),
            rounding_field(zero_point),
            Field("block_words", blocks.shape[1]),
            Field("blocks", ConstantArray("blocks", blocks, _BLOCKS)),
        )
        return KernelCode(
            function=self.code_key(site, target),
            operands=(0,),
            template=self.template(),
            view=self.view(site, target),
            parameters=Parameters("glowmcu_depthwise_3x3", fields),
            rows=site.signature.output.shape[1],
            batches=site.signature.output.shape[0],
            overlaps=self._overlaps(site, target),
            scratch_bytes=self.scratch_bytes(site, target),
            notes=(bound_note(site.node.macs, bound),),
        )

    def template(self) -> str:
        """The file that renders the function."""
        return "dsp/depthwise/depthwise_lines_dsp.c.j2"

    def view(self, site: Site, target: Target) -> dict[str, object]:
        """What the template needs."""
        shape = replace(self._shape(site), carried=target.core.dual_issue)
        return {
            "assembly": ordered(pass_assembly(shape), target, apart=("r0",)),
            "stride": shape.stride,
            "form": shape.kind.name,
            "postshift": shape.postshift,
            "headers": ("glowmcu_depthwise_conv_2d_dsp.h",),
        }

    def loop_fields(self, site: Site, target: Target) -> tuple[Field, ...]:
        """What the C around the loop must know of it."""
        shape = self._shape(site)
        return (
            Field("unrolled", shape.unrolled),
            Field("has_known_step", int(shape.out_step > 0)),
        )

    def _overlaps(self, site: Site, target: Target) -> Overlaps:
        """All of four channels, bands of lines after another; each line is read once."""
        along, across = self._lines(site)
        x, out = site.signature.inputs[0].shape, site.signature.output.shape
        is_whole = part_of(along, target.goal, site.scratch_limit) >= along.out_length
        if x[0] != 1 or x[3] % 4 or not is_whole:
            return {}
        band = (_LINES - 3) // across.stride + 1
        lines = np.arange(across.in_length) + across.pad_before
        used = (band - 1) * across.stride + 3
        # The first band that has the line among those under its outputs.
        read = np.maximum(-((used - 1 - lines) // (band * across.stride)), 0)
        written = np.arange(across.out_length) // band
        columns = line_axis(site) == 0
        return plane_overlaps(
            lines_of_pixels(read, x[1:3], columns),
            lines_of_pixels(written, out[1:3], columns),
            x[3],
        )

    @staticmethod
    def _lines(site: Site) -> tuple[Axis, Axis]:
        """The axis of the lines and the other one."""
        down, right = _axes(site)
        return (down, right) if line_axis(site) == 0 else (right, down)

    def _shape(self, site: Site) -> PassShape:
        form = _form(site)
        assert form is not None
        stride = self._lines(site)[0].stride
        return PassShape(stride, form.kind, form.postshift, form.clamp is not None)


@kernel("depthwise_conv_2d.lines_step_dsp", DepthwiseConv2D)
class LinesOfStepDepthwise(LinesDepthwise):
    """The same with a loop for one distance between outputs, which then needs no instructions."""

    _cycles: ClassVar[Mapping[str, float]] = {
        **LinesDepthwise._cycles,
        "pair floor 1": 28.3, "pair floor 2": 31.5, "pair literal 1": 42.1, "pair literal 2": 45.5,
    }  # fmt: skip

    def accepts(self, site: Site, target: Target) -> bool:
        return super().accepts(site, target) and self._lines(site)[0].out_step <= MOST_KNOWN_STEP

    def code_key(self, site: Site, target: Target) -> str:
        return f"{super().code_key(site, target)}, step {self._lines(site)[0].out_step}"

    def _shape(self, site: Site) -> PassShape:
        return replace(super()._shape(site), out_step=self._lines(site)[0].out_step)
