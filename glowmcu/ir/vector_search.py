"""Choose the inputs of the self test: the few that let the most constants matter.

A weight matters for an input where its channel's results lie within their range (a clamped one
hides it), where what reads them does too, and where the outputs are not sure of themselves. So one
run of the interpreter says of each channel how likely a change would show:

    shown(channel) = share of results within their range * best reader's * ... * slope of the output

Source of the idea: activation and propagation of faults in tests of hardware (Abramovici, Breuer,
Friedman: Digital Systems Testing and Testable Design, 1990). To flip bits and to look costs a run a
bit; `benchmarks/vectors.md` says how well the estimate chooses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.interpreter import Session, bind_inputs, nodes_inside, step_forgetting
from glowmcu.ir.operation import Array
from glowmcu.lazy_dataclass import dataclass
from glowmcu.test_vectors import pattern_tensor, vector_seed

#: (bits quieter than full range, elements in a row that are alike as a power of two), the first
#: always taken: it is the one that comes closest to every limit.
_PATTERNS = (
    (0, 0), (6, 4), (2, 6), (4, 8), (1, 0), (6, 8), (2, 2), (4, 4),
    (0, 6), (6, 0), (3, 4), (2, 8),
)  # fmt: skip
#: Multiply-accumulates that the search may take, and how many patterns it tries of any network that
#: is no larger, and of a larger one.
_SEARCH_MACS = 40_000_000
_FEWEST, _OF_LARGE = 4, 2
#: Elements of a result that are looked at together.
_AT_ONCE = 1 << 16
#: Cost of interpreting a node of a loop's body, in multiply-accumulates.
_NODE_MACS = 2000
#: How often the vectors of a graph with states are gone through.
_TURNS_OF_STREAM = 3
#: If stages have rates, the last one computes _TURNS_OF_LAST_STAGE times, in _MOST_RUNS runs
#: at most.
_TURNS_OF_LAST_STAGE, _MOST_RUNS = 3, 64
#: Operators whose results say how sure the network is: close to an end nothing changes them.
_SURE = frozenset({"softmax", "logistic"})

Shown = dict[Node, Array]


@dataclass(frozen=True)
class Tried:
    """Outputs for the inputs of `seed`; `shown` by node that has constants: float64[channels]."""

    seed: int
    outputs: tuple[Array, ...]
    shown: Shown


def vector_runs(graph: Graph, most: int) -> list[tuple[int, tuple[Array, ...]]]:
    """Seeds of the chosen vectors and the graph's results for them.

    With states they are the invocations of one stream, in order: each vector some times, with other
    numbers every time.
    """
    chosen = choose_vectors(graph, most)
    if not graph.states:
        return [(one.seed, one.outputs) for one in chosen]
    session = Session(graph)
    turns = _TURNS_OF_STREAM
    if graph.rates:
        last = graph.rates[-1]
        runs = min(last.first + _TURNS_OF_LAST_STAGE * last.period, _MOST_RUNS)
        turns = max(turns, -(-runs // len(chosen)))
    seeds = [one.seed + turn for turn in range(turns) for one in chosen]
    return [(seed, tuple(session.run(pattern_inputs(graph, seed)))) for seed in seeds]


def choose_vectors(graph: Graph, most: int) -> tuple[Tried, ...]:
    """`most` vectors, or fewer where more would show nothing new; the one that adds most is next.

    The search costs about `_SEARCH_MACS` multiply-accumulates.
    """
    sizes = {node: size for node in graph.nodes if (size := _constant_bytes(graph, node))}
    work = graph.macs + _NODE_MACS * nodes_inside(graph)
    fewest = _FEWEST if work <= _SEARCH_MACS else _OF_LARGE
    # Nothing is compared if only one is wanted, or no constant is there to be shown.
    count = max(fewest, _SEARCH_MACS // max(work, 1)) if sizes and most > 1 else 1
    seeds = [vector_seed(1 + 1009 * i, *pattern) for i, pattern in enumerate(_PATTERNS[:count])]
    tried = [_try(graph, seed) for seed in seeds]
    chosen = [tried.pop(0)]
    hidden = {node: 1.0 - chosen[0].shown[node] for node in sizes}
    while tried and len(chosen) < most:
        best = max(tried, key=lambda one: _gain(one.shown, hidden, sizes))
        if _gain(best.shown, hidden, sizes) <= 0.0:
            break
        tried.remove(best)
        chosen.append(best)
        hidden = {node: hidden[node] * (1.0 - best.shown[node]) for node in sizes}
    return tuple(chosen)


def _gain(shown: Shown, hidden: Shown, sizes: Mapping[Node, int]) -> float:
    """Bytes of constants that these inputs would show and none before did."""
    return sum(size * float(np.mean(hidden[node] * shown[node])) for node, size in sizes.items())


def pattern_inputs(graph: Graph, seed: int) -> list[Array]:
    """Inputs that the self test writes for a seed, in the order of the graph's arguments."""
    return [
        pattern_tensor(value.type.shape, str(value.type.element.numpy), seed + number)
        for number, value in enumerate(graph.arguments)
    ]


def _try(graph: Graph, seed: int) -> Tried:
    inputs = [*pattern_inputs(graph, seed), *(state.initial for state in graph.states)]
    values = bind_inputs(graph, inputs)
    free = {node: _free(node, results) for node, results in step_forgetting(graph, values)}
    outputs = tuple(values[value] for value in graph.results)
    reach = {value: _slope(values[value]) for value in graph.outputs}
    return Tried(seed, outputs, _shown(graph, free, reach))


def _free(node: Node, results: Sequence[Array]) -> Array:
    """How free each channel of a node's first result is to change."""
    within = [_within(array) for array in results if array.size]
    channels = within[0] if within else np.zeros(1)
    if node.op.name in _SURE:
        channels = np.full_like(channels, _slope(results[0]))
    return channels


def _shown(graph: Graph, free: Mapping[Node, Array], reach: dict[Value, float]) -> Shown:
    """By node how likely a changed constant of each channel changes an output; `reach` is that of
    the outputs.
    """
    shown: Shown = {}
    for node in reversed(graph.nodes):
        behind = max((reach.get(value, 0.0) for value in node.outputs), default=0.0)
        shown[node] = free[node] * behind
        passed = behind * float(np.mean(free[node]))
        for value in node.inputs:
            reach[value] = max(reach.get(value, 0.0), passed)
    return shown


def _within(array: Array) -> Array:
    """Share of elements of each last axis' place that no limit holds: strictly between what their
    type holds, and real numbers unless they are 0, as behind a ReLU.
    """
    rows = array.reshape(-1, array.shape[-1] if array.ndim else 1)
    step = max(1, _AT_ONCE // rows.shape[1])
    count = np.zeros(rows.shape[1], np.int64)
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        free = part != 0
        if array.dtype.kind in "iu":
            limits = np.iinfo(array.dtype)
            free = (part > limits.min) & (part < limits.max)
        count += free.sum(axis=0)
    inside: Array = count / len(rows)
    return inside


def _slope(array: Array) -> float:
    """1 if all elements are in the middle of what their type holds, 0 if all are at its ends:
    mean of 4 p (1 - p), the slope of a softmax. Real numbers hold anything.
    """
    if array.dtype.kind not in "iu" or not array.size:
        return 1.0
    limits = np.iinfo(array.dtype)
    place = (array.astype(np.float64) - limits.min) / (float(limits.max) - limits.min)
    return float(np.mean(4.0 * place * (1.0 - place)))


def _constant_bytes(graph: Graph, node: Node) -> int:
    found: Sequence[Array | None] = [graph.constant_data(value) for value in node.inputs]
    return sum(data.nbytes for data in found if data is not None)
