"""Depthwise 3x3 convolution a channel at a time for cores with the DSP extension.

The rows of row.py, all of a channel's after another: weights are loaded once a
channel instead of once a row, which counts where rows are short. In exchange a result cannot follow
its operand through memory: `glowmcu_depthwise_planes_dsp.h`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import ClassVar

import numpy as np

from glowmcu.kernels.common.overlap import Overlaps, plane_overlaps
from glowmcu.kernels.dsp.depthwise.planes_assembly import PlaneShape, planes_assembly
from glowmcu.kernels.dsp.depthwise.row import (
    INSTRUCTION_BYTES,
    RowDepthwise,
    depthwise_op,
    missing_rows,
    row_shape,
)
from glowmcu.kernels.dsp.depthwise.row_assembly import instruction_count
from glowmcu.kernels.dsp.order.blocks import ordered
from glowmcu.kernels.kernel import Site, Target, kernel
from glowmcu.ops.convolution import DepthwiseConv2D

#: Bytes of the C around the assembly; most rows that half a register counts.
_AROUND_BYTES, _MOST_ROWS = 30, 2**15


@cache
def _code_bytes(shape: PlaneShape) -> int:
    """Of the function."""
    return _AROUND_BYTES + round(INSTRUCTION_BYTES * instruction_count(planes_assembly(shape)))


def _overlaps(site: Site) -> Overlaps:
    """Pixels in raster order, for each channel; in the portable branch row by row, which is safe as
    well.
    """
    op, x, out = depthwise_op(site), site.signature.inputs[0].shape, site.signature.output.shape
    if x[0] != 1 or x[3] != out[3]:
        return {}  # pixels of other sizes meet other channels
    last_read = np.full(x[1:3], -1, np.int64)
    for oy in range(out[1]):
        top = oy * op.strides[0] - op.padding[0]
        for ox in range(out[2]):
            left = ox * op.strides[1] - op.padding[1]
            last_read[max(top, 0) : top + 3, max(left, 0) : left + 3] = oy * out[2] + ox
    return plane_overlaps(last_read.reshape(-1), np.arange(out[1] * out[2]), x[3])


@kernel("depthwise_conv_2d.planes_dsp", DepthwiseConv2D)
class PlanesDepthwise(RowDepthwise):
    """3x3 without dilation, stride 1 or 2 along rows, which have a loop; all rows of a channel."""

    _unrolled: ClassVar[bool] = False
    #: Of `work` on a Cortex-M4.
    _cycles: ClassVar[Mapping[str, float]] = {
        "call": 60.0, "channel floor": 38.0, "channel literal": 47.0, "row": 13.0,
        "row above": 47.0, "row below": 20.0, "column": 5.0, "edge column": 3.0,
        "output floor": 9.0, "output literal": 15.0, "edge output floor": 7.0,
        "edge output literal": 13.0,
    }  # fmt: skip

    def accepts(self, site: Site, target: Target) -> bool:
        if target.core.has_mve and not self._unrolled:
            return False  # Helium's kernels take long rows
        few_rows = site.signature.output.shape[1] < _MOST_ROWS
        return few_rows and super().accepts(site, target) and self._plane(site).fits

    def work(self, site: Site, target: Target) -> dict[str, float]:
        shape, (batches, rows, out_width, channels) = self._plane(site), site.signature.output.shape
        row = shape.row
        edges = int(shape.lacks_above) + int(shape.lacks_below)
        columns = min(row.width, (out_width - 1) * row.stride + 3 - row.pad_left)
        planes, kind = batches * channels, row.kind.value
        return {
            "call": batches,
            f"channel {kind}": planes,
            "row": planes * (rows - edges),
            "row above": planes * shape.lacks_above,
            "row below": planes * shape.lacks_below,
            "column": planes * (rows - edges) * columns,
            "edge column": planes * edges * columns,
            f"output {kind}": planes * (rows - edges) * out_width,
            f"edge output {kind}": planes * edges * out_width,
        }

    def code_bytes(self, site: Site) -> int:
        return _code_bytes(self._plane(site))

    def code_key(self, site: Site, target: Target) -> str:
        shape = self._plane(site)
        lacking = {
            (0, 0): "",
            (1, 0): "edges above",
            (0, 1): "edges below",
            (1, 1): "edges above and below",
        }
        edges = lacking[int(shape.lacks_above), int(shape.lacks_below)]
        how = "unrolled" * self._unrolled
        return self.row_key(site, "planes", edges, f"{shape.stride_y}x", how)

    def template(self) -> str:
        return "dsp/depthwise/depthwise_planes_dsp.c.j2"

    def view(self, site: Site, target: Target) -> dict[str, object]:
        shape = self._plane(site)
        return {
            "assembly": ordered(planes_assembly(shape), target),
            "form": shape.row.kind.name,
            "postshift": shape.row.postshift,
            "multiplier": shape.row.multiplier,
            "headers": ("glowmcu_depthwise_planes_dsp.h",),
        }

    def overlaps(self, site: Site) -> Overlaps:
        return _overlaps(site)

    def _plane(self, site: Site) -> PlaneShape:
        """What the function is made for; a form exists."""
        missing = missing_rows(site)
        edges = missing[0][0] > 0, missing[-1][1] > 0
        return PlaneShape(row_shape(site), depthwise_op(site).strides[0], *edges, self._unrolled)


@kernel("depthwise_conv_2d.planes_unrolled_dsp", DepthwiseConv2D)
class UnrolledPlanesDepthwise(PlanesDepthwise):
    """The same for rows of at most 64 columns, which then need no loop."""

    _unrolled: ClassVar[bool] = True
