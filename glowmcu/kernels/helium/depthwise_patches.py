"""depthwise_conv_2d on cores with Helium, a vector a patch of 4x4 pixels of a channel.

A 3x3 window has nine of the sixteen products of a VMLADAV.S8, at the price of an interleaved copy
of four input rows, a gathered load a patch and a scattered store for each four results. See
glowmcu_depthwise_patches_mve.h.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from glowmcu.ir.kernel_code import Overlap
from glowmcu.ir.value_range import Int64Array
from glowmcu.kernels.common.bounds import accumulator_bound, bound_note
from glowmcu.kernels.common.layer_fields import constant, is_constant, is_int8
from glowmcu.kernels.common.overlap import NOTHING, Overlaps, least_gap, plane_overlaps
from glowmcu.kernels.helium.scale import doubled_form
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

#: Bytes of a vector, rows of a patch, and channels below which a pixel is no vector.
_LANES, _ROWS, _LEAST_CHANNELS = 16, 4, 8
_STRUCT = "glowmcu_depthwise_patches_mve"


def _op(site: Site) -> DepthwiseConv2D:
    assert isinstance(site.node.op, DepthwiseConv2D)
    return site.node.op


def patches_stream(weights: npt.NDArray[np.int8], form: Form) -> npt.NDArray[np.int32]:
    """Weights (rows, 3, channels) and constants as the C walks them, with two words behind them."""
    height, _, channels = weights.shape
    columns = np.zeros((channels, 4, _ROWS), np.int8)
    columns[:, 1:, :height] = weights.transpose(2, 1, 0)
    constants = np.stack([form.addend, form.multiplier], axis=1).reshape(-1)
    parts = [columns.reshape(-1).view("<i4"), np.zeros(1), constants, np.zeros(2)]
    return np.concatenate([part.astype(np.int32) for part in parts])


@kernel("depthwise_conv_2d.patches_mve", DepthwiseConv2D)
class PatchesDepthwiseConv2D(Kernel):
    """Windows of width 3, at most 4 high, that are a pixel apart along a row; the floor form."""

    code_bytes: ClassVar[int] = 900
    #: Rows alone are bands of one: `work` says what these cost.
    row_slowdown: ClassVar[float] = 1.0
    cycles: ClassVar[Mapping[str, float]] = {
        "pair": 18.0,
        "channel": 48.0,
        "vector": 18.0,
        "band": 120.0,
        "value": 0.13,
    }

    def accepts(self, site: Site, target: Target) -> bool:
        if not (target.core.has_mve and is_constant(site, 1, 2) and is_int8(site)):
            return False
        x, out = site.signature.inputs[0], site.signature.output
        op, (_, height, width, _) = _op(site), site.signature.inputs[1].shape
        fits = height <= _ROWS and width == 3 and out.shape[2] >= 3
        fits = fits and op.dilations == (1, 1) and op.strides[1] == 1
        if not fits or not x.shape[3] == out.shape[3] >= _LEAST_CHANNELS:
            return False
        return self._used_pixels(site) > 0 and self._found_form(site) is not None

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        batch, height, width, channels = site.signature.output.shape
        calls, rows = (height, 1) if site.by_rows else (1, height)
        bands = batch * calls * -(-rows // self._band_rows(site))
        vectors = -(-self._used_pixels(site) * self._group(site) // _LANES)
        groups = -(-channels // self._group(site))
        return {
            "pair": bands * channels * -(-width // 2),
            "channel": bands * channels,
            "vector": bands * groups * vectors,
            "band": bands * groups,
            "value": batch * calls * self.scratch_bytes(site, target),
        }

    def cost(self, site: Site, target: Target) -> Cost:
        return Cost(
            sum(self.cycles[name] * amount for name, amount in self.work(site, target).items()),
            self.code_bytes,
            self.flash_bytes(site, target),
            self.scratch_bytes(site, target),
        )

    def flash_bytes(self, site: Site, target: Target) -> int:
        return 24 * site.signature.output.shape[3] + 12

    def scratch_bytes(self, site: Site, target: Target) -> int:
        return (1 + self._reads_ahead(site)) * self._band_bytes(site) + _LANES

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, x, out = _op(site), site.signature.inputs[0], site.signature.output
        weights, form = constant(site, 1)[0].astype(np.int8), self._found_form(site)
        assert form is not None
        bound = accumulator_bound(site, weights.reshape(-1, out.shape[3]).T, constant(site, 2))
        stream = ConstantArray(
            "stream", patches_stream(weights, form), "weights, then addend, multiplier of channels"
        )
        fields = {
            "channels": out.shape[3],
            "kernel_height": weights.shape[0],
            "preshift": form.preshift,
            "stream": stream,
            "in_height": x.shape[1],
            "in_width": x.shape[2],
            "out_width": out.shape[2],
            "stride_y": op.strides[0],
            "pad_top": op.padding[0],
            "pad_left": op.padding[1],
            "in_zero_point": x.zero_point,
            "band_rows": self._band_rows(site),
            "group": self._group(site),
            "used_pixels": self._used_pixels(site),
            "reads_ahead": int(self._reads_ahead(site)),
            "is_ragged": int(self._used_pixels(site) * self._group(site) % _LANES != 0),
            "band_bytes": self._band_bytes(site),
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
        return doubled_form(requantization_task(site))

    def _reads_ahead(self, site: Site) -> bool:
        """Whether a band is read before the one in front of it is written, for twice the scratch.

        Else the result must begin a row below the operand to overlap it, which is worth about two
        rows: all tensors between such layers move.
        """
        out = site.signature.output.shape
        return self._band_bytes(site) <= 2 * out[2] * out[3]

    def _band_rows(self, site: Site) -> int:
        """Of the result, that are made of the same four rows of the image."""
        return 2 if site.signature.inputs[1].shape[1] + _op(site).strides[0] <= _ROWS else 1

    def _group(self, site: Site) -> int:
        """Channels that are computed for the whole image before the next ones."""
        return min(site.signature.output.shape[3], _LANES)

    def _used_pixels(self, site: Site) -> int:
        """Of a row of the image, that are below a window."""
        return min(
            site.signature.inputs[0].shape[2],
            site.signature.output.shape[2] + 2 - _op(site).padding[1],
        )

    def _band_bytes(self, site: Site) -> int:
        """Of four interleaved rows of a group of channels, up to the end of the last vector."""
        group = self._group(site)
        vectors = -(-self._used_pixels(site) * group // _LANES)
        pixels = site.signature.output.shape[2] + 2
        return 4 * max(pixels * group, _op(site).padding[1] * group + vectors * _LANES)

    def _overlaps(self, site: Site) -> Overlaps:
        """A band is read before the one in front of it is written; for each group of channels."""
        x, out = site.signature.inputs[0].shape, site.signature.output.shape
        if x[0] != 1:
            return {}
        rows = self._band_rows(site)
        ends = np.minimum(np.arange(0, out[1], rows) + rows, out[1])
        starts = np.append(0, ends[:-1])
        first, end = self._input_rows(site, starts, ends)
        found = self._in_place(site, first, end, ends)
        if self._group(site) < out[3]:
            return found
        needed = np.where(first < end, first * (x[2] * x[3]), NOTHING)
        if self._reads_ahead(site):
            needed = np.append(needed[1:], NOTHING)
        gap = least_gap(ends * (out[2] * out[3]), needed, x[1] * x[2] * x[3], reads_first=True)
        exact = found[0].only_gap_bytes if found else None
        return {0: Overlap(gap, exact if exact is not None and exact < gap else None)}

    def _input_rows(
        self, site: Site, starts: Int64Array, ends: Int64Array
    ) -> tuple[Int64Array, Int64Array]:
        """The first and the end of the image's rows under each band of rows."""
        op, height = _op(site), site.signature.inputs[0].shape[1]
        first = starts * op.strides[0] - op.padding[0]
        end = (ends - 1) * op.strides[0] - op.padding[0] + site.signature.inputs[1].shape[1]
        return np.clip(first, 0, height), np.clip(end, 0, height)

    def _in_place(
        self, site: Site, first: Int64Array, end: Int64Array, ends: Int64Array
    ) -> Overlaps:
        """How many whole pixels below the operand the result may begin: channels meet themselves
        alone.
        """
        x, out = site.signature.inputs[0].shape, site.signature.output.shape
        last_read, ahead = np.zeros(x[1], np.int64), int(self._reads_ahead(site))
        for band, (low, high) in enumerate(zip(first, end, strict=True)):
            last_read[low:high] = max(band - ahead, 0)
        written = np.searchsorted(ends, np.arange(out[1]), side="right")
        return plane_overlaps(np.repeat(last_read, x[2]), np.repeat(written, out[2]), x[3])
