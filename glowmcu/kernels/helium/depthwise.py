"""depthwise_conv_2d on cores with Helium, eight channels at a time.

See glowmcu_depthwise_pairs_mve.h and glowmcu_depthwise_strided_mve.h for windows three pixels wide,
one and two pixels apart, glowmcu_depthwise_taps_mve.h for windows of any width, and
glowmcu_depthwise_conv_2d_mve.h for dilated ones, large windows and single columns of results.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from glowmcu.ir.types import ElementType
from glowmcu.ir.value_range import Int64Array
from glowmcu.kernels.common.bounds import accumulator_bound, bound_note
from glowmcu.kernels.common.layer_fields import constant, is_constant, is_int8, is_padded
from glowmcu.kernels.common.overlap import (
    Overlaps,
    ahead_overlaps,
    block_overlaps,
    channel_overlaps,
    first_pixels,
    least_gap,
    pixel_blocks,
)
from glowmcu.kernels.common.window_work import window_work
from glowmcu.kernels.helium.scale import ScaleMve, scale_mve, vector_form
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

_LANES = 8
#: As many as libjit's GLOWMCU_DEPTHWISE_PAIRS_ROWS.
_MOST_ROWS = 8


def eights(channels: int) -> Int64Array:
    """Channels of each vector, (vectors, 8); the last ones may overlap."""
    starts = [*range(0, channels - _LANES + 1, _LANES)]
    if channels % _LANES:
        starts.append(channels - _LANES)
    return np.array(starts)[:, np.newaxis] + np.arange(_LANES)


def depthwise_stream(weights: npt.NDArray[np.int8], scale: ScaleMve) -> npt.NDArray[np.int32]:
    """Weights (taps, channels) and constants as the C walks them."""
    lanes = eights(weights.shape[1])
    packed = np.ascontiguousarray(weights[:, lanes].transpose(1, 0, 2))
    words = packed.reshape(len(lanes), -1).view("<i4")
    even_odd = np.concatenate([lanes[:, 0::2], lanes[:, 1::2]], axis=1)
    constants = scale.constants[:, even_odd].transpose(1, 0, 2).reshape(len(lanes), -1)
    return np.concatenate([words, constants], axis=1).astype(np.int32).reshape(-1)


class _VectorDepthwise(Kernel):
    """What both kernels share."""

    #: Whether sums are of x less its zero point; else the form makes up for it.
    subtracts_zero_point: ClassVar[bool]
    code_bytes: ClassVar[int]
    cycles: ClassVar[Mapping[str, float]]

    def accepts(self, site: Site, target: Target) -> bool:
        x, out = site.signature.inputs[0], site.signature.output
        if not (target.core.has_mve and is_constant(site, 1, 2) and is_int8(site)):
            return False
        is_plain = x.element is ElementType.I8 and x.shape[3] == out.shape[3] >= _LANES
        return is_plain and self._found_form(site) is not None

    def flash_bytes(self, site: Site, target: Target) -> int:
        weights = constant(site, 1)
        taps = weights[..., 0].size
        vectors = len(eights(weights.shape[-1]))
        return vectors * _LANES * (taps + 4 * len(scale_mve(self.form(site)).constants))

    def cost(self, site: Site, target: Target) -> Cost:
        return Cost(
            sum(self.cycles[name] * amount for name, amount in self.work(site, target).items()),
            self.code_bytes,
            self.flash_bytes(site, target),
            self.scratch_bytes(site, target),
        )

    def overlaps(self, site: Site) -> Overlaps:
        """How far the result may reach into the operand."""
        raise AssertionError(f"{type(self).__name__} does not say")

    def form(self, site: Site) -> Form:
        found = self._found_form(site)
        assert found is not None
        return found

    def _found_form(self, site: Site) -> Form | None:
        task = requantization_task(site)
        if self.subtracts_zero_point:
            task = replace(task, offset=np.zeros_like(task.offset))
        return vector_form(task)

    def code(self, site: Site, struct: str, fields: Mapping[str, int], scratch: int) -> KernelCode:
        """A call; the struct has `fields` around the scale and the stream."""
        weights, out = constant(site, 1).astype(np.int8), site.signature.output
        taps = weights.reshape(-1, out.shape[3])
        bound = accumulator_bound(site, taps.T, constant(site, 2))
        scale = scale_mve(self.form(site))
        stream = ConstantArray(
            "stream", depthwise_stream(taps, scale), "weights and scales, 8 channels a group"
        )
        head = (
            Field("channels", out.shape[3]),
            Field("kernel_height", weights.shape[1]),
            Field("scale", scale.parameters),
            Field("stream", stream),
        )
        return KernelCode(
            function=f"{struct}_s8",
            operands=(0,),
            header=f"{struct}.h",
            parameters=Parameters(struct, (*head, *(Field(*item) for item in fields.items()))),
            rows=out.shape[1],
            batches=out.shape[0],
            overlaps=self.overlaps(site),
            scratch_bytes=scratch,
            notes=(bound_note(site.node.macs, bound),),
        )


@kernel("depthwise_conv_2d.mve", DepthwiseConv2D)
class VectorDepthwiseConv2D(_VectorDepthwise):
    """One pixel at a time over the taps that are inside the image."""

    subtracts_zero_point = True
    code_bytes = 800
    cycles: ClassVar[Mapping[str, float]] = {
        "tap": 9.0,
        "row": 5.0,
        "eight_floor": 30.0,
        "eight_literal": 45.0,
        "pixel": 20.0,
    }

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        op = site.node.op
        assert isinstance(op, DepthwiseConv2D)
        work = window_work(op, site.signature, site.signature.inputs[1].shape[1:3])
        vectors = len(eights(site.signature.output.shape[3]))
        return {
            "tap": work.taps * vectors,
            "row": work.rows * vectors,
            f"eight_{self.form(site).kind.value}": work.pixels * vectors,
            "pixel": work.pixels,
        }

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, x, out = site.node.op, site.signature.inputs[0], site.signature.output
        assert isinstance(op, DepthwiseConv2D)
        fields = {
            "kernel_width": constant(site, 1).shape[2],
            "in_height": x.shape[1],
            "in_width": x.shape[2],
            "out_width": out.shape[2],
            "stride_y": op.strides[0],
            "stride_x": op.strides[1],
            "dilation_y": op.dilations[0],
            "dilation_x": op.dilations[1],
            "pad_top": op.padding[0],
            "pad_left": op.padding[1],
            "in_zero_point": x.zero_point,
        }
        return self.code(site, "glowmcu_depthwise_conv_2d_mve", fields, 0)

    def overlaps(self, site: Site) -> Overlaps:
        op, kernel = site.node.op, site.signature.inputs[1].shape[1:3]
        assert isinstance(op, DepthwiseConv2D)
        return channel_overlaps(op, site.signature, kernel, _LANES)


class _PairsDepthwise(_VectorDepthwise):
    """Two pixels at a time from rows that lie in scratch with their padding."""

    function: ClassVar[str]
    subtracts_zero_point = False
    code_bytes = 900

    def accepts(self, site: Site, target: Target) -> bool:
        op, weights = site.node.op, site.signature.inputs[1].shape
        assert isinstance(op, DepthwiseConv2D)
        fits = weights[1] <= _MOST_ROWS and site.signature.output.shape[2] >= 2
        return fits and op.dilations == (1, 1) and super().accepts(site, target)

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        weights, (batch, height, width, channels) = (
            site.signature.inputs[1].shape,
            site.signature.output.shape,
        )
        pairs = batch * height * -(-width // 2)
        vectors = len(eights(channels))
        rows = batch * max(height, site.signature.inputs[0].shape[1])
        return {
            "pair_row": pairs * vectors * weights[1],
            f"pair_{self.form(site).kind.value}": pairs * vectors,
            "pair": pairs,
            "value": rows * self.row_pixels(site) * channels if is_padded(site) else 0,
            "row": rows,
        }

    def scratch_bytes(self, site: Site, target: Target) -> int:
        channels, height = site.signature.output.shape[3], site.signature.inputs[1].shape[1]
        # A pointer is handed over even where nothing is padded.
        return height * self.row_pixels(site) * channels if is_padded(site) else 4

    def row_pixels(self, site: Site) -> int:
        """Of the input under a row of results."""
        op = site.node.op
        assert isinstance(op, DepthwiseConv2D)
        out_width, kernel_width = site.signature.output.shape[2], site.signature.inputs[1].shape[2]
        return (out_width - 1) * op.strides[1] + kernel_width

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, x, out = site.node.op, site.signature.inputs[0], site.signature.output
        assert isinstance(op, DepthwiseConv2D)
        fields = {
            "in_height": x.shape[1],
            "in_width": x.shape[2],
            "out_width": out.shape[2],
            "stride_y": op.strides[0],
            "stride_x": op.strides[1],
            "row_pixels": self.row_pixels(site),
            "pad_top": op.padding[0],
            "pad_left": op.padding[1],
            "is_padded": int(is_padded(site)),
            "in_zero_point": x.zero_point,
            "kernel_width": site.signature.inputs[1].shape[2],
        }
        scratch = self.scratch_bytes(site, target)
        code = self.code(site, "glowmcu_depthwise_pairs_mve", fields, scratch)
        return replace(code, function=f"{self.function}_s8", header=f"{self.function}.h")

    def overlaps(self, site: Site) -> Overlaps:
        """Padded rows are copied first; others are read by pairs, a row's last pixels twice."""
        op, signature = site.node.op, site.signature
        assert isinstance(op, DepthwiseConv2D)
        if is_padded(site):
            return ahead_overlaps(op, signature, rows_at_once=1)
        first, columns = (
            first_pixels(op, signature, signature.inputs[1].shape[1:3]),
            (signature.output.shape[2]),
        )
        blocks = pixel_blocks(len(first), 2, row=columns, shifted=True)
        found = block_overlaps(signature, first, blocks, reads_first=False)
        if not found or columns % 2 or signature.output.shape[3] % _LANES:
            return found  # something is computed again
        # A pair writes channels that nothing reads any more, if no later pair reads its pixels.
        needed = np.array([first[start:end].min() for start, end in blocks], np.int64)
        gap = least_gap(blocks[:, 1], needed, len(first), reads_first=True)
        return {0: replace(found[0], only_gap_bytes=0)} if gap <= 0 else found


class _ThreeWideDepthwise(_PairsDepthwise):
    """Windows of width 3, whose columns are read once for both pixels."""

    stride: ClassVar[int]
    cycles: ClassVar[Mapping[str, float]] = {
        "pair_row": 37.0,
        "pair_floor": 40.0,
        "pair_literal": 60.0,
        "pair": 25.0,
        "value": 0.25,
        "row": 80.0,
    }

    def accepts(self, site: Site, target: Target) -> bool:
        op, weights = site.node.op, site.signature.inputs[1].shape
        assert isinstance(op, DepthwiseConv2D)
        is_three_wide = weights[2] == 3 and op.strides[1] == self.stride
        return is_three_wide and super().accepts(site, target)


@kernel("depthwise_conv_2d.pairs_mve", DepthwiseConv2D)
class PairsDepthwiseConv2D(_ThreeWideDepthwise):
    """Windows of width 3 that overlap."""

    stride = 1
    function = "glowmcu_depthwise_pairs_mve"


@kernel("depthwise_conv_2d.strided_mve", DepthwiseConv2D)
class StridedPairsDepthwiseConv2D(_ThreeWideDepthwise):
    """Windows of width 3 that are two pixels apart and share a column."""

    stride = 2
    function = "glowmcu_depthwise_strided_mve"


@kernel("depthwise_conv_2d.taps_mve", DepthwiseConv2D)
class TapsDepthwiseConv2D(_PairsDepthwise):
    """Windows of any width and any step."""

    function = "glowmcu_depthwise_taps_mve"
    cycles: ClassVar[Mapping[str, float]] = {
        "pair_tap": 14.0,
        "pair_row": 8.0,
        "pair_floor": 40.0,
        "pair_literal": 60.0,
        "pair": 30.0,
        "value": 0.25,
        "row": 80.0,
    }

    def accepts(self, site: Site, target: Target) -> bool:
        op = site.node.op
        assert isinstance(op, DepthwiseConv2D)
        # The two above compute three columns faster, which in a row alone is little: there the
        # function is shared with wider windows, as models of sound have them.
        _, height, width, _ = site.signature.inputs[1].shape
        is_theirs = width == 3 and height > 1 and op.strides[1] <= 2
        return not is_theirs and super().accepts(site, target)

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        work = super().work(site, target)
        return {**work, "pair_tap": work["pair_row"] * site.signature.inputs[1].shape[2]}
