"""Classes that samples belong to, where people's data say them: what a classifier gets right.

Labels calibrate nothing and choose nothing: they say what the float model and the quantized one
come to. `tune` is what searches by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from glowmcu.ir.graph import Graph
from glowmcu.ir.operation import Array
from glowmcu.quant.data_sets import as_array
from glowmcu.quant.decisions import Decision, decisions_of

#: What labels are called, in lower case; the first that is there is taken.
_NAMES = ("labels", "label", "y", "y_test", "y_train", "class_id", "class", "target")


class LabelledSample(tuple[Array, ...]):
    """A sample with the number of its class."""

    label: int

    def __new__(cls, arrays: Iterable[Array], label: int) -> LabelledSample:
        made = super().__new__(cls, arrays)
        made.label = label
        return made


def labels_beside(data: Mapping[str, Any], inputs: Iterable[str], count: int) -> list[int] | None:
    """The labels among named arrays, one for each of `count` samples; None without any."""
    by_lower = {str(name).lower(): name for name in reversed(list(data)) if name not in set(inputs)}
    name = next((by_lower[each] for each in _NAMES if each in by_lower), None)
    return None if name is None else _classes(data[name], count)


def labels_behind(item: object, inputs: Sequence[str], count: int) -> list[int] | None:
    """The labels of an item of a data set, which holds `count` samples: those that stand behind the
    inputs or have a name; None without any.
    """
    if isinstance(item, Mapping):
        return labels_beside(item, inputs, count)
    if not isinstance(item, list | tuple) or len(item) < 2:
        return None
    is_nested = isinstance(item[0], Mapping | list | tuple)
    place = 1 if is_nested else len(inputs)
    return _classes(item[place], count) if place < len(item) else None


def from_one_hot(labels: Array) -> Array:
    """Class numbers, int64[N], of rows that are 1 at their class and 0 elsewhere, as Keras has them
    for its categorical loss; anything else as it is.
    """
    if labels.ndim != 2 or labels.shape[1] < 2 or labels.dtype.kind not in "iufb":
        return labels
    is_one = labels == 1
    if not (is_one | (labels == 0)).all() or not (is_one.sum(axis=1) == 1).all():
        return labels
    numbers: Array = np.argmax(is_one, axis=1)
    return numbers


def _classes(labels: object, count: int) -> list[int] | None:
    """None if these are not `count` whole numbers."""
    given = np.asarray(as_array(labels))
    found = from_one_hot(given[None] if given.ndim == count == 1 else given)
    if found.dtype.kind == "f" and np.isfinite(found).all() and (np.abs(found) < 2**31).all():
        found = found.astype(np.int64) if (found % 1 == 0).all() else found
    if found.dtype.kind not in "iu" or found.size != count or found.shape[:1] not in ((), (count,)):
        return None
    return [int(label) for label in found.reshape(-1)]


@dataclass(frozen=True)
class Labelled:
    """How many samples have labels, and how many of them outputs decide rightly; `unfit` says why
    labels were not compared.
    """

    count: int = 0
    right: int = 0
    unfit: str = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said beside the figures."""
        return (self.unfit,) if self.unfit else ()


def right_decisions(graph: Graph, outputs: Sequence[Array], samples: Iterable[object]) -> Labelled:
    """Of a classifier with one decision for each sample; outputs have samples along axis 0."""
    labels = [getattr(sample, "label", None) for sample in samples]
    decisions = decisions_of(graph)
    if len(decisions) != 1 or None in labels or not labels:
        return Labelled()
    taken = decisions[0].taken(outputs[decisions[0].index]).reshape(len(labels), -1)
    classes = _class_count(graph, decisions[0])
    if taken.shape[1] != 1 or classes is None:
        return Labelled()
    wanted = np.array(labels)
    if wanted.min() < 0 or wanted.max() >= classes:
        return Labelled(
            unfit=f"labels of the samples are {wanted.min()} to {wanted.max()}, and the model's "
            f"classes 0 to {classes - 1}: what is right was not counted"
        )
    return Labelled(len(labels), int(np.count_nonzero(taken[:, 0].astype(np.int64) == wanted)))


def _class_count(graph: Graph, decision: Decision) -> int | None:
    """None where the outputs do not tell."""
    if decision.axis is not None:
        return int(graph.outputs[decision.index].type.shape[decision.axis])
    return 2 if decision.threshold is not None else None
