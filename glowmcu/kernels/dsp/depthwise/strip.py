"""Depthwise convolution along one axis for cores with the DSP extension (Armv7E-M, Armv8-M).

Windows of one row or one column, as audio models have: two outputs of a channel from the same words
of two neighbours, straight from the image, `glowmcu_depthwise_strip_dsp.h`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import ClassVar

import numpy as np

from glowmcu.ir.function_names import specialized
from glowmcu.ir.operation import Array
from glowmcu.kernels.common.bounds import accumulator_bound, bound_note
from glowmcu.kernels.common.layer_fields import constant, is_constant, is_int8
from glowmcu.kernels.common.overlap import Overlaps, plane_overlaps
from glowmcu.kernels.dsp.depthwise.forms import Words, first_form, form_facts
from glowmcu.kernels.dsp.depthwise.row import INSTRUCTION_BYTES
from glowmcu.kernels.dsp.depthwise.row_assembly import instruction_count
from glowmcu.kernels.dsp.depthwise.strip_assembly import MOST_OFFSET, MOST_RESIDENT, StripShape
from glowmcu.kernels.dsp.depthwise.strip_resident import resident_assembly
from glowmcu.kernels.dsp.depthwise.strip_streamed import streamed_assembly
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
from glowmcu.kernels.requantization.forms import Form, FormKind, requantization_task
from glowmcu.ops.convolution import DepthwiseConv2D

#: What the constant's comment says of it; see glowmcu_depthwise_strip_dsp.h.
_BLOCKS = "constants, then pairs of weights, a channel after another"
#: Most taps that a function is unrolled for.
_MOST_TAPS = 64
#: How sums become int8, the shortest first.
KINDS = tuple(FormKind)
#: Of the C around the loop.
_AROUND_BYTES = 500
#: Channels of a copied line.
_GATHERED = 4
#: Most outputs at once of those that make no round, where weights are loaded for several.
_MOST_REST = 4


def _op(site: Site) -> DepthwiseConv2D:
    assert isinstance(site.node.op, DepthwiseConv2D)
    return site.node.op


def strip_axis(site: Site) -> int | None:
    """The axis of a window of one row or column (0: a column); None for other windows."""
    op, (x, weights, _) = _op(site), site.signature.inputs
    if x.shape[3] != weights.shape[3] or x.shape[3] < _GATHERED:
        return None
    for axis in (0, 1):
        other = 1 - axis
        suits = (
            1 < weights.shape[1 + axis] <= _MOST_TAPS
            and weights.shape[1 + other] == 1
            and op.strides[axis] == op.dilations[axis] == 1
            and op.padding[other] == op.padding[other + 2] == 0
        )
        if suits:
            return axis
    return None


def _form(site: Site) -> Form | None:
    return first_form(requantization_task(site), KINDS)


def _known_form(site: Site) -> Form:
    """What `accepts` has found to exist."""
    form = _form(site)
    assert form is not None
    return form


def _is_padded(site: Site) -> bool:
    op, axis = _op(site), strip_axis(site)
    assert axis is not None
    return op.padding[axis] > 0 or op.padding[axis + 2] > 0


def _shape(site: Site, target: Target, form: Form) -> StripShape:
    """What the function is made for; what is too far apart for it is copied, too."""
    axis = strip_axis(site)
    assert axis is not None
    taps = site.signature.inputs[1].shape[1 + axis]
    sizes = (site.signature.inputs[0].shape, site.signature.output.shape)
    in_step, out_step = (size[3] * (size[2] if axis == 0 else 1) for size in sizes)
    shape = StripShape(
        taps,
        in_step,
        out_step,
        form.kind,
        form.preshift,
        form.postshift,
        form.clamp is not None,
        taps <= MOST_RESIDENT and not target.core.dual_issue,
    )
    if shape.reaches_in and not _is_padded(site):
        return shape
    return replace(shape, in_step=_GATHERED, is_gathered=True)


@cache
def _assembly(shape: StripShape) -> tuple[str, ...]:
    return resident_assembly(shape) if shape.is_resident else streamed_assembly(shape)


def _overlaps(site: Site, shape: StripShape) -> Overlaps:
    """Of a channel a line after another: an output is made after what it reads, or after all of a
    line that is copied.
    """
    op, axis = _op(site), strip_axis(site)
    assert axis is not None
    x, out = site.signature.inputs[0].shape, site.signature.output.shape
    if x[0] != 1:
        return {}
    stride = op.strides[1 - axis]
    outputs = 1 if shape.is_gathered else out[1 + axis]
    # Lines between those under an output are read by nobody, nor is what lies behind the last one.
    lines = np.arange(x[2 - axis])
    turns = np.minimum(np.arange(x[1 + axis]), outputs - 1)
    read = np.where(lines % stride == 0, lines // stride * outputs, -1)[:, np.newaxis] + turns
    written = np.arange(out[2 - axis])[:, np.newaxis] * outputs
    written = written + np.minimum(np.arange(out[1 + axis]), outputs - 1)
    if axis == 0:
        read, written = read.T, written.T
    return plane_overlaps(read.reshape(-1), written.reshape(-1), x[3])


def _constants(form: Form) -> Words:
    """Of each channel."""
    columns = {
        FormKind.FLOOR: (form.addend, form.multiplier),
        FormKind.TWO_SIDED: (form.start, form.addend, form.multiplier, form.step),
        FormKind.LITERAL: (form.start, form.step, form.multiplier, form.shifts),
    }
    return np.stack(columns[form.kind], axis=1).astype(np.int32)


def _blocks(weights: Array, constants: Words) -> Words:
    """A row for each channel: bytes k[j], k[j + 1], k[j + 1], k[j + 2] make a word of weights, for
    even j. `weights` are (taps, channels).
    """
    taps, channels = weights.shape
    padded = np.zeros((channels, taps + 1), np.int8)
    padded[:, :taps] = weights.T
    first = np.arange(0, taps - 1, 2)
    packed = np.stack([padded[:, first + tap] for tap in (0, 1, 1, 2)], axis=2)
    return np.concatenate([constants, packed.reshape(channels, -1).view(np.int32)], axis=1)


@kernel("depthwise_conv_2d.strip_dsp", DepthwiseConv2D)
class StripDepthwise(Kernel):
    """Window of one row or column, stride 1 along it; a channel of a line at a time."""

    #: Of `work` on a Cortex-M4.
    _cycles: ClassVar[Mapping[str, float]] = {
        "call": 175.0, "line": 40.0, "gathered": 7.0, "channel": 40.0, "output floor": 7.5,
        "output": 9.0, "product": 0.6, "rest": 5.0, "round": 16.0, "pair of taps": 12.5,
    }  # fmt: skip

    def accepts(self, site: Site, target: Target) -> bool:
        known = target.core.has_dsp and is_constant(site, 1, 2) and is_int8(site)
        if not known or strip_axis(site) is None:
            return False
        form = _form(site)
        return form is not None and _shape(site, target, form).out_step <= MOST_OFFSET

    def cost(self, site: Site, target: Target) -> Cost:
        shape = _shape(site, target, _known_form(site))
        cycles = sum(self._cycles[name] * much for name, much in self.work(site, target).items())
        return Cost(
            cycles,
            round(INSTRUCTION_BYTES * instruction_count(_assembly(shape))),
            self.flash_bytes(site, target),
            self.scratch_bytes(site, target),
            code_key=self.code_key(site, target),
            around="depthwise_strip",
            around_bytes=_AROUND_BYTES,
        )

    def work(self, site: Site, target: Target) -> dict[str, float]:
        shape = _shape(site, target, _known_form(site))
        out = site.signature.output.shape
        outputs, lines = self._sizes(site)
        calls = out[0] * lines * (-(-out[3] // _GATHERED) if shape.is_gathered else 1)
        channels = out[0] * lines * out[3]
        rounds, rest = divmod(outputs, shape.outputs)
        found = {
            "call": 1.0,
            "line": calls,
            "channel": channels,
            "gathered": calls * (outputs + shape.taps - 1) * shape.is_gathered,
            "output" if shape.has_start else "output floor": channels * outputs,
        }
        if shape.is_resident:
            return found | {
                "product": channels * outputs * shape.taps,
                "rest": channels * rest,
            }
        rounds += -(-rest // _MOST_REST)
        return found | {"round": channels * rounds, "pair of taps": channels * rounds * shape.half}

    def flash_bytes(self, site: Site, target: Target) -> int:
        shape = _shape(site, target, _known_form(site))
        return 4 * site.signature.output.shape[3] * (shape.half + shape.constants)

    def scratch_bytes(self, site: Site, target: Target) -> int:
        shape = _shape(site, target, _known_form(site))
        return _GATHERED * (self._sizes(site)[0] + shape.taps - 1) * shape.is_gathered

    def code_key(self, site: Site, target: Target) -> str:
        form = _known_form(site)
        shape = _shape(site, target, form)
        read = "gathered" if shape.is_gathered else f"{shape.in_step} apart"
        steps = (f"{shape.taps} taps", read, f"to {shape.out_step} apart")
        return specialized("strip", *steps, *form_facts(form))

    def generate(self, site: Site, target: Target) -> KernelCode:
        form = _known_form(site)
        shape, weights = _shape(site, target, form), constant(site, 1)
        bound = accumulator_bound(site, weights.reshape(-1, weights.shape[3]).T, constant(site, 2))
        return KernelCode(
            function=self.code_key(site, target),
            operands=(0,),
            template="dsp/depthwise/depthwise_strip_dsp.c.j2",
            view={
                "assembly": ordered(_assembly(shape), target),
                "shape": shape,
                "form": shape.kind.name,
                "headers": ("glowmcu_depthwise_strip_dsp.h",),
            },
            parameters=Parameters("glowmcu_depthwise_strips", self._fields(site, form, shape)),
            rows=site.signature.output.shape[1],
            batches=site.signature.output.shape[0],
            overlaps=_overlaps(site, shape),
            scratch_bytes=self.scratch_bytes(site, target),
            notes=(bound_note(site.node.macs, bound),),
        )

    def _fields(self, site: Site, form: Form, shape: StripShape) -> tuple[Field, ...]:
        op, axis = _op(site), strip_axis(site)
        assert axis is not None
        x, out = site.signature.inputs[0].shape, site.signature.output.shape
        outputs, lines = self._sizes(site)
        in_steps, out_steps = (x[2] * x[3], x[3]), (out[2] * out[3], out[3])
        clamp_min, clamp_max = form.clamp or (-128, 127)
        weights = constant(site, 1)
        blocks = _blocks(weights.reshape(-1, weights.shape[3]), _constants(form))
        line = (
            Field("outputs", outputs),
            Field("channels", x[3]),
            Field("clamp_min", clamp_min),
            Field("clamp_max", clamp_max),
        )
        return (
            Field("line", Parameters("glowmcu_depthwise_line", line)),
            Field("rows_are_along", int(axis == 0)),
            Field("in_length", x[1 + axis]),
            Field("in_step", in_steps[axis]),
            Field("pad_before", op.padding[axis]),
            Field("taps", shape.taps),
            Field("in_line_step", in_steps[1 - axis] * op.strides[1 - axis]),
            Field("out_line_step", out_steps[1 - axis]),
            Field("lines", lines),
            Field("in_zero_point", site.signature.inputs[0].zero_point),
            Field("channel_words", blocks.shape[1]),
            Field("blocks", ConstantArray("blocks", blocks, _BLOCKS)),
        )

    @staticmethod
    def _sizes(site: Site) -> tuple[int, int]:
        """Outputs of a line, lines."""
        axis = strip_axis(site)
        assert axis is not None
        out = site.signature.output.shape
        return out[1 + axis], out[2 - axis]
