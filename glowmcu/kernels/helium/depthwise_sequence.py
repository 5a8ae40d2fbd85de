"""depthwise_conv_2d on cores with Helium, a vector sixteen pixels of a channel.

A window of up to thirteen pixels of a row is one VMLADAV.S8 a result, and four results are made of
a vector, at the price of an interleaved copy of the row, a gathered load and a scattered store for
each four. All constants are a channel's, in general-purpose registers, which makes literal
requantization six instructions: see glowmcu_depthwise_sequence_mve.h.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from glowmcu.kernels.common.bounds import accumulator_bound, bound_note
from glowmcu.kernels.common.layer_fields import constant, is_constant, is_int8
from glowmcu.kernels.common.overlap import (
    Overlaps,
    block_overlaps,
    first_pixels,
    pixel_blocks,
    plane_overlaps,
)
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
from glowmcu.kernels.requantization.forms import Form, literal_form, requantization_task
from glowmcu.ops.convolution import DepthwiseConv2D

#: Bytes of a vector, of the interleaved words of four pixels, and results of a vector.
_LANES, _BLOCK, _FOUR = 16, 64, 4
_MOST_SPAN = _LANES - _FOUR + 1
_STRUCT = "glowmcu_depthwise_sequence_mve"


def _op(site: Site) -> DepthwiseConv2D:
    assert isinstance(site.node.op, DepthwiseConv2D)
    return site.node.op


def sequence_stream(
    weights: npt.NDArray[np.int8], dilation: int, form: Form
) -> npt.NDArray[np.int32]:
    """Weights (taps, channels) and constants as the C walks them."""
    taps, channels = weights.shape
    windows = np.zeros((channels, _LANES), np.int8)
    windows[:, : (taps - 1) * dilation + 1 : dilation] = weights.T
    constants = np.stack([form.start, form.multiplier, form.step, -form.shifts], axis=1)
    parts = [np.zeros(1), windows.view("<i4").reshape(-1), constants.reshape(-1), np.zeros(4)]
    return np.concatenate([part.astype(np.int32) for part in parts])


@kernel("depthwise_conv_2d.sequence_mve", DepthwiseConv2D)
class SequenceDepthwiseConv2D(Kernel):
    """Windows one pixel high that move pixel by pixel; the literal form within int8."""

    code_bytes: ClassVar[int] = 700
    #: Rows are computed one by one in any case.
    row_slowdown: ClassVar[float] = 1.0
    cycles: ClassVar[Mapping[str, float]] = {
        "four": 16.0,
        "channel": 20.0,
        "block": 18.0,
        "edge": 50.0,
        "group": 200.0,
    }

    def accepts(self, site: Site, target: Target) -> bool:
        if not (target.core.has_mve and is_constant(site, 1, 2) and is_int8(site)):
            return False
        x, out = site.signature.inputs[0].shape, site.signature.output.shape
        op, height = _op(site), site.signature.inputs[1].shape[1]
        # No row of windows is above or below the image.
        fits = height == 1 and op.padding[0] == 0 and (out[1] - 1) * op.strides[0] < x[1]
        fits = fits and op.strides[1] == 1 and self._span(site) <= _MOST_SPAN
        return fits and x[3] == out[3] >= _LANES and self._found_form(site) is not None

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        batch, height, width, channels = site.signature.output.shape
        rows, groups = batch * height, -(-channels // _LANES)
        pixels = width + self._span(site) - 1
        first = np.arange(0, pixels, _FOUR) - _op(site).padding[1]
        last = first + _FOUR - 1
        edges = (first < 0) | (last >= site.signature.inputs[0].shape[2])
        return {
            "four": rows * channels * self._fours(site),
            "channel": rows * channels,
            "block": rows * groups * first.size,
            "edge": rows * groups * int(edges.sum()),
            "group": rows * groups,
        }

    def cost(self, site: Site, target: Target) -> Cost:
        return Cost(
            sum(self.cycles[name] * amount for name, amount in self.work(site, target).items()),
            self.code_bytes,
            self.flash_bytes(site, target),
            self.scratch_bytes(site, target),
        )

    def flash_bytes(self, site: Site, target: Target) -> int:
        return 2 * _LANES * site.signature.output.shape[3] + 20

    def scratch_bytes(self, site: Site, target: Target) -> int:
        return self._words_bytes(site) + _LANES

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, x, out = _op(site), site.signature.inputs[0], site.signature.output
        weights, form = constant(site, 1)[0, 0].astype(np.int8), self._found_form(site)
        assert form is not None
        bound = accumulator_bound(site, weights.T, constant(site, 2))
        stream = ConstantArray(
            "stream",
            sequence_stream(weights, op.dilations[1], form),
            "weights of all channels, then their starts, multipliers, steps, -shifts",
        )
        fields: Mapping[str, int | ConstantArray] = {
            "channels": out.shape[3],
            "span": self._span(site),
            "stream": stream,
            "in_width": x.shape[2],
            "out_width": out.shape[2],
            "stride_y": op.strides[0],
            "pad_left": op.padding[1],
            "in_zero_point": x.zero_point,
            "scratch_bytes": self._words_bytes(site),
        }
        return KernelCode(
            function=f"{_STRUCT}_s8",
            operands=(0,),
            header=f"{_STRUCT}.h",
            parameters=Parameters(_STRUCT, tuple(Field(*item) for item in fields.items())),
            rows=out.shape[1],
            batches=out.shape[0],
            overlaps=self._overlaps(site),
            scratch_bytes=self.scratch_bytes(site, target),
            notes=(bound_note(site.node.macs, bound),),
        )

    def _found_form(self, site: Site) -> Form | None:
        """Nothing is taken off where a result is not negative: its zero point is the least then."""
        task = requantization_task(site)
        form = None if task.wraps else literal_form(task, unshifted=True)
        return form if form is not None and task.has_halves else None

    def _span(self, site: Site) -> int:
        return int((site.signature.inputs[1].shape[2] - 1) * _op(site).dilations[1] + 1)

    def _fours(self, site: Site) -> int:
        return -(-site.signature.output.shape[2] // _FOUR)

    def _words_bytes(self, site: Site) -> int:
        """Up to the end of the last vector."""
        return _BLOCK * (self._fours(site) + _FOUR - 1)

    def _overlaps(self, site: Site) -> Overlaps:
        """A group of channels of a row is read before it is written."""
        x, out = site.signature.inputs[0].shape, site.signature.output.shape
        if out[3] == _LANES:
            first = first_pixels(_op(site), site.signature, site.signature.inputs[1].shape[1:3])
            blocks = pixel_blocks(len(first), out[2], row=out[2])
            return block_overlaps(site.signature, first, blocks, reads_first=True)
        if x[0] != 1:
            return {}
        reads = np.arange(x[1]) // _op(site).strides[0]
        return plane_overlaps(np.repeat(reads, x[2]), np.repeat(np.arange(out[1]), out[2]), x[3])
