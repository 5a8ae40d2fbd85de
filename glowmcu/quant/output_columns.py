"""Columns of an output that its one scale leaves hardly a step: boxes of pixels and confidences of
0 to 1 in one tensor.

Columns are places along the axis of a closing concatenation, else along the last one. Classes that
exclude each other and chances are of one kind, and none of them is too small.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.quantization import Dequantize
from glowmcu.ops.shape import Reshape
from glowmcu.ops.transpose import Transpose
from glowmcu.quant.decisions import decision_of
from glowmcu.shell_words import quoted

#: Steps within the range of a column that are too few, and how many times more others have.
_LEAST_STEPS = 8.0
_APART = 8.0
#: What the error of these columns has to shrink to where something helps.
_MENDED = 0.25
_MOST_LISTED = 6
#: Real outputs with these nodes and the border in float; None where that cannot be made.
Remade = Callable[[tuple[str, ...]], Sequence[Array] | None]


@dataclass(frozen=True, eq=False)
class CoarseColumns:
    """Columns of output `index` along `axis`, the most steps that one of them has and the fewest
    that the others have.
    """

    index: int
    axis: int
    columns: tuple[int, ...]
    steps: float
    others: float

    def noise(self, wanted: Sequence[Array], got: Sequence[Array]) -> float:
        """Of these columns, samples along axis 0."""
        wrong = got[self.index].astype(np.float64) - wanted[self.index]
        return float(np.square(wrong.take(self.columns, 1 + self.axis)).sum())


def coarse_columns(graph: Graph, made: Graph, wanted: Sequence[Array]) -> list[CoarseColumns]:
    """Of the outputs of `made`, where the float `graph` gives those that are `wanted`."""
    found = list[CoarseColumns]()
    for index, (value, stored) in enumerate(zip(graph.results, made.results, strict=True)):
        scale = _scale(made, stored)
        is_some = value.type.rank and value.type.element_count
        if not is_some or scale is None or decision_of(graph, index, value) is not None:
            continue
        op = graph.producers[value].op if value in graph.producers else None
        axis = op.axis if isinstance(op, Concatenation) else value.type.rank - 1
        rows = np.moveaxis(wanted[index], 1 + axis, -1).reshape(-1, value.type.shape[axis])
        steps = np.ptp(rows.astype(np.float64), axis=0) / scale
        few, rest = (steps > 0) & (steps < _LEAST_STEPS), steps >= _LEAST_STEPS
        if few.any() and rest.any() and _APART * steps[few].max() <= steps[rest].min():
            columns = tuple(map(int, np.flatnonzero(few)))
            most, least = float(steps[few].max()), float(steps[rest].min())
            found.append(CoarseColumns(index, axis, columns, most, least))
    return found


def coarse_note(
    graph: Graph,
    coarse: CoarseColumns,
    wanted: Sequence[Array],
    outputs: Sequence[Array],
    remade: Remade,
    may_be_float: bool = True,
) -> str:
    """Which columns, how many steps they have, and what was found to help: real numbers only where
    the border `may_be_float`.
    """
    output = graph.outputs[coarse.index]
    closing = _closing(graph, output)
    names = tuple(node.name or node.output.name for node in closing)
    real = remade(names) if names else None
    note = (
        f"{_listed(coarse.columns)} of output {output.name!r} along axis {coarse.axis} "
        f"{'has' if len(coarse.columns) == 1 else 'have'} {coarse.steps:.1f} steps of its scale "
        f"from the least to the greatest value, and the others {coarse.others:.0f} or more: what "
        "is small is lost beside what is large"
    )
    before = coarse.noise(wanted, outputs)
    if real is None or coarse.noise(wanted, real) > _MENDED * before:
        return note
    helps = []
    if isinstance(closing[-1].op, Concatenation):
        helps.append("make outputs of what the model joins at its end")
    if may_be_float:
        helps.append(f"add --io float --keep-float {quoted(','.join(names))}")
    return "; ".join([note, *([", or ".join(helps)] if helps else [])])


def _scale(made: Graph, value: Value) -> float | None:
    """Of what an output is stored in, or was before it became float."""
    maker = made.producers.get(value)
    if maker is not None and isinstance(maker.op, Dequantize):
        value = maker.inputs[0]
    quantization = value.type.quantization
    return None if quantization is None or quantization.per_channel else value.type.scale


def _closing(graph: Graph, output: Value) -> list[Node]:
    """The node that computes an output, behind those that only give it another shape."""
    found = list[Node]()
    node = graph.producers.get(output)
    while node is not None:
        found.append(node)
        is_form = isinstance(node.op, Reshape | Transpose)
        node = graph.producers.get(node.inputs[0]) if is_form else None
    return found


def _listed(columns: Sequence[int]) -> str:
    """`column 4`, `columns 4, 7`, `columns 4 to 83`, by their first and last if they are many."""
    first, last = columns[0], columns[-1]
    if len(columns) == 1:
        return f"column {first}"
    if last - first + 1 == len(columns):
        return f"columns {first} to {last}"
    if len(columns) <= _MOST_LISTED:
        return f"columns {', '.join(map(str, columns))}"
    return f"{len(columns)} columns between {first} and {last}"
