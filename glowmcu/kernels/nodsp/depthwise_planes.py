"""Depthwise 3x3 convolution on Armv6-M: a channel after another, two rows of results at a time.

One multiplication of a word of two inputs is a product of both rows; what a channel needs is
loaded once instead of once a pixel. What a result may share: `glowmcu_depthwise_planes_nodsp.h`.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from glowmcu.ir.operation import Array
from glowmcu.kernels.common.bounds import accumulator_bound, bound_note
from glowmcu.kernels.common.layer_fields import constant, is_constant, is_int8
from glowmcu.kernels.common.overlap import Overlaps, plane_overlaps
from glowmcu.kernels.kernel import (
    ConstantArray,
    Field,
    Kernel,
    KernelCode,
    Parameters,
    Site,
    Target,
    kernel,
    once_a_site,
)
from glowmcu.kernels.requantization.forms import requantization_task
from glowmcu.kernels.requantization.narrow import find_narrow_form
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.convolution import DepthwiseConv2D

#: Of the narrow line in the assembly: bits behind the point, and those of them that are finer.
_POSTSHIFT, _FINE_BITS = 24, 13
#: u * fine is below 2^32, and so is `high << 13 | fine`.
_MOST_SPAN, _MOST_MULTIPLIER = 2 ** (32 - _FINE_BITS), 2**32
#: Pixels of a line: the first one ends no sum, the last one is read in a way of its own.
_LEAST_COLUMNS = 3
#: Two products' lower halves, of inputs down to -128, stay inside 16 bits.
_MOST_WEIGHTS = 255
#: What makes bytes of weights of four bits.
_MOST_WEIGHT_SHIFT = 4


@dataclass(frozen=True, eq=False)
class Scales:
    """`words` (channels, 3) as the C reads them, of sums of weights shifted by `weight_shift`."""

    words: Array
    addend_shift: int
    span_shift: int
    clamp_min: int
    weight_shift: int


def _op(site: Site) -> DepthwiseConv2D:
    assert isinstance(site.node.op, DepthwiseConv2D)
    return site.node.op


def _weights(site: Site, columns: tuple[int, ...] = (0, 1, 2)) -> Array:
    """(channels, columns of the window, rows of it)."""
    weights = constant(site, 1)[0]
    return np.ascontiguousarray(weights.transpose(2, 1, 0)[:, columns, :])


@kernel("depthwise_conv_2d.planes_nodsp", DepthwiseConv2D)
class PlanesDepthwiseConv2D(Kernel):
    """3x3, stride 1, padded by one; all of a channel before the next; Cortex-M0, M0+ and M23."""

    #: Of single rows `work` says it all.
    row_slowdown: ClassVar[float] = 1.0
    #: A call takes its rows as it takes a layer's: two at a time from its first one on.
    rows_overlap_as_layers: ClassVar[bool] = True
    #: Columns of the window in the order of the assembly, and the C.
    _columns: ClassVar[tuple[int, ...]] = (1, 0, 2)
    _name: ClassVar[str] = "glowmcu_depthwise_planes"

    def accepts(self, site: Site, target: Target) -> bool:
        if not target.core.architecture.startswith("armv6") or not is_constant(site, 1, 2):
            return False
        if not is_int8(site) or not self._suits(site):
            return False
        return scales_of(site) is not None

    def work(self, site: Site, target: Target) -> dict[str, float]:
        batches, height, width, channels = site.signature.output.shape
        # A single row takes the products of two, and each channel's constants anew.
        calls, pairs = (height, 1) if site.by_rows else (1, -(-height // 2))
        planes = batches * calls * channels
        return {
            "call": batches * calls,
            "channel": planes,
            "row pair": planes * pairs,
            "column": planes * pairs * width,
        }

    def flash_bytes(self, site: Site, target: Target) -> int:
        scales = scales_of(site)
        assert scales is not None
        return site.signature.inputs[1].size_bytes + scales.words.nbytes

    def scratch_bytes(self, site: Site, target: Target) -> int:
        return site.signature.inputs[0].shape[2] * site.signature.inputs[0].shape[3]

    def generate(self, site: Site, target: Target) -> KernelCode:
        x, out, scales = site.signature.inputs[0], site.signature.output, scales_of(site)
        assert scales is not None
        weights = _weights(site, self._columns) << scales.weight_shift
        bound = accumulator_bound(site, weights.reshape(len(weights), -1), constant(site, 2))
        fields = (
            Field("in_height", x.shape[1]),
            Field("in_width", x.shape[2]),
            Field("channels", x.shape[3]),
            Field("in_zero_point", x.zero_point),
            Field("addend_shift", scales.addend_shift),
            Field("span_shift", scales.span_shift),
            Field("clamp_min", scales.clamp_min),
            Field("weights", ConstantArray("weights", weights, "channel, column, row")),
            Field("scales", ConstantArray("scales", scales.words, "low; factor; addend, span")),
        )
        return KernelCode(
            function=f"{self._name}_s8",
            operands=(0,),
            header=f"{self._name}_nodsp.h",
            parameters=Parameters("glowmcu_depthwise_planes_nodsp", fields),
            rows=out.shape[1],
            batches=x.shape[0],
            overlaps=self._overlaps(site),
            scratch_bytes=self.scratch_bytes(site, target),
            notes=(bound_note(site.node.macs, bound),),
        )

    def _suits(self, site: Site) -> bool:
        """Shape and padding of the layer."""
        x, out = site.signature.inputs[0].shape, site.signature.output.shape
        is_padded = tuple(_op(site).padding[:2]) == (1, 1)
        return _is_three(site, 1) and x == out and is_padded and x[2] >= _LEAST_COLUMNS

    def _overlaps(self, site: Site) -> Overlaps:
        """Two rows of pixels at a time, for each channel; what ends the line above is first."""
        x = site.signature.inputs[0].shape
        if x[0] != 1:
            return {}
        rows, columns = np.arange(x[1]), np.arange(x[2])
        last_pair = np.minimum(rows + 1, x[1] - 1) // 2
        last_read = last_pair[:, np.newaxis] * x[2] + np.minimum(columns + 1, x[2] - 1)
        last_read[1::2, -1] = last_pair[1::2] * x[2]
        written = (rows // 2)[:, np.newaxis] * x[2] + columns
        return plane_overlaps(last_read.reshape(-1), written.reshape(-1), x[3])


@kernel("depthwise_conv_2d.planes_step_nodsp", DepthwiseConv2D)
class StepPlanesDepthwiseConv2D(PlanesDepthwiseConv2D):
    """The same with stride 2 for images of even size, which are padded at their ends alone."""

    _columns: ClassVar[tuple[int, ...]] = (1, 2, 0)
    _name: ClassVar[str] = "glowmcu_depthwise_planes_step"

    def _suits(self, site: Site) -> bool:
        x, out = site.signature.inputs[0].shape, site.signature.output.shape
        is_padded = tuple(_op(site).padding[:2]) == (0, 0)
        is_half = x == (out[0], 2 * out[1], 2 * out[2], out[3])
        return _is_three(site, 2) and is_half and is_padded

    def _overlaps(self, site: Site) -> Overlaps:
        """Two rows of pixels at a time, for each channel."""
        x, out = site.signature.inputs[0].shape, site.signature.output.shape
        if x[0] != 1:
            return {}
        last_pair = np.minimum(np.arange(x[1]) // 2, out[1] - 1) // 2
        last_column = np.minimum(np.arange(x[2]) // 2, out[2] - 1)
        last_read = last_pair[:, np.newaxis] * out[2] + last_column
        written = (np.arange(out[1]) // 2)[:, np.newaxis] * out[2] + np.arange(out[2])
        return plane_overlaps(last_read.reshape(-1), written.reshape(-1), x[3])


def _is_three(site: Site, stride: int) -> bool:
    """A window of 3x3 with this stride and without dilation."""
    op, weights = _op(site), site.signature.inputs[1].shape
    found = weights[1:3], tuple(op.strides), tuple(op.dilations)
    return found == ((3, 3), (stride, stride), (1, 1))


def _fit(weights: Array) -> bool:
    """Whether weights are bytes, and what two of a column make of an input fits half a word."""
    magnitudes = np.abs(weights[:, :, :2].astype(np.int64)).sum(axis=2)
    are_bytes = weights.min() >= -128 and weights.max() <= 127
    return bool(are_bytes and (magnitudes <= _MOST_WEIGHTS).all())


@once_a_site
def scales_of(site: Site) -> Scales | None:
    """The narrow line with more bits behind the point, which is the same line; None: there is none.

    With s < 24 bits it is floor(v / 2^s); v is taken 2^(24 - s) times, with bits that floor drops.
    A factor of more than 32 bits is halved where the sum can be doubled: small weights, as those of
    four bits, are stored 2, 4, 8 or 16 times.
    """
    form = find_narrow_form(requantization_task(site), _FINE_BITS)
    if form is None:
        return None
    addend_shift = _POSTSHIFT - form.postshift
    multiplier = form.high << form.fine_shift | form.fine
    multiplier <<= addend_shift + _FINE_BITS - form.fine_shift
    span = form.span << form.span_shift
    weights = _weights(site).astype(np.int64)
    for shift in range(_MOST_WEIGHT_SHIFT + 1):
        factor, low = multiplier >> shift, form.low << shift
        same = bool((factor << shift == multiplier).all() and (np.abs(low) < 2**31).all())
        if not same or not _fit(weights << shift) or (span << shift >= _MOST_SPAN).any():
            return None
        if (factor < _MOST_MULTIPLIER).all():
            words = (low & 0xFFFFFFFF, factor, form.addend << 16 | form.span)
            stacked = np.stack(words, axis=1).astype(np.uint32)
            span_shift = form.span_shift + shift
            return Scales(stacked, addend_shift, span_shift, form.clamp_min, shift)
    return None
