"""Depthwise convolution of windows wider than three for cores with the DSP extension.

A channel at a time, from a copy of it in the scratch: `glowmcu_depthwise_copies_dsp.h`.
"""

from __future__ import annotations

from functools import cache

from glowmcu.ir.function_names import specialized
from glowmcu.ir.kernel_code import Overlap
from glowmcu.kernels.common.bounds import accumulator_bound, bound_note
from glowmcu.kernels.common.layer_fields import constant, is_constant, is_int8
from glowmcu.kernels.common.overlap import Overlaps
from glowmcu.kernels.dsp.depthwise.copies_assembly import OUTPUTS, CopiesShape, copies_assembly
from glowmcu.kernels.dsp.depthwise.forms import (
    form_constants,
    form_facts,
    rounding_field,
    weights_of,
)
from glowmcu.kernels.dsp.depthwise.row import INSTRUCTION_BYTES, depthwise_op
from glowmcu.kernels.dsp.depthwise.row_assembly import instruction_count
from glowmcu.kernels.dsp.depthwise.taps import taps_form
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
from glowmcu.kernels.requantization.forms import Form, FormKind
from glowmcu.ops.convolution import DepthwiseConv2D

#: Widths whose words of a row the registers hold, and the most taps that are unrolled.
_WIDTHS, _MOST_TAPS = (5, 7, 9), 81
#: Bytes of the C around the assembly; words behind the weights.
_AROUND_BYTES, _FINISH_WORDS = 700, 7
#: Of `work` on a Cortex-M4.
_CYCLES = {
    "call": 200.0, "channel": 120.0, "tap": 9.0, "copied row": 20.0, "copied": 5.0, "row": 14.0,
    "floor": 54.0, "literal": 74.0, "window row": 7.0, "product": 1.75,
}  # fmt: skip


def _shape(site: Site) -> CopiesShape:
    _, height, width, _ = site.signature.inputs[1].shape
    return CopiesShape((height, width), depthwise_op(site).strides[1])


def _groups(site: Site) -> int:
    """Results of a row, four at a time."""
    return -(-site.signature.output.shape[2] // OUTPUTS)


def _pitch(site: Site) -> int:
    """Elements of a row of the copy: what the last four windows read."""
    shape = _shape(site)
    return (_groups(site) - 1) * OUTPUTS * shape.stride + 2 * shape.input_words


def _copied_rows(site: Site) -> int:
    rows, height = site.signature.output.shape[1], site.signature.inputs[1].shape[1]
    return (rows - 1) * depthwise_op(site).strides[0] + height


def _form(site: Site) -> Form:
    form = taps_form(site)
    assert form is not None
    return form


@cache
def _code_bytes(shape: CopiesShape, form: Form) -> int:
    """Of the function and what calls it."""
    count = instruction_count(copies_assembly(shape, form))
    return _AROUND_BYTES + round(INSTRUCTION_BYTES * count)


@kernel("depthwise_conv_2d.copies_dsp", DepthwiseConv2D)
class CopiesDepthwise(Kernel):
    """Windows of 5, 7 or 9 columns without dilation, stride 1 or 2 along rows; a copied channel at
    a time.
    """

    def accepts(self, site: Site, target: Target) -> bool:
        known = target.core.has_dsp and is_constant(site, 1, 2) and is_int8(site)
        if not known or target.core.has_mve:
            return False
        op, (_, height, width, _) = depthwise_op(site), site.signature.inputs[1].shape
        is_known = op.dilations == (1, 1) and op.strides[1] in (1, 2)
        is_few = width in _WIDTHS and height * width <= _MOST_TAPS
        return is_known and is_few and taps_form(site) is not None

    def cost(self, site: Site, target: Target) -> Cost:
        cycles = sum(_CYCLES[name] * much for name, much in self.work(site, target).items())
        return Cost(
            cycles,
            _code_bytes(_shape(site), _form(site)),
            self.flash_bytes(site, target),
            self.scratch_bytes(site, target),
            code_key=self.code_key(site, target),
        )

    def work(self, site: Site, target: Target) -> dict[str, float]:
        shape, form, out = _shape(site), _form(site), site.signature.output.shape
        x, (height, width) = site.signature.inputs[0].shape, shape.kernel
        planes, rows = out[0] * out[3], out[1]
        groups = planes * rows * _groups(site)
        return {
            "call": out[0],
            "channel": planes,
            "tap": planes * height * width,
            "copied row": planes * min(x[1], _copied_rows(site)),
            "copied": planes * min(x[1], _copied_rows(site)) * x[2],
            "row": planes * rows,
            form.kind.value: groups,
            "window row": groups * height,
            "product": groups * height * shape.products,
        }

    def flash_bytes(self, site: Site, target: Target) -> int:
        _, height, width, channels = site.signature.inputs[1].shape
        return channels * (height * width + 8)

    def scratch_bytes(self, site: Site, target: Target) -> int:
        shape = _shape(site)
        words = shape.kernel[0] * (shape.weight_words + 1) + _FINISH_WORDS
        return 4 * words + 2 * _copied_rows(site) * _pitch(site)

    def code_key(self, site: Site, target: Target) -> str:
        shape = _shape(site)
        height, width = shape.kernel
        return specialized(
            "copies", f"{height}x{width} taps", f"stride {shape.stride}", *form_facts(_form(site))
        )

    def generate(self, site: Site, target: Target) -> KernelCode:
        form, out = _form(site), site.signature.output
        taps = constant(site, 1)[0].reshape(-1, out.shape[3])
        bound = accumulator_bound(site, taps.T, constant(site, 2))
        return KernelCode(
            function=self.code_key(site, target),
            operands=(0,),
            template="dsp/depthwise/depthwise_copies_dsp.c.j2",
            view={
                "assembly": ordered(copies_assembly(_shape(site), form), target),
                "form": form.kind.name,
                "preshift": form.preshift,
                "postshift": form.postshift,
                "headers": ("glowmcu_depthwise_copies_dsp.h",),
            },
            parameters=Parameters("glowmcu_depthwise_copies", _fields(site, form)),
            rows=out.shape[1],
            batches=out.shape[0],
            overlaps=_overlaps(site),
            scratch_bytes=self.scratch_bytes(site, target),
            notes=(bound_note(site.node.macs, bound),),
        )


def _fields(site: Site, form: Form) -> tuple[Field, ...]:
    op, x, out = depthwise_op(site), site.signature.inputs[0], site.signature.output
    (height, width), pitch = _shape(site).kernel, _pitch(site)
    step = 2 * OUTPUTS * op.strides[1]
    clamp_min, clamp_max = form.clamp or (-128, 127)
    weights = weights_of(form, constant(site, 1)[0].reshape(-1, out.shape[3])).T
    return (
        Field("out_width", out.shape[2]),
        Field("next", step - 2 * height * pitch),
        Field("down", 2 * op.strides[0] * pitch - _groups(site) * step),
        Field("pitch", pitch),
        Field("in_height", x.shape[1]),
        Field("in_width", x.shape[2]),
        Field("in_channels", x.shape[3]),
        Field("depth_multiplier", out.shape[3] // x.shape[3]),
        Field("kernel_height", height),
        Field("kernel_width", width),
        Field("stride_y", op.strides[0]),
        Field("stride_x", op.strides[1]),
        Field("pad_top", op.padding[0]),
        Field("pad_left", op.padding[1]),
        Field("in_zero_point", x.zero_point),
        rounding_field(out.zero_point),
        Field("shift_bits", 5 if form.kind is FormKind.LITERAL else 0),
        Field("clamp_min", clamp_min),
        Field("clamp_max", clamp_max),
        Field("weights", ConstantArray("weights", weights, "channels, then taps")),
        Field(
            "constants",
            ConstantArray("constants", form_constants(form, out.zero_point), "two a channel"),
        ),
    )


def _overlaps(site: Site) -> Overlaps:
    """In place: a channel is read before it is written, and no other meets it."""
    x, out = site.signature.inputs[0].shape, site.signature.output.shape
    if x[0] != 1 or x[3] != out[3]:
        return {}
    return {0: Overlap(None, only_gap_bytes=0)}
