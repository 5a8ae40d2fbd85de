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


def class_count(op: NodeRecord, *names: str) -> int:
    """How many labels there are, strings or else numbers (attributes `names`)."""
    found = [len(op.attributes.get(name) or []) for name in ("classlabels_strings", *names)]
    if len([count for count in found if count]) != 1:
        raise Unsupported("GM101", f"{op.kind}: labels are either strings or numbers")
    return max(found)


def bind_label(state: Import, op: NodeRecord, index: Value, *names: str) -> Value:
    """The classifier's first result: the label of the class with the number `index` (int32)."""
    numbers = next((list(op.attributes[name]) for name in names if op.attributes.get(name)), None)
    name = op.outputs[0] if op.outputs else ""
    if numbers is None:
        state.class_indices.add(name)
    if numbers is None or numbers == list(range(len(numbers))):
        return state.add(op, Cast(), [index], ElementType.I64, name=name)
    table = state.add_constant(np.array(numbers, np.int64), "labels")
    return state.add(op, Gather(0), [table, index], ElementType.I64, name=name)
