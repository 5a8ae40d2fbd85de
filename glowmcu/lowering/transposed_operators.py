"""What an operator is on operands that have not been transposed: its axes are others.

op(transpose(x)) == transpose'(op'(x)). `moved` gives op' and the permutation of its results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from glowmcu.ir.operation import Operation, Signature
from glowmcu.ir.types import Shape
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.broadcasting import ElementwiseOperation
from glowmcu.ops.cast import Cast
from glowmcu.ops.gather import Gather
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.padding import MirrorPad, Pad
from glowmcu.ops.reduction import Reduction
from glowmcu.ops.scan import ArgExtreme, CumSum, TopK
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice, Split
from glowmcu.ops.transpose import Reverse

Permutation = tuple[int, ...]
_T = TypeVar("_T")


@dataclass(frozen=True)
class Moved:
    """The operator on untransposed operands, and what its results are transposed by."""

    op: Operation
    permutation: Permutation


def moved(op: Operation, permutation: Permutation, signature: Signature) -> Moved | None:
    """`op` where every operand came from a transpose by `permutation`; None if there is no such."""
    if isinstance(op, ElementwiseOperation | Cast):
        return Moved(op, permutation)
    if isinstance(op, Reshape):
        return _moved_reshape(op, permutation, signature)
    if isinstance(op, Pad | MirrorPad):
        return Moved(replace(op, paddings=_spread(op.paddings, permutation)), permutation)
    if isinstance(op, Slice):
        parts = (_spread(part, permutation) for part in (op.begin, op.size, op.step))
        return Moved(Slice(*parts), permutation)
    if isinstance(op, Reduction):
        axes = tuple(sorted(permutation[axis] for axis in op.axes))
        kept = permutation if op.keep_dims else _without(permutation, op.axes)
        return Moved(replace(op, axes=axes), kept)
    if isinstance(op, Reverse):
        return Moved(Reverse(tuple(sorted(permutation[axis] for axis in op.axes))), permutation)
    return _moved_along_axis(op, permutation, signature)


def _moved_along_axis(
    op: Operation, permutation: Permutation, signature: Signature
) -> Moved | None:
    if isinstance(op, Gather) and (op.batch_dims or signature.inputs[1].rank != 1):
        return None
    if not isinstance(op, Concatenation | Split | Gather | CumSum | TopK | ArgExtreme):
        return None
    gone = isinstance(op, ArgExtreme) or (isinstance(op, Split) and op.drop_axis)
    results = _without(permutation, (op.axis,)) if gone else permutation
    return Moved(replace(op, axis=permutation[op.axis]), results)


def _spread(items: Sequence[_T], permutation: Permutation) -> tuple[_T, ...]:
    """What was said of the transposed axes, in the order of the original ones."""
    return tuple(items[permutation.index(axis)] for axis in range(len(permutation)))


def _without(permutation: Permutation, axes: Sequence[int]) -> Permutation:
    """The permutation of what is left when `axes` of its result are gone."""
    left = [place for axis, place in enumerate(permutation) if axis not in axes]
    return tuple(sorted(left).index(place) for place in left)


def _moved_reshape(op: Reshape, permutation: Permutation, signature: Signature) -> Moved | None:
    """Axes may be split, and neighbours joined that are neighbours in the operand, too."""
    shape = signature.inputs[0].shape
    groups = reshape_groups(shape, op.shape)
    if groups is None:
        return None
    # Axes of length 1 are nowhere: only the others have an order.
    order = sorted(permutation[axis] for axis, size in enumerate(shape) if size != 1)
    firsts: list[int] = []
    for ins, _ in groups:
        places = [order.index(permutation[axis]) for axis in ins]
        if places != list(range(places[0], places[0] + len(places))):
            return None
        firsts.append(places[0])
    source = [out for _, (_, outs) in sorted(zip(firsts, groups, strict=True)) for out in outs]
    sizes = tuple(op.shape[axis] for axis in source)
    return Moved(Reshape(sizes), tuple(source.index(axis) for axis in range(len(source))))


Group = tuple[tuple[int, ...], tuple[int, ...]]


def reshape_groups(before: Shape, after: Shape) -> list[Group] | None:
    """The fewest axes of both shapes that hold the same elements, group by group.

    Axes of length 1 of `before` are left out, those of `after` belong to the group behind them.
    None for tensors of one element or none.
    """
    ins = [axis for axis, size in enumerate(before) if size != 1]
    if not ins or 0 in before:
        return None
    groups: list[Group] = []
    taken: list[int] = []
    given: list[int] = []
    have, want = 1, 1
    places = iter(ins)
    for axis, size in enumerate(after):
        given.append(axis)
        want *= size
        while have < want:
            place = next(places)
            taken.append(place)
            have *= before[place]
        if have == want and taken:
            groups.append((tuple(taken), tuple(given)))
            taken, given, have, want = [], [], 1, 1
    if given and groups:
        groups[-1] = (groups[-1][0], (*groups[-1][1], *given))
    return groups
