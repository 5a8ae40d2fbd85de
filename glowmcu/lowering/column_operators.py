"""What an operator is on images of one column, where the model has it on lists of time steps.

`(1, time, channels)` and `(1, 1, time, channels)` hold the bytes of `(1, time, 1, channels)`: only
attributes that name axes change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from glowmcu.ir.operation import Operation
from glowmcu.ir.types import Shape
from glowmcu.ops.broadcasting import ElementwiseOperation
from glowmcu.ops.cast import Cast
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.normalization import AlongLastAxis
from glowmcu.ops.padding import MirrorPad, Pad
from glowmcu.ops.reduction import Reduction
from glowmcu.ops.slicing import Slice, Split

#: By rank: where each axis of a list of time steps goes.
_PLACES = {3: (0, 1, 3), 4: (0, 2, 1, 3)}
_T = TypeVar("_T")


def is_time_series(shape: Shape) -> bool:
    """Whether a tensor is one list of several time steps."""
    return len(shape) in _PLACES and set(shape[:-2]) == {1} and shape[-2] > 1


def can_be_column(shape: Shape, rank: int) -> bool:
    """Whether nothing moves when a tensor of at most `rank` axes becomes an image of one column."""
    return rank in _PLACES and len(shape) <= rank and set(_filled(shape, rank)[: rank - 2]) == {1}


def column_shape(shape: Shape, rank: int) -> Shape:
    """The image, for a tensor that is broadcast to `rank` axes."""
    full = _filled(shape, rank)
    return 1, full[-2], 1, full[-1]


def on_columns(op: Operation, rank: int) -> Operation | None:
    """`op` on images in place of tensors of `rank` axes; None if it is none of these."""
    if isinstance(op, ElementwiseOperation | Cast | AlongLastAxis):
        return op
    if isinstance(op, Pad | MirrorPad):
        return replace(op, paddings=_spread(op.paddings, rank, (0, 0)))
    if isinstance(op, Slice):
        return Slice(
            _spread(op.begin, rank, 0), _spread(op.size, rank, 1), _spread(op.step, rank, 1)
        )
    places = _PLACES[rank]
    if isinstance(op, Reduction):
        axes = tuple(sorted(places[axis] for axis in op.axes))
        return replace(op, axes=axes, keep_dims=True)
    if isinstance(op, Concatenation):
        return replace(op, axis=places[op.axis])
    if isinstance(op, Split):
        return replace(op, axis=places[op.axis], drop_axis=False)
    return None


def _filled(shape: Shape, rank: int) -> Shape:
    return (1,) * (rank - len(shape)) + tuple(shape)


def _spread(items: Sequence[_T], rank: int, missing: _T) -> tuple[_T, ...]:
    found = dict(zip(_PLACES[rank], items, strict=True))
    return tuple(found.get(axis, missing) for axis in range(4))
