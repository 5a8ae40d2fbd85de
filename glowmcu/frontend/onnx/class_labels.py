"""Labels of classifiers: numbers as they are, and of strings the index of the class.

The strings themselves become labels of the bundle (`frontend/labels.py`).
"""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.types import ElementType
from glowmcu.ops.cast import Cast
from glowmcu.ops.gather import Gather
from glowmcu.ops.scan import ArgMax


def class_count(op: NodeRecord, *names: str) -> int:
    """How many labels there are, strings or else numbers (attributes `names`)."""
    found = [len(op.attributes.get(name) or []) for name in ("classlabels_strings", *names)]
    if len([count for count in found if count]) != 1:
        raise Unsupported("GM101", f"{op.kind}: labels are either strings or numbers")
    return max(found)


def _numbers(op: NodeRecord, names: tuple[str, ...]) -> list[int] | None:
    """The labels, None if they are strings."""
    return next((list(op.attributes[name]) for name in names if op.attributes.get(name)), None)


def label_of_largest(state: Import, op: NodeRecord, scores: Value, *names: str) -> Value:
    """The label of the largest of `scores` (N, classes), the first of several."""
    numbers = _numbers(op, names)
    if numbers is None or numbers == list(range(len(numbers))):
        name = op.outputs[0] if op.outputs else ""
        if numbers is None:
            state.class_indices.add(name)
        return state.add(op, ArgMax(1), [scores], ElementType.I64, name=name)
    return bind_label(state, op, state.add(op, ArgMax(1), [scores], ElementType.I32), *names)


def bind_label(state: Import, op: NodeRecord, index: Value, *names: str) -> Value:
    """The classifier's first result: the label of the class with the number `index` (int32)."""
    numbers, name = _numbers(op, names), op.outputs[0] if op.outputs else ""
    if numbers is None:
        state.class_indices.add(name)
        return state.add(op, Cast(), [index], ElementType.I64, name=name)
    if numbers == list(range(len(numbers))):
        return state.add(op, Cast(), [index], ElementType.I64, name=name)
    table = state.add_constant(np.array(numbers, np.int64), "labels")
    return state.add(op, Gather(0), [table, index], ElementType.I64, name=name)
