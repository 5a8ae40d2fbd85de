"""Scatter, ScatterElements and ScatterND."""

from __future__ import annotations

from glowmcu.frontend.onnx.axes import positive_axis
from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.gather import positions
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ops.scatter import Combine, ScatterElements, ScatterNd


def _combine(op: NodeRecord) -> Combine:
    name = op.text("reduction", "none")
    try:
        return Combine(name)
    except ValueError:
        known = ", ".join(item.value for item in Combine)
        raise Unsupported("GM105", f"{op.kind}: reduction {name!r} is none of {known}") from None


@importer("Scatter", "ScatterElements")
def import_scatter_elements(state: Import, op: NodeRecord) -> None:
    """Elements along an axis."""
    x, updates = state.value(op, 0), state.value(op, 2)
    axis = positive_axis(op, op.integer("axis", 0), x.type.rank)
    indices = positions(state, op, 1, (x.type.shape[axis],))
    state.emit(op, ScatterElements(_combine(op), axis), [x, indices, updates])


@importer("ScatterND")
def import_scatter_nd(state: Import, op: NodeRecord) -> None:
    """Slices by coordinates."""
    x, given, updates = (state.value(op, i) for i in range(3))
    depth = given.type.shape[-1] if given.type.rank else 0
    if not 1 <= depth <= x.type.rank:
        raise Unsupported("GM106", f"ScatterND: {depth} coordinates into {x.type}")
    indices = positions(state, op, 1, x.type.shape[:depth])
    state.emit(op, ScatterNd(_combine(op)), [x, indices, updates])
