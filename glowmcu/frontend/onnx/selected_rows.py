"""Rows of NonMaxSuppression: as many as boxes may stay, of which those behind the last are -1.

What is gathered by such a row is that of the last box, which a note tells. What depends on how many
rows there are would take all of them for detections, and is refused.
"""

from __future__ import annotations

from glowmcu.frontend.onnx.axes import integers
from glowmcu.frontend.onnx.container import NodeRecord, OnnxRecord
from glowmcu.frontend.onnx.custom_c import all_nodes
from glowmcu.frontend.onnx.importer import Import
from glowmcu.frontend.unsupported import Unsupported

_SUPPRESSION = "NonMaxSuppression"
#: Operators that have the same rows, that say how many there are, and with the axis that they are
#: of unless it is said.
_SAME, _COUNTING = ("Cast", "Identity"), ("NonZero", "Shape", "Size")
_ALONG = {"ArgMax": 0, "ArgMin": 0, "TopK": -1}


def follow_rows(state: Import, op: NodeRecord) -> None:
    """Before `op` is imported: what it reads of selected rows, its results are of, too. Raises
    GM105 for an operator over the rows.
    """
    counts = frozenset(n for name in op.reads for n in state.selected.get(name, ()))
    if not counts:
        return
    if op.kind in _COUNTING or _is_over_rows(state, op, counts):
        raise Unsupported(
            "GM105",
            f"{op.kind} depends on how many boxes {_SUPPRESSION} selects, and here there is always "
            "a row for each that may stay",
            "make the selection itself an output, leave out what follows, and let the application "
            "stop at its first -1",
        )
    state.selected.update(dict.fromkeys(filter(None, op.outputs), counts))


def _is_over_rows(state: Import, op: NodeRecord, counts: frozenset[int]) -> bool:
    """Rows are no last axis behind others, but for one of as many elements as there are rows."""
    if op.kind.startswith("Reduce"):
        axes = integers(state, op, 1, "axes", "its axes") or (0,)
    elif op.kind in _ALONG:
        axes = (op.integer("axis", _ALONG[op.kind]),)
    else:
        return False
    shape = state.value(op, 0).type.shape
    last = len(shape) - 1
    return last < 1 or any(axis not in (-1, last) for axis in axes) or shape[last] in counts


def notes_on_selections(model: OnnxRecord) -> tuple[str, ...]:
    """A sentence for each selection that other operators read."""
    nodes = list(all_nodes(model))
    names = [op.outputs[0] for op in nodes if op.kind == _SUPPRESSION and op.outputs]
    return tuple(
        f"{name[:120]!r} of {_SUPPRESSION} has a row for each box that may stay, -1 behind the "
        "last that does, and other operators read it: what they gather by such a row is that of "
        "the last box, and no detection; "
        + ("" if name in model.outputs else "make the selection itself an output, and ")
        + "stop at its first -1"
        for name in names
        if _is_read(name, nodes)
    )


def _is_read(name: str, nodes: list[NodeRecord]) -> bool:
    """Whether anything computes with the rows, in whatever type they are."""
    same = {name}
    for op in nodes:
        if not same.isdisjoint(op.inputs):
            if op.kind not in _SAME:
                return True
            same.update(op.outputs)
    return False
