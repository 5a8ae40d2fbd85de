"""Weights that the file stores without their zeros (`SparsityParameters`), as dense arrays.

Axes are gone through in a traversal order, blocks of the tensor as axes of their own behind its
axes. A level is dense, or has a list of the places that hold something (compressed sparse rows).
The format is that of TensorFlow Lite's `schema.fbs` and of its `FormatConverter`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from glowmcu import limits
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.ir.types import Shape
from glowmcu.lazy_dataclass import dataclass

_Ints = npt.NDArray[np.int64]
_DTYPES = {"FLOAT32": np.float32, "FLOAT16": np.float16, "INT8": np.int8}
_VECTORS = {
    tflite.SparseIndexVector.Int32Vector: tflite.Int32Vector,
    tflite.SparseIndexVector.Uint16Vector: tflite.Uint16Vector,
    tflite.SparseIndexVector.Uint8Vector: tflite.Uint8Vector,
}


@dataclass(frozen=True)
class Places:
    """A level of which only some places hold something: those of parent `i` are
    `indices[segments[i] : segments[i + 1]]`.
    """

    segments: _Ints
    indices: _Ints


#: An axis, or a block's: dense of a size, or some places of it.
Level = int | Places


def dense(
    values: memoryview, type_name: str, shape: Shape, parameters: Any, spend: Callable[[int], int]
) -> memoryview:
    """The bytes of the dense tensor; `spend(count)` pays for reading `count` integers.

    Raises ValueError for what contradicts itself, or is larger than a tensor may be.
    """
    dtype = _DTYPES.get(type_name)
    if dtype is None:
        raise ValueError(f"a sparse tensor is {type_name}; supported: {', '.join(_DTYPES)}")
    if math.prod(size or 1 for size in shape) * np.dtype(dtype).itemsize > limits.tensor_bytes():
        raise ValueError(f"a sparse tensor has the shape {shape}")
    order = _integers(parameters.TraversalOrderLength(), parameters.TraversalOrderAsNumpy, spend)
    blocks = _integers(parameters.BlockMapLength(), parameters.BlockMapAsNumpy, spend)
    count = spend(parameters.DimMetadataLength())
    levels = [_level(parameters.DimMetadata(place), spend) for place in range(count)]
    return memoryview(
        densified(np.frombuffer(values, dtype), shape, order.tolist(), blocks.tolist(), levels)
        .tobytes()
    )  # fmt: skip


def _integers(count: int, read: Callable[[], Any], spend: Callable[[int], int]) -> _Ints:
    return np.atleast_1d(read()).astype(np.int64) if spend(count) else np.zeros(0, np.int64)


def _level(metadata: Any, spend: Callable[[int], int]) -> Level:
    if metadata.Format() == tflite.DimensionType.DENSE:
        return int(metadata.DenseSize())
    return Places(
        _vector(metadata.ArraySegmentsType(), metadata.ArraySegments(), spend),
        _vector(metadata.ArrayIndicesType(), metadata.ArrayIndices(), spend),
    )


def _vector(kind: int, table: Any, spend: Callable[[int], int]) -> _Ints:
    if table is None or kind not in _VECTORS:
        raise ValueError("a sparse axis has no list of its places")
    vector: Any = _VECTORS[kind]()
    vector.Init(table.Bytes, table.Pos)
    return _integers(vector.ValuesLength(), vector.ValuesAsNumpy, spend)


def densified(
    values: npt.NDArray[Any],
    shape: Shape,
    order: Sequence[int],
    block_map: Sequence[int],
    levels: Sequence[Level],
) -> npt.NDArray[Any]:
    """`values` at their places in an array of `shape`, zeros elsewhere."""
    rank = len(shape)
    if sorted(order) != list(range(rank + len(block_map))) or len(levels) != len(order):
        raise ValueError(f"a sparse tensor of rank {rank} goes through {list(order)[:20]}")
    if any(not 0 <= axis < rank for axis in block_map):
        raise ValueError(f"a sparse tensor of rank {rank} has blocks of {list(block_map)[:20]}")
    # No level of a file that is whole has more places than its values or its rows.
    rows = (level.segments.size for level in levels if isinstance(level, Places))
    most = max([values.size, *rows])
    places = np.zeros(1, np.int64)
    coordinates: dict[int, _Ints] = {}
    for axis, level in zip(order, levels, strict=True):
        parents, places, found = _entered(level, places, most)
        coordinates = {each: known[parents] for each, known in coordinates.items()}
        coordinates[axis] = found
    if places.size != values.size or (places != np.arange(places.size)).any():
        raise ValueError(f"a sparse tensor has {values.size} values for {places.size} places")
    for block, axis in enumerate(block_map):
        size = levels[list(order).index(rank + block)]
        if not isinstance(size, int):
            raise ValueError("a block of a sparse tensor has a list of its places")
        coordinates[axis] = coordinates[axis] * size + coordinates[rank + block]
    result = np.zeros(shape, values.dtype)
    index = tuple(coordinates[axis] for axis in range(rank))
    if any(((at < 0) | (at >= size)).any() for at, size in zip(index, shape, strict=True)):
        raise ValueError(f"a value of a sparse tensor lies outside its shape {shape}")
    result[index] = values
    return result


def _entered(level: Level, places: _Ints, most: int) -> tuple[_Ints, _Ints, _Ints]:
    """For all that lies in a level: which of `places` it lies in, its own place, its index."""
    if isinstance(level, int):
        if not 0 <= level <= most or level * places.size > most:
            raise ValueError(f"a sparse tensor of {most} places has an axis of {level}")
        parents = np.repeat(np.arange(places.size), level)
        own = np.tile(np.arange(level), places.size)
        return parents, places[parents] * level + own, own
    segments = level.segments
    if places.max(initial=-1) + 1 >= segments.size or (np.diff(segments) < 0).any():
        raise ValueError("the rows of a sparse tensor do not follow each other")
    if segments[0] < 0 or segments[-1] > level.indices.size:
        raise ValueError("a row of a sparse tensor lies beyond its indices")
    counts = segments[places + 1] - segments[places]
    parents = np.repeat(np.arange(places.size), counts)
    before = np.cumsum(counts) - counts
    own = segments[places][parents] + np.arange(parents.size) - before[parents]
    return parents, own, level.indices[own]
