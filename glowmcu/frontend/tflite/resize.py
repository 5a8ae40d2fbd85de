"""RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR."""

from __future__ import annotations

from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.ops.resize import ResizeBilinear, ResizeNearestNeighbor


@importer("RESIZE_BILINEAR")
def import_resize_bilinear(state: Import, op: OperatorRecord) -> None:
    """The second operand is height and width of the result."""
    options = op.options(tflite.ResizeBilinearOptions)
    flags = bool(options.AlignCorners()), bool(options.HalfPixelCenters())
    state.emit(op, ResizeBilinear(_size(state, op), *flags), [state.value(op, 0)])


@importer("RESIZE_NEAREST_NEIGHBOR")
def import_resize_nearest_neighbor(state: Import, op: OperatorRecord) -> None:
    """The second operand is height and width of the result."""
    options = op.options(tflite.ResizeNearestNeighborOptions)
    flags = bool(options.AlignCorners()), bool(options.HalfPixelCenters())
    state.emit(op, ResizeNearestNeighbor(_size(state, op), *flags), [state.value(op, 0)])


def _size(state: Import, op: OperatorRecord) -> tuple[int, int]:
    size = state.constant(op, 1, "the size of the result").reshape(-1).tolist()
    if len(size) != 2:
        raise Unsupported("GM106", f"{op.name} needs a height and a width, got {size}")
    return int(size[0]), int(size[1])
