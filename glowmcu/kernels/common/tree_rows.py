"""What leaves of trees add to scores, as constants: a row of weights a leaf, equal ones once."""

from __future__ import annotations

from enum import Enum

import numpy as np

from glowmcu.ir.operation import Array
from glowmcu.kernels.kernel import ConstantArray
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.trees import TreeEnsemble


class RowKind(Enum):
    """How a leaf's row is added."""

    VOTE = "vote"  # the row's number is the target, which gets one more
    COUNT = "count"  # the row's number is what a single target gets
    VALUE = "value"  # a weight for a single target
    PAIR = "pair"  # a target, and a weight for it
    DENSE = "dense"  # a weight for every target
    SPARSE = "sparse"  # targets and weights


@dataclass(frozen=True, eq=False)
class Rows:
    """`numbers[r]` is what a leaf of row r stores."""

    kind: RowKind
    numbers: Array
    weights: ConstantArray | None = None
    targets: ConstantArray | None = None
    starts: ConstantArray | None = None

    @property
    def arrays(self) -> tuple[ConstantArray, ...]:
        """Constants that the code reads."""
        named = (self.weights, self.targets, self.starts)
        return tuple(array for array in named if array is not None)

    @property
    def flash_bytes(self) -> int:
        return sum(array.data.nbytes for array in self.arrays)


def narrowest(numbers: Array, *types: type[np.generic]) -> Array:
    """The numbers in the first of the types that holds them all."""
    for dtype in types:
        limits = np.iinfo(dtype)  # type: ignore[type-var]
        if limits.min <= numbers.min(initial=0) and numbers.max(initial=0) <= limits.max:
            return numbers.astype(dtype)
    raise AssertionError(f"{types} do not hold {numbers.max(initial=0)}")


def unsigned(numbers: Array) -> Array:
    """Numbers from 0 on: uint8, int16 or int32."""
    return narrowest(numbers, np.uint8, np.int16, np.int32)


def tree_rows(op: TreeEnsemble) -> Rows:
    """The rows of an ensemble."""
    counts = np.diff(op.row_starts)
    numbers = np.arange(counts.size)
    if counts.max() <= 1:
        return _single_rows(op, counts)
    sparse_bytes = op.weights.nbytes + 2 * op.weights.size + 2 * counts.size
    if op.weights.itemsize * counts.size * op.targets <= sparse_bytes:
        dense = np.zeros((counts.size, op.targets), op.weights.dtype)
        lines = np.repeat(numbers, counts)
        np.add.at(dense, (lines, op.row_targets), op.weights)
        if _is_plain(op, lines):
            weights = ConstantArray("weights", _narrow(dense), "of each row, by target")
            return Rows(RowKind.DENSE, numbers, weights)
    return Rows(
        RowKind.SPARSE,
        numbers,
        ConstantArray("weights", _narrow(op.weights)),
        ConstantArray("targets", unsigned(op.row_targets), "of the weights"),
        ConstantArray("starts", unsigned(op.row_starts), "of the rows' weights"),
    )


def _is_plain(op: TreeEnsemble, lines: Array) -> bool:
    """Whether no row has two weights for one target, whose sum would be rounded otherwise."""
    pairs = lines.astype(np.int64) * op.targets + op.row_targets
    return np.unique(pairs).size == pairs.size


def _single_rows(op: TreeEnsemble, counts: Array) -> Rows:
    """Of one weight at most."""
    has = counts == 1
    weights = np.zeros(counts.size, op.weights.dtype)
    targets = np.zeros(counts.size, np.int32)
    weights[has], targets[has] = op.weights, op.row_targets
    numbers = np.arange(counts.size)
    if op.targets == 1:
        if op.is_integer and weights.min() >= 0 and weights.max() <= 0x7F:
            return Rows(RowKind.COUNT, weights)
        return Rows(RowKind.VALUE, numbers, ConstantArray("weights", _narrow(weights)))
    if op.is_integer and (weights == 1).all():
        return Rows(RowKind.VOTE, targets)
    return Rows(
        RowKind.PAIR,
        numbers,
        ConstantArray("weights", _narrow(weights)),
        ConstantArray("targets", unsigned(targets), "of the weights"),
    )


def _narrow(weights: Array) -> Array:
    if weights.dtype.kind == "f":
        return weights
    return narrowest(weights, np.int8, np.int16, np.int32)
