"""Weights with a scale for each block of a row, as AI Edge Quantizer writes them.

Source: TensorFlow Lite's schema.fbs, `BlockwiseQuantization`, which the package `tflite` lacks yet.
"""

from __future__ import annotations

from typing import Any

from flatbuffers.number_types import Int32Flags

from glowmcu.lazy_dataclass import dataclass

#: Member of the union QuantizationDetails, and the places of the table's fields.
_BLOCKWISE = 2
_SCALES, _ZERO_POINTS, _BLOCK_SIZE, _BLOCK_SHAPE = 4, 6, 8, 10
_NO_TENSOR = -1


@dataclass(frozen=True)
class Blocks:
    """`size` elements along the last axis share a scale. The scales are the tensor with the index
    `scales`; so are zero points, if there are any.
    """

    size: int
    scales: int
    zero_points: int | None


def blocks_of(parameters: Any) -> Blocks | None:
    """What a table QuantizationParameters says of blocks, if anything. Raises ValueError for blocks
    along more than one axis.
    """
    if parameters is None or parameters.DetailsType() != _BLOCKWISE:
        return None
    table = parameters.Details()
    if table is None:
        return None

    def field(place: int, absent: int = _NO_TENSOR) -> int:
        found = table.Offset(place)
        return int(table.Get(Int32Flags, found + table.Pos)) if found else absent

    if table.Offset(_BLOCK_SHAPE):
        raise ValueError("its weights have scales for blocks of several rows; of one row each")
    points = field(_ZERO_POINTS)
    return Blocks(field(_BLOCK_SIZE, 0), field(_SCALES), None if points == _NO_TENSOR else points)
