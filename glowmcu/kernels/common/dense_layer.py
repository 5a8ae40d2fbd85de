"""Layers that are a matrix times pixels, whatever operator they are: 1x1 windows and dense rows."""

from __future__ import annotations

import numpy as np

from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType
from glowmcu.kernels.common.bounds import accumulator_bound, bound_note
from glowmcu.kernels.common.layer_fields import constant, is_constant, is_padded
from glowmcu.kernels.kernel import Site
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.convolution import Conv2D
from glowmcu.ops.matmul import FullyConnected


@dataclass(frozen=True)
class PixelGrid:
    """Where pixels are: `step` elements apart in a row, `row_step` from row to row."""

    batches: int
    rows: int
    columns: int
    step: int
    row_step: int

    @property
    def is_dense(self) -> bool:
        """Whether all rows together are evenly spaced pixels."""
        return self.row_step == self.columns * self.step

    @property
    def runs(self) -> tuple[int, int]:
        """How many runs of evenly spaced pixels, of how many each; all batches."""
        if self.is_dense:
            return self.batches, self.rows * self.columns
        return self.batches * self.rows, self.columns


def is_dense_layer(site: Site) -> bool:
    """Whether each output pixel comes from one input pixel, int8 with known weights."""
    x, weights = site.signature.inputs[:2]
    int8 = ElementType.I8
    if x.element is not int8 or site.signature.output.element is not int8:
        return False
    if not is_constant(site, 1, 2):
        return False
    if isinstance(site.node.op, FullyConnected):
        return True
    ungrouped = x.shape[3] == weights.shape[3]
    return ungrouped and weights.shape[1:3] == (1, 1) and not is_padded(site)


def row_count(site: Site) -> int:
    """Rows of a dense layer, all batches."""
    runs, count = pixel_grid(site).runs
    return runs * count


def pixel_grid(site: Site) -> PixelGrid:
    """The pixels of a dense layer."""
    op, x, out = site.node.op, site.signature.inputs[0], site.signature.output
    if isinstance(op, FullyConnected):
        depth = site.signature.inputs[1].shape[1]
        rows = x.element_count // depth
        return PixelGrid(1, 1, rows, depth, rows * depth)
    assert isinstance(op, Conv2D)
    _, _, width, depth = x.shape
    return PixelGrid(
        x.shape[0],
        out.shape[1],
        out.shape[2],
        op.strides[1] * depth,
        op.strides[0] * width * depth,
    )


def dense_weights(site: Site) -> Array:
    """(outputs, inputs), without their zero point: int8 as they are stored, or int16; one array for
    all strips of a layer.
    """
    data = constant(site, 1)
    key = dense_weights, id(data)
    if key not in site.memory:
        # `data` is kept with what is made of it: an array that is gone leaves its id to the next.
        site.memory[key] = data, _dense_weights(site)
    found: Array = site.memory[key][1]
    return found


def _dense_weights(site: Site) -> Array:
    weights_type = site.signature.inputs[1]
    weights = constant(site, 1)
    weights = weights.reshape(len(weights), -1)
    assert weights_type.quantization is not None
    zero_points = np.array(weights_type.quantization.zero_points, np.int16)
    return weights - zero_points.reshape(-1, 1) if zero_points.any() else weights


def layer_bound_note(site: Site) -> str:
    """The proof that no sum overflows; raises GM502 if one could."""
    bound = accumulator_bound(site, dense_weights(site), constant(site, 2))
    return bound_note(site.node.macs, bound)
