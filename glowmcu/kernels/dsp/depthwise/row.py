"""Depthwise 3x3 convolution a row at a time for cores with the DSP extension (Armv7E-M, Armv8-M).

No scratch, and next to nothing to set up for a row: `glowmcu_depthwise_row_dsp.h`. The
function is made for the image's width and channels.
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
from glowmcu.kernels.common.overlap import Overlaps, row_overlaps
from glowmcu.kernels.dsp.depthwise.forms import (
    Words,
    form_constants,
    form_facts,
    rounding_field,
    scaled_form,
    weights_of,
)
from glowmcu.kernels.dsp.depthwise.row_assembly import (
    LAST_WEIGHT,
    PACKED_WEIGHTS,
    instruction_count,
    is_within_reach,
    loop_rounds,
    row_assembly,
)
from glowmcu.kernels.dsp.depthwise.row_shape import RowShape
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

#: What the constant's comment says of it; see glowmcu_depthwise_row.h.
_BLOCKS = "8 weights, 2 constants a channel; then every ninth weight"
#: Bytes of the C around the assembly.
_AROUND_BYTES = 30
#: What an instruction loads at once.
_MOST_MULTIPLIER = 255
#: Of an instruction, on average.
INSTRUCTION_BYTES = 3.65


def depthwise_op(site: Site) -> DepthwiseConv2D:
    """The node's operator."""
    assert isinstance(site.node.op, DepthwiseConv2D)
    return site.node.op


def _form(site: Site) -> Form | None:
    return scaled_form(requantization_task(site))


def missing_rows(site: Site) -> list[tuple[int, int]]:
    """For each output row, how many rows of its window are above and below the image."""
    op, size = depthwise_op(site), site.signature.inputs[0].shape[1]
    tops = [oy * op.strides[0] - op.padding[0] for oy in range(site.signature.output.shape[1])]
    return [(max(-top, 0), max(top + 3 - size, 0)) for top in tops]


def _is_3x3(site: Site) -> bool:
    """A window within the image but for one row, and for columns beside it."""
    op, (x, weights, _) = depthwise_op(site), site.signature.inputs
    return (
        weights.shape[1:3] == (3, 3)
        and op.dilations == (1, 1)
        and op.strides[1] in (1, 2)
        and weights.shape[3] <= _MOST_MULTIPLIER * x.shape[3]
        and all(above + below < 2 for above, below in missing_rows(site))
    )


def row_shape(site: Site) -> RowShape:
    """What the function is made for; the form exists."""
    form, op = _form(site), depthwise_op(site)
    assert form is not None
    _, _, width, in_channels = site.signature.inputs[0].shape
    _, _, out_width, channels = site.signature.output.shape
    near = RowShape(
        width,
        out_width,
        channels,
        op.strides[1],
        op.padding[1],
        any(above + below for above, below in missing_rows(site)),
        form.kind,
        form.postshift,
        form.clamp is not None,
        multiplier=channels // in_channels,
    )
    return near if is_within_reach(near) else replace(near, is_far=True)


@cache
def _code_bytes(shape: RowShape) -> int:
    """Of the function."""
    return _AROUND_BYTES + round(INSTRUCTION_BYTES * instruction_count(row_assembly(shape)))


def _blocks(weights: Array, constants: Words) -> Words:
    """Four words a channel; then a byte each, to a whole word. `weights` are (rows, columns,
    channels).
    """
    packed = np.stack([weights[tap] for tap in PACKED_WEIGHTS], axis=1)
    words = np.concatenate([np.ascontiguousarray(packed).view(np.int32), constants], axis=1)
    last = weights[LAST_WEIGHT]
    return np.concatenate([words.reshape(-1), np.pad(last, (0, -len(last) % 4)).view(np.int32)])


@kernel("depthwise_conv_2d.row_dsp", DepthwiseConv2D)
class RowDepthwise(Kernel):
    """3x3 without dilation, stride 1 or 2 along rows; a channel of a row at a time."""

    #: Of `work` on a Cortex-M4.
    _cycles: ClassVar[Mapping[str, float]] = {
        "call": 60.0, "row": 30.0, "channel floor": 40.0, "channel literal": 48.0,
        "edge channel floor": 50.0, "edge channel literal": 58.0, "column": 5.0, "round": 6.0,
        "edge column": 4.0, "far column": 3.0, "output floor": 10.5, "output literal": 16.5,
        "edge output floor": 8.0, "edge output literal": 14.0,
    }  # fmt: skip

    def accepts(self, site: Site, target: Target) -> bool:
        known = target.core.has_dsp and is_constant(site, 1, 2) and is_int8(site)
        if not known or not _is_3x3(site) or _form(site) is None:
            return False
        return is_within_reach(row_shape(site))

    def cost(self, site: Site, target: Target) -> Cost:
        cycles = sum(self._cycles[name] * much for name, much in self.work(site, target).items())
        return Cost(
            cycles,
            self.code_bytes(site),
            self.flash_bytes(site, target),
            code_key=self.code_key(site, target),
        )

    def code_bytes(self, site: Site) -> int:
        """Of the function."""
        return _code_bytes(row_shape(site))

    def work(self, site: Site, target: Target) -> dict[str, float]:
        shape, out = row_shape(site), site.signature.output.shape
        edges = sum(above + below for above, below in missing_rows(site))
        kind = shape.kind.value
        rows, channels = out[0] * (out[1] - edges), out[3]
        edges *= out[0]
        columns = min(shape.width, (out[2] - 1) * shape.stride + 3 - shape.pad_left)
        far = {"far column": (rows + edges) * columns * channels} if shape.is_far else {}
        return far | {
            "call": 1.0,
            "row": rows + edges,
            f"channel {kind}": rows * channels,
            f"edge channel {kind}": edges * channels,
            "round": channels * (rows * loop_rounds(shape, 3) + edges * loop_rounds(shape, 2)),
            "column": rows * columns * channels,
            "edge column": edges * columns * channels,
            f"output {kind}": rows * out[2] * channels,
            f"edge output {kind}": edges * out[2] * channels,
        }

    def flash_bytes(self, site: Site, target: Target) -> int:
        channels = site.signature.output.shape[3]
        return 16 * channels + -(-channels // 4) * 4

    def code_key(self, site: Site, target: Target) -> str:
        return self.row_key(site, "row", "edges" * row_shape(site).has_edges)

    @staticmethod
    def row_key(site: Site, kind: str, edges: str, stride_y: str = "", how: str = "") -> str:
        """What tells functions of that kind apart; `stride_y`, as 2x, where it does."""
        form, shape = _form(site), row_shape(site)
        assert form is not None
        multiplied = f"x{shape.multiplier}" if shape.multiplier > 1 else ""
        return specialized(
            kind,
            f"{shape.width}x{shape.in_channels}{multiplied} values",
            f"to {shape.out_width} columns",
            how,
            f"stride {stride_y}{shape.stride}",
            f"pad {shape.pad_left}",
            edges,
            *form_facts(form),
        )

    def template(self) -> str:
        """The function's."""
        return "dsp/depthwise/depthwise_row_dsp.c.j2"

    def view(self, site: Site, target: Target) -> dict[str, object]:
        """What it needs."""
        shape = row_shape(site)
        return {
            "assembly": ordered(row_assembly(shape), target),
            "form": shape.kind.name,
            "postshift": shape.postshift,
            "pitch": shape.pitch,
            "multiplier": shape.multiplier,
            "headers": ("glowmcu_depthwise_row_dsp.h",),
        }

    def overlaps(self, site: Site) -> Overlaps:
        """What rows may overwrite."""
        return row_overlaps(depthwise_op(site), site.signature)

    def generate(self, site: Site, target: Target) -> KernelCode:
        form = _form(site)
        assert form is not None
        weights = constant(site, 1)
        bound = accumulator_bound(site, weights.reshape(-1, weights.shape[3]).T, constant(site, 2))
        out = site.signature.output
        blocks = _blocks(weights_of(form, weights[0]), form_constants(form, out.zero_point))
        return KernelCode(
            function=self.code_key(site, target),
            operands=(0,),
            template=self.template(),
            view=self.view(site, target),
            parameters=Parameters("glowmcu_depthwise_row", self._fields(site, form, blocks)),
            rows=out.shape[1],
            batches=out.shape[0],
            overlaps=self.overlaps(site),
            notes=(bound_note(site.node.macs, bound),),
        )

    @staticmethod
    def _fields(site: Site, form: Form, blocks: Words) -> tuple[Field, ...]:
        op, x, out = depthwise_op(site), site.signature.inputs[0], site.signature.output
        clamp_min, clamp_max = form.clamp or (-128, 127)
        return (
            Field("channels", out.shape[3]),
            Field(
                "in_zero_points",
                x.zero_point * 0x10000 + (x.zero_point & 0xFFFF),
                f"{x.zero_point} in both halves",
            ),
            rounding_field(out.zero_point),
            Field("clamp_min", clamp_min),
            Field("clamp_max", clamp_max),
            Field("blocks", ConstantArray("blocks", blocks, _BLOCKS)),
            Field("in_height", x.shape[1]),
            Field("in_width", x.shape[2]),
            Field("out_width", out.shape[2]),
            Field("stride_y", op.strides[0]),
            Field("stride_x", op.strides[1]),
            Field("pad_top", op.padding[0]),
            Field("pad_left", op.padding[1]),
        )
