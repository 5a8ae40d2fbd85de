"""`tree_ensemble`: decision trees whose leaves add to scores: forests and boosted trees.

A node asks whether a feature is at most its threshold, or one of a set of values. All comparisons
of ONNX-ML come to that: `x < t` is `x <= t'` of the next smaller float32, `>` and `>=` exchange the
branches.
Source: ONNX-ML's TreeEnsemble, onnxruntime's `tree_ensemble_common.h`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, fields
from functools import cached_property
from typing import Any

import numpy as np

from glowmcu.ir.equality import operation_key
from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, Signature
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.registry import operation

#: What features may be stored as; quantized ones stand for the real numbers that they mean.
FEATURE_TYPES = (
    ElementType.F32, ElementType.I8, ElementType.UI8, ElementType.I16, ElementType.I32,
    ElementType.I64,
)  # fmt: skip
_QUANTIZED = (ElementType.I8, ElementType.UI8, ElementType.I16)
#: Of all trees, as they are laid out: what several branches lead to may be there several times.
MOST_NODES = 100_000
_INDICES = ("roots", "features", "left", "right", "row_starts", "row_targets", "sets", "set_starts")


def _no_indices() -> Array:
    return np.zeros(0, np.int32)


def _no_members() -> Array:
    return np.zeros(0, np.float32)


@operation("tree_ensemble")
@dataclass(frozen=True, eq=False)
class TreeEnsemble(Operation):
    """Features (N, F) to scores (N, `targets`), the trees' contributions added in order from 0.

    A tree begins at a node of `roots`. Node n is a leaf where `features[n]` is -1, and gives row
    `left[n]`. Else it goes on at `left[n]` if the feature is at most `thresholds[n]` (float32), or
    is not a number and `missing_left[n]`, and at `right[n]` if not; both lie behind n, and several
    may go on at one node. Where `sets[n]` is s and not -1, n asks instead whether the feature is
    one of `members[i]` (float32, ascending), i from `set_starts[s]` to `set_starts[s + 1]`; the
    three are empty where no node does. Row r adds
    `weights[i]` to target `row_targets[i]`, i from `row_starts[r]` to `row_starts[r + 1]`. Weights
    are int32 (votes; so is the result) or float32, where each sum is rounded. Indices are int32.
    """

    targets: int
    roots: Array
    features: Array
    thresholds: Array
    missing_left: Array
    left: Array
    right: Array
    row_starts: Array
    row_targets: Array
    weights: Array
    sets: Array = field(default_factory=_no_indices)
    set_starts: Array = field(default_factory=_no_indices)
    members: Array = field(default_factory=_no_members)

    def __post_init__(self) -> None:
        for item in fields(self)[1:]:
            getattr(self, item.name).flags.writeable = False

    def _check(self) -> None:
        """Raise OperationError for what is no forest: text of the IR may say anything."""
        self._check_types()
        self._check_trees()
        self._check_sets()
        self._check_rows()

    def _check_types(self) -> None:
        kinds: dict[str, np.dtype[Any]] = {name: np.dtype(np.int32) for name in _INDICES}
        kinds |= {"thresholds": np.dtype(np.float32), "missing_left": np.dtype(np.bool_)}
        kinds["members"] = kinds["thresholds"]
        for name, dtype in kinds.items():
            data = getattr(self, name)
            if data.dtype != dtype or data.ndim != 1:
                raise OperationError(f"{name} must be a list of {dtype}, got {data.dtype}")
        if self.weights.dtype not in (np.dtype(np.int32), np.dtype(np.float32)):
            raise OperationError(f"weights are int32 or float32, got {self.weights.dtype}")
        if self.weights.ndim != 1 or self.weights.shape != self.row_targets.shape:
            raise OperationError("expected a target for each weight")

    def _check_trees(self) -> None:
        count = self.features.size
        lists = (self.thresholds, self.missing_left, self.left, self.right)
        if not count or not self.roots.size or any(item.size != count for item in lists):
            raise OperationError(f"expected trees of {count} nodes, one entry a node in every list")
        if self.roots.min() < 0 or self.roots.max() >= count:
            raise OperationError(f"a tree begins outside of the {count} nodes")
        if self.features.min() < -1 or np.isnan(self.thresholds).any():
            raise OperationError("a node has no feature, or a threshold that is not a number")
        inner = self.features >= 0
        place = np.arange(count)[inner]
        for child in (self.left[inner], self.right[inner]):
            if (child <= place).any() or (child >= count).any():
                raise OperationError("a node's branches must be nodes behind it")

    def _check_sets(self) -> None:
        count, starts, members = self.set_starts.size - 1, self.set_starts, self.members
        if not self.sets.size:
            if starts.size or members.size:
                raise OperationError("there are sets, and no node that asks for them")
            return
        if self.sets.size != self.features.size or count < 1:
            raise OperationError("expected sets, and for each node the number of one, or -1")
        if not -1 <= self.sets.min() <= self.sets.max() < count:
            raise OperationError(f"a node asks for none of the {count} sets")
        if starts[0] != 0 or starts[-1] != members.size or (np.diff(starts) < 1).any():
            raise OperationError(f"sets must be parts of the {members.size} members, in order")
        is_first = np.zeros(members.size, np.bool_)
        is_first[starts[:-1]] = True
        if not (is_first[1:] | (members[1:] > members[:-1])).all() or not (members > -np.inf).all():
            raise OperationError("members of a set must be ascending numbers above -infinity")

    def _check_rows(self) -> None:
        rows, entries = self.row_starts.size - 1, self.weights.size
        leaves = self.left[self.features < 0]
        if rows < 1 or leaves.min() < 0 or leaves.max() >= rows:
            raise OperationError(f"a leaf gives none of the {rows} rows")
        starts = self.row_starts
        if starts[0] != 0 or starts[-1] != entries or (np.diff(starts) < 0).any():
            raise OperationError(f"rows must be parts of the {entries} weights, in order")
        if entries and not 0 <= self.row_targets.min() <= self.row_targets.max() < self.targets:
            raise OperationError(f"a weight is for none of the {self.targets} targets")
        if not np.isfinite(self.weights).all():
            raise OperationError("weights must be finite")
        if self.is_integer and self.roots.size * self._largest_row() > 2**31 - 1:
            raise OperationError("sums of these integers do not fit 32 bits")

    def _largest_row(self) -> int:
        sizes = np.abs(self.weights.astype(np.int64))
        rows = np.repeat(np.arange(self.row_starts.size - 1), np.diff(self.row_starts))
        return int(np.bincount(rows, sizes, 1).max())

    @property
    def is_integer(self) -> bool:
        """Whether scores are votes: int32."""
        return bool(self.weights.dtype == np.int32)

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        self._check()
        (x,) = inputs
        if x.rank != 2:
            raise OperationError(f"expected rows of features, got {x}")
        if self.features.max() >= x.shape[1]:
            raise OperationError(f"feature {self.features.max()} is not in rows of {x.shape[1]}")
        return ((x.shape[0], self.targets),)

    def verify(self, signature: Signature) -> None:
        (x,), out = signature.inputs, signature.output
        if x.element not in FEATURE_TYPES:
            raise OperationError(f"features of {x.element.value} are not supported")
        if x.quantization is not None and (
            x.element not in _QUANTIZED or x.quantization.per_channel
        ):
            raise OperationError(f"expected real features or quantized bytes, got {x}")
        wanted = ElementType.I32 if self.is_integer else ElementType.F32
        if out.element is not wanted or out.quantization is not None:
            raise OperationError(f"expected a result of {wanted.value}, got {out}")

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        x = real_features(inputs[0], signature.inputs[0])
        lines = np.arange(x.shape[0])
        scores = np.zeros(signature.output.shape, self.weights.dtype)
        for rows in self.leaves(x).T:
            first, end = self.row_starts[rows], self.row_starts[rows + 1]
            for offset in range(int((end - first).max(initial=0))):
                has = first + offset < end
                entry = first[has] + offset
                scores[lines[has], self.row_targets[entry]] += self.weights[entry]
        return (scores,)

    def leaves(self, x: Array) -> Array:
        """The row that each tree gives for rows of real features: (N, trees)."""
        nodes = np.broadcast_to(self.roots, (x.shape[0], self.roots.size)).copy()
        lines = np.arange(x.shape[0])[:, np.newaxis]
        while (inner := self.features[nodes] >= 0).any():
            values = x[lines, np.maximum(self.features[nodes], 0)]
            is_left = values <= self.thresholds[nodes]
            if self.sets.size:
                is_left = np.where(self.sets[nodes] < 0, is_left, self._are_in(nodes, values))
            is_left |= np.isnan(values) & self.missing_left[nodes]
            nodes = np.where(inner, np.where(is_left, self.left[nodes], self.right[nodes]), nodes)
        return np.asarray(self.left[nodes])

    def _are_in(self, nodes: Array, values: Array) -> Array:
        """Whether each value is in the set of its node, if that has one."""
        found = np.searchsorted(wanted := self._numbered, _numbered(self.sets[nodes], values))
        found = wanted[np.minimum(found, wanted.size - 1)] == _numbered(self.sets[nodes], values)
        return np.asarray(found & ~np.isnan(values))

    @cached_property
    def _numbered(self) -> Array:
        """Sets and members as integers, ascending."""
        numbers = np.repeat(np.arange(self.set_starts.size - 1), np.diff(self.set_starts))
        return np.sort(_numbered(numbers, self.members))

    @property
    def float_reason(self) -> str:
        return "thresholds are compared as the features are stored, whatever that is"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeEnsemble) and operation_key(self) == operation_key(other)

    def __hash__(self) -> int:
        return hash(operation_key(self))


def joined_sets(ops: Sequence[TreeEnsemble]) -> dict[str, Array]:
    """Fields with the sets of several ensembles whose nodes lie behind each other."""
    if not any(op.sets.size for op in ops):
        return {}
    sets, starts, count, members = list[Array](), [_no_indices()], 0, 0
    for op in ops:
        has = op.sets if op.sets.size else np.full(op.features.size, -1, np.int32)
        sets.append(np.where(has < 0, -1, has + count))
        starts.append(op.set_starts[:-1] + members)
        count, members = count + op.set_starts[:-1].size, members + op.members.size
    return {
        "sets": np.concatenate(sets).astype(np.int32),
        "set_starts": np.concatenate([*starts, [members]]).astype(np.int32),
        "members": np.concatenate([op.members for op in ops]),
    }


def _numbered(sets: Array, values: Array) -> Array:
    """An integer for each pair of a set and a float32; zeros are equal."""
    bits = (values + np.float32(0)).astype(np.float32).view(np.uint32)
    return (sets.astype(np.int64) << 32) + bits


def real_features(stored: Array, type_: TensorType) -> Array:
    """float32 that stored features stand for: as `dequantize` and `cast` have it."""
    if type_.quantization is None:
        return stored.astype(np.float32)
    offsets = (stored.astype(np.int64) - type_.zero_point).astype(np.float32)
    with np.errstate(over="ignore"):
        return np.asarray(offsets * np.float32(type_.scale), np.float32)


@dataclass(frozen=True, eq=False)
class TreeLayout:
    """Nodes in the order of a walk that goes left first: `order[i]` is which node lies at place i.
    A left branch lies directly behind its node, a right one anywhere behind; `left` and `right` are
    places, those of leaves as they were. `levels` are the most nodes on a way.
    """

    levels: int
    order: Array
    roots: Array
    left: Array
    right: Array


def laid_out(
    roots: Sequence[int], inner: Array, left: Array, right: Array, most: int = MOST_NODES
) -> TreeLayout | None:
    """Trees of nodes in any order, in which several branches may lead to one node. A node is there
    once for each left branch to it, and once more for right ones that it does not lie behind; None
    for more than `most` nodes.
    """
    order: list[int] = []
    places: dict[int, int] = {}
    starts, lefts, rights = [0] * len(roots), list[int](), list[int]()
    for number, root in enumerate(roots):
        #: A node, and which entry of which list says where it is.
        todo = [(root, starts, number)]
        while todo:
            node, slots, slot = todo.pop()
            found = places.get(node, -1)
            if slots is rights and found > slot:
                slots[slot] = found
                continue
            if len(order) == most:
                return None
            slots[slot] = places[node] = place = len(order)
            order.append(node)
            lefts.append(int(left[node]))
            rights.append(0)
            if inner[node]:
                todo += [(int(right[node]), rights, place), (int(left[node]), lefts, place)]
    depths = [1] * len(order)
    for place, node in enumerate(order):
        if inner[node]:
            for child in (lefts[place], rights[place]):
                depths[child] = max(depths[child], depths[place] + 1)
    numbers = (np.array(numbers, np.int64) for numbers in (order, starts, lefts, rights))
    return TreeLayout(max(depths), *numbers)
