"""What skl2onnx adds to a perceptron: scaled features, and classes by their index."""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.onnx.container import NodeRecord, element_of
from glowmcu.frontend.onnx.features import real_features
from glowmcu.frontend.onnx.gather import positions
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.onnx.spatial import reshaped
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType
from glowmcu.ops.cast import Cast
from glowmcu.ops.elementwise import Mul, Sub
from glowmcu.ops.gather import Gather
from glowmcu.ops.slicing import Slice

_DOMAIN = "ai.onnx.ml"


@importer("Scaler", domain=_DOMAIN)
def import_scaler(state: Import, op: NodeRecord) -> None:
    """(x - offset) * scale."""
    x = real_features(state, op)
    offset, scale = _numbers(op, "offset", 0.0), _numbers(op, "scale", 1.0)
    if offset.any():
        x = state.add(op, Sub(), [x, state.add_constant(offset, "offset")])
    state.emit(op, Mul(), [x, state.add_constant(scale, "scale")])


def _numbers(op: NodeRecord, name: str, default: float) -> Array:
    return np.array(op.attributes.get(name) or [default], np.float32)


@importer("ArrayFeatureExtractor", domain=_DOMAIN)
def import_array_feature_extractor(state: Import, op: NodeRecord) -> None:
    """Columns of the last axis; a vector counts as one row. Of names of classes: their indices."""
    names = state.model.initializers.get(op.inputs[0]) if op.inputs else None
    if names is not None and element_of(names.data_type)[1] == "STRING":
        index = state.add(op, Cast(), [state.value(op, 1)], ElementType.I64)
        state.class_indices.update(op.outputs[:1])
        state.bind(op, [reshaped(state, op, index, (1, index.type.element_count))])
        return
    x, index = state.value(op, 0), state.value(op, 1)
    x = reshaped(state, op, x, (1,) * (x.type.rank < 2) + x.type.shape)
    columns = positions(state, op, 1, x.type.shape[-1:])
    chosen = state.builder.known.get(columns)
    if chosen is not None and x not in state.builder.known and _is_range(chosen.reshape(-1)):
        begin = (0,) * (x.type.rank - 1) + (int(chosen.reshape(-1)[0]),)
        size = (*x.type.shape[:-1], chosen.size)
        state.emit(op, Slice(begin, size, (1,) * x.type.rank), [x])
        return
    columns = reshaped(state, op, columns, (index.type.element_count,))
    state.emit(op, Gather(x.type.rank - 1), [x, columns])


def _is_range(places: Array) -> bool:
    """Whether these are neighbours, one at least, which a slice takes, often at no cost."""
    return places.size > 0 and bool((np.diff(places) == 1).all())


@importer("ZipMap", domain=_DOMAIN)
def import_zip_map(state: Import, op: NodeRecord) -> None:
    """The scores themselves: in the file each sample's are a dictionary, which no C has."""
    state.bind(op, [state.value(op, 0)])
