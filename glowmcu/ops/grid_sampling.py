"""`grid_sample`: an image read at computed places, as spatial transformers and optical flow do.

A place is two numbers from -1 to 1, column before row. Linear: the weighted sum of four neighbours;
nearest: halves to the even one. Outside the image there are zeros, or the pixel at its border.
Source: ONNX, GridSample of opset 16 and 20; onnxruntime `core/providers/cpu/tensor/grid_sample.cc`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, Signature
from glowmcu.ir.types import Shape, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.real import verify_float
from glowmcu.ops.registry import operation

_LARGEST_SIZE = 2**15 - 1
#: So far outside no neighbour is inside; as far as that places need to be told apart.
_BEYOND = 2.0
_HALF = np.float32(0.5)


@operation("grid_sample")
@dataclass(frozen=True)
class GridSample(Operation):
    """float32. An image (N, H, W, C) and places (N, P, Q, 2): a result (N, P, Q, C).

    `align_corners`: -1 and 1 are the middles of the outermost pixels, else their outer edges.
    """

    linear: bool = True
    border: bool = False
    align_corners: bool = False

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        x, grid = inputs
        if x.rank != 4 or not all(1 <= size <= _LARGEST_SIZE for size in x.shape[1:3]):
            raise OperationError(
                f"expected an image of 1 to {_LARGEST_SIZE} rows and columns, got {x}"
            )
        if grid.rank != 4 or grid.shape[3] != 2 or grid.shape[0] != x.shape[0]:
            raise OperationError(f"expected places of shape {x.shape[0]}xPxQx2, got {grid}")
        return ((*grid.shape[:3], x.shape[3]),)

    def verify(self, signature: Signature) -> None:
        verify_float(signature)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        x, grid = inputs
        columns = self._places(grid[..., 0], x.shape[2])
        rows = self._places(grid[..., 1], x.shape[1])
        result = np.zeros(signature.output.shape, np.float32)
        for row, row_weight in self._neighbours(rows):
            for column, column_weight in self._neighbours(columns):
                weight = row_weight * column_weight
                result += self._pixels(x, row, column) * weight[..., np.newaxis]
        return (result,)

    def _places(self, grid: Array, size: int) -> Array:
        """Positions in pixels; far outside and not-a-number are `_BEYOND` the ends."""
        moved = grid.astype(np.float32) + np.float32(1)
        with np.errstate(over="ignore", invalid="ignore"):
            if self.align_corners:
                places = moved * _HALF * np.float32(size - 1)
            else:
                places = (moved * np.float32(size) - np.float32(1)) * _HALF
            places = np.where(places >= -_BEYOND, places, np.float32(-_BEYOND))
            places = np.where(places > size + _BEYOND, np.float32(size + _BEYOND), places)
        return places.astype(np.float32)

    def _neighbours(self, places: Array) -> list[tuple[Array, Array]]:
        """Pixels, and their weights."""
        lower = np.floor(places)
        fraction = places - lower
        low = lower.astype(np.int64)
        if self.linear:
            return [(low, np.float32(1) - fraction), (low + 1, fraction)]
        is_upper = (fraction > _HALF) | ((fraction == _HALF) & (low % 2 != 0))
        return [(low + is_upper, np.ones_like(fraction))]

    def _pixels(self, x: Array, row: Array, column: Array) -> Array:
        batch = np.arange(x.shape[0]).reshape(-1, 1, 1)
        height, width = x.shape[1:3]
        inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        pixels = x[batch, np.clip(row, 0, height - 1), np.clip(column, 0, width - 1)]
        return pixels if self.border else np.where(inside[..., np.newaxis], pixels, np.float32(0))

    def macs(self, signature: Signature) -> int:
        return signature.output.element_count * (4 if self.linear else 1)
