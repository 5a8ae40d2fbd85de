"""Float kernels of what adds up a whole image a channel and can take it row by row; see
`portable/row_sums.py`. Sums take their elements in the order of the kernels for whole images.
"""

from __future__ import annotations

import math
from typing import ClassVar

from glowmcu.ir.types import ElementType
from glowmcu.kernels.common.layer_fields import clamping_fields, is_float
from glowmcu.kernels.common.window_work import window_work
from glowmcu.kernels.kernel import Cost, Field, Kernel, KernelCode, Parameters, Site, Target, kernel
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.pooling import AveragePool2D
from glowmcu.ops.real import Clamp
from glowmcu.ops.reduction import Mean, Sum


@dataclass(frozen=True)
class _Image:
    """What is summed: a result is a channel's. `by_row`: rows are summed by themselves first."""

    rows: int
    row_pixels: int
    channels: int
    by_row: bool
    count: float


class _RowSums(Kernel):
    """Base: a subclass finds the image."""

    accumulates: ClassVar[bool] = True

    def _image(self, site: Site) -> _Image | None:
        raise AssertionError(f"{self.name} has no image")

    def _known_image(self, site: Site) -> _Image:
        image = self._image(site)
        assert image is not None
        return image

    def accepts(self, site: Site, target: Target) -> bool:
        return is_float(site) and self._image(site) is not None

    def work(self, site: Site, target: Target) -> dict[str, float]:
        image, batches = self._known_image(site), site.signature.inputs[0].shape[0]
        rows = image.rows if image.by_row else 1
        return {
            "call": batches,
            "channel": batches * image.channels,
            "row": batches * image.channels * rows,
            "element": batches * image.channels * image.rows * image.row_pixels,
        }

    def cost(self, site: Site, target: Target) -> Cost:
        fast = target.core.has_fpu
        unit_costs = {"call": 60.0, "channel": 40.0 if fast else 200.0, "row": 15.0}
        unit_costs["element"] = 8.0 if fast else 60.0
        cycles = sum(unit_costs[name] * count for name, count in self.work(site, target).items())
        return Cost(cycles, 200, 28, self.scratch_bytes(site, target))

    def code_key(self, site: Site, target: Target) -> str:
        return "glowmcu_row_sums_f32"

    def scratch_bytes(self, site: Site, target: Target) -> int:
        return 4 * self._known_image(site).channels

    def generate(self, site: Site, target: Target) -> KernelCode:
        image = self._known_image(site)
        fields = (
            Field("rows", image.rows),
            Field("row_pixels", image.row_pixels),
            Field("channels", image.channels),
            Field("by_row", int(image.by_row)),
            Field("count", image.count),
            *clamping_fields(self._clamp(site)),
        )
        return KernelCode(
            function="glowmcu_row_sums_f32",
            operands=(0,),
            header="glowmcu_row_sums_f32.h",
            parameters=Parameters("glowmcu_row_sums_real", fields),
            rows=image.rows,
            accumulates=True,
            batches=site.signature.inputs[0].shape[0],
            scratch_bytes=self.scratch_bytes(site, target),
        )

    def _clamp(self, site: Site) -> Clamp:
        return None


@kernel("average_pool_2d.rows_f32", AveragePool2D)
class AveragePoolRowsF32(_RowSums):
    """One window that sees the whole image, its rows in parts; any core."""

    def _image(self, site: Site) -> _Image | None:
        op, (batches, height, width, channels) = site.node.op, site.signature.inputs[0].shape
        assert isinstance(op, AveragePool2D)
        window = window_work(op, site.signature, op.kernel)
        if site.signature.output.shape[1:3] != (1, 1) or window.taps != batches * height * width:
            return None
        return _Image(height, width, channels, False, float(height * width))

    def _clamp(self, site: Site) -> Clamp:
        op = site.node.op
        assert isinstance(op, AveragePool2D)
        return op.clamp


@kernel("reduce.rows_f32", Mean, Sum)
class ReduceRowsF32(_RowSums):
    """Over the second axis, or it and the third; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        single = site.signature.inputs[0].element is ElementType.F32
        return single and super().accepts(site, target)

    def _image(self, site: Site) -> _Image | None:
        op, shape = site.node.op, site.signature.inputs[0].shape
        assert isinstance(op, Mean | Sum)
        reduced = sorted({axis for axis in op.axes if axis > 0 or shape[0] > 1})
        if len(shape) < 3 or reduced not in ([1], [1, 2]):
            return None
        pixels = shape[2] if len(reduced) == 2 else 1
        count = float(shape[1] * pixels) if isinstance(op, Mean) else 1.0
        channels = math.prod(shape[len(reduced) + 1 :])
        return _Image(shape[1], pixels, channels, pixels > 1, count)
