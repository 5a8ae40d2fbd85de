"""GATHER and GATHER_ND."""

from __future__ import annotations

import numpy as np
import tflite

from glowmcu.frontend.tflite.axes import positive_axis
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.ir.types import Shape
from glowmcu.ops.gather import Gather, GatherNd


@importer("GATHER")
def import_gather(state: Import, op: OperatorRecord) -> None:
    """A negative axis or number of batch axes counts from the end."""
    x, indices = state.value(op, 0), state.value(op, 1)
    options = op.options(tflite.GatherOptions)
    axis = positive_axis(options.Axis(), x.type.rank, op)
    batch_dims = options.BatchDims()
    if batch_dims < 0:
        batch_dims += indices.type.rank
    _expect_inside(state, op, (x.type.shape[axis],))
    state.emit(op, Gather(axis, batch_dims), [x, indices])


@importer("GATHER_ND")
def import_gather_nd(state: Import, op: OperatorRecord) -> None:
    """Coordinates in the last axis of the indices."""
    x, indices = state.value(op, 0), state.value(op, 1)
    coordinates = indices.type.shape[-1] if indices.type.rank else 0
    if coordinates <= x.type.rank:
        _expect_inside(state, op, x.type.shape[:coordinates])
    state.emit(op, GatherNd(), [x, indices])


def _expect_inside(state: Import, op: OperatorRecord, sizes: Shape) -> None:
    """Indices that are known must be within `sizes`; computed ones are clamped at run time."""
    if not state.known(op, 1) or not sizes:
        return
    data = state.constant(op, 1, "its indices").reshape(-1, len(sizes))
    wrong = data[((data < 0) | (data >= np.array(sizes))).any(axis=1)]
    if len(wrong):
        raise Unsupported(
            "GM106", f"{op.name.lower()}: index {wrong[0].tolist()} is outside {list(sizes)}"
        )
