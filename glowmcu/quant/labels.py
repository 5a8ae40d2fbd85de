"""Classes that samples belong to, where people's data say them: what a classifier gets right.

Labels calibrate nothing and choose nothing: they say what the float model and the quantized one
come to. `tune` is what searches by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from glowmcu.ir.graph import Graph
from glowmcu.ir.operation import Array
from glowmcu.lazy_dataclass import dataclass
from glowmcu.quant.data_sets import rows_of
from glowmcu.quant.decisions import decisions_of

#: What labels are called, in lower case; the first that is there is taken.
_NAMES = ("labels", "label", "y", "y_test", "y_train", "class_id", "class", "target")


class LabelledSample(tuple[Array, ...]):
    """A sample with the number of its class."""

    label: int

    def __new__(cls, arrays: Iterable[Array], label: int) -> LabelledSample:
        made = super().__new__(cls, arrays)
        made.label = label
        return made


class Labels(NamedTuple):
    """Class numbers of samples, empty without any; `unfit` says why what is given is none."""

    numbers: Sequence[int] = ()
    unfit: str = ""


def labels_beside(graph: Graph, data: Mapping[str, Any], count: int) -> Labels:
    """The labels among named arrays, one for each of `count` samples."""
    inputs = {value.name for value in graph.inputs}
    by_lower = {str(name).lower(): name for name in reversed(list(data)) if name not in inputs}
    name = next((by_lower[each] for each in _NAMES if each in by_lower), None)
    return Labels() if name is None else _classes(graph, data[name], count)


def labels_behind(graph: Graph, item: object, count: int) -> Labels:
    """The labels of an item of a data set, which holds `count` samples: those that stand behind the
    inputs or have a name.
    """
    if isinstance(item, Mapping):
        return labels_beside(graph, item, count)
    if not isinstance(item, list | tuple) or len(item) < 2:
        return Labels()
    is_nested = isinstance(item[0], Mapping | list | tuple)
    place = 1 if is_nested else len(graph.inputs)
    return _classes(graph, item[place], count) if place < len(item) else Labels()


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


def _classes(graph: Graph, labels: object, count: int) -> Labels:
    """Without numbers if these are not `count` whole ones."""
    given = rows_of(labels)
    rows = given[None] if given.ndim == count == 1 else given
    found = from_one_hot(rows)
    columns = 0 if found is rows else rows.shape[1]
    if found.dtype.kind == "f" and np.isfinite(found).all() and (np.abs(found) < 2**31).all():
        found = found.astype(np.int64) if (found % 1 == 0).all() else found
    is_one_each = found.shape[:1] in ((), (count,))
    if found.dtype.kind in "iu" and found.size == count and is_one_each:
        if columns and _classes_of(graph) not in (None, columns):
            what = f"are rows of {columns}, and the model has {_classes_of(graph)} classes"
            return Labels(unfit=_uncounted(what))
        return Labels([int(label) for label in found.reshape(-1)])
    if _classes_of(graph) is None:
        return Labels()
    if found.size and isinstance(found.flat[0], list | tuple):
        return Labels(unfit=_uncounted("are lists of different lengths"))
    if not is_one_each:
        return Labels(unfit=_uncounted(f"are {len(found)}, and the samples {count}"))
    if found.size and isinstance(found.flat[0], str | bytes):
        what = "are text, and classes are told by the places of their scores, from 0 on"
        return Labels(unfit=_uncounted(what))
    return Labels()


def _uncounted(what: str) -> str:
    return f"labels of the samples {what}: what is right was not counted"


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
    classes = _classes_of(graph)
    if classes is None or all(label is None for label in labels):
        return Labelled()
    if None in labels:
        return Labelled(unfit=_uncounted(f"are none for {labels.count(None)} of {len(labels)}"))
    wanted = np.array(labels)
    if wanted.min() < 0 or wanted.max() >= classes:
        what = f"are {wanted.min()} to {wanted.max()}, and the model's classes 0 to {classes - 1}"
        return Labelled(unfit=_uncounted(what))
    decision = decisions_of(graph)[0]
    taken = decision.taken(outputs[decision.index]).reshape(-1)
    return Labelled(len(labels), int(np.count_nonzero(taken.astype(np.int64) == wanted)))


def _classes_of(graph: Graph) -> int | None:
    """How many a classifier has that decides once a sample; None of another model, and where the
    outputs do not tell.
    """
    decisions = decisions_of(graph)
    if len(decisions) != 1:
        return None
    (decision,) = decisions
    type_ = graph.outputs[decision.index].type
    if decision.axis is not None:
        classes = int(type_.shape[decision.axis])
        return classes if type_.element_count == classes else None
    return 2 if decision.threshold is not None and type_.element_count == 1 else None
