"""How far an output that is computed in float may be off because numbers cancelled on the way.

Rounding of float32 is relative to what is added, not to what is left: 1 - 0.99999 has five digits
fewer than its operands. Whatever the order of its sums, a layer gives the exact results of operands
that differ in their last bits (backward stability), so an output may be off by what such changes do
to it. Here all real numbers on the way are changed by 2^-11 to 2^-10, up or down at random, and the
distance that outputs move is scaled to changes of `_BACKWARD`. Changes of one size would undo each
other every second time along a chain, as from a softmax through a bound to its logarithm.

Source: Higham, Accuracy and Stability of Numerical Algorithms, 2002, chapters 1 and 3; the random
changes are those of Parker's Monte Carlo arithmetic, 1997.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from glowmcu.ir.exactness import exact_outputs
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import bind_inputs, stages_due, step_forgetting, step_graph
from glowmcu.ir.operation import Array
from glowmcu.lazy_dataclass import dataclass
from glowmcu.test_vectors import FLOAT_TOLERANCE

#: Far above the rounding of float32, and far below where functions bend.
_CHANGE = 2.0**-10
#: Relative errors of operands that account for what C computes: functions of libjit are within 2e-6
#: of theirs, and sums of ten thousand products within fifty roundings of 2^-24.
_BACKWARD = 3e-6
#: An output of one element may stay by chance where it is: one of 100 moves by less than a
#: hundredth of the usual distance once, one of a million does so three times.
_TRIALS = 3


@dataclass(frozen=True)
class Run:
    """One invocation: its graph, arguments and results."""

    graph: Graph
    arguments: Sequence[Array]
    results: Sequence[Array]


def leeway(runs: Sequence[Run]) -> list[tuple[float, ...]]:
    """For each result of each run by how much its elements may be off, a power of two; 0 where that
    is within FLOAT_TOLERANCE, and for results that are exact or not real numbers.

    Of graphs with states `runs` are one stream.
    """
    if not runs or not any(_varies(runs[0].graph)):
        return [(0.0,) * len(run.results) for run in runs]
    moved = np.zeros((len(runs), len(runs[0].results)))
    for trial in range(_TRIALS):
        moved = np.maximum(moved, _moved(runs, np.random.default_rng(trial)))
    rows = (moved * (_BACKWARD / _CHANGE)).tolist()
    return [
        tuple(_stated(distance, array) for distance, array in zip(row, run.results, strict=True))
        for row, run in zip(rows, runs, strict=True)
    ]


def _varies(graph: Graph) -> list[bool]:
    """Which results are real numbers whose last bits are not defined."""
    return [
        value.type.element.is_float and not exact
        for value, exact in zip(graph.results, exact_outputs(graph), strict=True)
    ]


def _moved(runs: Sequence[Run], random: np.random.Generator) -> Array:
    """How far each result of each run moves at most: float64[runs, results]."""
    varies = _varies(runs[0].graph)
    states = [state.initial for state in runs[0].graph.states]
    found = []
    for index, run in enumerate(runs):
        results, states = _changed_run(run, states, index, random)
        pairs = zip(varies, results, run.results, strict=True)
        found.append([_distance(got, want) if each else 0.0 for each, got, want in pairs])
    return np.array(found)


def _changed_run(
    run: Run, states: Sequence[Array], index: int, random: np.random.Generator
) -> tuple[list[Array], list[Array]]:
    """Results and next states where every real number on the way is changed."""
    graph = run.graph
    inputs = [_changed(array, random) for array in (*run.arguments, *states)]
    values = bind_inputs(graph, inputs)
    due = stages_due(graph, values, index)
    steps = step_graph(graph, values, due) if due else step_forgetting(graph, values)
    for node, results in steps:
        changed = (_changed(array, random) for array in results)
        values.update(zip(node.outputs, changed, strict=True))
    for state, value in zip(graph.states, graph.assigned, strict=True):
        if value not in values:  # of a stage that was not due
            values[value] = values[state.value]
    return [values[each] for each in graph.results], [values[each] for each in graph.assigned]


def _changed(array: Array, random: np.random.Generator) -> Array:
    if array.dtype != np.float32:
        return array
    signs = random.integers(0, 2, array.shape, dtype=np.int8) * 2 - 1
    sizes = _CHANGE / 2 * (1 + random.random(array.shape, np.float32))
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(array * (1 + sizes * signs), np.float32)


def _distance(got: Array, want: Array) -> float:
    with np.errstate(invalid="ignore"):
        apart = np.abs(got.astype(np.float64) - want.astype(np.float64))
    return float(apart[np.isfinite(apart)].max(initial=0.0))


def _stated(distance: float, result: Array) -> float:
    """The power of two above: numbers of a bundle do not depend on a processor's last bits."""
    if not distance:
        return 0.0
    largest = float(np.abs(result[np.isfinite(result)], dtype=np.float64).max(initial=0.0))
    return 0.0 if distance <= FLOAT_TOLERANCE * largest else 2.0 ** math.ceil(math.log2(distance))
